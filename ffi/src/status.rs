//! The coarse outcome of a function. The fine one is the dotted code of the error.

use std::ffi::{CStr, c_char};

use crate::contain;

/// How a function ended: `ZUNO_OK` or one of the `ZUNO_STATUS_` values. Values are never reused; new ones may be added.
pub type zuno_status_t = i32;

/// It worked.
pub const ZUNO_OK: zuno_status_t = 0;
/// A defect of the library ended the call; everything else goes on (`internal.*`).
pub const ZUNO_STATUS_PANIC: zuno_status_t = 1;
/// The call would wait for the thread that makes it (`failed.would_deadlock`).
pub const ZUNO_STATUS_WOULD_DEADLOCK: zuno_status_t = 2;
/// An argument is not acceptable (`arguments.*`).
pub const ZUNO_STATUS_ARGUMENTS: zuno_status_t = 3;
/// Another runtime owns the object (`busy.*`).
pub const ZUNO_STATUS_BUSY: zuno_status_t = 4;
/// The runtime, session, request or question has ended (`closed.*`).
pub const ZUNO_STATUS_CLOSED: zuno_status_t = 5;
/// Things are not as the caller believed (`conflict.*`).
pub const ZUNO_STATUS_CONFLICT: zuno_status_t = 6;
/// The operation failed for a reason outside the library (`failed.*`).
pub const ZUNO_STATUS_FAILED: zuno_status_t = 7;
/// The operation was cancelled (`failed.canceled`).
pub const ZUNO_STATUS_CANCELED: zuno_status_t = 8;
/// The host did not answer, or answered with an error (`host.*`).
pub const ZUNO_STATUS_HOST: zuno_status_t = 9;
/// No object has that id (`not_found.*`).
pub const ZUNO_STATUS_NOT_FOUND: zuno_status_t = 10;
/// A rule, a person or a missing approval port refused (`permission.*`).
pub const ZUNO_STATUS_PERMISSION: zuno_status_t = 11;
/// No usable confinement on this machine (`sandbox.*`).
pub const ZUNO_STATUS_SANDBOX: zuno_status_t = 12;
/// The database cannot be used (`store.*`).
pub const ZUNO_STATUS_STORE: zuno_status_t = 13;
/// Something is not installed, configured or switched on (`unavailable.*`).
pub const ZUNO_STATUS_UNAVAILABLE: zuno_status_t = 14;
/// The program was compiled for another version of the interface (`arguments.abi`).
pub const ZUNO_STATUS_ABI: zuno_status_t = 15;

/// The name of a status without its prefix, such as "CLOSED"; "UNKNOWN" for a value this library does not have.
///
/// Ownership: the text is static. Threads: any. Errors: none. Since: 0.1
#[unsafe(no_mangle)]
pub extern "C" fn zuno_status_name(status: zuno_status_t) -> *const c_char {
    contain::value(c"UNKNOWN".as_ptr(), || name(status).as_ptr())
}

fn name(status: zuno_status_t) -> &'static CStr {
    match status {
        ZUNO_OK => c"OK",
        ZUNO_STATUS_PANIC => c"PANIC",
        ZUNO_STATUS_WOULD_DEADLOCK => c"WOULD_DEADLOCK",
        ZUNO_STATUS_ARGUMENTS => c"ARGUMENTS",
        ZUNO_STATUS_BUSY => c"BUSY",
        ZUNO_STATUS_CLOSED => c"CLOSED",
        ZUNO_STATUS_CONFLICT => c"CONFLICT",
        ZUNO_STATUS_FAILED => c"FAILED",
        ZUNO_STATUS_CANCELED => c"CANCELED",
        ZUNO_STATUS_HOST => c"HOST",
        ZUNO_STATUS_NOT_FOUND => c"NOT_FOUND",
        ZUNO_STATUS_PERMISSION => c"PERMISSION",
        ZUNO_STATUS_SANDBOX => c"SANDBOX",
        ZUNO_STATUS_STORE => c"STORE",
        ZUNO_STATUS_UNAVAILABLE => c"UNAVAILABLE",
        ZUNO_STATUS_ABI => c"ABI",
        _ => c"UNKNOWN",
    }
}

/// The status of an error: by its code where one has a status of its own, else by its family.
pub(crate) fn of_code(code: &str) -> zuno_status_t {
    match code {
        "failed.would_deadlock" => return ZUNO_STATUS_WOULD_DEADLOCK,
        "failed.canceled" => return ZUNO_STATUS_CANCELED,
        "arguments.abi" => return ZUNO_STATUS_ABI,
        _ => {}
    }
    match code.split('.').next().unwrap_or_default() {
        "internal" => ZUNO_STATUS_PANIC,
        "arguments" => ZUNO_STATUS_ARGUMENTS,
        "busy" => ZUNO_STATUS_BUSY,
        "closed" => ZUNO_STATUS_CLOSED,
        "conflict" => ZUNO_STATUS_CONFLICT,
        "host" => ZUNO_STATUS_HOST,
        "not_found" => ZUNO_STATUS_NOT_FOUND,
        "permission" => ZUNO_STATUS_PERMISSION,
        "sandbox" => ZUNO_STATUS_SANDBOX,
        "store" => ZUNO_STATUS_STORE,
        "unavailable" => ZUNO_STATUS_UNAVAILABLE,
        _ => ZUNO_STATUS_FAILED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_of_codes_has_a_status() {
        for entry in zuno::types::CODES {
            let status = of_code(entry.code);
            assert!(status != ZUNO_STATUS_FAILED || entry.code.starts_with("failed."), "{} has no status", entry.code);
            assert_ne!(name(status), c"UNKNOWN", "{}", entry.code);
        }
    }
}
