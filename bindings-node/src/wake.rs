//! The wake-up: one weak thread-safe function per runtime. It carries nothing; what there is to read is in the queue.

use std::sync::{Arc, Mutex, PoisonError};

use napi::bindgen_prelude::Function;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, Result, Status};

/// Called without arguments, never awaited; weak, so that by itself it does not keep the event loop open.
type Signal = ThreadsafeFunction<(), (), (), Status, false, true>;

/// A handle on the wake-up that any thread may use.
#[derive(Clone)]
pub(crate) struct Wake(Arc<Mutex<Signal>>);

impl Wake {
    pub(crate) fn new(function: &Function<'_, (), ()>) -> Result<Self> {
        let signal = function.build_threadsafe_function().weak::<true>().build()?;
        Ok(Self(Arc::new(Mutex::new(signal))))
    }

    /// Asks the event loop to read the queue. A loop that is gone reads nothing.
    pub(crate) fn ring(&self) {
        self.lock().call((), ThreadsafeFunctionCallMode::NonBlocking);
    }

    /// Makes the wake-up keep the event loop open, or not.
    #[allow(deprecated, reason = "cloning holds the function, only this holds the loop")]
    pub(crate) fn hold(&self, env: &Env, on: bool) -> Result<()> {
        let mut signal = self.lock();
        if on { signal.refer(env) } else { signal.unref(env) }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Signal> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
