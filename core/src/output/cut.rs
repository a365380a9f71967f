//! First and last parts of text; no character is ever split.

/// At most so many bytes from the start.
pub(super) fn head(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// At most so many bytes from the end.
pub(super) fn tail(text: &str, bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..).unwrap_or_default()
}

/// At most so many lines from the end.
pub(super) fn last_lines(text: &str, lines: usize) -> &str {
    let body = text.strip_suffix('\n').unwrap_or(text);
    match body.rmatch_indices('\n').nth(lines.saturating_sub(1)) {
        Some((newline, _)) if lines > 0 => text.get(newline + 1..).unwrap_or_default(),
        _ if lines == 0 => "",
        _ => text,
    }
}

/// The whole characters of bytes cut out of the middle of a text: half a character in front is left out.
pub(super) fn decode_tail(bytes: &[u8]) -> String {
    let half = bytes.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
    String::from_utf8_lossy(bytes.get(half..).unwrap_or_default()).into_owned()
}

/// The whole characters at the start of bytes that go on: half a character at the end is left out.
pub(super) fn decode_head(bytes: &[u8]) -> String {
    let end = match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        // A fault in front hides what stands at the end; look at the last bytes alone.
        _ => bytes.len() - unfinished_at_the_end(bytes),
    };
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}

fn unfinished_at_the_end(bytes: &[u8]) -> usize {
    (1..=3.min(bytes.len()))
        .find(|length| {
            let end = bytes.get(bytes.len() - length..).unwrap_or_default();
            std::str::from_utf8(end).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_is_split() {
        let text = "aé€😀z";
        for bytes in 0..=text.len() + 1 {
            assert!(text.starts_with(head(text, bytes)) && head(text, bytes).len() <= bytes);
            assert!(text.ends_with(tail(text, bytes)) && tail(text, bytes).len() <= bytes);
            let whole = text.as_bytes();
            let cut = bytes.min(whole.len());
            assert!(text.starts_with(&decode_head(&whole[..cut])), "{cut}");
            assert!(text.ends_with(&decode_tail(&whole[cut..])), "{cut}");
        }
        assert_eq!(decode_head(b"\xff a\xe2\x82"), "\u{fffd} a");
        assert_eq!(head("", 4), "");
    }

    #[test]
    fn last_lines_count_a_line_without_newline() {
        for (text, lines, expected) in [
            ("a\nb\nc", 2, "b\nc"),
            ("a\nb\nc\n", 2, "b\nc\n"),
            ("a\nb", 5, "a\nb"),
            ("a\n\n", 1, "\n"),
            ("a\nb", 0, ""),
            ("", 3, ""),
        ] {
            assert_eq!(last_lines(text, lines), expected, "{text:?} {lines}");
        }
    }
}
