//! Text that goes out and is owned by the caller.

use std::ffi::c_char;

use crate::text::Terminated;
use crate::{contain, pointers};

/// Text that belongs to the caller until `zuno_buf_free`: UTF-8, with a NUL after its last byte.
pub struct zuno_buf_t {
    text: Terminated,
}

impl zuno_buf_t {
    pub(crate) fn new(text: String) -> Self {
        Self { text: Terminated::new(text) }
    }
}

/// The bytes of a text, NUL-terminated.
///
/// Ownership: borrows from `buf`: valid until `zuno_buf_free`. NULL for NULL. Threads: any. Errors: none. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_buf_ptr(buf: *const zuno_buf_t) -> *const c_char {
    contain::value(std::ptr::null(), || {
        // SAFETY: a live handle or NULL, says the contract.
        unsafe { buf.as_ref() }.map_or(std::ptr::null(), |buf| buf.text.as_ptr())
    })
}

/// The length of a text in bytes, without the NUL. 0 for NULL.
///
/// Ownership: borrows `buf`. Threads: any. Errors: none. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_buf_len(buf: *const zuno_buf_t) -> usize {
    contain::value(0, || {
        // SAFETY: a live handle or NULL, says the contract.
        unsafe { buf.as_ref() }.map_or(0, |buf| buf.text.len())
    })
}

/// Frees a text. It needs no other handle, so it may be freed after its runtime. NULL is a no-op.
///
/// Ownership: consumes `buf`. Threads: any. Errors: none. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_buf_free(buf: *mut zuno_buf_t) {
    contain::value((), || {
        // SAFETY: a handle made by `pointers::Out::give` and not freed before, or NULL.
        unsafe { pointers::free(buf) }
    })
}
