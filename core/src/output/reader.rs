//! Reads exactly one window of a file; the size of the file does not matter.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::text::windows::Window;

/// The bytes of a window. A file that is shorter than the window says is an error: it has been damaged.
///
/// # Errors
/// What the system answers.
pub fn read_window(file: &File, window: &Window) -> io::Result<Vec<u8>> {
    let length = usize::try_from(window.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, window.from)?;
    Ok(bytes)
}

/// Text for display. Never used for offsets.
pub fn decode(bytes: Vec<u8>) -> String {
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}
