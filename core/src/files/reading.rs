//! Reading one file for a model: a window of its text, or the whole of an attachment.

use std::fs::File;
use std::io;
use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::content::{ATTACHMENT_LIMIT, Content, classify};
use super::errors;
use super::snapshot::{Pieces, Scan, scan};
use super::window::{Bounds, LineWindow, Window};
use crate::text::fingerprint::sha256_hex;
use crate::types::ToolError;

/// What was read of a file, and the digest of all of it.
#[derive(Debug)]
pub enum Reading {
    /// Lines of a text.
    Text {
        /// The window.
        window: Window,
        /// SHA-256 of the whole file; `None` above the receipt limit.
        sha256: Option<String>,
    },
    /// A file that is shown as what it is.
    Attachment {
        /// Media type.
        mime: &'static str,
        /// All its bytes.
        bytes: Vec<u8>,
        /// Their SHA-256.
        sha256: String,
    },
}

/// Reads an open file from start to end and keeps the window of it. `name` is what messages call it.
pub fn read(
    file: &File,
    path: &Path,
    name: &str,
    size: u64,
    bounds: Bounds,
    cancel: &CancellationToken,
) -> Result<Reading, ToolError> {
    let mut content = None;
    let mut lines = LineWindow::new(bounds);
    let whole = scan(
        &mut Pieces::new(file, size),
        cancel,
        |piece| *content.get_or_insert_with(|| classify(path, piece)) == Content::Text,
        |text| lines.push(text),
    )
    .map_err(|error| failed(name, &error, cancel))?;
    match content.unwrap_or_else(|| classify(path, &[])) {
        Content::Text => text(name, lines.finish(), whole),
        Content::Attachment(mime) => attachment(file, name, mime, cancel),
        Content::Encoded(encoding, offset) => Err(errors::encoding(name, offset, Some(encoding))),
        Content::Binary => Err(ToolError::invalid(
            "binary",
            format!("{name} is a binary file. Look at it with `shell`, for example with a program for its format."),
        )),
    }
}

fn text(name: &str, window: Window, whole: Scan) -> Result<Reading, ToolError> {
    if let Some(offset) = whole.bad_byte {
        return Err(errors::encoding(name, offset, None));
    }
    if window.is_past_end() {
        return Err(past_end(name, &window, "lines"));
    }
    Ok(Reading::Text { window, sha256: whole.sha256 })
}

/// The window starts behind the last row.
pub fn past_end(name: &str, window: &Window, unit: &str) -> ToolError {
    let message = format!("{name} has {} {unit}; offset {} is past its end.", window.total, window.first);
    ToolError::invalid_field("offset_past_end", "offset", None, message)
}

fn attachment(file: &File, name: &str, mime: &'static str, cancel: &CancellationToken) -> Result<Reading, ToolError> {
    let mut bytes = Vec::new();
    let mut pieces = Pieces::new(file, ATTACHMENT_LIMIT);
    while let Some((piece, _)) = pieces.next().map_err(|error| failed(name, &error, cancel))? {
        bytes.extend_from_slice(piece);
        if bytes.len() as u64 > ATTACHMENT_LIMIT {
            return Err(ToolError::invalid(
                "attachment_too_large",
                format!("{name} ({mime}) is larger than 10 MiB. Make a smaller version of it with `shell` first."),
            ));
        }
    }
    let sha256 = sha256_hex(&bytes);
    Ok(Reading::Attachment { mime, bytes, sha256 })
}

fn failed(name: &str, error: &io::Error, cancel: &CancellationToken) -> ToolError {
    if cancel.is_cancelled() {
        return ToolError::cancelled(true, format!("Reading {name} was interrupted."));
    }
    errors::io("read", name, error)
}
