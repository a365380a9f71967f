//! What the model reads when a call did not end well.

use serde_json::Value;

use crate::types::{BlockKind, ErrorKind, Outcome, Replay, ToolError};

/// The request that ends the text of every failed call that is not declared safe to repeat.
const INSPECT: &str =
    "Inspect the authoritative state that this call would have changed before you start any new mutation.";

/// The text of a call that settled with an error: the typed first line, what the kind adds, and what to do next.
pub fn error_text(error: &ToolError, replay: Replay) -> String {
    let mut text = format!("{} {}", first_line(error), error.message);
    if let ErrorKind::Uncertain { applied_paths, .. } = &error.kind
        && !applied_paths.is_empty()
    {
        text.push_str("\nObserved as changed: ");
        text.push_str(&applied_paths.join(", "));
    }
    if let ErrorKind::MutationConflict { conflict } = &error.kind {
        conflict_text(conflict, &mut text);
    }
    let nothing_happened =
        error.outcome() == Outcome::Blocked || matches!(error.kind, ErrorKind::Cancelled { started: false });
    if replay == Replay::Never && !nothing_happened {
        text.push('\n');
        text.push_str(INSPECT);
    }
    text
}

/// What has to be done about a conflict, then the places that match or the part of the file that comes closest.
fn conflict_text(conflict: &Value, text: &mut String) {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    if let Some(action) = conflict.get("requiredAction").and_then(Value::as_str) {
        text.push_str(&format!("\n{action}"));
    }
    let candidates: Vec<String> =
        conflict.get("candidates").map(list).unwrap_or_default().iter().map(Value::to_string).collect();
    if !candidates.is_empty() {
        text.push_str(&format!("\nIt matches at lines {}.", candidates.join(", ")));
    }
    let Some(nearest) = conflict.get("nearest") else { return };
    let start = nearest.get("startLine").and_then(Value::as_u64).unwrap_or(1);
    for (number, line) in (start..).zip(nearest.get("lines").map(list).unwrap_or_default()) {
        text.push_str(&format!("\n{number}: {}", line.as_str().unwrap_or_default()));
    }
    for difference in nearest.get("differences").map(list).unwrap_or_default() {
        let field = |name: &str| difference.get(name).cloned().unwrap_or_default();
        text.push_str(&format!(
            "\nline {} of the patch, {} of the file ({}): expected {}, found {}",
            field("patchLine"),
            field("fileLine"),
            field("kind").as_str().unwrap_or_default(),
            field("expected"),
            field("found")
        ));
    }
}

fn first_line(error: &ToolError) -> String {
    let outcome = match error.outcome() {
        Outcome::Ok => "ok",
        Outcome::Blocked => "blocked",
        Outcome::Error => "error",
        Outcome::Uncertain => "uncertain",
    };
    let kind = match (&error.kind, error.kind.block_kind()) {
        (_, Some(block)) => match block {
            BlockKind::InvalidArguments => "invalid_arguments",
            BlockKind::Unavailable => "unavailable",
            BlockKind::Denied => "denied",
        },
        (ErrorKind::MutationConflict { .. }, None) => error.code.as_str(),
        (kind, None) => kind.name(),
    };
    format!("[{outcome}: {kind}]")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // spec: REPLAY-07
    #[test]
    fn a_conflict_says_what_to_do_and_ends_with_the_request_to_inspect() {
        let conflict = json!({
            "requiredAction": "Read f.", "candidates": [3, 9],
            "nearest": {"startLine": 4, "lines": ["a", "\tb"], "differences": [
                {"patchLine": 2, "fileLine": 5, "kind": "whitespace", "expected": "  b", "found": "\tb"}]},
        });
        let error = ToolError::new(
            ErrorKind::MutationConflict { conflict: Box::new(conflict) },
            "ContextMismatch",
            "Hunk 1 of f does not match.",
        );
        assert_eq!(
            error_text(&error, Replay::Never),
            format!(
                "[error: ContextMismatch] Hunk 1 of f does not match.\nRead f.\nIt matches at lines 3, 9.\n4: a\n5: \tb\n\
                 line 2 of the patch, 5 of the file (whitespace): expected \"  b\", found \"\\tb\"\n{INSPECT}"
            )
        );
    }
}
