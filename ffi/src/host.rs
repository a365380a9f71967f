//! What the program brings: functions the library calls.

use std::ffi::c_void;
use std::mem::{offset_of, size_of};
use std::ptr;

use zuno::types::{Error, Result};

use crate::error::zuno_error_t;
use crate::request::zuno_request_t;
use crate::status::zuno_status_t;
use crate::text::zuno_str_t;

/// The functions of a host. It is copied by `zuno_runtime_open`. Set `struct_size` to `sizeof(zuno_host_t)` and what is
/// not needed to NULL; the structure only grows at its end, so a program compiled against an older header goes on
/// working.
///
/// All functions are called in order from one dispatcher thread per runtime: never from inside a `zuno_` call, never
/// from a thread that works for the library. They must not throw or `longjmp`. They may call everything but
/// `zuno_runtime_free` of their own runtime, which answers `ZUNO_STATUS_WOULD_DEADLOCK`. A callback that waits in
/// `zuno_session_dispatch`, or in `zuno_runtime_call` of `session.dispatch` or `question.wait`, would keep back the very
/// requests it waits for: while it waits and until it returns, a second dispatcher thread delivers what follows.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zuno_host_t {
    /// `sizeof(zuno_host_t)`.
    pub struct_size: usize,
    /// Given to every function.
    pub user_data: *mut c_void,
    /// Work for the host, such as an approval. Consumes `request`: answer it now or later, from any thread, by
    /// `zuno_request_respond` or `zuno_request_fail`. NULL: every request is answered `host.unsupported`.
    pub on_request: Option<unsafe extern "C" fn(user_data: *mut c_void, request: *mut zuno_request_t)>,
    /// An event of a subscription, as JSON. Borrows `event`.
    pub on_event: Option<unsafe extern "C" fn(user_data: *mut c_void, subscription: u64, event: zuno_str_t)>,
    /// The answer to this request is no longer wanted. The request still has to be freed or answered. Borrows
    /// `request_id`.
    pub on_cancel: Option<unsafe extern "C" fn(user_data: *mut c_void, request_id: zuno_str_t)>,
    /// The last call of all: frees `user_data`, after `on_closed`. Not called when opening failed.
    pub user_data_free: Option<unsafe extern "C" fn(user_data: *mut c_void)>,
    /// The end of an operation, exactly one per `zuno_runtime_start`; `op_data` is what was given there. It may come
    /// before `zuno_runtime_start` has returned. `result` is JSON and `error` NULL when `status` is `ZUNO_OK`; otherwise
    /// `result` is `{NULL, 0}`. Borrows `result` and `error`.
    pub on_op: Option<
        unsafe extern "C" fn(
            user_data: *mut c_void,
            op_data: *mut c_void,
            op: u64,
            status: zuno_status_t,
            result: zuno_str_t,
            error: *const zuno_error_t,
        ),
    >,
    /// The runtime is closed: no request, event or operation follows.
    pub on_closed: Option<unsafe extern "C" fn(user_data: *mut c_void)>,
}

// SAFETY: the contract of the structure: its functions are called from threads of the library, with `user_data`.
unsafe impl Send for zuno_host_t {}
// SAFETY: as above.
unsafe impl Sync for zuno_host_t {}

/// The size of the first version of the structure.
const FIRST: usize = offset_of!(zuno_host_t, on_op);

impl zuno_host_t {
    /// The program's structure in the form this library knows; what an older program does not have is NULL.
    ///
    /// # Safety
    /// `host` points at `struct_size` readable bytes.
    pub(crate) unsafe fn copy(host: *const Self) -> Result<Self> {
        // SAFETY: every version starts with its size.
        let size = unsafe { ptr::read(host.cast::<usize>()) };
        if size < FIRST {
            let text =
                format!("`struct_size` is {size} and has to be sizeof(zuno_host_t), which is {}.", size_of::<Self>());
            return Err(Error::new("arguments.abi", text).with("structSize", size));
        }
        let known = size.min(size_of::<Self>());
        let mut copy = Self::none();
        // SAFETY: both sides have that many bytes; every pattern of a C function pointer, NULL included, is a value here.
        unsafe { ptr::copy_nonoverlapping(host.cast::<u8>(), (&raw mut copy).cast::<u8>(), known) };
        copy.struct_size = known;
        // SAFETY: the bytes between the known and the given size belong to the program's structure.
        let unknown = (known..size).any(|at| unsafe { ptr::read(host.cast::<u8>().add(at)) } != 0);
        if unknown {
            let text = "The host sets a function this version of the library does not know. Load the version of \
                        libzuno the program was compiled for, or leave it NULL.";
            return Err(Error::new("arguments.abi", text).with("structSize", size));
        }
        Ok(copy)
    }

    fn none() -> Self {
        Self {
            struct_size: size_of::<Self>(),
            user_data: ptr::null_mut(),
            on_request: None,
            on_event: None,
            on_cancel: None,
            user_data_free: None,
            on_op: None,
            on_closed: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_structure_has_no_newer_functions() {
        unsafe extern "C" fn closed(_: *mut c_void) {}
        let given = zuno_host_t { struct_size: FIRST, on_closed: Some(closed), ..zuno_host_t::none() };
        // SAFETY: a whole structure.
        let copy = unsafe { zuno_host_t::copy(&raw const given) }.unwrap();
        assert!(copy.on_closed.is_none(), "bytes behind struct_size were read");
    }

    #[test]
    fn a_newer_structure_is_taken_while_it_asks_for_nothing_new() {
        #[repr(C)]
        struct Newer {
            host: zuno_host_t,
            extra: usize,
        }
        let size = size_of::<Newer>();
        let mut newer = Newer { host: zuno_host_t { struct_size: size, ..zuno_host_t::none() }, extra: 0 };
        // SAFETY: `struct_size` bytes are there.
        assert!(unsafe { zuno_host_t::copy((&raw const newer).cast()) }.is_ok());
        newer.extra = 1;
        // SAFETY: as above.
        let refused = unsafe { zuno_host_t::copy((&raw const newer).cast()) };
        assert!(refused.is_err_and(|error| error.code == "arguments.abi"));
    }

    #[test]
    fn a_structure_without_its_size_is_refused() {
        let given = zuno_host_t { struct_size: 0, ..zuno_host_t::none() };
        // SAFETY: a whole structure.
        assert!(unsafe { zuno_host_t::copy(&raw const given) }.is_err());
    }
}
