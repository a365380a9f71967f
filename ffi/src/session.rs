//! Conveniences around a session.

use std::ffi::{c_char, c_void};
use std::sync::{Arc, Weak};

use serde_json::{Map, Value, json};
use zuno::types::{Error, Result};

use crate::buf::zuno_buf_t;
use crate::contain;
use crate::error::zuno_error_t;
use crate::pointers::{self, Out, required};
use crate::runtime::{parse, zuno_runtime_t};
use crate::shared::Shared;
use crate::status::zuno_status_t;
use crate::text::{Terminated, zuno_str_t};

/// A durable session: a folder, and everything that was called in it. Every function may be called from any thread at
/// once; `zuno_session_free` comes last. A session may outlive its runtime: its functions answer `closed.object` then.
pub struct zuno_session_t {
    // Weak: a session keeps no runtime open.
    shared: Weak<Shared>,
    id: String,
    id_for_c: Terminated,
}

impl zuno_session_t {
    fn made(shared: &Arc<Shared>, method: &str, params: &str) -> Result<Self> {
        let record = parse("record", &shared.call(method, params)?)?;
        let id = record.get("id").and_then(Value::as_str).map(str::to_owned);
        let id = id.ok_or_else(|| Error::new("failed.operation", "The session record has no id."))?;
        Ok(Self { shared: Arc::downgrade(shared), id_for_c: Terminated::for_c(&id), id })
    }

    fn shared(&self) -> Result<Arc<Shared>> {
        let gone = || Error::new("closed.object", "The runtime of this session was freed. Open a new one.");
        self.shared.upgrade().ok_or_else(gone)
    }

    /// Parameters that name this session.
    fn params(&self, fields: Value) -> String {
        let mut params = Map::new();
        params.insert("sessionId".to_owned(), json!(self.id));
        if let Value::Object(fields) = fields {
            params.extend(fields);
        }
        Value::Object(params).to_string()
    }

    pub(crate) fn call(&self, method: &str, fields: Value) -> Result<String> {
        self.shared()?.call(method, &self.params(fields))
    }

    /// Sends a command to a question, which is named by its own id.
    pub(crate) fn respond(&self, command: &Value) -> Result<String> {
        self.shared()?.call("question.respond", &command.to_string())
    }
}

/// Creates a session.
///
/// `params` is JSON: `{"directory", "agent"?, "mode"?, "title"?, "profile"?, "config"?, ...}`, the parameters of
/// `session.create`.
///
/// Ownership: borrows `runtime` and `params`; returns owned `*out`, freed by `zuno_session_free`. Threads: any; blocks
/// briefly. Errors: `arguments.*`, `store.*`, `closed.*`. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_session_create(
    runtime: *const zuno_runtime_t,
    params: zuno_str_t,
    out: *mut *mut zuno_session_t,
    err: *mut *mut zuno_error_t,
) -> zuno_status_t {
    contain::fallible(err, || {
        // SAFETY: NULL or writable, says the contract.
        let out = unsafe { Out::handle(out, "out")? };
        // SAFETY: a live handle or NULL, a borrowed text, says the contract.
        let (runtime, params) = unsafe { (required(runtime, "runtime")?, params.read("params")?) };
        out.give(zuno_session_t::made(runtime.shared(), "session.create", params)?);
        Ok(())
    })
}

/// Opens a session: the stored one for `{"sessionId"}`, a new one for `{"directory", ...}` as `zuno_session_create` takes
/// it.
///
/// Ownership: borrows `runtime` and `params`; returns owned `*out`, freed by `zuno_session_free`. Threads: any; blocks
/// briefly. Errors: `arguments.*`, `not_found.object`, `busy.session`, `store.*`, `closed.*`. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_session_open(
    runtime: *const zuno_runtime_t,
    params: zuno_str_t,
    out: *mut *mut zuno_session_t,
    err: *mut *mut zuno_error_t,
) -> zuno_status_t {
    contain::fallible(err, || {
        // SAFETY: NULL or writable, says the contract.
        let out = unsafe { Out::handle(out, "out")? };
        // SAFETY: a live handle or NULL, a borrowed text, says the contract.
        let (runtime, params) = unsafe { (required(runtime, "runtime")?, params.read("params")?) };
        let stored = !params.is_empty() && parse("params", params)?.get("sessionId").is_some();
        let method = if stored { "session.open" } else { "session.create" };
        out.give(zuno_session_t::made(runtime.shared(), method, params)?);
        Ok(())
    })
}

/// Frees the handle. The session itself stays as it is: open until `zuno_session_close`, and stored. NULL is a no-op.
///
/// Ownership: consumes `session`. Threads: any. Errors: none. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_session_free(session: *mut zuno_session_t) {
    contain::value((), || {
        // SAFETY: a handle made here and not freed before, or NULL.
        unsafe { pointers::free(session) }
    })
}

/// The id of a session; `zuno_session_open` finds it again, also after a restart.
///
/// Ownership: borrows from `session`: valid until `zuno_session_free`. NULL for NULL. Threads: any. Errors: none.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_session_id(session: *const zuno_session_t) -> *const c_char {
    contain::value(std::ptr::null(), || {
        // SAFETY: a live handle or NULL, says the contract.
        unsafe { session.as_ref() }.map_or(std::ptr::null(), |session| session.id_for_c.as_ptr())
    })
}

/// The record of a session as JSON: its directory, state, mode, title and the rest (`session.get`).
///
/// Ownership: borrows `session`; returns owned `*out`. Threads: any; blocks briefly. Errors: `arguments.null`, `store.*`,
/// `closed.*`. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_session_record(
    session: *const zuno_session_t,
    out: *mut *mut zuno_buf_t,
    err: *mut *mut zuno_error_t,
) -> zuno_status_t {
    contain::fallible(err, || {
        // SAFETY: NULL or writable, a live handle or NULL, says the contract.
        let (out, session) = unsafe { (Out::handle(out, "out")?, required(session, "session")?) };
        out.give(zuno_buf_t::new(session.call("session.get", Value::Null)?));
        Ok(())
    })
}

/// The tools of a session as a model's API wants them: `{"tools":[]}`. `format` is "native", "openai", "anthropic" or
/// "mcp"; empty means "native".
///
/// Ownership: borrows `session` and `format`; returns owned `*out`. Threads: any; blocks briefly. Errors: `arguments.*`,
/// `store.*`, `closed.*`. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_session_tools(
    session: *const zuno_session_t,
    format: zuno_str_t,
    out: *mut *mut zuno_buf_t,
    err: *mut *mut zuno_error_t,
) -> zuno_status_t {
    contain::fallible(err, || {
        // SAFETY: NULL or writable, a live handle or NULL, a borrowed text, says the contract.
        let (out, session, format) =
            unsafe { (Out::handle(out, "out")?, required(session, "session")?, format.read("format")?) };
        let fields = if format.is_empty() { Value::Null } else { json!({ "format": format }) };
        out.give(zuno_buf_t::new(session.call("session.tools", fields)?));
        Ok(())
    })
}

/// The calls of one model message, or an object with `calls` and `messageId` or `final`.
fn dispatch_fields(calls: &str) -> Result<Value> {
    Ok(match parse("calls", calls)? {
        calls @ Value::Array(_) => json!({ "calls": calls }),
        Value::Object(fields) => Value::Object(fields),
        _ => return Err(Error::arguments("`calls` has to be an array of calls, or an object with `calls`.")),
    })
}

/// Dispatches the calls of one model message and waits until all of them have settled.
///
/// `calls` is JSON: `[{"name", "arguments", "callId"?}]`, or an object with `calls` and `messageId` or `final`. The
/// result has one entry in `results` per call, in their order. A call that fails is an entry, not an error of this
/// function.
///
/// Ownership: borrows `session` and `calls`; returns owned `*out`. Threads: any; blocks the calling one, also while the
/// host decides. Errors: `arguments.*`, `conflict.call_changed`, `store.*`, `closed.*`. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_session_dispatch(
    session: *const zuno_session_t,
    calls: zuno_str_t,
    out: *mut *mut zuno_buf_t,
    err: *mut *mut zuno_error_t,
) -> zuno_status_t {
    contain::fallible(err, || {
        // SAFETY: NULL or writable, a live handle or NULL, a borrowed text, says the contract.
        let (out, session, calls) =
            unsafe { (Out::handle(out, "out")?, required(session, "session")?, calls.read("calls")?) };
        out.give(zuno_buf_t::new(session.call("session.dispatch", dispatch_fields(calls)?)?));
        Ok(())
    })
}

/// Dispatches calls without waiting: as `zuno_runtime_start` of `session.dispatch`. `zuno_runtime_cancel` cancels it.
///
/// Ownership: borrows `session` and `calls`; `op` may be NULL. Threads: any; does not block. Errors: `arguments.*`,
/// `closed.*`: no end follows then. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_session_start_dispatch(
    session: *const zuno_session_t,
    calls: zuno_str_t,
    op_data: *mut c_void,
    op: *mut u64,
    err: *mut *mut zuno_error_t,
) -> zuno_status_t {
    contain::fallible(err, || {
        // SAFETY: NULL or writable, says the contract.
        let op = unsafe { Out::value(op) };
        // SAFETY: a live handle or NULL, a borrowed text, says the contract.
        let (session, calls) = unsafe { (required(session, "session")?, calls.read("calls")?) };
        let params = session.params(dispatch_fields(calls)?);
        op.set(session.shared()?.start("session.dispatch", &params, op_data)?);
        Ok(())
    })
}

/// Interrupts what runs in a session. `*interrupted` says whether something ran.
///
/// Ownership: borrows `session`; `interrupted` may be NULL. Threads: any; blocks briefly. Errors: `arguments.null`,
/// `store.*`, `closed.*`. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_session_interrupt(
    session: *const zuno_session_t,
    interrupted: *mut bool,
    err: *mut *mut zuno_error_t,
) -> zuno_status_t {
    contain::fallible(err, || {
        // SAFETY: NULL or writable, says the contract.
        let interrupted = unsafe { Out::value(interrupted) };
        // SAFETY: a live handle or NULL, says the contract.
        let session = unsafe { required(session, "session")? };
        let answer = parse("answer", &session.call("session.interrupt", Value::Null)?)?;
        interrupted.set(answer.get("interrupted").and_then(Value::as_bool).unwrap_or_default());
        Ok(())
    })
}

/// Closes a session and gives it back, so that another process may open it. Its handle stays valid.
///
/// Ownership: borrows `session`. Threads: any; blocks until running calls have settled. Errors: `arguments.null`,
/// `store.*`, `closed.*`. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_session_close(
    session: *const zuno_session_t,
    err: *mut *mut zuno_error_t,
) -> zuno_status_t {
    contain::fallible(err, || {
        // SAFETY: a live handle or NULL, says the contract.
        let session = unsafe { required(session, "session")? };
        session.call("session.close", Value::Null).map(drop)
    })
}

/// Subscribes to the events of a session: `on_event` calls (push), or `event` items (pull). `after` < 0 starts now,
/// otherwise with the stored events after that number. `live` adds progress that is not stored.
///
/// Ownership: borrows `session`; `subscription` may be NULL. Threads: any; blocks briefly. Errors: `arguments.null`,
/// `store.*`, `closed.*`. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_session_subscribe(
    session: *const zuno_session_t,
    after: i64,
    live: bool,
    subscription: *mut u64,
    err: *mut *mut zuno_error_t,
) -> zuno_status_t {
    contain::fallible(err, || {
        // SAFETY: NULL or writable, says the contract.
        let subscription = unsafe { Out::value(subscription) };
        // SAFETY: a live handle or NULL, says the contract.
        let session = unsafe { required(session, "session")? };
        let after = (after >= 0).then_some(after);
        let answer = session.call("event.subscribe", json!({ "after": after, "live": live }))?;
        let id = parse("answer", &answer)?.get("subscriptionId").and_then(Value::as_u64);
        subscription.set(id.unwrap_or_default());
        Ok(())
    })
}

/// Reads stored events after a number: `{"events":[], "last"}`. `limit` 0 means the library's page; at most 1000.
///
/// Ownership: borrows `session`; returns owned `*out`. Threads: any; blocks briefly. Errors: `arguments.*`, `store.*`,
/// `closed.*`. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_session_events(
    session: *const zuno_session_t,
    after: i64,
    limit: u32,
    out: *mut *mut zuno_buf_t,
    err: *mut *mut zuno_error_t,
) -> zuno_status_t {
    contain::fallible(err, || {
        // SAFETY: NULL or writable, a live handle or NULL, says the contract.
        let (out, session) = unsafe { (Out::handle(out, "out")?, required(session, "session")?) };
        let limit = (limit > 0).then_some(limit);
        out.give(zuno_buf_t::new(session.call("event.read", json!({ "after": after, "limit": limit }))?));
        Ok(())
    })
}
