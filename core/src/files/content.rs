//! What a file holds, judged by its name and its first bytes.

use std::path::Path;

/// How much of a file decides.
pub const HEAD: usize = 4096;

/// Largest attachment.
pub const ATTACHMENT_LIMIT: u64 = 10 * 1024 * 1024;

const BINARY_EXTENSIONS: &[&str] = &[
    "zip", "tar", "gz", "exe", "dll", "so", "class", "jar", "war", "7z", "doc", "docx", "xls", "xlsx", "ppt", "pptx",
    "odt", "ods", "odp", "bin", "dat", "obj", "o", "a", "lib", "wasm", "pyc", "pyo",
];

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// An image or PDF, by media type.
    Attachment(&'static str),
    /// Bytes for programs.
    Binary,
    /// Text in another encoding, proved by its byte order mark, with the offset of the first byte UTF-8 cannot have.
    Encoded(&'static str, u64),
    /// Probably text.
    Text,
}

/// Judges a file by its name and its first bytes.
pub fn classify(path: &Path, head: &[u8]) -> Content {
    let head = head.get(..HEAD).unwrap_or(head);
    if let Some(mime) = attachment(head) {
        Content::Attachment(mime)
    } else if has_binary_extension(path) {
        Content::Binary
    } else if let Some((name, offset)) = foreign_mark(head) {
        Content::Encoded(name, offset)
    } else if looks_binary(head) {
        Content::Binary
    } else {
        Content::Text
    }
}

fn attachment(head: &[u8]) -> Option<&'static str> {
    let webp = head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP");
    match () {
        () if head.starts_with(b"\x89PNG\r\n\x1a\n") => Some("image/png"),
        () if head.starts_with(b"\xff\xd8\xff") => Some("image/jpeg"),
        () if head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a") => Some("image/gif"),
        () if webp => Some("image/webp"),
        () if head.starts_with(b"%PDF-") => Some("application/pdf"),
        () => None,
    }
}

fn has_binary_extension(path: &Path) -> bool {
    let Some(extension) = path.extension().and_then(|text| text.to_str()) else { return false };
    BINARY_EXTENSIONS.iter().any(|known| extension.eq_ignore_ascii_case(known))
}

fn foreign_mark(head: &[u8]) -> Option<(&'static str, u64)> {
    match head {
        [0xff, 0xfe, 0, 0, ..] => Some(("UTF-32LE", 0)),
        [0, 0, 0xfe, 0xff, ..] => Some(("UTF-32BE", 2)),
        [0xff, 0xfe, ..] => Some(("UTF-16LE", 0)),
        [0xfe, 0xff, ..] => Some(("UTF-16BE", 0)),
        _ => None,
    }
}

fn looks_binary(head: &[u8]) -> bool {
    let control = |byte: &&u8| matches!(byte, 0..=8 | 14..=31 | 127);
    head.contains(&0) || head.iter().filter(control).count() * 10 > head.len() * 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn magic_bytes_decide_before_names() {
        for (head, mime) in [
            (&b"\x89PNG\r\n\x1a\n\0"[..], "image/png"),
            (b"\xff\xd8\xff\xe0", "image/jpeg"),
            (b"GIF89a\0", "image/gif"),
            (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
            (b"%PDF-1.7", "application/pdf"),
        ] {
            assert_eq!(classify(Path::new("x.bin"), head), Content::Attachment(mime));
        }
        assert_eq!(classify(Path::new("x"), b"RIFF\0\0\0\0WAVE"), Content::Binary);
    }

    #[test]
    fn binary_is_an_extension_a_nul_or_too_many_control_bytes() {
        assert_eq!(classify(Path::new("x.WASM"), b"text"), Content::Binary);
        assert_eq!(classify(Path::new("x.txt"), b"te\0xt"), Content::Binary);
        assert_eq!(classify(Path::new("x"), b"\x01\x02\x03abcdefg"), Content::Text);
        assert_eq!(classify(Path::new("x"), b"\x01\x02\x03\x04abcdef"), Content::Binary);
        assert_eq!(classify(Path::new("x"), b""), Content::Text);
        let late = [vec![b'a'; HEAD], vec![0]].concat();
        assert_eq!(classify(Path::new("x"), &late), Content::Text);
    }

    #[test]
    fn a_byte_order_mark_proves_another_encoding() {
        assert_eq!(classify(Path::new("x"), b"\xff\xfea\0"), Content::Encoded("UTF-16LE", 0));
        assert_eq!(classify(Path::new("x"), b"\xfe\xff\0a"), Content::Encoded("UTF-16BE", 0));
        assert_eq!(classify(Path::new("x"), b"\0\0\xfe\xff\0\0\0a"), Content::Encoded("UTF-32BE", 2));
        assert_eq!(classify(Path::new("x"), b"\xef\xbb\xbfa"), Content::Text);
    }
}
