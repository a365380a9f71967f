//! What every exported body runs in: no panic leaves the library.

use std::panic::{AssertUnwindSafe, catch_unwind};

use zuno::types::{Error, Result};

use crate::error::{self, zuno_error_t};
use crate::status::{ZUNO_OK, zuno_status_t};

/// Runs a body that may fail and reports how it ended.
pub(crate) fn fallible(err: *mut *mut zuno_error_t, body: impl FnOnce() -> Result<()>) -> zuno_status_t {
    error::clear(err);
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => ZUNO_OK,
        Ok(Err(error)) => error::report(err, &error),
        Err(payload) => {
            forget(payload);
            error::report(err, &panicked())
        }
    }
}

/// Runs a body that has an answer for everything; a panic answers `otherwise`.
pub(crate) fn value<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| {
        forget(payload);
        otherwise
    })
}

/// Dropping what a panic carried may panic again, outside of everything that catches.
fn forget(payload: Box<dyn std::any::Any + Send>) {
    std::mem::forget(payload);
}

fn panicked() -> Error {
    Error::new("internal.panic", "A defect of the library ended this call. Everything else goes on.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::{ZUNO_STATUS_CLOSED, ZUNO_STATUS_PANIC};

    #[test]
    fn a_panic_becomes_a_status_and_an_error() {
        let mut err = std::ptr::null_mut();
        assert_eq!(fallible(&raw mut err, || panic!("a defect")), ZUNO_STATUS_PANIC);
        // SAFETY: written by `fallible` just now.
        let error = unsafe { Box::from_raw(err) };
        assert_eq!(error.status(), ZUNO_STATUS_PANIC);
    }

    #[test]
    fn a_panic_whose_payload_panics_too_stays_inside() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("again");
            }
        }
        assert_eq!(value(7, || std::panic::panic_any(Bomb)), 7);
    }

    #[test]
    fn an_error_needs_no_place() {
        let closed = || Err(Error::new("closed.object", "closed"));
        assert_eq!(fallible(std::ptr::null_mut(), closed), ZUNO_STATUS_CLOSED);
    }
}
