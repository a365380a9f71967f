//! Text that comes in.

use std::ffi::c_char;
use std::slice;

use zuno::types::{Error, Result};

/// UTF-8 text as a pointer and a length in bytes. `{NULL, 0}` is the empty text. Text that the library hands out in this
/// form to a callback has a NUL after its last byte, which `len` does not count.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zuno_str_t {
    /// The bytes; may be NULL when `len` is 0.
    pub ptr: *const c_char,
    /// How many.
    pub len: usize,
}

impl zuno_str_t {
    pub(crate) const EMPTY: Self = Self { ptr: std::ptr::null(), len: 0 };

    /// A view of text that has a NUL after its last byte or is read by its length only.
    pub(crate) fn view(text: &str) -> Self {
        Self { ptr: text.as_ptr().cast(), len: text.len() }
    }

    /// The text.
    ///
    /// # Safety
    /// `ptr` points at `len` bytes that stay what they are for `'a`.
    pub(crate) unsafe fn read<'a>(self, name: &'static str) -> Result<&'a str> {
        if self.len == 0 {
            return Ok("");
        }
        if self.ptr.is_null() {
            let text = format!("`{name}` has a length and no bytes. Give a pointer, or the length 0.");
            return Err(Error::new("arguments.null", text).with("argument", name));
        }
        if isize::try_from(self.len).is_err() {
            return Err(Error::arguments(format!("The length of `{name}` is not one an object can have.")));
        }
        // SAFETY: not NULL, not longer than an object can be; the rest is the caller's promise.
        let bytes = unsafe { slice::from_raw_parts(self.ptr.cast::<u8>(), self.len) };
        std::str::from_utf8(bytes).map_err(|error| {
            let at = error.valid_up_to();
            let text = format!("`{name}` is not UTF-8 from byte {at} on. Convert it before the call.");
            Error::new("arguments.utf8", text).with("argument", name).with("offset", at)
        })
    }
}

/// Text that goes out with a NUL after its last byte.
pub(crate) struct Terminated(String);

impl Terminated {
    pub(crate) fn new(mut text: String) -> Self {
        text.push('\0');
        Self(text)
    }

    /// For readers that stop at the first NUL: one inside the text is shown as U+FFFD.
    pub(crate) fn for_c(text: &str) -> Self {
        Self::new(text.replace('\0', "\u{fffd}"))
    }

    pub(crate) fn as_ptr(&self) -> *const c_char {
        self.0.as_ptr().cast()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len() - 1
    }

    pub(crate) fn view(&self) -> zuno_str_t {
        zuno_str_t { ptr: self.as_ptr(), len: self.len() }
    }
}
