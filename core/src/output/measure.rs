//! The size of output: UTF-8 bytes of its decoded text, and lines.

use crate::config::ToolOutputConfig;

/// Bytes and lines of text. A last line without a newline counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// UTF-8 bytes.
    pub bytes: u64,
    /// Lines.
    pub lines: u64,
}

/// Which limit was crossed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Crossed {
    Bytes,
    Lines,
    Both,
}

impl Crossed {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Lines => "lines",
            Self::Both => "both",
        }
    }
}

impl Size {
    /// The size of text.
    pub fn of(text: &str) -> Self {
        let mut meter = Meter::default();
        meter.push(text.as_bytes());
        meter.finish()
    }

    /// Which limit this is beyond. Both are inclusive, and either alone is enough.
    pub(super) fn crosses(self, limits: &ToolOutputConfig) -> Option<Crossed> {
        match (self.bytes > limits.max_bytes, self.lines > limits.max_lines) {
            (true, true) => Some(Crossed::Both),
            (true, false) => Some(Crossed::Bytes),
            (false, true) => Some(Crossed::Lines),
            (false, false) => None,
        }
    }
}

/// Measures raw bytes as the text they decode to, piece by piece, holding no more than an unfinished character.
#[derive(Debug, Default)]
pub(super) struct Meter {
    bytes: u64,
    newlines: u64,
    ends_inside_a_line: bool,
    unfinished: Vec<u8>,
}

const REPLACEMENT_BYTES: u64 = '\u{fffd}'.len_utf8() as u64;

impl Meter {
    pub(super) fn push(&mut self, piece: &[u8]) {
        let Some(last) = piece.last() else { return };
        self.newlines += piece.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.ends_inside_a_line = *last != b'\n';
        if self.unfinished.is_empty() {
            self.decode(piece);
        } else {
            let mut joined = std::mem::take(&mut self.unfinished);
            joined.extend_from_slice(piece);
            self.decode(&joined);
        }
    }

    fn decode(&mut self, mut bytes: &[u8]) {
        while let Err(error) = std::str::from_utf8(bytes) {
            let (valid, rest) = bytes.split_at(error.valid_up_to());
            self.bytes += valid.len() as u64;
            match error.error_len() {
                Some(length) => {
                    self.bytes += REPLACEMENT_BYTES;
                    bytes = rest.get(length..).unwrap_or_default();
                }
                None => {
                    self.unfinished = rest.to_vec();
                    return;
                }
            }
        }
        self.bytes += bytes.len() as u64;
    }

    pub(super) fn finish(self) -> Size {
        let unfinished = if self.unfinished.is_empty() { 0 } else { REPLACEMENT_BYTES };
        Size { bytes: self.bytes + unfinished, lines: self.newlines + u64::from(self.ends_inside_a_line) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_last_line_without_a_newline_counts() {
        for (text, lines) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n\n", 2)] {
            assert_eq!(Size::of(text), Size { bytes: text.len() as u64, lines }, "{text:?}");
        }
    }

    // spec: OUTPUT-03
    #[test]
    fn limits_are_inclusive_and_either_alone_is_enough() {
        let limits = ToolOutputConfig { max_bytes: 10, max_lines: 2, tail_lines: 0 };
        let crossed = |bytes, lines| Size { bytes, lines }.crosses(&limits);
        assert_eq!(crossed(10, 2), None);
        assert_eq!(crossed(11, 2), Some(Crossed::Bytes));
        assert_eq!(crossed(10, 3), Some(Crossed::Lines));
        assert_eq!(crossed(11, 3), Some(Crossed::Both));
    }

    proptest! {
        #[test]
        fn pieces_measure_as_the_decoded_whole(data in prop::collection::vec(prop_oneof![any::<u8>(), Just(0xe2), Just(0x82), Just(0xac), Just(b'\n')], 0..400), cut in 1_usize..7) {
            let mut meter = Meter::default();
            data.chunks(cut).for_each(|piece| meter.push(piece));
            let text = String::from_utf8_lossy(&data);
            let lines = text.matches('\n').count() as u64 + u64::from(!text.is_empty() && !text.ends_with('\n'));
            prop_assert_eq!(meter.finish(), Size { bytes: text.len() as u64, lines });
        }
    }
}
