//! Output before it is decided what becomes of it: text in memory, or the file a command wrote.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::cut;
use super::folder::{self, Artifacts};
use super::measure::{Meter, Size};
use super::reader::decode;
use crate::types::SessionId;

const PIECE: usize = 64 << 10;

pub(super) enum Source {
    Memory(String),
    File { path: PathBuf, file: File, bytes: u64 },
}

impl Source {
    pub(super) fn file(path: PathBuf, bytes: u64) -> io::Result<Self> {
        let file = folder::open(&path)?;
        Ok(Self::File { path, file, bytes })
    }

    /// Bytes an artifact holds.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Memory(text) => text.len() as u64,
            Self::File { bytes, .. } => *bytes,
        }
    }

    /// The size of the decoded text; a file is streamed, never held.
    pub(super) fn measure(&self) -> io::Result<Size> {
        match self {
            Self::Memory(text) => Ok(Size::of(text)),
            Self::File { file, bytes, .. } => measure_file(file, *bytes),
        }
    }

    /// Brings every byte to an artifact.
    pub(super) fn save(&self, artifacts: &Artifacts, session: &SessionId) -> io::Result<PathBuf> {
        match self {
            Self::Memory(text) => artifacts.create(session)?.fill(text.as_bytes()),
            Self::File { path, file, .. } => folder::sync_at(path, file).map(|()| path.clone()),
        }
    }

    /// The whole text.
    pub(super) fn whole(self) -> io::Result<String> {
        match self {
            Self::Memory(text) => Ok(text),
            Self::File { file, bytes, .. } => {
                let mut content = Vec::new();
                let read = file.take(bytes).read_to_end(&mut content)?;
                if (read as u64) < bytes { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(decode(content)) }
            }
        }
    }

    /// At most so many bytes of text from the start.
    pub(super) fn head(&self, limit: usize) -> String {
        match self {
            Self::Memory(text) => cut::head(text, limit).to_owned(),
            Self::File { file, bytes, .. } => {
                let content = part(file, 0, *bytes, limit);
                let text = if (content.len() as u64) < *bytes { cut::decode_head(&content) } else { decode(content) };
                cut::head(&text, limit).to_owned()
            }
        }
    }

    /// At most so many bytes of text from the end.
    pub(super) fn tail(&self, limit: usize) -> String {
        match self {
            Self::Memory(text) => cut::tail(text, limit).to_owned(),
            Self::File { file, bytes, .. } => {
                let content = part(file, bytes.saturating_sub(limit as u64), *bytes, limit);
                let text = if (content.len() as u64) < *bytes { cut::decode_tail(&content) } else { decode(content) };
                cut::tail(&text, limit).to_owned()
            }
        }
    }

    /// Inline output needs no file.
    pub(super) fn discard(path: &Path) {
        // A file that cannot be removed costs its space and nothing else.
        let _ = folder::remove(path);
    }
}

/// What can be read of a part; a preview of output that cannot be read is empty.
fn part(file: &File, from: u64, total: u64, limit: usize) -> Vec<u8> {
    let length = usize::try_from(total - from).unwrap_or(limit).min(limit);
    let mut content = vec![0; length];
    let mut filled = 0;
    while let Some(rest) = content.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, from + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    content.truncate(filled);
    content
}

fn measure_file(file: &File, total: u64) -> io::Result<Size> {
    let mut meter = Meter::default();
    let mut piece = vec![0; PIECE];
    let mut at = 0;
    while at < total {
        let want = usize::try_from(total - at).unwrap_or(PIECE).min(PIECE);
        let read = match file.read_at(piece.get_mut(..want).unwrap_or_default(), at) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        meter.push(piece.get(..read).unwrap_or_default());
        at += read as u64;
    }
    Ok(meter.finish())
}
