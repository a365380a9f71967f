//! The contract under every face: a table of methods and one ordered queue.

mod queue;
mod requests;

use std::sync::Arc;
use std::time::Duration;

use crate::types::Result;

/// A runtime as the faces hold it. Every function may be called from any thread at once.
pub struct Wire;

impl Wire {
    /// Opens a runtime from its options document.
    ///
    /// # Errors
    /// `store.*`, `arguments.*`.
    pub fn open(_options: &str) -> Result<Arc<Self>> {
        Ok(Arc::new(Self))
    }

    /// Runs a method and waits for its result; blocks the calling thread.
    ///
    /// # Errors
    /// What the method answers.
    pub fn call(&self, _method: &str, _params: &str) -> Result<String> {
        Ok(String::new())
    }

    /// Starts a method; exactly one `op` item with this id follows.
    ///
    /// # Errors
    /// `closed.object`.
    pub fn start(&self, _method: &str, _params: &str) -> Result<u64> {
        Ok(0)
    }

    /// Cancels an operation; says whether it was still running.
    pub fn cancel(&self, _op: u64) -> bool {
        false
    }

    /// Answers a request; says whether the answer was still wanted.
    ///
    /// # Errors
    /// `arguments.json` when the answer is not JSON; the request stays open.
    pub fn respond(&self, _request: &str, _answer: &str) -> Result<bool> {
        Ok(false)
    }

    /// Answers a request with an error.
    pub fn fail(&self, _request: &str, _code: &str, _message: &str) -> bool {
        false
    }

    /// The next item as JSON; `None` when none came in time, or after `closed`.
    pub fn next(&self, _timeout: Option<Duration>) -> Option<String> {
        None
    }

    /// Items that are there, at most `max`.
    pub fn drain(&self, _max: usize) -> Vec<String> {
        Vec::new()
    }

    /// Sets the function that is called, from a thread of the library, when an empty queue gets its first item.
    /// It must not block and must not call back into the runtime.
    pub fn set_waker(&self, _waker: Option<Box<dyn Fn() + Send + Sync>>) {}

    /// Ends everything within a deadline; a second call is a no-op. The last item is `closed`.
    pub fn close(&self, _deadline: Duration) {}

    /// Whether `close` was called.
    pub fn is_closed(&self) -> bool {
        true
    }
}
