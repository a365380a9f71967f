//! From records to results: what may be named is kept in order, everything else is counted.

use std::sync::Arc;

use serde::de::IgnoredAny;

use super::first::First;
use super::names::{self, Style};
use super::records::{self, Kind, Match, Text};
use super::split::Piece;

/// Paths, or matching lines, that one call shows.
pub(super) const LIMIT: usize = 100;

/// UTF-16 code units of a matching line that are shown.
const LONGEST_LINE: usize = 2_000;

/// What was found and is not shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Dropped {
    /// Over the limit.
    pub(super) limit: u64,
    /// In a file that no text names.
    pub(super) unnameable: u64,
    /// In a file whose `read` decision is `deny`.
    pub(super) denied: u64,
    /// Lines that are not UTF-8.
    pub(super) undecodable: u64,
    /// Records too large to read.
    pub(super) oversized: u64,
}

impl Dropped {
    /// All of them.
    pub(super) fn total(&self) -> u64 {
        self.limit + self.unnameable + self.denied + self.undecodable + self.oversized
    }
}

/// One matching line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hit {
    /// The file's own name, absolute.
    pub(super) path: Arc<str>,
    /// From 1.
    pub(super) line: u64,
    /// The line without its end, cut when it is long.
    pub(super) text: String,
    /// Whether it was cut.
    pub(super) cut: bool,
}

/// `rg` wrote something that is not its format.
#[derive(Debug)]
pub(super) struct Garbled;

/// Decides what may be named.
pub(super) struct Naming<'a> {
    pub(super) style: Style,
    /// The workspace, absolute.
    pub(super) workspace: &'a str,
    /// Whether a file, in relative spelling, may not be shown.
    pub(super) is_denied: &'a (dyn Fn(&str) -> bool + Sync),
}

/// Turns the records of one run into results.
pub(super) trait Collect {
    /// Takes one record.
    fn take(&mut self, piece: Piece<'_>) -> Result<(), Garbled>;
    /// Whether anything was found, shown or not.
    fn found(&self) -> bool;
}

/// Collects the paths of `rg --files --null`.
pub(super) struct Paths<'a> {
    naming: Naming<'a>,
    first: First<String>,
    dropped: Dropped,
    found: bool,
}

impl<'a> Paths<'a> {
    pub(super) fn new(naming: Naming<'a>) -> Self {
        Self { naming, first: First::new(LIMIT), dropped: Dropped::default(), found: false }
    }

    pub(super) fn finish(self) -> (Vec<String>, Dropped) {
        let (paths, limit) = self.first.finish();
        (paths, Dropped { limit, ..self.dropped })
    }
}

impl Collect for Paths<'_> {
    fn take(&mut self, piece: Piece<'_>) -> Result<(), Garbled> {
        self.found = true;
        let Piece::Whole(bytes) = piece else {
            // No system has such paths; nothing could name it.
            self.dropped.unnameable += 1;
            return Ok(());
        };
        match names::name(bytes, self.naming.style) {
            None => self.dropped.unnameable += 1,
            Some(path) if (self.naming.is_denied)(names::relative(&path, self.naming.workspace)) => {
                self.dropped.denied += 1;
            }
            Some(path) => self.first.offer(|kept| (*path).cmp(kept.as_str()), || path.clone().into_owned()),
        }
        Ok(())
    }

    fn found(&self) -> bool {
        self.found
    }
}

/// The file whose matches are arriving.
enum File {
    Shown(Arc<str>),
    Unnameable,
    Denied,
}

/// Collects the matching lines of `rg --json`.
pub(super) struct Lines<'a> {
    naming: Naming<'a>,
    first: First<Hit>,
    dropped: Dropped,
    file: Option<File>,
    found: bool,
    searches: Option<u64>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(naming: Naming<'a>) -> Self {
        Self { naming, first: First::new(LIMIT), dropped: Dropped::default(), file: None, found: false, searches: None }
    }

    /// How many files `rg` says it has read; `None` when it did not come to its summary.
    pub(super) fn searches(&self) -> Option<u64> {
        self.searches
    }

    pub(super) fn finish(self) -> (Vec<Hit>, Dropped) {
        let (hits, limit) = self.first.finish();
        (hits, Dropped { limit, ..self.dropped })
    }

    fn begin(&mut self, record: &[u8]) -> Result<(), Garbled> {
        let name = match records::begin(record).map_err(|_| Garbled)? {
            Text::Text(path) => names::name(path.as_bytes(), self.naming.style).map(|name| Arc::from(&*name)),
            Text::Bytes(_) => None,
        };
        self.file = Some(match name {
            None => File::Unnameable,
            Some(path) if (self.naming.is_denied)(names::relative(&path, self.naming.workspace)) => File::Denied,
            Some(path) => File::Shown(path),
        });
        Ok(())
    }

    fn matched(&mut self, piece: &Piece<'_>) -> Result<(), Garbled> {
        self.found = true;
        let (path, record) = match (&self.file, piece) {
            (None, _) => return Err(Garbled),
            (Some(File::Unnameable), _) => {
                self.dropped.unnameable += 1;
                return Ok(());
            }
            (Some(File::Denied), _) => {
                self.dropped.denied += 1;
                return Ok(());
            }
            (Some(File::Shown(_)), Piece::Oversized(_)) => {
                self.dropped.oversized += 1;
                return Ok(());
            }
            (Some(File::Shown(path)), Piece::Whole(record)) => (path, record),
        };
        let Match::<IgnoredAny> { lines, line_number } = records::matched(record).map_err(|_| Garbled)?;
        if matches!(lines, Text::Bytes(_)) {
            self.dropped.undecodable += 1;
            return Ok(());
        }
        // The text is read only for a line that has a place among the first.
        self.first.offer(
            |kept| (&**path, line_number).cmp(&(&*kept.path, kept.line)),
            || hit(Arc::clone(path), line_number, record),
        );
        Ok(())
    }
}

impl Collect for Lines<'_> {
    fn take(&mut self, piece: Piece<'_>) -> Result<(), Garbled> {
        let (Piece::Whole(record) | Piece::Oversized(record)) = piece;
        match records::kind(record) {
            Kind::Begin => self.begin(record),
            Kind::Match => self.matched(&piece),
            Kind::End => {
                self.file = None;
                Ok(())
            }
            Kind::Other => {
                self.searches = records::searches(record).or(self.searches);
                Ok(())
            }
        }
    }

    fn found(&self) -> bool {
        self.found
    }
}

fn hit(path: Arc<str>, line: u64, record: &[u8]) -> Hit {
    // The record was read once already, without its text: it cannot be malformed now.
    let text = match records::matched::<String>(record).map(|found| found.lines) {
        Ok(Text::Text(text)) => text,
        _ => String::new(),
    };
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let (text, cut) = cut(text.strip_suffix('\r').unwrap_or(text), LONGEST_LINE);
    Hit { path, line, text: text.to_owned(), cut }
}

/// The first `units` UTF-16 code units, never half a character.
fn cut(text: &str, units: usize) -> (&str, bool) {
    let mut used = 0;
    for (at, character) in text.char_indices() {
        used += character.len_utf16();
        if used > units {
            return (text.split_at(at).0, true);
        }
    }
    (text, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naming<'a>(is_denied: &'a (dyn Fn(&str) -> bool + Sync)) -> Naming<'a> {
        Naming { style: Style::Unix, workspace: "/w", is_denied }
    }

    fn paths(all: &[&[u8]], is_denied: &(dyn Fn(&str) -> bool + Sync)) -> (Vec<String>, Dropped) {
        let mut paths = Paths::new(naming(is_denied));
        for path in all {
            paths.take(Piece::Whole(path)).unwrap();
        }
        paths.finish()
    }

    fn lines(all: &[String], is_denied: &(dyn Fn(&str) -> bool + Sync)) -> (Vec<Hit>, Dropped) {
        let mut lines = Lines::new(naming(is_denied));
        for record in all {
            lines.take(Piece::Whole(record.as_bytes())).unwrap();
        }
        lines.finish()
    }

    fn begin(path: &str) -> String {
        format!(r#"{{"type":"begin","data":{{"path":{path}}}}}"#)
    }

    fn matched(line: u64, text: &str) -> String {
        format!(r#"{{"type":"match","data":{{"path":{{}},"lines":{text},"line_number":{line},"submatches":[]}}}}"#)
    }

    #[test]
    fn paths_are_sorted_by_bytes() {
        let (found, dropped) = paths(&[b"/w/b", b"/w/a/z", b"/w/B", "/w/ä".as_bytes(), b"/w/a"], &|_| false);
        assert_eq!(found, ["/w/B", "/w/a", "/w/a/z", "/w/b", "/w/ä"]);
        assert_eq!(dropped, Dropped::default());
    }

    // spec: SEARCH-25
    #[test]
    fn every_dropped_path_is_counted_under_its_reason() {
        let many: Vec<String> = (0..LIMIT + 5).map(|n| format!("/w/{n:04}")).collect();
        let mut all: Vec<&[u8]> = many.iter().map(String::as_bytes).collect();
        all.extend([&b"/w/\xff"[..], b"/w/secret/a", b"/w/secret/b"]);
        let (found, dropped) = paths(&all, &|path| path.starts_with("secret/"));
        assert_eq!(found.len(), LIMIT);
        assert_eq!(dropped, Dropped { limit: 5, unnameable: 1, denied: 2, ..Dropped::default() });
        let (found, dropped) = paths(&all[..LIMIT], &|_| false);
        assert_eq!((found.len(), dropped.total()), (LIMIT, 0));
    }

    // spec: SEARCH-19 SEARCH-25
    #[test]
    fn every_dropped_line_is_counted_under_its_reason() {
        let text = r#"{"text":"x\n"}"#;
        let all = [
            begin(r#"{"text":"/w/b"}"#),
            matched(2, text),
            matched(10, r#"{"bytes":"/w=="}"#),
            begin(r#"{"bytes":"/w=="}"#),
            matched(1, text),
            matched(2, text),
            begin(r#"{"text":"/w/secret"}"#),
            matched(1, text),
            begin(r#"{"text":"/w/a"}"#),
            matched(7, text),
        ];
        let (hits, dropped) = lines(&all, &|path| path == "secret");
        let shown: Vec<_> = hits.iter().map(|hit| (&*hit.path, hit.line, hit.text.as_str())).collect();
        assert_eq!(shown, [("/w/a", 7, "x"), ("/w/b", 2, "x")]);
        assert_eq!(dropped, Dropped { unnameable: 2, denied: 1, undecodable: 1, ..Dropped::default() });
    }

    #[test]
    fn lines_sort_by_number_not_by_text() {
        let text = r#"{"text":"x"}"#;
        let (hits, _) =
            lines(&[begin(r#"{"text":"/w/a"}"#), matched(10, text), matched(9, text), matched(100, text)], &|_| false);
        assert_eq!(hits.iter().map(|hit| hit.line).collect::<Vec<_>>(), [9, 10, 100]);
    }

    #[test]
    fn a_match_without_its_file_is_garbled() {
        let mut lines = Lines::new(naming(&|_| false));
        assert!(lines.take(Piece::Whole(matched(1, r#"{"text":"x"}"#).as_bytes())).is_err());
        assert!(lines.take(Piece::Whole(br#"{"type":"begin","da"#)).is_err());
    }

    // spec: SEARCH-23
    #[test]
    fn lines_are_cut_by_utf16_units_and_never_inside_a_character() {
        assert_eq!(cut("abc", 3), ("abc", false));
        assert_eq!(cut("abcd", 3), ("abc", true));
        assert_eq!(cut("a😀b", 3), ("a😀", true));
        assert_eq!(cut("ab😀", 3), ("ab", true));
        assert_eq!(cut("äöü", 2), ("äö", true));
        let long = "😀".repeat(1_500);
        let (shown, was_cut) = cut(&long, LONGEST_LINE);
        assert!(was_cut);
        assert_eq!(shown.encode_utf16().count(), LONGEST_LINE);
    }

    #[test]
    fn both_line_ends_are_taken_off() {
        for (end, expected) in [("\\n", "x"), ("\\r\\n", "x"), ("", "x"), ("\\n\\n", "x\n")] {
            let record = matched(1, &format!(r#"{{"text":"x{end}"}}"#));
            assert_eq!(hit(Arc::from("/w/a"), 1, record.as_bytes()).text, expected);
        }
    }
}
