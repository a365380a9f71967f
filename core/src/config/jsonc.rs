//! JSON with comments.

use std::borrow::Cow;

use serde_json::Value;

/// Reads JSON that may hold `//` and `/* */` comments. The error says where, never what: the text may hold secrets.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let plain = blank_comments(text)?;
    serde_json::from_str(&plain).map_err(|error| format!("line {}, column {}", error.line(), error.column()))
}

/// The same text with every comment replaced by blanks, so that positions stay.
fn blank_comments(text: &str) -> Result<Cow<'_, str>, String> {
    if !text.contains("//") && !text.contains("/*") {
        return Ok(Cow::Borrowed(text));
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => string_length(rest),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => {
                comment_length(rest).ok_or_else(|| "a comment that is not closed".to_owned())?
            }
            _ => first.len_utf8(),
        };
        let (piece, tail) = rest.split_at(length);
        if first == '/' && length > 1 {
            out.extend(piece.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        } else {
            out.push_str(piece);
        }
        rest = tail;
    }
    Ok(Cow::Owned(out))
}

/// Bytes of the string literal at the start, both quotes included; all of an unclosed one.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (index, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return index + 1,
            _ => {}
        }
    }
    text.len()
}

/// Bytes of the block comment at the start.
fn comment_length(text: &str) -> Option<usize> {
    text.get(2..)?.find("*/").map(|end| end + 4)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_are_read_over_and_strings_are_not() {
        let text = "\u{feff}// é\n{\"a\": \"// no \\\" /* no */\", /* yes\n ** / */ \"b\": [1, // one\n 2]}//";
        assert_eq!(parse(text).unwrap(), json!({"a": "// no \" /* no */", "b": [1, 2]}));
    }

    #[test]
    fn faults_keep_their_position_and_hide_the_text() {
        let error = parse("{ /* \n */ \"key\": sesame }").unwrap_err();
        assert!(error.contains("line 2"), "{error}");
        assert!(!error.contains("sesame"), "{error}");
        assert!(parse("{} /* open").is_err());
        assert!(parse("{\"a\": 1,}").is_err());
        assert!(parse("{\"a\": \"// open").is_err());
        assert!(parse("").is_err());
    }

    proptest! {
        #[test]
        fn any_document_reads_the_same_with_and_without_comments(text in "\\PC*", number in any::<i32>()) {
            let value = json!({ "text": text, "number": number });
            let commented = format!("/* {} */{}// end", text.replace("*/", ""), serde_json::to_string_pretty(&value).unwrap());
            prop_assert_eq!(parse(&commented).unwrap(), value);
        }

        #[test]
        fn no_text_makes_it_fail_otherwise_than_with_an_error(text in "[/*\"\\\\{}a\n ]*") {
            let _ = parse(&text);
        }
    }
}
