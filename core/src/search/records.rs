//! Reading one line of `rg --json`.
//!
//! The kind is told from the first bytes, so that a record nobody needs is never parsed, and a record too large to
//! keep still counts as what it is.

use serde::Deserialize;
use serde::de::IgnoredAny;

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A file with matches follows.
    Begin,
    /// A matching line of that file.
    Match,
    /// The end of that file.
    End,
    /// Anything else; the summary is among it.
    Other,
}

/// Text that may not be UTF-8. `rg` then gives the bytes in base64, which nothing here needs.
#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Text<T = String> {
    /// Valid UTF-8.
    Text(T),
    /// Something else.
    Bytes(IgnoredAny),
}

/// A matching line. `T` is `String`, or `IgnoredAny` when only the kind of text matters.
#[derive(Debug, Deserialize)]
pub(super) struct Match<T = String> {
    pub(super) lines: Text<T>,
    pub(super) line_number: u64,
}

#[derive(Deserialize)]
struct Envelope<T> {
    data: T,
}

#[derive(Deserialize)]
struct Begin {
    path: Text,
}

#[derive(Deserialize)]
struct Summary {
    stats: Stats,
}

#[derive(Deserialize)]
struct Stats {
    searches: u64,
}

/// The kind of a record, from its first bytes.
pub(super) fn kind(record: &[u8]) -> Kind {
    match record.strip_prefix(br#"{"type":""#) {
        Some(rest) if rest.starts_with(br#"match""#) => Kind::Match,
        Some(rest) if rest.starts_with(br#"begin""#) => Kind::Begin,
        Some(rest) if rest.starts_with(br#"end""#) => Kind::End,
        _ => Kind::Other,
    }
}

/// The path of the file that follows.
pub(super) fn begin(record: &[u8]) -> serde_json::Result<Text> {
    serde_json::from_slice::<Envelope<Begin>>(record).map(|envelope| envelope.data.path)
}

/// A matching line.
pub(super) fn matched<'a, T: Deserialize<'a>>(record: &'a [u8]) -> serde_json::Result<Match<T>> {
    serde_json::from_slice::<Envelope<Match<T>>>(record).map(|envelope| envelope.data)
}

/// How many files were read to their end, when this is the summary.
pub(super) fn searches(record: &[u8]) -> Option<u64> {
    serde_json::from_slice::<Envelope<Summary>>(record).ok().map(|envelope| envelope.data.stats.searches)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: &[u8] = br#"{"type":"begin","data":{"path":{"text":"/w/a\nb"}}}"#;
    const MATCH: &[u8] = br#"{"type":"match","data":{"path":{"text":"/w/a"},"lines":{"text":"x\n"},"line_number":3,"absolute_offset":0,"submatches":[{"match":{"text":"x"},"start":0,"end":1}]}}"#;
    const BYTES: &[u8] = br#"{"type":"match","data":{"path":{"bytes":"/w=="},"lines":{"bytes":"/wo="},"line_number":1,"absolute_offset":0,"submatches":[]}}"#;
    const SUMMARY: &[u8] =
        br#"{"data":{"elapsed_total":{"secs":0},"stats":{"matches":1,"searches":7}},"type":"summary"}"#;

    #[test]
    fn kinds_are_told_from_the_head() {
        assert_eq!([BEGIN, MATCH, SUMMARY].map(kind), [Kind::Begin, Kind::Match, Kind::Other]);
        assert_eq!(kind(br#"{"type":"match"#), Kind::Other);
        assert_eq!(kind(b""), Kind::Other);
    }

    #[test]
    fn fields_are_read() {
        assert_eq!(begin(BEGIN).unwrap(), Text::Text("/w/a\nb".into()));
        let line: Match = matched(MATCH).unwrap();
        assert_eq!((line.lines, line.line_number), (Text::Text("x\n".into()), 3));
        assert_eq!(searches(SUMMARY), Some(7));
        assert_eq!(searches(MATCH), None);
    }

    #[test]
    fn text_that_is_not_utf8_is_told_apart() {
        let line: Match = matched(BYTES).unwrap();
        assert!(matches!(line.lines, Text::Bytes(_)));
        let line: Match<IgnoredAny> = matched(BYTES).unwrap();
        assert!(matches!(line.lines, Text::Bytes(_)));
    }

    #[test]
    fn what_is_no_record_is_an_error() {
        assert!(begin(b"{\"type\":\"begin\"").is_err());
        assert!(matched::<String>(b"not json").is_err());
    }
}
