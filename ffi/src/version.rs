//! What was compiled against what.

use std::ffi::c_char;

use crate::contain;

/// The version of this interface. Programs give it to `zuno_runtime_open`, which refuses another one.
pub const ZUNO_ABI_VERSION: u32 = 1;

/// The version of the interface that the loaded library has.
///
/// Threads: any. Errors: none. Since: 0.1
#[unsafe(no_mangle)]
pub extern "C" fn zuno_abi_version() -> u32 {
    contain::value(0, || ZUNO_ABI_VERSION)
}

/// The version of the loaded library, such as "0.1.0".
///
/// Ownership: the text is static. Threads: any. Errors: none. Since: 0.1
#[unsafe(no_mangle)]
pub extern "C" fn zuno_version() -> *const c_char {
    contain::value(c"".as_ptr(), || concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast())
}
