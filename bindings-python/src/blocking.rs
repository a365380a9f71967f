//! Waiting without the interpreter: other Python threads run, and Ctrl-C ends the wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use zuno::wire::Wire;

use crate::errors::raise;

/// Signals are looked at this often.
const SLICE: Duration = Duration::from_millis(50);

/// Python runs signal handlers on the main thread only; other threads wait in one piece.
#[cfg(target_os = "linux")]
fn receives_signals() -> bool {
    rustix::thread::gettid() == rustix::process::getpid()
}

#[cfg(not(target_os = "linux"))]
fn receives_signals() -> bool {
    true
}

/// Runs pending signal handlers; the exception that one raised ends the wait.
fn check_signals() -> PyResult<()> {
    Python::try_attach(|py| py.check_signals()).unwrap_or(Ok(()))
}

/// Runs a method. A signal handler that raises cancels it, and its exception is what the caller sees.
pub(crate) fn call(py: Python<'_>, wire: &Wire, method: &str, params: &str) -> PyResult<String> {
    if !receives_signals() {
        return py.detach(|| wire.call(method, params)).map_err(|error| raise(py, &error));
    }
    let mut interrupt = None;
    let result = py.detach(|| {
        wire.call_while(method, params, SLICE, &mut || match check_signals() {
            Ok(()) => true,
            Err(raised) => {
                interrupt.get_or_insert(raised);
                false
            }
        })
    });
    match interrupt {
        Some(raised) => Err(raised),
        None => result.map_err(|error| raise(py, &error)),
    }
}

/// The next item of the queue; `ended` says whether the last one was handed out.
pub(crate) fn next(
    py: Python<'_>,
    wire: &Wire,
    ended: &AtomicBool,
    timeout: Option<Duration>,
) -> PyResult<Option<String>> {
    if !receives_signals() {
        return Ok(py.detach(|| wire.next(timeout)));
    }
    let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    py.detach(|| {
        loop {
            let rest = until.map_or(SLICE, |until| until.saturating_duration_since(Instant::now()));
            if let Some(item) = wire.next(Some(rest.min(SLICE))) {
                return Ok(Some(item));
            }
            check_signals()?;
            if ended.load(Ordering::Acquire) || until.is_some_and(|until| Instant::now() >= until) {
                return Ok(None);
            }
        }
    })
}

/// Closes the runtime. When a signal ends the wait, closing goes on by itself.
pub(crate) fn close(py: Python<'_>, wire: &Arc<Wire>, deadline: Duration) -> PyResult<()> {
    let (done, wait) = channel();
    let closing = Arc::clone(wire);
    let thread = thread::Builder::new().name("zuno-close".to_owned()).spawn(move || {
        closing.close(deadline);
        done.send(()).unwrap_or(());
    });
    if thread.is_err() {
        py.detach(|| wire.close(deadline));
        return Ok(());
    }
    py.detach(move || {
        while let Err(RecvTimeoutError::Timeout) = wait.recv_timeout(SLICE) {
            check_signals()?;
        }
        Ok(())
    })
}
