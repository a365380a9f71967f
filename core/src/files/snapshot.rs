//! Reading a file in bounded pieces: its digest, its text, its first bad byte.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use super::receipts::RECEIPT_LIMIT;
use crate::text::fingerprint::hex;

/// Files up to this size are read in place; larger ones on a thread that may block.
pub const INLINE_LIMIT: u64 = 256 * 1024;

const PIECE: usize = 256 * 1024;

/// Bytes of a file in the order they stand there, from the start, whatever the file position is.
pub(crate) struct Pieces<'f> {
    file: &'f File,
    offset: u64,
    buffer: Vec<u8>,
    /// Bytes at the front of the buffer that were handed back by the last reader.
    kept: usize,
}

impl<'f> Pieces<'f> {
    /// Reads a file whose size is said to be `size`; a wrong size costs memory or calls, never bytes.
    pub(crate) fn new(file: &'f File, size: u64) -> Self {
        let room = usize::try_from(size).unwrap_or(PIECE).saturating_add(1).clamp(4096, PIECE);
        Self { file, offset: 0, buffer: vec![0; room], kept: 0 }
    }

    /// The next bytes, behind those that were kept, with the number of kept ones. `None` = end of file.
    pub(crate) fn next(&mut self) -> io::Result<Option<(&[u8], usize)>> {
        let free = self.buffer.get_mut(self.kept..).unwrap_or_default();
        let count = loop {
            match self.file.read_at(free, self.offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        if count == 0 {
            return Ok(None);
        }
        self.offset += count as u64;
        let kept = self.kept;
        Ok(self.buffer.get(..kept + count).map(|bytes| (bytes, kept)))
    }

    /// Keeps the last bytes of what `next` gave, to be seen again in front of what follows.
    pub(crate) fn keep(&mut self, given: usize, count: usize) {
        let from = given.saturating_sub(count);
        self.buffer.copy_within(from..given, 0);
        self.kept = given - from;
    }
}

/// What a whole file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan {
    /// SHA-256 of the raw bytes; `None` above the receipt limit.
    pub sha256: Option<String>,
    /// How many bytes there were.
    pub bytes: u64,
    /// Offset of the first byte that is not UTF-8.
    pub bad_byte: Option<u64>,
}

/// Reads a whole file, piece by piece. `each` sees the raw bytes and may end the reading with `false`; `text` sees the
/// same as text, as far as they are.
pub(crate) fn scan(
    pieces: &mut Pieces<'_>,
    cancel: &CancellationToken,
    mut each: impl FnMut(&[u8]) -> bool,
    mut text: impl FnMut(&str),
) -> io::Result<Scan> {
    let mut digest = Some(Sha256::new());
    let (mut bytes, mut bad_byte) = (0_u64, None);
    while let Some((given, kept)) = pieces.next()? {
        let (length, fresh) = (given.len(), given.get(kept..).unwrap_or_default());
        let start = bytes - kept as u64;
        bytes += fresh.len() as u64;
        if bytes > RECEIPT_LIMIT {
            digest = None;
        }
        if let Some(digest) = &mut digest {
            digest.update(fresh);
        }
        if !each(fresh) {
            digest = None;
            break;
        }
        let mut unfinished = 0;
        if bad_byte.is_none() {
            let (valid, rest) = split_valid(given);
            text(valid);
            match rest {
                Rest::None => {}
                Rest::Unfinished(count) => unfinished = count,
                Rest::Bad => bad_byte = Some(start + valid.len() as u64),
            }
        }
        pieces.keep(length, unfinished);
        if cancel.is_cancelled() {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "the call was interrupted"));
        }
    }
    if bad_byte.is_none() && pieces.kept > 0 {
        bad_byte = Some(bytes - pieces.kept as u64);
    }
    Ok(Scan { sha256: digest.map(|digest| hex(&digest.finalize())), bytes, bad_byte })
}

enum Rest {
    None,
    /// The last bytes may be the start of a character.
    Unfinished(usize),
    Bad,
}

fn split_valid(bytes: &[u8]) -> (&str, Rest) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text, Rest::None),
        Err(error) => {
            let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let rest = match error.error_len() {
                None => Rest::Unfinished(bytes.len() - valid.len()),
                Some(_) => Rest::Bad,
            };
            (std::str::from_utf8(valid).unwrap_or_default(), rest)
        }
    }
}

/// A file as a mutation found it.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// SHA-256 of the raw bytes.
    pub sha256: String,
    /// Size.
    pub bytes: u64,
    /// The file starts with a byte order mark.
    pub byte_order_mark: bool,
    /// The content, when it is small enough to be shown.
    pub text: Option<String>,
    /// Offset of the first byte that is not UTF-8.
    pub bad_byte: Option<u64>,
}

/// Reads a file whole; keeps its text up to `keep` bytes. `Ok(None)` = above the receipt limit.
pub fn snapshot(file: &File, size: u64, keep: u64, cancel: &CancellationToken) -> io::Result<Option<Snapshot>> {
    let mut pieces = Pieces::new(file, size);
    let mut text = String::new();
    let mut first: Vec<u8> = Vec::with_capacity(3);
    let scan = scan(
        &mut pieces,
        cancel,
        |bytes| {
            first.extend(bytes.iter().take(3_usize.saturating_sub(first.len())));
            true
        },
        |piece| {
            // One character above the bound is enough to know that it was passed.
            if text.len() as u64 <= keep {
                text.push_str(piece);
            }
        },
    )?;
    let Some(sha256) = scan.sha256 else { return Ok(None) };
    let whole = scan.bad_byte.is_none() && scan.bytes <= keep;
    Ok(Some(Snapshot {
        sha256,
        bytes: scan.bytes,
        byte_order_mark: first == BYTE_ORDER_MARK.as_bytes(),
        text: whole.then_some(text),
        bad_byte: scan.bad_byte,
    }))
}

/// U+FEFF.
pub const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Digest of an open file as it is now; `None` above the receipt limit.
pub fn digest(file: &File, size: u64) -> io::Result<Option<String>> {
    let mut pieces = Pieces::new(file, size);
    let mut digest = Sha256::new();
    let mut bytes = 0_u64;
    while let Some((piece, _)) = pieces.next()? {
        bytes += piece.len() as u64;
        if bytes > RECEIPT_LIMIT {
            return Ok(None);
        }
        digest.update(piece);
    }
    Ok(Some(hex(&digest.finalize())))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::text::fingerprint::sha256_hex;

    fn file(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    fn scan_all(bytes: &[u8], said: u64) -> (Scan, String) {
        let file = file(bytes);
        let mut text = String::new();
        let scan =
            scan(&mut Pieces::new(&file, said), &CancellationToken::new(), |_| true, |s| text.push_str(s)).unwrap();
        (scan, text)
    }

    // case: 13
    #[test]
    fn characters_across_piece_borders_stay_whole() {
        for shift in 0..4 {
            let body = "a".repeat(shift) + &"漢😀é".repeat(120_000);
            let (scan, text) = scan_all(body.as_bytes(), body.len() as u64);
            assert_eq!(scan.sha256.unwrap(), sha256_hex(body.as_bytes()));
            assert_eq!((scan.bytes, scan.bad_byte), (body.len() as u64, None));
            assert!(text == body);
        }
    }

    #[test]
    fn a_wrong_size_loses_nothing() {
        let body = "line\n".repeat(3_000);
        for said in [0, 1, 5, 1 << 40] {
            assert!(scan_all(body.as_bytes(), said).1 == body);
        }
    }

    #[test]
    fn the_first_bad_byte_is_named() {
        for (bytes, offset) in [
            (&b"\xff"[..], 0),
            (b"ab\xc3", 2),
            (b"ab\xe2\x82", 2),
            (b"ab\xe2\x82x\xff", 2),
            (b"\xc3\xa9\xed\xa0\x80", 2),
        ] {
            assert_eq!(scan_all(bytes, bytes.len() as u64).0.bad_byte, Some(offset), "{bytes:?}");
        }
        let far = [vec![b'a'; 300_000], vec![0xc3, b'a']].concat();
        assert_eq!(scan_all(&far, far.len() as u64).0.bad_byte, Some(300_000));
    }

    #[test]
    fn snapshots_keep_small_text_only() {
        let file = file("\u{feff}abc".as_bytes());
        let cancel = CancellationToken::new();
        let small = snapshot(&file, 6, 6, &cancel).unwrap().unwrap();
        assert_eq!(small.text.as_deref(), Some("\u{feff}abc"));
        assert!(small.byte_order_mark);
        assert_eq!(snapshot(&file, 6, 5, &cancel).unwrap().unwrap().text, None);
        assert_eq!(digest(&file, 6).unwrap().unwrap(), small.sha256);
    }
}
