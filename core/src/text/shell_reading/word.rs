//! Quote removal: what a command sees of a word.

use std::ops::Range;

use super::model::{Substitution, Word};

/// Builds a word from its text. `expansions` are the outermost parts that the shell replaces, in order and relative to
/// the same source as `span`.
pub(super) fn word(
    source: &str,
    span: Range<usize>,
    expansions: &[Range<usize>],
    substitutions: Vec<Substitution>,
) -> Word {
    let raw = source.get(span.clone()).unwrap_or_default();
    let mut scan = Scan { raw, base: span.start, at: 0, out: Findings::default() };
    scan.run(expansions);
    let found = scan.out;
    let tilde = raw.strip_prefix('~').and_then(|_| found.spelled.strip_prefix('~')).map(str::to_owned);
    let is_home = tilde.as_deref().is_some_and(|tail| tail.is_empty() || tail.starts_with('/'));
    Word {
        home: home_tail(raw, span.start, expansions, &found),
        raw: raw.to_owned(),
        literal: found.erased(),
        has_blank: found.has_blank,
        expands: found.expands || (tilde.is_some() && !is_home),
        globs: found.globs,
        braces: found.braces,
        tilde: tilde.filter(|_| is_home),
        spelled: found.spelled,
        span,
        substitutions,
    }
}

/// A word from text in which nothing expands.
pub(super) fn plain(text: &str) -> String {
    word(text, 0..text.len(), &[], Vec::new()).spelled
}

fn home_tail(raw: &str, base: usize, expansions: &[Range<usize>], found: &Findings) -> Option<String> {
    let [only] = expansions else { return None };
    if found.globs || found.braces {
        return None;
    }
    let start = only.start.checked_sub(base)?;
    let variable = raw.get(start..only.end.checked_sub(base)?)?;
    let leads = matches!(raw.get(..start), Some("" | "\""));
    let tail = found.spelled.strip_prefix(variable)?;
    let is_home = leads && matches!(variable, "$HOME" | "${HOME}") && (tail.is_empty() || tail.starts_with('/'));
    is_home.then(|| tail.to_owned())
}

#[derive(Default)]
struct Findings {
    spelled: String,
    expands: bool,
    globs: bool,
    braces: bool,
    open_bracket: bool,
    open_brace: bool,
    listed_brace: bool,
    has_blank: bool,
    /// Where expansions stand in `spelled`.
    expansions: Vec<Range<usize>>,
}

impl Findings {
    /// The spelling with every expansion empty.
    fn erased(&self) -> String {
        let mut text = String::with_capacity(self.spelled.len());
        let mut at = 0;
        for part in &self.expansions {
            text.push_str(self.spelled.get(at..part.start).unwrap_or_default());
            at = part.end;
        }
        text.push_str(self.spelled.get(at..).unwrap_or_default());
        text
    }
}

struct Scan<'a> {
    raw: &'a str,
    base: usize,
    at: usize,
    out: Findings,
}

impl Scan<'_> {
    fn peek(&self) -> Option<char> {
        self.raw.get(self.at..).and_then(|rest| rest.chars().next())
    }

    fn take(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn run(&mut self, expansions: &[Range<usize>]) {
        let mut expansions = expansions.iter().peekable();
        let mut in_double = false;
        loop {
            while expansions.next_if(|part| part.start < self.base + self.at).is_some() {}
            if let Some(part) = expansions.next_if(|part| part.start == self.base + self.at) {
                self.out.expands = true;
                let end = part.end.saturating_sub(self.base).clamp(self.at, self.raw.len());
                let start = self.out.spelled.len();
                self.out.spelled.push_str(self.raw.get(self.at..end).unwrap_or_default());
                self.out.expansions.push(start..self.out.spelled.len());
                if end > self.at {
                    self.at = end;
                    continue;
                }
            }
            let Some(letter) = self.take() else { return };
            match letter {
                '"' => in_double = !in_double,
                '\\' => self.escape(in_double),
                _ if in_double => self.out.spelled.push(letter),
                '\'' => self.single(),
                '$' if self.peek() == Some('\'') => self.ansi(),
                '$' if self.peek() == Some('"') => {}
                _ => self.unquoted(letter),
            }
        }
    }

    fn escape(&mut self, in_double: bool) {
        match self.take() {
            Some('\n') => {}
            Some(next) if in_double && !matches!(next, '$' | '`' | '"' | '\\') => {
                self.out.spelled.push('\\');
                self.out.spelled.push(next);
            }
            Some(next) => self.out.spelled.push(next),
            None => self.out.spelled.push('\\'),
        }
    }

    fn single(&mut self) {
        while let Some(letter) = self.take() {
            if letter == '\'' {
                return;
            }
            self.out.spelled.push(letter);
        }
    }

    fn ansi(&mut self) {
        self.take();
        while let Some(letter) = self.take() {
            match letter {
                '\'' => return,
                '\\' => self.ansi_escape(),
                _ => self.out.spelled.push(letter),
            }
        }
    }

    fn ansi_escape(&mut self) {
        let Some(letter) = self.take() else { return };
        let decoded = match letter {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'a' => '\u{7}',
            'b' => '\u{8}',
            'e' | 'E' => '\u{1b}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            'x' => self.number(16, 2, 0),
            'u' => self.number(16, 4, 0),
            'U' => self.number(16, 8, 0),
            '0'..='7' => self.number(8, 2, letter.to_digit(8).unwrap_or(0)),
            'c' => self.take().map_or('\u{fffd}', |key| char::from((key as u32 & 0x1f) as u8)),
            other => other,
        };
        self.out.spelled.push(decoded);
    }

    fn number(&mut self, radix: u32, digits: usize, first: u32) -> char {
        let mut value = first;
        for _ in 0..digits {
            let Some(digit) = self.peek().and_then(|letter| letter.to_digit(radix)) else { break };
            value = value.wrapping_mul(radix).wrapping_add(digit);
            self.take();
        }
        char::from_u32(value).unwrap_or('\u{fffd}')
    }

    fn unquoted(&mut self, letter: char) {
        let out = &mut self.out;
        match letter {
            '*' | '?' => out.globs = true,
            '[' => out.open_bracket = true,
            ']' => out.globs |= out.open_bracket,
            '{' => (out.open_brace, out.listed_brace) = (true, out.listed_brace && out.open_brace),
            ',' => out.listed_brace |= out.open_brace,
            '.' => out.listed_brace |= out.open_brace && out.spelled.ends_with('.'),
            ' ' | '\t' | '\n' => out.has_blank = true,
            '}' => out.braces |= out.listed_brace,
            _ => {}
        }
        out.spelled.push(letter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(text: &str) -> Word {
        word(text, 0..text.len(), &[], Vec::new())
    }

    #[test]
    fn quotes_and_escapes_are_removed() {
        for (text, value) in [
            ("git", "git"),
            ("\"git\"", "git"),
            ("g\\it", "git"),
            ("'g'i\"t\"", "git"),
            ("$'\\x67\\151t'", "git"),
            ("$\"git\"", "git"),
            ("\"a\\b\\\"c\\\\\"", "a\\b\"c\\"),
            ("'a\\b'", "a\\b"),
            ("\"a\\\nb\"", "ab"),
            ("$'\\u00e9\\'\\n'", "é'\n"),
            ("~/x", "~/x"),
            ("'~/x'", "~/x"),
            ("{}", "{}"),
            ("[", "["),
            ("a\\*b", "a*b"),
        ] {
            assert_eq!(spelled(text).value(), Some(value), "{text}");
        }
    }

    #[test]
    fn what_the_shell_expands_has_no_value() {
        for text in ["*.rs", "a?", "[ab]", "{a,b}", "x{1..3}", "~bob/x", "{a,{b,c}}"] {
            assert_eq!(spelled(text).value(), None, "{text}");
        }
        assert_eq!(spelled("~/x").tilde.as_deref(), Some("/x"));
        assert_eq!(spelled("'~/x'").tilde, None);
        assert_eq!(spelled("\"{a,b}\"").value(), Some("{a,b}"));
    }

    #[test]
    fn the_home_variable_is_a_known_start() {
        for (text, part, tail) in [
            ("$HOME/x", 0..5, Some("/x")),
            ("\"$HOME/x y\"", 1..6, Some("/x y")),
            ("${HOME}", 0..7, Some("")),
            ("$HOMES/x", 0..6, None),
            ("a$HOME", 1..6, None),
            ("$HOME/*", 0..5, None),
        ] {
            assert_eq!(word(text, 0..text.len(), &[part], Vec::new()).home.as_deref(), tail, "{text}");
        }
    }
}
