//! Work for the host: answered once, later, from any thread.

use std::ffi::c_char;
use std::sync::{Arc, Weak};

use serde_json::Value;
use zuno::types::{Error, Result};

use crate::contain;
use crate::error::zuno_error_t;
use crate::pointers::{self, Out};
use crate::shared::Shared;
use crate::status::zuno_status_t;
use crate::text::{Terminated, zuno_str_t};

/// Work for the host. Exactly one of `zuno_request_respond`, `zuno_request_fail` and `zuno_request_free` ends it; it may
/// outlive its runtime. Two threads must not end the same request; everything else is safe.
pub struct zuno_request_t {
    // Weak: an unanswered request keeps no runtime alive.
    shared: Weak<Shared>,
    id: Terminated,
    kind: Terminated,
    payload: Terminated,
    // What the wire knows it by; empty once it was answered.
    open: Option<String>,
}

impl zuno_request_t {
    pub(crate) fn new(shared: &Arc<Shared>, id: String, kind: String, payload: &Value) -> Self {
        Self {
            shared: Arc::downgrade(shared),
            id: Terminated::new(id.clone()),
            kind: Terminated::new(kind),
            payload: Terminated::new(payload.to_string()),
            open: Some(id),
        }
    }

    fn respond(&mut self, answer: &str) -> Result<bool> {
        let (Some(shared), Some(id)) = (self.shared.upgrade(), self.open.as_deref()) else { return Ok(false) };
        let wanted = shared.wire().respond(id, answer)?;
        self.open = None;
        Ok(wanted)
    }

    pub(crate) fn fail(mut self, code: &str, message: &str) -> bool {
        self.end(code, message)
    }

    fn end(&mut self, code: &str, message: &str) -> bool {
        let Some(id) = self.open.take() else { return false };
        self.shared.upgrade().is_some_and(|shared| shared.wire().fail(&id, code, message))
    }
}

impl Drop for zuno_request_t {
    fn drop(&mut self) {
        self.end("host.dropped", "The host gave the request up without an answer.");
    }
}

fn null() -> Error {
    Error::new("arguments.null", "`request` is NULL and has to be given.").with("argument", "request")
}

/// The id of a request, the one that `on_cancel` names.
///
/// Ownership: borrows from `request`: valid until it is consumed. NULL for NULL. Threads: any. Errors: none. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_request_id(request: *const zuno_request_t) -> *const c_char {
    contain::value(std::ptr::null(), || {
        // SAFETY: a live handle or NULL, says the contract.
        unsafe { request.as_ref() }.map_or(std::ptr::null(), |request| request.id.as_ptr())
    })
}

/// What is asked for: "approval", "environment", "hostTool", "hook", "formatter". Fail a kind you do not know with
/// `host.unsupported`: kinds may be added.
///
/// Ownership: borrows from `request`: valid until it is consumed. NULL for NULL. Threads: any. Errors: none. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_request_kind(request: *const zuno_request_t) -> *const c_char {
    contain::value(std::ptr::null(), || {
        // SAFETY: a live handle or NULL, says the contract.
        unsafe { request.as_ref() }.map_or(std::ptr::null(), |request| request.kind.as_ptr())
    })
}

/// The details of a request, as JSON.
///
/// Ownership: borrows from `request`: valid until it is consumed. `{NULL, 0}` for NULL. Threads: any. Errors: none.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_request_payload(request: *const zuno_request_t) -> zuno_str_t {
    contain::value(zuno_str_t::EMPTY, || {
        // SAFETY: a live handle or NULL, says the contract.
        unsafe { request.as_ref() }.map_or(zuno_str_t::EMPTY, |request| request.payload.view())
    })
}

/// Answers a request. An answer that comes too late, after a cancellation or after the runtime was freed, is accepted and
/// dropped: `*wanted` is false then. An answer that is not JSON fails the request with `host.failed`.
///
/// Ownership: consumes `request`, also when it fails; borrows `answer`; `wanted` may be NULL. Threads: any.
/// Errors: `arguments.null`, `arguments.utf8`, `arguments.json`, `closed.forked`. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_request_respond(
    request: *mut zuno_request_t,
    answer: zuno_str_t,
    wanted: *mut bool,
    err: *mut *mut zuno_error_t,
) -> zuno_status_t {
    contain::fallible(err, || {
        // SAFETY: NULL or writable, says the contract.
        let wanted = unsafe { Out::value(wanted) };
        // SAFETY: a request that was not consumed before, or NULL, says the contract.
        let mut request = unsafe { pointers::take(request) }.ok_or_else(null)?;
        // SAFETY: borrowed for the call, says the contract.
        let answered = unsafe { answer.read("answer") }.and_then(|answer| request.respond(answer));
        if let Err(error) = &answered {
            request.end("host.failed", &error.message);
        }
        wanted.set(answered?);
        Ok(())
    })
}

/// Answers a request with an error: the call it belongs to is settled with it. Codes: "host.failed", "host.unsupported",
/// "host.dropped", "host.gone"; another one counts as "host.failed".
///
/// Ownership: consumes `request`, also when it fails; borrows `code` and `message`; `wanted` may be NULL. Threads: any.
/// Errors: `arguments.null`, `arguments.utf8`. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_request_fail(
    request: *mut zuno_request_t,
    code: zuno_str_t,
    message: zuno_str_t,
    wanted: *mut bool,
    err: *mut *mut zuno_error_t,
) -> zuno_status_t {
    contain::fallible(err, || {
        // SAFETY: NULL or writable, says the contract.
        let wanted = unsafe { Out::value(wanted) };
        // SAFETY: a request that was not consumed before, or NULL, says the contract.
        let request = unsafe { pointers::take(request) }.ok_or_else(null)?;
        // SAFETY: borrowed for the call, says the contract.
        let (code, message) = unsafe { (code.read("code")?, message.read("message")?) };
        wanted.set(request.fail(code, message));
        Ok(())
    })
}

/// Gives a request up: it is answered `host.dropped`. NULL is a no-op.
///
/// Ownership: consumes `request`. Threads: any. Errors: none. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_request_free(request: *mut zuno_request_t) {
    contain::value((), || {
        // SAFETY: a request that was not consumed before, or NULL, says the contract.
        unsafe { pointers::free(request) }
    })
}
