//! Cutting a stream into records without ever holding more than one of them.

use std::io::BufRead;

/// A record over this many bytes is skipped.
pub(super) const LARGEST_RECORD: usize = 1_048_576;

/// How much of a skipped record is shown, so that its kind can be told.
const HEAD: usize = 64;

/// One record of the stream.
#[derive(Debug, PartialEq)]
pub(super) enum Piece<'a> {
    /// A record without its delimiter.
    Whole(&'a [u8]),
    /// The start of a record that was too large to keep.
    Oversized(&'a [u8]),
}

/// Cuts at a delimiter byte.
#[derive(Debug)]
pub(super) struct Splitter {
    delimiter: u8,
    held: Vec<u8>,
    oversized: bool,
}

impl Splitter {
    pub(super) fn new(delimiter: u8) -> Self {
        Self { delimiter, held: Vec::new(), oversized: false }
    }

    /// Takes the next bytes of the stream and hands over every record that is complete.
    pub(super) fn feed<E>(
        &mut self,
        mut bytes: &[u8],
        take: &mut dyn FnMut(Piece<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        while !bytes.is_empty() {
            let start = bytes;
            // Reading from a slice cannot fail; a failure would mean that nothing was consumed.
            let length = bytes.skip_until(self.delimiter).unwrap_or(0).min(start.len());
            let (piece, _) = start.split_at(length);
            match piece.strip_suffix(&[self.delimiter]) {
                Some(end) => self.complete(end, take)?,
                None => {
                    self.hold(piece);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Whether the stream ended in the middle of a record.
    pub(super) fn is_midway(&self) -> bool {
        self.oversized || !self.held.is_empty()
    }

    fn complete<E>(&mut self, end: &[u8], take: &mut dyn FnMut(Piece<'_>) -> Result<(), E>) -> Result<(), E> {
        if !self.is_midway() && end.len() <= LARGEST_RECORD {
            return take(Piece::Whole(end));
        }
        self.hold(end);
        let result = if self.oversized { take(Piece::Oversized(&self.held)) } else { take(Piece::Whole(&self.held)) };
        self.held.clear();
        self.oversized = false;
        result
    }

    fn hold(&mut self, part: &[u8]) {
        if self.oversized {
            return;
        }
        if self.held.len() + part.len() <= LARGEST_RECORD {
            self.held.extend_from_slice(part);
            return;
        }
        self.oversized = true;
        let missing = HEAD.saturating_sub(self.held.len()).min(part.len());
        self.held.extend_from_slice(part.split_at(missing).0);
        self.held.truncate(HEAD);
        self.held.shrink_to(HEAD);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds the stream in chunks; returns whole records, sizes of oversized heads, and the most bytes ever held.
    fn split(stream: &[u8], chunk: usize) -> (Vec<Vec<u8>>, Vec<usize>, usize) {
        let mut splitter = Splitter::new(b'\n');
        let (mut whole, mut heads, mut most) = (Vec::new(), Vec::new(), 0);
        for bytes in stream.chunks(chunk) {
            splitter
                .feed::<()>(bytes, &mut |piece| {
                    match piece {
                        Piece::Whole(record) => whole.push(record.to_vec()),
                        Piece::Oversized(head) => heads.push(head.len()),
                    }
                    Ok(())
                })
                .unwrap();
            most = most.max(splitter.held.capacity());
        }
        (whole, heads, most)
    }

    #[test]
    fn records_do_not_depend_on_the_chunks() {
        let stream = b"one\n\ntwo\nthree\n";
        for chunk in 1..=stream.len() {
            let (whole, heads, _) = split(stream, chunk);
            assert_eq!(whole, [&b"one"[..], b"", b"two", b"three"], "chunks of {chunk}");
            assert!(heads.is_empty());
        }
    }

    // spec: SEARCH-04 SEARCH-24
    #[test]
    fn a_record_over_the_limit_is_skipped_and_never_held() {
        let mut stream = b"before\n".to_vec();
        stream.extend(vec![b'x'; LARGEST_RECORD + 1]);
        stream.extend(b"\nafter\n");
        stream.extend(vec![b'y'; 20 * LARGEST_RECORD]);
        stream.extend(b"\nlast\n");
        for chunk in [4_096, 65_536, stream.len()] {
            let (whole, heads, most) = split(&stream, chunk);
            assert_eq!(whole, [&b"before"[..], b"after", b"last"]);
            assert_eq!(heads, [HEAD, HEAD]);
            assert!(most <= 2 * LARGEST_RECORD, "held {most}");
        }
    }

    #[test]
    fn a_record_of_exactly_the_limit_is_kept() {
        let mut stream = vec![b'x'; LARGEST_RECORD];
        stream.push(b'\n');
        for chunk in [1_000, stream.len()] {
            let (whole, heads, _) = split(&stream, chunk);
            assert_eq!((whole.len(), heads.len()), (1, 0));
        }
    }

    #[test]
    fn an_unfinished_record_is_noticed() {
        let mut splitter = Splitter::new(0);
        splitter.feed::<()>(b"a\0b", &mut |_| Ok(())).unwrap();
        assert!(splitter.is_midway());
        splitter.feed::<()>(b"\0", &mut |_| Ok(())).unwrap();
        assert!(!splitter.is_midway());
    }
}
