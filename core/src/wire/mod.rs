//! The contract under every face: a table of methods and one ordered queue.

mod methods;
mod open;
mod ops;
mod params;
mod queue;
mod requests;
mod schema;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::runtime::Kernel;
use crate::types::{Error, Result};
use ops::Ops;
use queue::{Item, Queue};
use requests::Requests;

pub use params::OpenParams;
pub use schema::{export, method_names};

/// A runtime as the faces hold it. Every function may be called from any thread at once.
///
/// After a fork the child gets `closed.forked` from every function; it shares no thread and no lock with its parent.
pub struct Wire {
    pid: u32,
    // Empty only while it is being dropped.
    inner: Option<Arc<Inner>>,
    // Not in `Inner`, which tasks hold too: whoever drops the wire waits for its threads, and no thread for itself.
    threads: Threads,
}

struct Inner {
    runtime: Kernel,
    queue: Arc<Queue>,
    requests: Arc<Requests>,
    ops: Ops,
    closed: AtomicBool,
    handle: Handle,
}

/// The tokio runtime.
struct Threads(Option<tokio::runtime::Runtime>);

/// How long the end of the threads is waited for; a body that hangs longer is left behind.
const THREADS_END: Duration = Duration::from_secs(1);

impl Drop for Threads {
    fn drop(&mut self) {
        let Some(runtime) = self.0.take() else { return };
        if Handle::try_current().is_ok() {
            runtime.shutdown_background();
        } else {
            runtime.shutdown_timeout(THREADS_END);
        }
    }
}

impl Wire {
    /// Opens a runtime from its options document.
    ///
    /// # Errors
    /// `store.*`, `arguments.*`; nothing is open then.
    pub fn open(options: &str) -> Result<Arc<Self>> {
        guarded(|| open::open(options))
    }

    fn inner(&self) -> Result<&Arc<Inner>> {
        if self.pid != std::process::id() {
            let text = "The runtime belongs to the process that forked this one. Open a new one in this process.";
            return Err(Error::new("closed.forked", text));
        }
        self.inner.as_ref().ok_or_else(closed)
    }

    /// Runs a method and waits for its result; blocks the calling thread.
    ///
    /// # Errors
    /// What the method answers.
    pub fn call(&self, method: &str, params: &str) -> Result<String> {
        self.call_cancellable(method, params, &CancellationToken::new())
    }

    /// The same with a way to cancel it from another thread.
    ///
    /// # Errors
    /// What the method answers.
    pub fn call_cancellable(&self, method: &str, params: &str, cancel: &CancellationToken) -> Result<String> {
        let inner = self.inner()?;
        guarded(|| {
            inner.check_open()?;
            let params = parse(params)?;
            let running = methods::run(inner, method, params, cancel.clone())?;
            inner.block_on(running)
        })
    }

    /// Like [`Wire::call`], and asks every `slice` whether the caller still waits; `false` cancels the method.
    ///
    /// # Errors
    /// What the method answers; a cancelled one still answers for itself.
    pub fn call_while(
        &self,
        method: &str,
        params: &str,
        slice: Duration,
        wanted: &mut dyn FnMut() -> bool,
    ) -> Result<String> {
        let inner = self.inner()?;
        guarded(|| {
            inner.check_open()?;
            let params = parse(params)?;
            let cancel = CancellationToken::new();
            let running = methods::run(inner, method, params, cancel.clone())?;
            inner.block_on(async move {
                let mut running = std::pin::pin!(running);
                loop {
                    match tokio::time::timeout(slice, running.as_mut()).await {
                        Ok(answer) => return answer,
                        Err(_) if wanted() => {}
                        Err(_) => cancel.cancel(),
                    }
                }
            })
        })
    }

    /// Starts a method; exactly one `op` item with this id follows.
    ///
    /// # Errors
    /// `closed.object`; then no item follows. Everything else is told by the item.
    pub fn start(&self, method: &str, params: &str) -> Result<u64> {
        let inner = self.inner()?;
        guarded(|| {
            inner.check_open()?;
            let (op, cancel) = inner.ops.begin()?;
            let work = parse(params).and_then(|params| methods::run(inner, method, params, cancel));
            let handle = inner.handle.clone();
            let inner = Arc::clone(inner);
            handle.spawn(async move {
                let outcome = match work {
                    // A task of its own, so that a panic ends the operation and nothing else.
                    Ok(work) => tokio::spawn(work).await.unwrap_or_else(|_| Err(panicked())),
                    Err(error) => Err(error),
                };
                inner.ops.end(op, outcome);
            });
            Ok(op)
        })
    }

    /// Cancels an operation; says whether it was still running.
    pub fn cancel(&self, op: u64) -> bool {
        self.inner().is_ok_and(|inner| inner.ops.cancel(op))
    }

    /// Answers a request; says whether the answer was still wanted.
    ///
    /// # Errors
    /// `arguments.json` when the answer is not JSON; the request stays open.
    pub fn respond(&self, request: &str, answer: &str) -> Result<bool> {
        let inner = self.inner()?;
        let answer = document(answer)?;
        Ok(inner.requests.settle(request, Ok(answer)))
    }

    /// Answers a request with an error; says whether the answer was still wanted.
    pub fn fail(&self, request: &str, code: &str, message: &str) -> bool {
        let Ok(inner) = self.inner() else { return false };
        let known = ["host.failed", "host.dropped", "host.gone", "host.unsupported", "failed.operation"];
        let code = known.into_iter().find(|known| *known == code).unwrap_or("host.failed");
        inner.requests.settle(request, Err(Error::new(code, message)))
    }

    /// The next item as JSON; `None` when none came in time, or after `closed`.
    pub fn next(&self, timeout: Option<Duration>) -> Option<String> {
        let inner = self.inner().ok()?;
        let item = inner.queue.next(timeout)?;
        Some(inner.hand_over(&item))
    }

    /// Items that are there, at most `max`.
    pub fn drain(&self, max: usize) -> Vec<String> {
        let Ok(inner) = self.inner() else { return Vec::new() };
        inner.queue.drain(max).iter().map(|item| inner.hand_over(item)).collect()
    }

    /// Sets the function that is called, from a thread of the library, when an empty queue gets its first item.
    /// It must not block and must not call back into the runtime.
    pub fn set_waker(&self, waker: Option<Box<dyn Fn() + Send + Sync>>) {
        if let Ok(inner) = self.inner() {
            inner.queue.set_waker(waker);
        }
    }

    /// Ends everything within a deadline; a second call is a no-op. The last item is `closed`.
    pub fn close(&self, deadline: Duration) {
        if let Ok(inner) = self.inner() {
            inner.close(deadline);
        }
    }

    /// Whether `close` was called, here or in the process that forked this one.
    pub fn is_closed(&self) -> bool {
        self.inner().map_or(true, |inner| inner.closed.load(Ordering::Acquire))
    }

    /// The runtime below, for hosts written in Rust.
    ///
    /// # Errors
    /// `closed.forked`.
    pub fn runtime(&self) -> Result<&Kernel> {
        Ok(&self.inner()?.runtime)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        // In a forked child the threads do not exist and a lock may be held by one of them: nothing may be waited for.
        if self.pid != std::process::id() {
            std::mem::forget(self.inner.take());
            std::mem::forget(self.threads.0.take());
            return;
        }
        if let Some(inner) = self.inner.take() {
            inner.close(Duration::from_secs(5));
        }
    }
}

impl Inner {
    fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) { Err(closed()) } else { Ok(()) }
    }

    /// Waits on the calling thread.
    fn block_on(&self, running: impl Future<Output = Result<String>>) -> Result<String> {
        // A thread of the library itself must not wait for the library.
        if Handle::try_current().is_ok() {
            let text = "`call` blocks and was made on a thread of an async runtime. Use `start`.";
            return Err(Error::new("failed.operation", text));
        }
        self.handle.block_on(running)
    }

    /// The item as a document; an event makes room for the next ones of its subscription.
    fn hand_over(&self, item: &Item) -> String {
        if let Item::Event { subscription, bytes, .. } = item
            && self.runtime.hub().taken(*subscription, *bytes)
        {
            self.runtime.hub().catch_up(&self.runtime.services().store, *subscription);
        }
        item.to_json()
    }

    /// 1 nothing new starts; 2 running calls are interrupted; 3 they may settle until the deadline; 4 open requests
    /// end; 5 leases are given back; 6 the database is closed; 7 every operation has its item; 8 the queue ends.
    fn close(&self, deadline: Duration) {
        if self.closed.swap(true, Ordering::AcqRel) {
            return;
        }
        let until = Instant::now() + deadline;
        self.runtime.begin_close();
        self.ops.cancel_all();
        self.ops.wait_until_idle(until);
        self.requests.close();
        let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(200));
        let finish = || self.handle.block_on(self.runtime.finish_close(left));
        if Handle::try_current().is_err() {
            finish();
        } else {
            // Only a thread outside every async runtime may wait for one.
            std::thread::scope(|scope| drop(scope.spawn(finish).join()));
        }
        self.ops.end_all(&closed());
        self.queue.push(Item::Closed);
    }
}

fn parse(document: &str) -> Result<Value> {
    if document.trim().is_empty() {
        return Ok(Value::Object(crate::types::JsonMap::new()));
    }
    self::document(document)
}

fn document(text: &str) -> Result<Value> {
    serde_json::from_str(text)
        .map_err(|error| Error::new("arguments.json", format!("The document is not JSON: {error}.")))
}

fn closed() -> Error {
    Error::new("closed.object", "The runtime is closed. Open a new one.")
}

fn panicked() -> Error {
    Error::new("internal.panic", "A defect of the library ended this operation. Everything else goes on.")
}

/// A panic ends the operation and never leaves the library.
fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(panicked()))
}
