//! Documents read and texts quoted, for programs without a JSON library.

use std::ffi::{c_char, c_int};

use serde_json::Value;

use crate::buf::zuno_buf_t;
use crate::contain;
use crate::error::zuno_error_t;
use crate::pointers::{self, Out, required};
use crate::runtime::parse;
use crate::status::zuno_status_t;
use crate::text::zuno_str_t;

/// A JSON document, or a part of one. Parts belong to their document: only the whole is freed. It does not change, so
/// any number of threads may read it.
pub struct zuno_json_t {
    // A pointer to one is a pointer to a `Value`, so that parts need no object of their own.
    _opaque: (),
}

/// The value is absent: what `zuno_json_type` answers for NULL.
pub const ZUNO_JSON_ABSENT: c_int = 0;
/// `null`
pub const ZUNO_JSON_NULL: c_int = 1;
/// `true` or `false`
pub const ZUNO_JSON_BOOL: c_int = 2;
/// A number.
pub const ZUNO_JSON_NUMBER: c_int = 3;
/// A string.
pub const ZUNO_JSON_STRING: c_int = 4;
/// An array.
pub const ZUNO_JSON_ARRAY: c_int = 5;
/// An object.
pub const ZUNO_JSON_OBJECT: c_int = 6;

/// # Safety
/// NULL, or a live document or part.
unsafe fn value<'a>(json: *const zuno_json_t) -> Option<&'a Value> {
    // SAFETY: the caller's promise.
    unsafe { json.cast::<Value>().as_ref() }
}

fn part(found: Option<&Value>) -> *const zuno_json_t {
    found.map_or(std::ptr::null(), |value| std::ptr::from_ref(value).cast())
}

/// Reads a document.
///
/// Ownership: borrows `text`; returns owned `*out`, freed by `zuno_json_free`. Threads: any. Errors: `arguments.null`,
/// `arguments.utf8`, `arguments.json`. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_json_parse(
    text: zuno_str_t,
    out: *mut *mut zuno_json_t,
    err: *mut *mut zuno_error_t,
) -> zuno_status_t {
    contain::fallible(err, || {
        // SAFETY: NULL or writable, a borrowed text, says the contract.
        let (out, text) = unsafe { (Out::handle(out.cast::<*mut Value>(), "out")?, text.read("text")?) };
        out.give(parse("text", text)?);
        Ok(())
    })
}

/// Frees a document with its parts. NULL is a no-op.
///
/// Ownership: consumes `json`, which must be a whole document. Threads: any. Errors: none. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_json_free(json: *mut zuno_json_t) {
    contain::value((), || {
        // SAFETY: a document made by `zuno_json_parse` and not freed before, or NULL.
        unsafe { pointers::free(json.cast::<Value>()) }
    })
}

/// A part of a document by its JSON Pointer (RFC 6901), such as "/results/0/output"; NULL when it is not there or the
/// pointer is not UTF-8. The empty pointer is the whole.
///
/// Ownership: borrows from `json`: valid until its document is freed; borrows `pointer`. Threads: any. Errors: none.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_json_at(json: *const zuno_json_t, pointer: zuno_str_t) -> *const zuno_json_t {
    contain::value(std::ptr::null(), || {
        // SAFETY: a live document or NULL, a borrowed text, says the contract.
        let (json, pointer) = unsafe { (value(json), pointer.read("pointer")) };
        part(json.zip(pointer.ok()).and_then(|(json, pointer)| json.pointer(pointer)))
    })
}

/// The element of an array, or the value of an object's member, by its position; NULL when it is not there.
///
/// Ownership: borrows from `json`: valid until its document is freed. Threads: any. Errors: none. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_json_item(json: *const zuno_json_t, index: usize) -> *const zuno_json_t {
    contain::value(std::ptr::null(), || {
        // SAFETY: a live document or NULL, says the contract.
        part(match unsafe { value(json) } {
            Some(Value::Array(items)) => items.get(index),
            Some(Value::Object(members)) => members.values().nth(index),
            _ => None,
        })
    })
}

/// The name of an object's member by its position; `{NULL, 0}` when it is not there.
///
/// Ownership: borrows from `json`: valid until its document is freed; no NUL follows. Threads: any. Errors: none.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_json_key(json: *const zuno_json_t, index: usize) -> zuno_str_t {
    contain::value(zuno_str_t::EMPTY, || {
        // SAFETY: a live document or NULL, says the contract.
        let members = unsafe { value(json) }.and_then(Value::as_object);
        members.and_then(|members| members.keys().nth(index)).map_or(zuno_str_t::EMPTY, |key| zuno_str_t::view(key))
    })
}

/// How many elements an array or members an object has; 0 for everything else.
///
/// Ownership: borrows `json`. Threads: any. Errors: none. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_json_count(json: *const zuno_json_t) -> usize {
    contain::value(0, || {
        // SAFETY: a live document or NULL, says the contract.
        match unsafe { value(json) } {
            Some(Value::Array(items)) => items.len(),
            Some(Value::Object(members)) => members.len(),
            _ => 0,
        }
    })
}

/// What a value is: one of the `ZUNO_JSON_` values, `ZUNO_JSON_ABSENT` for NULL.
///
/// Ownership: borrows `json`. Threads: any. Errors: none. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_json_type(json: *const zuno_json_t) -> c_int {
    contain::value(ZUNO_JSON_ABSENT, || {
        // SAFETY: a live document or NULL, says the contract.
        match unsafe { value(json) } {
            None => ZUNO_JSON_ABSENT,
            Some(Value::Null) => ZUNO_JSON_NULL,
            Some(Value::Bool(_)) => ZUNO_JSON_BOOL,
            Some(Value::Number(_)) => ZUNO_JSON_NUMBER,
            Some(Value::String(_)) => ZUNO_JSON_STRING,
            Some(Value::Array(_)) => ZUNO_JSON_ARRAY,
            Some(Value::Object(_)) => ZUNO_JSON_OBJECT,
        }
    })
}

/// The text of a string; `{NULL, 0}` when it is none.
///
/// Ownership: borrows from `json`: valid until its document is freed; no NUL follows, so print it by its length. Threads:
/// any. Errors: none. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_json_text(json: *const zuno_json_t) -> zuno_str_t {
    contain::value(zuno_str_t::EMPTY, || {
        // SAFETY: a live document or NULL, says the contract.
        unsafe { value(json) }.and_then(Value::as_str).map_or(zuno_str_t::EMPTY, zuno_str_t::view)
    })
}

/// Whether a value is this string. `text` is NUL-terminated; false for NULL.
///
/// Ownership: borrows `json` and `text`. Threads: any. Errors: none. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_json_is(json: *const zuno_json_t, text: *const c_char) -> bool {
    contain::value(false, || {
        if text.is_null() {
            return false;
        }
        // SAFETY: a live document or NULL; NUL-terminated, says the contract.
        let (json, text) = unsafe { (value(json), std::ffi::CStr::from_ptr(text)) };
        json.and_then(Value::as_str).is_some_and(|json| json.as_bytes() == text.to_bytes())
    })
}

/// The value of a whole number; `otherwise` when it is none or does not fit.
///
/// Ownership: borrows `json`. Threads: any. Errors: none. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_json_int(json: *const zuno_json_t, otherwise: i64) -> i64 {
    contain::value(otherwise, || {
        // SAFETY: a live document or NULL, says the contract.
        unsafe { value(json) }.and_then(Value::as_i64).unwrap_or(otherwise)
    })
}

/// The value of a number; `otherwise` when it is none.
///
/// Ownership: borrows `json`. Threads: any. Errors: none. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_json_number(json: *const zuno_json_t, otherwise: f64) -> f64 {
    contain::value(otherwise, || {
        // SAFETY: a live document or NULL, says the contract.
        unsafe { value(json) }.and_then(Value::as_f64).unwrap_or(otherwise)
    })
}

/// The value of `true` or `false`; `otherwise` when it is neither.
///
/// Ownership: borrows `json`. Threads: any. Errors: none. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_json_bool(json: *const zuno_json_t, otherwise: bool) -> bool {
    contain::value(otherwise, || {
        // SAFETY: a live document or NULL, says the contract.
        unsafe { value(json) }.and_then(Value::as_bool).unwrap_or(otherwise)
    })
}

/// A value as a document.
///
/// Ownership: borrows `json`; returns owned `*out`. Threads: any. Errors: `arguments.null`. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_json_write(
    json: *const zuno_json_t,
    out: *mut *mut zuno_buf_t,
    err: *mut *mut zuno_error_t,
) -> zuno_status_t {
    contain::fallible(err, || {
        // SAFETY: NULL or writable, a live document or NULL, says the contract.
        let (out, json) = unsafe { (Out::handle(out, "out")?, required(json.cast::<Value>(), "json")?) };
        out.give(zuno_buf_t::new(json.to_string()));
        Ok(())
    })
}

/// A text as a JSON string with its quotes, to be put into a document.
///
/// Ownership: borrows `text`; returns owned `*out`. Threads: any. Errors: `arguments.null`, `arguments.utf8`. Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zuno_json_quote(
    text: zuno_str_t,
    out: *mut *mut zuno_buf_t,
    err: *mut *mut zuno_error_t,
) -> zuno_status_t {
    contain::fallible(err, || {
        // SAFETY: NULL or writable, a borrowed text, says the contract.
        let (out, text) = unsafe { (Out::handle(out, "out")?, text.read("text")?) };
        out.give(zuno_buf_t::new(Value::from(text).to_string()));
        Ok(())
    })
}
