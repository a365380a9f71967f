//! Raw pointers become references, boxes and errors here and nowhere else.

use zuno::types::{Error, Result};

/// A pointer that has to be given.
///
/// # Safety
/// NULL, or a live object that stays one for `'a`.
pub(crate) unsafe fn required<'a, T>(pointer: *const T, name: &'static str) -> Result<&'a T> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(name))
}

fn null(name: &'static str) -> Error {
    Error::new("arguments.null", format!("`{name}` is NULL and has to be given.")).with("argument", name)
}

/// A place for a result.
pub(crate) struct Out<T>(*mut T);

impl<T> Out<*mut T> {
    /// The place, set to NULL: it holds something only after success.
    ///
    /// # Safety
    /// NULL, or writable until the exported function returns.
    pub(crate) unsafe fn handle(place: *mut *mut T, name: &'static str) -> Result<Self> {
        if place.is_null() {
            return Err(null(name));
        }
        // SAFETY: writable, says the caller.
        unsafe { place.write(std::ptr::null_mut()) };
        Ok(Self(place))
    }

    /// Hands an object over to the program.
    pub(crate) fn give(self, value: T) {
        // SAFETY: checked and promised in `handle`.
        unsafe { self.0.write(Box::into_raw(Box::new(value))) };
    }
}

impl<T: Default> Out<T> {
    /// A place for a plain value, set to its default. It may be NULL: then nobody wants to know.
    ///
    /// # Safety
    /// NULL, or writable until the exported function returns.
    pub(crate) unsafe fn value(place: *mut T) -> Self {
        let out = Self(place);
        out.set(T::default());
        out
    }

    pub(crate) fn set(&self, value: T) {
        if !self.0.is_null() {
            // SAFETY: writable, says the caller of `value`.
            unsafe { self.0.write(value) };
        }
    }
}

/// Takes an object back from the program and drops it. NULL is a no-op.
///
/// # Safety
/// NULL, or made by [`Out::give`] and not taken back before.
pub(crate) unsafe fn free<T>(pointer: *mut T) {
    // SAFETY: the caller's promise.
    drop(unsafe { take(pointer) });
}

/// Takes an object back from the program.
///
/// # Safety
/// As [`free`].
pub(crate) unsafe fn take<T>(pointer: *mut T) -> Option<Box<T>> {
    // SAFETY: not NULL; made by a box and not taken before, says the caller.
    (!pointer.is_null()).then(|| unsafe { Box::from_raw(pointer) })
}
