//! A runtime: the functions of the protocol.

use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use zuno::types::{Error, Result};

use crate::buf::zuno_buf_t;
use crate::contain;
use crate::error::zuno_error_t;
use crate::host::zuno_host_t;
use crate::pointers::{self, Out, required};
use crate::shared::Shared;
use crate::status::zuno_status_t;
use crate::text::zuno_str_t;
use crate::version::ZUNO_ABI_VERSION;

/// A runtime: a database, its sessions, and one ordered queue of items for the program. Every function may be called
/// from any thread at once; `zuno_runtime_free` comes last.
pub struct zuno_runtime_t {
    shared: Arc<Shared>,
}

impl zuno_runtime_t {
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

/// How long `zuno_runtime_free` lets running work settle.
const FREE_DEADLINE: Duration = Duration::from_secs(5);

/// Ports that ask only for what the host's own rules, tools and hooks lead to.
const DEFAULT_PORTS: [&str; 3] = ["approval", "hostTool", "hook"];

/// Opens a runtime.
///
/// `options` is JSON: `{"database"?, "ports"?, "config"?, "readGlobal"?, "readEnvironment"?, "readProject"?}`. `ports`
/// names the kinds of requests the host answers; left out, they are "approval", "hostTool" and "hook" for a host with
/// `on_request`, else none. With a `host` its functions are called from a dispatcher thread (push). With NULL the program
/// asks by `zuno_runtime_next` (pull).
///
/// Ownership: borrows `options` and `host`, which is copied; returns owned `*out`, freed by `zuno_runtime_free`.
/// Threads: any. Errors: `arguments.abi` for another `abi_version` or a wrong `struct_size`, `arguments.*`, `store.*`;
/// nothing is open then and `user_data_free` is not called. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_runtime_open(
    abi_version: u32,
    options: zuno_str_t,
    host: *const zuno_host_t,
    out: *mut *mut zuno_runtime_t,
    err: *mut *mut zuno_error_t,
) -> zuno_status_t {
    contain::fallible(err, || {
        // SAFETY: NULL or writable, says the contract.
        let out = unsafe { Out::handle(out, "out")? };
        check_version(abi_version)?;
        // SAFETY: borrowed for the call, says the contract.
        let options = unsafe { options.read("options")? };
        // SAFETY: NULL or a structure of `struct_size` bytes, says the contract.
        let host = if host.is_null() { None } else { Some(unsafe { zuno_host_t::copy(host)? }) };
        let answers = host.is_some_and(|host| host.on_request.is_some());
        let shared = if answers { Shared::open(&with_ports(options)?, host)? } else { Shared::open(options, host)? };
        out.give(zuno_runtime_t { shared });
        Ok(())
    })
}

fn check_version(given: u32) -> Result<()> {
    if given == ZUNO_ABI_VERSION {
        return Ok(());
    }
    let text = format!(
        "The program was compiled for version {given} of the C interface and the loaded library has version \
         {ZUNO_ABI_VERSION}. Pass ZUNO_ABI_VERSION, and compile against the zuno.h of the library you load."
    );
    Err(Error::new("arguments.abi", text).with("given", given).with("library", ZUNO_ABI_VERSION))
}

/// The options, naming the ports of a host that did not name them.
fn with_ports(options: &str) -> Result<String> {
    let mut document = if options.trim().is_empty() { json!({}) } else { parse("options", options)? };
    if let Value::Object(fields) = &mut document
        && !fields.contains_key("ports")
    {
        fields.insert("ports".to_owned(), json!(DEFAULT_PORTS));
    }
    Ok(document.to_string())
}

/// Reads a JSON argument.
pub(crate) fn parse(name: &str, text: &str) -> Result<Value> {
    serde_json::from_str(text)
        .map_err(|error| Error::new("arguments.json", format!("`{name}` is not JSON: {error}.")).with("argument", name))
}

/// Runs a method and waits for its result. The methods are listed in docs/protocol.md.
///
/// Ownership: borrows `runtime`, `method` and `params` (JSON; empty text means `{}`); returns owned `*out`, the result as
/// JSON. Threads: any; blocks the calling one. Errors: `arguments.*`, `closed.*`, and what the method answers. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_runtime_call(
    runtime: *const zuno_runtime_t,
    method: zuno_str_t,
    params: zuno_str_t,
    out: *mut *mut zuno_buf_t,
    err: *mut *mut zuno_error_t,
) -> zuno_status_t {
    contain::fallible(err, || {
        // SAFETY: NULL or writable, says the contract.
        let out = unsafe { Out::handle(out, "out")? };
        // SAFETY: a live handle or NULL, borrowed texts, says the contract.
        let (runtime, method, params) =
            unsafe { (required(runtime, "runtime")?, method.read("method")?, params.read("params")?) };
        out.give(zuno_buf_t::new(runtime.shared.call(method, params)?));
        Ok(())
    })
}

/// Starts a method and returns at once. Exactly one end follows, also when the runtime is closed: `on_op` with `op_data`
/// (push), or an item `{"type":"op","id","result","error"}` (pull; `op_data` is not used there).
///
/// Ownership: borrows `runtime`, `method` and `params`; `op` may be NULL. Threads: any; does not block.
/// Errors: `arguments.null`, `arguments.utf8`, `closed.*`: no end follows then. Everything else is told by the end.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_runtime_start(
    runtime: *const zuno_runtime_t,
    method: zuno_str_t,
    params: zuno_str_t,
    op_data: *mut c_void,
    op: *mut u64,
    err: *mut *mut zuno_error_t,
) -> zuno_status_t {
    contain::fallible(err, || {
        // SAFETY: NULL or writable, says the contract.
        let op = unsafe { Out::value(op) };
        // SAFETY: a live handle or NULL, borrowed texts, says the contract.
        let (runtime, method, params) =
            unsafe { (required(runtime, "runtime")?, method.read("method")?, params.read("params")?) };
        op.set(runtime.shared.start(method, params, op_data)?);
        Ok(())
    })
}

/// Cancels an operation. Its end still follows. `*running` says whether there was something to cancel.
///
/// Ownership: borrows `runtime`; `running` may be NULL. Threads: any; does not block. Errors: `arguments.null`.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_runtime_cancel(
    runtime: *const zuno_runtime_t,
    op: u64,
    running: *mut bool,
    err: *mut *mut zuno_error_t,
) -> zuno_status_t {
    contain::fallible(err, || {
        // SAFETY: NULL or writable, says the contract.
        let running = unsafe { Out::value(running) };
        // SAFETY: a live handle or NULL, says the contract.
        let runtime = unsafe { required(runtime, "runtime")? };
        running.set(runtime.shared.wire().cancel(op));
        Ok(())
    })
}

/// Answers a request by its id (pull). `*wanted` says whether the answer was still wanted.
///
/// Ownership: borrows `runtime`, `request_id` and `answer` (JSON); `wanted` may be NULL. Threads: any; does not block.
/// Errors: `arguments.null`, `arguments.utf8`, `arguments.json` (the request stays open), `closed.forked`. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_runtime_respond(
    runtime: *const zuno_runtime_t,
    request_id: zuno_str_t,
    answer: zuno_str_t,
    wanted: *mut bool,
    err: *mut *mut zuno_error_t,
) -> zuno_status_t {
    contain::fallible(err, || {
        // SAFETY: NULL or writable, says the contract.
        let wanted = unsafe { Out::value(wanted) };
        // SAFETY: a live handle or NULL, borrowed texts, says the contract.
        let (runtime, request_id, answer) =
            unsafe { (required(runtime, "runtime")?, request_id.read("request_id")?, answer.read("answer")?) };
        wanted.set(runtime.shared.wire().respond(request_id, answer)?);
        Ok(())
    })
}

/// Answers a request with an error by its id (pull); codes as for `zuno_request_fail`.
///
/// Ownership: borrows `runtime`, `request_id`, `code` and `message`; `wanted` may be NULL. Threads: any; does not block.
/// Errors: `arguments.null`, `arguments.utf8`. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_runtime_fail(
    runtime: *const zuno_runtime_t,
    request_id: zuno_str_t,
    code: zuno_str_t,
    message: zuno_str_t,
    wanted: *mut bool,
    err: *mut *mut zuno_error_t,
) -> zuno_status_t {
    contain::fallible(err, || {
        // SAFETY: NULL or writable, says the contract.
        let wanted = unsafe { Out::value(wanted) };
        // SAFETY: a live handle or NULL, borrowed texts, says the contract.
        let (runtime, request_id, code, message) = unsafe {
            let runtime = required(runtime, "runtime")?;
            (runtime, request_id.read("request_id")?, code.read("code")?, message.read("message")?)
        };
        wanted.set(runtime.shared.wire().fail(request_id, code, message));
        Ok(())
    })
}

/// The next item of the queue as JSON (pull): an event, a request, a withdrawn request, the end of an operation, or
/// `{"type":"closed"}`, the last one. `*out` is NULL when none came within `timeout_ms`; a negative value waits without
/// limit, 0 does not wait.
///
/// Ownership: borrows `runtime`; returns owned `*out`. Threads: any, also several at once: each item goes to one of them.
/// Errors: `closed.object` after the last item, `unavailable.feature` in push mode, `arguments.null`, `closed.forked`.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_runtime_next(
    runtime: *const zuno_runtime_t,
    timeout_ms: i64,
    out: *mut *mut zuno_buf_t,
    err: *mut *mut zuno_error_t,
) -> zuno_status_t {
    contain::fallible(err, || {
        // SAFETY: NULL or writable, says the contract.
        let out = unsafe { Out::handle(out, "out")? };
        // SAFETY: a live handle or NULL, says the contract.
        let runtime = unsafe { required(runtime, "runtime")? };
        let timeout = u64::try_from(timeout_ms).ok().map(Duration::from_millis);
        if let Some(item) = runtime.shared.next(timeout)? {
            out.give(zuno_buf_t::new(item));
        }
        Ok(())
    })
}

/// A descriptor for `poll`, `epoll` or an event loop (pull). While it is readable, call `zuno_runtime_next` with timeout 0
/// until it gives NULL or an error. Do not read, write or close it.
///
/// Ownership: borrows from `runtime`: `*fd` is valid until `zuno_runtime_free`. Threads: any; does not block.
/// Errors: `unavailable.feature` in push mode, `arguments.null`, `closed.forked`, `failed.operation`. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_runtime_fd(
    runtime: *const zuno_runtime_t,
    fd: *mut c_int,
    err: *mut *mut zuno_error_t,
) -> zuno_status_t {
    contain::fallible(err, || {
        // SAFETY: NULL or writable, says the contract.
        let fd = unsafe { Out::value(fd) };
        fd.set(-1);
        // SAFETY: a live handle or NULL, says the contract.
        let runtime = unsafe { required(runtime, "runtime")? };
        fd.set(runtime.shared.descriptor()?);
        Ok(())
    })
}

/// Closes a runtime; its handle stays valid. In this order: 1 nothing new starts; 2 running calls are interrupted;
/// 3 they may settle until the deadline; 4 open requests end with `host.gone`; 5 every operation gets its end; 6 sessions
/// are given back; 7 `closed` is the last item. Requests and answers that come later are dropped. A second call is a
/// no-op.
///
/// Ownership: borrows `runtime`. Threads: any; blocks until step 7, at most about `deadline_ms` (negative counts as 0).
/// Errors: `arguments.null`. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_runtime_close(
    runtime: *const zuno_runtime_t,
    deadline_ms: i64,
    err: *mut *mut zuno_error_t,
) -> zuno_status_t {
    contain::fallible(err, || {
        // SAFETY: a live handle or NULL, says the contract.
        let runtime = unsafe { required(runtime, "runtime")? };
        runtime.shared.wire().close(Duration::from_millis(u64::try_from(deadline_ms).unwrap_or(0)));
        Ok(())
    })
}

/// Closes a runtime, with 5 seconds for running work, and frees it: 8 the callback that runs returns; 9 what is left of
/// the queue is delivered, `on_closed` last; 10 `user_data_free` is called; 11 the threads of the runtime have ended. Then
/// it returns. NULL is a no-op. In a forked child it does nothing.
///
/// It waits for a running callback, so do not hold a lock that a callback takes. No other function may use the handle
/// at the same time or later; sessions and requests may: they answer `closed.object`.
///
/// Ownership: consumes `runtime`, unless it answers `ZUNO_STATUS_WOULD_DEADLOCK`: then a callback of this very runtime
/// called it, nothing happened and the handle is still valid. Threads: any other; blocks. Errors: that status, or
/// `ZUNO_STATUS_PANIC`; a destructor has no `err`. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_runtime_free(runtime: *mut zuno_runtime_t) -> zuno_status_t {
    contain::fallible(std::ptr::null_mut(), || {
        // SAFETY: a live handle or NULL, says the contract.
        let Some(handle) = (unsafe { runtime.as_ref() }) else { return Ok(()) };
        let shared = &handle.shared;
        if shared.is_elsewhere() {
            // The threads do not exist here, and the memory is a copy that ends with the process.
            return Ok(());
        }
        if shared.push().is_some_and(|push| push.is_dispatcher()) {
            let text = "A callback cannot free the runtime that calls it. Let another thread do it.";
            return Err(Error::new("failed.would_deadlock", text));
        }
        shared.wire().close(FREE_DEADLINE);
        if let Some(push) = shared.push() {
            push.join();
        }
        // SAFETY: a handle made by `zuno_runtime_open` and not freed before; the last use, says the contract.
        unsafe { pointers::free(runtime) };
        Ok(())
    })
}

/// Ends a subscription. Events that are on their way may still come. `*removed` says whether it was there.
///
/// Ownership: borrows `runtime`; `removed` may be NULL. Threads: any; blocks briefly. Errors: `arguments.null`,
/// `closed.*`. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_runtime_unsubscribe(
    runtime: *const zuno_runtime_t,
    subscription: u64,
    removed: *mut bool,
    err: *mut *mut zuno_error_t,
) -> zuno_status_t {
    contain::fallible(err, || {
        // SAFETY: NULL or writable, says the contract.
        let removed = unsafe { Out::value(removed) };
        // SAFETY: a live handle or NULL, says the contract.
        let runtime = unsafe { required(runtime, "runtime")? };
        let params = json!({ "subscriptionId": subscription }).to_string();
        let answer = parse("answer", &runtime.shared.call("event.unsubscribe", &params)?)?;
        removed.set(answer.get("removed").and_then(Value::as_bool).unwrap_or_default());
        Ok(())
    })
}
