//! The words and the facts of a result.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::collect::{Dropped, Hit};
use super::names::on_one_line;
use super::root::{Kind, SearchRoot};
use crate::types::JsonMap;

/// What a search shows.
#[derive(Debug)]
pub struct Rendered {
    /// The search root in relative spelling.
    pub title: String,
    /// What the model reads.
    pub text: String,
    /// Typed facts.
    pub metadata: JsonMap,
}

/// The result of `glob`.
pub(super) fn paths(root: &SearchRoot, paths: &[String], dropped: &Dropped) -> Rendered {
    let mut text = String::new();
    for path in paths {
        line(&mut text, &on_one_line(path));
    }
    close(&mut text, Kind::Directory, paths.is_empty(), dropped);
    let counts = json!({ "limit": dropped.limit, "unnameable": dropped.unnameable, "denied": dropped.denied });
    let mut metadata = facts(root, paths.len(), dropped, counts);
    metadata.insert("paths".into(), json!(paths));
    Rendered { title: root.spelling(), text, metadata }
}

/// The result of `grep`; hits of one file stand together.
pub(super) fn lines(root: &SearchRoot, hits: &[Hit], dropped: &Dropped) -> Rendered {
    let files: Vec<&[Hit]> = hits.chunk_by(|one, next| one.path == next.path).collect();
    let mut text = String::new();
    if !hits.is_empty() {
        line(&mut text, &format!("{} matches in {} files", hits.len(), files.len()));
    }
    for (number, file) in files.iter().enumerate() {
        if number > 0 {
            line(&mut text, "");
        }
        section(&mut text, file);
    }
    close(&mut text, root.kind(), hits.is_empty(), dropped);
    let counts = json!({
        "limit": dropped.limit, "unnameable": dropped.unnameable, "denied": dropped.denied,
        "undecodable": dropped.undecodable, "oversized": dropped.oversized,
    });
    let mut metadata = facts(root, hits.len(), dropped, counts);
    let names: Vec<&str> = files.iter().filter_map(|file| file.first()).map(|hit| &*hit.path).collect();
    metadata.insert("files".into(), json!(names));
    metadata.insert("results".into(), hits.iter().map(result).collect());
    Rendered { title: root.spelling(), text, metadata }
}

fn section(text: &mut String, file: &[Hit]) {
    for (number, hit) in file.iter().enumerate() {
        if number == 0 {
            line(text, &on_one_line(&hit.path));
        }
        line(text, &format!("Line {}: {}", hit.line, hit.text));
    }
}

fn result(hit: &Hit) -> Value {
    json!({ "path": &*hit.path, "line": hit.line, "text": hit.text, "lineCut": hit.cut })
}

fn facts(root: &SearchRoot, count: usize, dropped: &Dropped, counts: Value) -> JsonMap {
    let mut metadata = JsonMap::new();
    metadata.insert("count".into(), json!(count));
    metadata.insert("truncated".into(), json!(dropped.total() > 0));
    metadata.insert("dropped".into(), counts);
    metadata.insert("root".into(), json!(root.path().to_string_lossy()));
    metadata
}

/// The last lines: nothing there, nothing that can be shown, or more than is shown.
fn close(text: &mut String, kind: Kind, empty: bool, dropped: &Dropped) {
    let total = dropped.total();
    match (empty, total, kind) {
        (true, 0, Kind::Directory) => line(text, "No files found"),
        (true, 0, Kind::File) => line(text, "No matches found"),
        (true, _, _) => line(text, &format!("Matches exist, but none can be shown: {}", reasons(dropped))),
        (false, _, _) => {}
    }
    if total > 0 {
        let mut mark = format!("(truncated: {total} more were left out; narrow the pattern or path)");
        if total > dropped.limit {
            let _ = write!(mark, " {}", reasons(dropped));
        }
        line(text, &mark);
    }
}

fn reasons(dropped: &Dropped) -> String {
    let all = [
        (dropped.limit, "over the limit of 100"),
        (dropped.unnameable, "in files whose names are not valid Unicode"),
        (dropped.denied, "in files that a permission rule keeps from being read"),
        (dropped.undecodable, "in lines that are not UTF-8"),
        (dropped.oversized, "in lines too long to read"),
    ];
    let named: Vec<String> =
        all.iter().filter(|(count, _)| *count > 0).map(|(count, why)| format!("{count} {why}")).collect();
    named.join(", ")
}

/// Lines are joined, not ended, by a newline.
fn line(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::root::Places;
    use super::*;

    fn root(file: bool) -> (tempfile::TempDir, SearchRoot) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("one.txt"), "x").unwrap();
        let workspace = folder.path().canonicalize().unwrap();
        let places = Places { spelling: workspace.clone(), workspace, further: Vec::new() };
        let root = SearchRoot::resolve(&places, file.then_some("one.txt")).unwrap();
        (folder, root)
    }

    fn hit(path: &str, line: u64) -> Hit {
        Hit { path: Arc::from(path), line, text: format!("text {line}"), cut: false }
    }

    #[test]
    fn glob_texts() {
        let (_folder, root) = root(false);
        let shown = paths(&root, &["/w/a".into(), "/w/b\nc".into()], &Dropped::default());
        assert_eq!(shown.text, "/w/a\n\"/w/b\\nc\"");
        assert_eq!(shown.title, ".");
        assert_eq!(shown.metadata["paths"], json!(["/w/a", "/w/b\nc"]));
        assert_eq!(shown.metadata["dropped"], json!({"limit": 0, "unnameable": 0, "denied": 0}));
        assert_eq!(paths(&root, &[], &Dropped::default()).text, "No files found");
    }

    #[test]
    fn grep_texts() {
        let (_folder, root) = root(false);
        let shown = lines(&root, &[hit("/w/a", 1), hit("/w/a", 3), hit("/w/b", 2)], &Dropped::default());
        assert_eq!(shown.text, "3 matches in 2 files\n/w/a\nLine 1: text 1\nLine 3: text 3\n\n/w/b\nLine 2: text 2");
        assert_eq!(shown.metadata["files"], json!(["/w/a", "/w/b"]));
        assert_eq!(
            shown.metadata["results"][2],
            json!({"path": "/w/b", "line": 2, "text": "text 2", "lineCut": false})
        );
        assert_eq!(shown.metadata["truncated"], json!(false));
    }

    #[test]
    fn nothing_has_two_words() {
        let (_folder, directory) = root(false);
        assert_eq!(lines(&directory, &[], &Dropped::default()).text, "No files found");
        let (_folder, file) = root(true);
        assert_eq!(lines(&file, &[], &Dropped::default()).text, "No matches found");
        assert_eq!(lines(&file, &[], &Dropped::default()).title, "one.txt");
    }

    // spec: SEARCH-25
    #[test]
    fn whatever_was_dropped_is_said_in_the_last_line() {
        let (_folder, root) = root(false);
        let over = Dropped { limit: 7, ..Dropped::default() };
        let shown = lines(&root, &[hit("/w/a", 1)], &over);
        assert!(
            shown.text.ends_with("\n(truncated: 7 more were left out; narrow the pattern or path)"),
            "{}",
            shown.text
        );
        assert_eq!(shown.metadata["truncated"], json!(true));
        let odd = Dropped { unnameable: 1, denied: 2, ..Dropped::default() };
        let shown = paths(&root, &["/w/a".into()], &odd);
        let last = shown.text.lines().last().unwrap();
        assert!(last.starts_with("(truncated: 3 more were left out; narrow the pattern or path) 1 in files"), "{last}");
        let shown = paths(&root, &[], &odd);
        assert!(
            shown.text.starts_with("Matches exist, but none can be shown: 1 in files whose names"),
            "{}",
            shown.text
        );
        assert!(shown.text.lines().last().unwrap().starts_with("(truncated: 3 more"));
    }
}
