//! Unified diffs, bounded.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use similar::{ChangeTag, TextDiff};

/// Texts above this size are not compared line by line.
pub const DIFF_INPUT: u64 = 1024 * 1024;
/// Largest diff text.
pub const DIFF_OUTPUT: usize = 256 * 1024;
/// The search for a small diff is given up after this long; the diff is still right, only larger.
const PATIENCE: Duration = Duration::from_millis(200);

/// The change of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileDiff {
    /// Absolute path.
    pub path: String,
    /// Null = a new file.
    pub old_text: Option<String>,
    /// Empty = deleted.
    pub new_text: String,
}

/// A diff with its line counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// Unified diff text; empty when nothing differs.
    pub text: String,
    /// Lines that were added.
    pub added: usize,
    /// Lines that were removed.
    pub removed: usize,
}

/// Compares two contents of one file. `old` is `None` for a new file.
pub fn unified(relative: &str, old: Option<&str>, new: &str) -> Diff {
    if old == Some(new) {
        return Diff::default();
    }
    let mut config = TextDiff::configure();
    let diff = config.timeout(PATIENCE).diff_lines(old.unwrap_or_default(), new);
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
    let name = relative.replace('\n', "\\n");
    let before = if old.is_some() { name.as_str() } else { "/dev/null" };
    let mut unified = diff.unified_diff();
    unified.header(before, &name);
    let mut text = unified.to_string();
    if text.is_empty() {
        // An empty new file has no lines, and is a change all the same.
        text = format!("--- {before}\n+++ {name}\n");
    }
    Diff { text: bounded(text), added: count(ChangeTag::Insert), removed: count(ChangeTag::Delete) }
}

/// Stands in for the diff of contents that are too large to compare.
pub fn too_large(relative: &str, before: Option<u64>, after: u64) -> String {
    let name = relative.replace('\n', "\\n");
    let old = before.map_or_else(|| "a new file".to_owned(), |bytes| format!("{bytes} bytes before"));
    format!("--- {name}\n+++ {name}\n(too large for a diff: {old}, {after} bytes after)\n")
}

fn bounded(mut text: String) -> String {
    if text.len() <= DIFF_OUTPUT {
        return text;
    }
    let whole = (0..=DIFF_OUTPUT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let end = text.get(..whole).and_then(|head| head.rfind('\n')).map_or(0, |line| line + 1);
    let hidden = text.len() - end;
    text.truncate(end);
    text.push_str(&format!("(the rest of the diff, {hidden} bytes, is left out)\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diffs_name_the_file_and_count_lines() {
        let diff = unified("src/a", Some("a\nb\nc\n"), "a\nB\nc\nd");
        assert_eq!((diff.added, diff.removed), (2, 1));
        assert_eq!(
            diff.text,
            "--- src/a\n+++ src/a\n@@ -1,3 +1,4 @@\n a\n-b\n+B\n c\n+d\n\\ No newline at end of file\n"
        );
        assert_eq!(unified("n", None, "x\n").text, "--- /dev/null\n+++ n\n@@ -0,0 +1 @@\n+x\n");
        assert_eq!(unified("n", None, "").text, "--- /dev/null\n+++ n\n");
        assert_eq!(unified("n", Some("x"), "x"), Diff::default());
    }

    // case: 13
    #[test]
    fn a_large_diff_is_cut_between_lines() {
        let text = unified("n", None, &"漢字\n".repeat(100_000)).text;
        assert!(text.len() < DIFF_OUTPUT + 100);
        assert!(text.ends_with("bytes, is left out)\n"));
        let one_line = unified("n", None, &"漢".repeat(200_000)).text;
        assert!(one_line.len() < DIFF_OUTPUT + 200);
    }
}
