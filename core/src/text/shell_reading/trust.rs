//! Whether the syntax tree shows every command of the text.
//!
//! The grammar is more generous than a shell: it takes blanks out that belong to a word, begins a comment inside of
//! one, and lets a quoted string run on past its end. Each of these could carry a command that nobody sees, so a text
//! that shows one of them counts as unreadable.

use std::ops::Range;

use super::syntax::{Kind, Syntax};
use super::word;

/// Words that are no program names where a command starts.
const RESERVED: [&str; 17] = [
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "function", "select",
    "{", "}", "!",
];

/// Every command of the text stands in the tree.
pub(super) fn shows_everything(syntax: &Syntax, ansi_quotes: bool) -> bool {
    !syntax.has_error
        && !syntax.source.contains('\0')
        && gaps_are_blank(syntax)
        && (0..syntax.nodes.len()).all(|index| node_is_sound(syntax, index, ansi_quotes))
}

fn node_is_sound(syntax: &Syntax, index: usize, ansi_quotes: bool) -> bool {
    let text = syntax.text(index);
    if text.len() != syntax.span(index).len() {
        return false;
    }
    match syntax.kind(index) {
        Kind::Comment => comment_is_one(syntax, index),
        Kind::AnsiCString => ansi_string_ends(text) && (ansi_quotes || !text.contains("\\'")),
        Kind::CommandName => !RESERVED.contains(&text),
        Kind::Command => syntax.children(index).into_iter().all(|child| syntax.kind(child) != Kind::Subshell),
        // bash 5.3 and ksh run `${ command; }`.
        Kind::Expansion => !text.get(2..).is_some_and(|body| body.starts_with([' ', '\t', '\n', '|'])),
        Kind::CommandSubstitution => backtick_ends(text),
        Kind::TestCommand => !text.starts_with("[") || text.starts_with("[[") || !redirects_inside(syntax, index),
        Kind::HeredocRedirect => here_document_ends(syntax, index),
        Kind::HeredocContent | Kind::HeredocBody | Kind::HeredocStart | Kind::HeredocEnd | Kind::RawString => true,
        // An empty substitution inside of a word.
        Kind::Token => !text.starts_with("`") || text == "`",
        kind if syntax.is_leaf(index) => hidden_commands(text, kind).is_some(),
        _ => true,
    }
}

/// Between two tokens stands nothing but blanks, ends of lines and continuations between words.
fn gaps_are_blank(syntax: &Syntax) -> bool {
    let mut at = 0;
    for index in 0..syntax.nodes.len() {
        let span = syntax.span(index);
        if span.start > at && !gap_is_blank(syntax, index, at) {
            return false;
        }
        at = at.max(if syntax.is_leaf(index) { span.end } else { span.start });
    }
    is_blank(syntax.slice(at..syntax.source.len()))
}

fn gap_is_blank(syntax: &Syntax, index: usize, start: usize) -> bool {
    let end = syntax.span(index).start;
    let mut around = index;
    while syntax.span(around).start > start && syntax.node(around).is_some_and(|node| node.parent != around) {
        around = syntax.node(around).map_or(0, |node| node.parent);
    }
    let gap = syntax.slice(start..end);
    if matches!(syntax.kind(around), Kind::String | Kind::HeredocBody) {
        return true;
    }
    is_blank(gap) && !joins_words(&syntax.source, start, end)
}

fn is_blank(gap: &str) -> bool {
    let rest = gap.replace("\\\n", "");
    rest.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\n'))
}

/// A continuation without a blank on either side makes one token of two.
fn joins_words(source: &str, start: usize, end: usize) -> bool {
    let gap = source.get(start..end).unwrap_or_default();
    let bare = gap.replace("\\\n", "");
    if bare.len() == gap.len() || !bare.is_empty() {
        return false;
    }
    let before = source.get(..start).and_then(|text| text.chars().next_back());
    let after = source.get(end..).and_then(|text| text.chars().next());
    let operator_before = before.is_none_or(|letter| matches!(letter, '|' | '&' | ';' | '(' | '\n'));
    let word_after = after.is_none_or(|letter| !matches!(letter, '|' | '&' | ';' | '>' | '<' | '(' | ')'));
    !(operator_before && word_after)
}

/// A `#` begins a comment only where a word could begin.
fn comment_is_one(syntax: &Syntax, index: usize) -> bool {
    let before = syntax.source.get(..syntax.span(index).start).unwrap_or_default();
    let parent = syntax.node(index).map_or(Kind::Other, |node| syntax.kind(node.parent));
    let inside = matches!(parent, Kind::String | Kind::HeredocBody | Kind::Expansion);
    let begins = before.is_empty() || before.ends_with([' ', '\t', '\n', ';', '&', '|', '(']);
    let word = before.get(..before.len().saturating_sub(1)).unwrap_or_default();
    let escapes = word.bytes().rev().take_while(|byte| *byte == b'\\').count();
    begins && !inside && escapes % 2 == 0
}

/// `$'...'` ends at its first quote that no backslash escapes.
fn ansi_string_ends(text: &str) -> bool {
    let Some(body) = text.strip_prefix("$'") else { return false };
    let mut escaped = false;
    for (at, byte) in body.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'\'' => return at + 1 == body.len(),
            _ => {}
        }
    }
    false
}

/// A substitution in backticks ends at its first backtick that no backslash escapes.
fn backtick_ends(text: &str) -> bool {
    let Some(body) = text.trim_start_matches('$').strip_prefix('`') else { return true };
    closing_backtick(body).is_some_and(|at| at + 1 == body.len())
}

fn closing_backtick(body: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in body.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'`' => return Some(at),
            _ => {}
        }
    }
    None
}

/// The commands in backticks that a leaf of the tree holds as plain text; `None` when it holds a substitution that
/// cannot be cut out of it.
pub(super) fn hidden_commands(text: &str, kind: Kind) -> Option<Vec<String>> {
    scan_commands(text, 0, &[], kind != Kind::StringContent)
}

/// The commands in backticks of a here-document whose delimiter is not quoted. The tree mixes up backticks there, so
/// they are found here alone; it does know the expansions that start with `$`.
pub(super) fn scan_here_document(text: &str, start: usize, known: &[Range<usize>]) -> Option<Vec<String>> {
    scan_commands(text, start, known, false)
}

fn scan_commands(text: &str, base: usize, known: &[Range<usize>], processes: bool) -> Option<Vec<String>> {
    let mut found = Vec::new();
    let mut known = known.iter().peekable();
    let mut at = 0;
    while let Some(byte) = text.as_bytes().get(at) {
        while known.next_if(|part| part.start < base + at).is_some() {}
        let opens = text.as_bytes().get(at + 1) == Some(&b'(');
        match byte {
            b'\\' => at += 2,
            b'$' if known.peek().is_some_and(|part| part.start == base + at) => {
                at = known.next().map_or(at + 1, |part| part.end.saturating_sub(base).max(at + 1));
            }
            b'`' => {
                let body = text.get(at + 1..)?;
                let end = closing_backtick(body)?;
                found.push(unescape_backtick(body.get(..end)?, false));
                at += end + 2;
            }
            b'$' if opens => return None,
            b'<' | b'>' if opens && processes => return None,
            _ => at += 1,
        }
    }
    Some(found)
}

/// The text a shell reads between backticks.
pub(super) fn unescape_backtick(body: &str, in_double_quotes: bool) -> String {
    let mut text = String::with_capacity(body.len());
    let mut letters = body.chars().peekable();
    while let Some(letter) = letters.next() {
        let escapes =
            letters.peek().is_some_and(|next| matches!(next, '`' | '\\' | '$') || (in_double_quotes && *next == '"'));
        match (letter, escapes) {
            ('\\', true) => text.extend(letters.next()),
            _ => text.push(letter),
        }
    }
    text
}

/// `[ a > b ]` writes a file, though the tree shows a comparison.
fn redirects_inside(syntax: &Syntax, index: usize) -> bool {
    (index..syntax.after(index)).any(|node| {
        let redirects = matches!(syntax.kind(node), Kind::FileRedirect | Kind::HerestringRedirect);
        redirects || (syntax.kind(node) == Kind::Token && syntax.text(node).contains(['<', '>']))
    })
}

/// The delimiter of a here-document, and whether it was quoted.
pub(super) fn delimiter(start: &str) -> (String, bool) {
    (word::plain(start), start.contains(['\'', '"', '\\']))
}

/// The body ends at the first line that is the delimiter, as the tree says.
fn here_document_ends(syntax: &Syntax, index: usize) -> bool {
    let children = syntax.children(index);
    let find = |kind| children.iter().copied().find(|child| syntax.kind(*child) == kind);
    let Some(start) = find(Kind::HeredocStart) else { return false };
    let (Some(body), Some(end)) = (find(Kind::HeredocBody), find(Kind::HeredocEnd)) else { return false };
    let (word, quoted) = delimiter(syntax.text(start));
    let strips = children.iter().any(|child| syntax.kind(*child) == Kind::Token && syntax.text(*child) == "<<-");
    let line_start = |at: usize| syntax.slice(0..at).rfind('\n').map_or(0, |newline| newline + 1);
    let (from, to) = (line_start(syntax.span(body).start), line_start(syntax.span(end).start));
    let ends = |line: &str| if strips { line.trim_start_matches('\t') == word } else { line == word };
    let rest = syntax.slice(to..syntax.source.len());
    let known = here_document_expansions(syntax, body);
    let text = syntax.text(body);
    !word.is_empty()
        && from > syntax.span(start).start
        && rest.split('\n').next().is_some_and(ends)
        && !syntax.slice(from..to.max(from)).split_terminator('\n').any(ends)
        && (quoted || scan_here_document(text, syntax.span(body).start, &known).is_some())
}

/// The expansions of a here-document that start with `$`.
pub(super) fn here_document_expansions(syntax: &Syntax, body: usize) -> Vec<Range<usize>> {
    let outer = syntax.outermost(body, Kind::is_expansion);
    outer.into_iter().map(|node| syntax.span(node)).filter(|span| syntax.slice(span.clone()).starts_with('$')).collect()
}
