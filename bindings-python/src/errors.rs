//! Errors of the core become exceptions that the Python package defines.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use zuno::types::{CODES, Error};

/// Runs the body of an exported function. A panic becomes `internal.panic`, so a defect of the library never ends
/// the host.
pub(crate) fn guarded<T>(py: Python<'_>, body: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(result) => result,
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            let message = "The library met a defect of its own; the call was ended. Please report it with the details.";
            Err(raise(py, &Error::new("internal.panic", message).with("panic", text)))
        }
    }
}

/// The exception for an error of the core: `zuno.ZunoError` or the subclass its code belongs to.
pub(crate) fn raise(py: Python<'_>, error: &Error) -> PyErr {
    static FACTORY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let make = || {
        let factory = FACTORY.import(py, "zuno._errors", "from_native")?;
        factory.call1((error.code.as_str(), error.message.as_str(), error.details.to_string()))
    };
    make().map_or_else(|failure| failure, PyErr::from_value)
}

/// Every dotted code of the library with its meaning.
#[pyo3::pyfunction]
pub(crate) fn error_codes(py: Python<'_>) -> PyResult<Vec<(&'static str, &'static str)>> {
    guarded(py, || Ok(CODES.iter().map(|entry| (entry.code, entry.meaning)).collect()))
}
