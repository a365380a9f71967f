//! A path is an identifier: it is given back under the name the file has, or not at all.

/// How the platform writes paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// `\` is an ordinary byte of a name.
    Unix,
    /// `\` separates, and is reported as `/`.
    Windows,
}

impl Style {
    pub(super) const HERE: Self = if cfg!(windows) { Self::Windows } else { Self::Unix };
}

/// The name behind the bytes `rg` wrote, or `None` when no text names that file.
pub(super) fn name(bytes: &[u8], style: Style) -> Option<std::borrow::Cow<'_, str>> {
    let text = std::str::from_utf8(bytes).ok()?;
    match style {
        Style::Unix => Some(text.into()),
        // There `rg` has already put U+FFFD where the name holds a lone surrogate; such a text names no file.
        Style::Windows if text.contains('\u{FFFD}') => None,
        Style::Windows => Some(text.replace('\\', "/").into()),
    }
}

/// The path relative to the workspace, `.` for the workspace itself, absolute when it lies outside.
pub(super) fn relative<'a>(path: &'a str, workspace: &str) -> &'a str {
    let Some(rest) = path.strip_prefix(workspace) else { return path };
    if rest.is_empty() {
        return ".";
    }
    // The root directory ends with the separator already.
    if workspace.ends_with('/') { rest } else { rest.strip_prefix('/').unwrap_or(path) }
}

/// A name on one line: as it is, or as one JSON string when it holds something that would break or hide a line.
pub(super) fn on_one_line(name: &str) -> std::borrow::Cow<'_, str> {
    if !name.chars().any(breaks_lines) {
        return name.into();
    }
    let mut quoted = String::with_capacity(name.len() + 8);
    quoted.push('"');
    for character in name.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            other if breaks_lines(other) => quoted.push_str(&format!("\\u{:04x}", u32::from(other))),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted.into()
}

fn breaks_lines(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: SEARCH-20 SEARCH-21
    #[test]
    fn a_backslash_is_a_letter_here_and_a_separator_there() {
        assert_eq!(name(br"/w/a\b.txt", Style::Unix).unwrap(), r"/w/a\b.txt");
        assert_eq!(name(br"C:\w\dir\a.txt", Style::Windows).unwrap(), "C:/w/dir/a.txt");
    }

    // spec: SEARCH-18
    #[test]
    fn what_is_not_text_has_no_name() {
        assert_eq!(name(b"/w/\xff", Style::Unix), None);
        assert_eq!(name("/w/\u{FFFD}".as_bytes(), Style::Windows), None);
        assert_eq!(name("/w/\u{FFFD}".as_bytes(), Style::Unix).unwrap(), "/w/\u{FFFD}");
    }

    #[test]
    fn relative_spelling() {
        assert_eq!(relative("/w/a/b", "/w"), "a/b");
        assert_eq!(relative("/w", "/w"), ".");
        assert_eq!(relative("/wide/a", "/w"), "/wide/a");
        assert_eq!(relative("/else", "/w"), "/else");
        assert_eq!(relative("/etc/a", "/"), "etc/a");
        assert_eq!(relative("/", "/"), ".");
    }

    // spec: SEARCH-22
    #[test]
    fn a_name_that_would_break_a_line_is_one_json_string() {
        for odd in ["a\nb", "a\rb\u{85}", "\u{2028}\u{2029}", "tab\t\u{7f}\"\\", "\u{1}"] {
            let shown = on_one_line(odd);
            assert!(!shown.chars().any(breaks_lines), "{shown}");
            assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), odd);
        }
        assert_eq!(on_one_line("it's \"quoted\" a\\b ü"), "it's \"quoted\" a\\b ü");
    }
}
