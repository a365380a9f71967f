//! The one native class: a runtime as the protocol sees it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use zuno::types::{Error, Result};
use zuno::wire::Wire;

use crate::blocking;
use crate::errors::{guarded, raise};
use crate::fork::Owner;
use crate::waker::Waker;

/// A runtime. Documents are JSON texts; any method may be called from any thread.
#[pyclass(frozen, module = "zuno._zuno")]
pub(crate) struct Core {
    /// `None` only while the object is being dropped.
    wire: Option<Arc<Wire>>,
    owner: Option<Owner>,
    waker: Mutex<Option<Waker>>,
    /// The `closed` item was handed out.
    ended: AtomicBool,
}

/// The last item of a queue.
const CLOSED: &str = r#"{"type":"closed"}"#;

#[pymethods]
impl Core {
    /// Opens a runtime from its options document.
    #[staticmethod]
    fn open(py: Python<'_>, options: &str) -> PyResult<Self> {
        guarded(py, || {
            let opened = py.detach(|| {
                let owner = Owner::claim()?;
                Wire::open(options).map(|wire| (owner, wire))
            });
            let (owner, wire) = opened.map_err(|error| raise(py, &error))?;
            Ok(Self { wire: Some(wire), owner: Some(owner), waker: Mutex::new(None), ended: AtomicBool::new(false) })
        })
    }

    /// Runs a method and waits for its result. Ctrl-C cancels it.
    fn call(&self, py: Python<'_>, method: &str, params: &str) -> PyResult<String> {
        guarded(py, || blocking::call(py, self.wire(py)?, method, params))
    }

    /// Starts a method; one `op` item with this id follows.
    fn start(&self, py: Python<'_>, method: &str, params: &str) -> PyResult<u64> {
        self.with(py, |wire| wire.start(method, params))
    }

    /// Cancels an operation; says whether it was still running.
    fn cancel(&self, py: Python<'_>, op: u64) -> PyResult<bool> {
        self.with(py, |wire| Ok(wire.cancel(op)))
    }

    /// Answers a request; says whether the answer was still wanted.
    fn respond(&self, py: Python<'_>, request: &str, answer: &str) -> PyResult<bool> {
        self.with(py, |wire| wire.respond(request, answer))
    }

    /// Answers a request with an error; says whether the answer was still wanted.
    fn fail(&self, py: Python<'_>, request: &str, code: &str, message: &str) -> PyResult<bool> {
        self.with(py, |wire| Ok(wire.fail(request, code, message)))
    }

    /// The next item; `None` when none came in `timeout` seconds (`None` = no limit), or after `closed`.
    #[pyo3(signature = (timeout=None))]
    fn next(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<String>> {
        guarded(py, || {
            let item = blocking::next(py, self.wire(py)?, &self.ended, timeout.map(seconds))?;
            self.note_end(item.as_deref());
            Ok(item)
        })
    }

    /// Items that are there, at most `limit`.
    fn drain(&self, py: Python<'_>, limit: usize) -> PyResult<Vec<String>> {
        let items = self.with(py, |wire| Ok(wire.drain(limit)))?;
        self.note_end(items.last().map(String::as_str));
        Ok(items)
    }

    /// Sets the function that is called, from a thread of its own, when an empty queue has got an item. `None` ends it.
    fn set_waker(&self, py: Python<'_>, callback: Option<Py<PyAny>>) -> PyResult<()> {
        guarded(py, || {
            let wire = self.wire(py)?;
            py.detach(|| wire.set_waker(None));
            if let Some(old) = self.take_waker() {
                old.stop(py);
            }
            let Some(callback) = callback else { return Ok(()) };
            let waker = Waker::start(callback)?;
            let ringer = waker.ringer();
            py.detach(|| wire.set_waker(Some(Box::new(ringer))));
            *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker);
            Ok(())
        })
    }

    /// Ends everything within `deadline` seconds. The last item is `closed`. In a forked child this does nothing.
    fn close(&self, py: Python<'_>, deadline: f64) -> PyResult<()> {
        guarded(py, || match (&self.wire, self.is_forked()) {
            (Some(wire), false) => blocking::close(py, wire, seconds(deadline)),
            _ => Ok(()),
        })
    }

    /// Whether this is a child of the process that opened the runtime.
    #[getter]
    fn forked(&self, py: Python<'_>) -> PyResult<bool> {
        guarded(py, || Ok(self.is_forked()))
    }
}

impl Core {
    fn is_forked(&self) -> bool {
        self.owner.as_ref().is_none_or(Owner::is_elsewhere)
    }

    fn wire(&self, py: Python<'_>) -> PyResult<&Arc<Wire>> {
        let (Some(owner), Some(wire)) = (&self.owner, &self.wire) else {
            return Err(raise(py, &Error::new("closed.object", "The runtime is closed; open another one.")));
        };
        owner.check().map_err(|error| raise(py, &error))?;
        Ok(wire)
    }

    fn note_end(&self, item: Option<&str>) {
        if item == Some(CLOSED) {
            self.ended.store(true, Ordering::Release);
        }
    }

    /// A short function of the wire, without the interpreter.
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&Wire) -> Result<T> + Send) -> PyResult<T> {
        guarded(py, || {
            let wire = self.wire(py)?;
            py.detach(|| work(wire)).map_err(|error| raise(py, &error))
        })
    }

    fn take_waker(&self) -> Option<Waker> {
        self.waker.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        if self.is_forked() {
            // The parent's threads, files and perhaps held locks: not ours to end.
            let waker = std::mem::take(&mut self.waker);
            std::mem::forget((self.wire.take(), self.owner.take(), waker));
            return;
        }
        let (wire, owner) = (self.wire.take(), self.owner.take());
        // Ending threads takes time, and this may be the collector on a thread that must not wait.
        drop(thread::Builder::new().name("zuno-drop".to_owned()).spawn(move || {
            drop(wire);
            drop(owner);
        }));
    }
}

/// Seconds as Python gives them; nonsense counts as none.
fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value.max(0.0)).unwrap_or(Duration::MAX)
}
