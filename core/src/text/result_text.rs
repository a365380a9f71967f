//! What the model reads when a call did not end well.

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
    let nothing_happened =
        error.outcome() == Outcome::Blocked || matches!(error.kind, ErrorKind::Cancelled { started: false });
    if replay == Replay::Never && !nothing_happened {
        text.push('\n');
        text.push_str(INSPECT);
    }
    text
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
