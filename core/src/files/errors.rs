//! The errors several files of this room give.

use std::io;

use crate::types::ToolError;

/// Reading or writing failed.
pub(crate) fn io(verb: &str, name: &str, error: &io::Error) -> ToolError {
    ToolError::failed("io", format!("Could not {verb} {name}: {error}. Check the path and its permissions."))
}

/// The approved object is no longer where it was.
pub(crate) fn path_gone(name: &str) -> ToolError {
    ToolError::failed(
        "path_gone",
        format!("{name} was removed or replaced while the call was on its way. Look at the path, then call again."),
    )
}

/// The store's own files are never opened by a tool.
pub(crate) fn store_file(name: &str) -> ToolError {
    ToolError::invalid(
        "store_file",
        format!("{name} is the runtime's own database. No file tool opens it; choose another file."),
    )
}

/// Neither a file nor a directory.
pub(crate) fn not_regular(name: &str, what: &str) -> ToolError {
    ToolError::invalid(
        "not_regular",
        format!("{name} is a {what}. File tools work on regular files and directories only."),
    )
}

/// The bytes are not UTF-8.
pub(crate) fn encoding(name: &str, offset: u64, encoding: Option<&str>) -> ToolError {
    let known = encoding.map(|name| format!(" Its byte order mark says {name}.")).unwrap_or_default();
    ToolError::failed(
        "encoding",
        format!(
            "{name} is not valid UTF-8: the first bad byte is at offset {offset}.{known} Convert it to UTF-8 or work \
             on it with `shell`."
        ),
    )
}

/// Turns an error of an operation on held handles into the error of the call: what has vanished is `path_gone`.
pub(crate) fn through_handles(verb: &str, name: &str, error: &io::Error) -> ToolError {
    let gone = matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
        || error.raw_os_error() == Some(rustix::io::Errno::XDEV.raw_os_error());
    if gone { path_gone(name) } else { io(verb, name, error) }
}
