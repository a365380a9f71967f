//! Why a function did not succeed.

use std::ffi::c_char;

use zuno::types::Error;

use crate::status::{self, ZUNO_OK, zuno_status_t};
use crate::text::Terminated;
use crate::{contain, pointers};

/// An error: a stable dotted code, a sentence that says what to do next, details as JSON.
pub struct zuno_error_t {
    status: zuno_status_t,
    code: Terminated,
    message: Terminated,
    details: Terminated,
}

impl zuno_error_t {
    pub(crate) fn new(error: &Error) -> Self {
        Self {
            status: status::of_code(&error.code),
            code: Terminated::for_c(&error.code),
            message: Terminated::for_c(&error.message),
            details: Terminated::for_c(&error.details.to_string()),
        }
    }

    pub(crate) fn status(&self) -> zuno_status_t {
        self.status
    }
}

/// Nothing has gone wrong yet.
pub(crate) fn clear(place: *mut *mut zuno_error_t) {
    if !place.is_null() {
        // SAFETY: not NULL; writable, says the contract of every function with an `err`.
        unsafe { place.write(std::ptr::null_mut()) };
    }
}

/// Gives an error to the caller, if it wants to know more than the status.
pub(crate) fn report(place: *mut *mut zuno_error_t, error: &Error) -> zuno_status_t {
    let error = zuno_error_t::new(error);
    let status = error.status;
    if !place.is_null() {
        // SAFETY: as in `clear`.
        unsafe { place.write(Box::into_raw(Box::new(error))) };
    }
    status
}

/// The status the function returned. `ZUNO_OK` for NULL.
///
/// Ownership: borrows `error`. Threads: any. Errors: none. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_error_status(error: *const zuno_error_t) -> zuno_status_t {
    contain::value(ZUNO_OK, || {
        // SAFETY: a live handle or NULL, says the contract.
        unsafe { error.as_ref() }.map_or(ZUNO_OK, |error| error.status)
    })
}

/// The stable dotted code, such as "store.locked". Programs branch on it.
///
/// Ownership: borrows from `error`: valid until `zuno_error_free`. NULL for NULL. Threads: any. Errors: none. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_error_code(error: *const zuno_error_t) -> *const c_char {
    contain::value(std::ptr::null(), || {
        // SAFETY: a live handle or NULL, says the contract.
        unsafe { error.as_ref() }.map_or(std::ptr::null(), |error| error.code.as_ptr())
    })
}

/// A sentence for people, with the next step.
///
/// Ownership: borrows from `error`: valid until `zuno_error_free`. NULL for NULL. Threads: any. Errors: none. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_error_message(error: *const zuno_error_t) -> *const c_char {
    contain::value(std::ptr::null(), || {
        // SAFETY: a live handle or NULL, says the contract.
        unsafe { error.as_ref() }.map_or(std::ptr::null(), |error| error.message.as_ptr())
    })
}

/// Facts for programs: a JSON object.
///
/// Ownership: borrows from `error`: valid until `zuno_error_free`. NULL for NULL. Threads: any. Errors: none. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_error_details_json(error: *const zuno_error_t) -> *const c_char {
    contain::value(std::ptr::null(), || {
        // SAFETY: a live handle or NULL, says the contract.
        unsafe { error.as_ref() }.map_or(std::ptr::null(), |error| error.details.as_ptr())
    })
}

/// Frees an error. It needs no other handle. NULL is a no-op.
///
/// Ownership: consumes `error`. Threads: any. Errors: none. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_error_free(error: *mut zuno_error_t) {
    contain::value((), || {
        // SAFETY: a handle made by `report` and not freed before, or NULL.
        unsafe { pointers::free(error) }
    })
}
