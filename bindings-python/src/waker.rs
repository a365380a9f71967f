//! Tells Python that the queue has items. The core's threads only set a flag; waiting for the interpreter is left to a
//! thread of this module, so a busy interpreter never holds up the core.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use pyo3::prelude::*;

#[derive(Default)]
struct State {
    pending: bool,
    stopped: bool,
}

#[derive(Default)]
struct Bell {
    state: Mutex<State>,
    rung: Condvar,
}

impl Bell {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&self) {
        self.lock().pending = true;
        self.rung.notify_one();
    }

    /// Waits for the next ring; `false` when the waker was stopped.
    fn wait(&self) -> bool {
        let mut state = self.lock();
        while !state.pending && !state.stopped {
            state = self.rung.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.pending = false;
        !state.stopped
    }
}

/// A thread that calls a Python function whenever the queue has got its first item.
pub(crate) struct Waker {
    bell: Arc<Bell>,
    thread: Option<JoinHandle<()>>,
}

impl Waker {
    pub(crate) fn start(callback: Py<PyAny>) -> std::io::Result<Self> {
        let bell = Arc::new(Bell::default());
        let rung = Arc::clone(&bell);
        let thread = thread::Builder::new().name("zuno-waker".to_owned()).spawn(move || run(&rung, &callback))?;
        Ok(Self { bell, thread: Some(thread) })
    }

    /// What the core calls; never blocks.
    pub(crate) fn ringer(&self) -> impl Fn() + Send + Sync + 'static {
        let bell = Arc::clone(&self.bell);
        move || bell.ring()
    }

    /// Ends the thread and waits for it, without the interpreter.
    pub(crate) fn stop(mut self, py: Python<'_>) {
        self.bell.lock().stopped = true;
        self.bell.rung.notify_one();
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != thread::current().id()
        {
            py.detach(|| drop(thread.join()));
        }
    }
}

impl Drop for Waker {
    fn drop(&mut self) {
        if self.thread.is_some() {
            self.bell.lock().stopped = true;
            self.bell.rung.notify_one();
        }
    }
}

fn run(bell: &Bell, callback: &Py<PyAny>) {
    while bell.wait() {
        let called = Python::try_attach(|py| {
            if let Err(failure) = callback.call0(py) {
                failure.write_unraisable(py, Some(callback.bind(py)));
            }
        });
        if called.is_none() {
            return;
        }
    }
}
