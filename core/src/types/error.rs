//! Errors of host operations: a stable dotted code, a message with the next step, details as JSON.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The result of a host operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// One row of the code table.
#[derive(Clone, Copy, Debug)]
pub struct CodeEntry {
    /// The dotted code, never reused.
    pub code: &'static str,
    /// When it is given.
    pub meaning: &'static str,
}

macro_rules! codes {
    ($($code:literal => $meaning:literal,)*) => {
        /// Every code a host operation can answer with. The faces export this table.
        pub const CODES: &[CodeEntry] = &[$(CodeEntry { code: $code, meaning: $meaning }),*];
    };
}

codes! {
    "arguments.invalid" => "the parameters do not have the form the method takes",
    "arguments.json" => "the document is not JSON",
    "arguments.unknown_method" => "no method has that name",
    "arguments.unknown_field" => "the parameters hold a field the method does not know",
    "arguments.config" => "the configuration holds an unknown key, a wrong type or a value out of range",
    "arguments.bad_tool" => "a tool registration is not acceptable",
    "arguments.unknown_name" => "a profile names a tool that is not registered",
    "arguments.not_a_plan" => "a plan decision was sent to a question that approves no Plan",
    "arguments.plan_decision_only" => "the approval of a Plan takes a plan decision only",
    "arguments.question_timer_unavailable" => "the question has no running clock to stop",
    "arguments.required_input" => "required input cannot be skipped",
    "arguments.null" => "a pointer that has to be given is NULL",
    "arguments.utf8" => "a text is not UTF-8",
    "arguments.abi" => "the program was compiled for another version of the C interface",
    "busy.session" => "another runtime owns the session",
    "closed.object" => "the runtime, session, request or question has ended",
    "closed.forked" => "the runtime belongs to the process that forked this one",
    "conflict.revision" => "the revision or identity given is not the current one",
    "conflict.call_changed" => "the message id was used before with other calls",
    "conflict.command_conflict" => "the command id was used before with another body",
    "conflict.stale_revision" => "the expected revision is not the current one",
    "conflict.name_taken" => "a tool of that name is registered already",
    "conflict.already_reconciled" => "the call has been reconciled",
    "conflict.content" => "the same identity was published before with other content",
    "failed.operation" => "the operation failed for a reason outside the library",
    "failed.canceled" => "the operation was cancelled by the host",
    "failed.would_deadlock" => "the operation would wait for the thread that asked for it",
    "host.gone" => "the side that had to answer no longer exists",
    "host.dropped" => "the request was given up without an answer",
    "host.unsupported" => "the host does not know that kind of request",
    "host.failed" => "the host's handler failed",
    "internal.panic" => "a defect of the library; the call was ended and the process goes on",
    "not_found.object" => "no object has that id",
    "permission.denied" => "a rule, a person or a missing approval port refused",
    "sandbox.unavailable" => "no usable confinement on this machine",
    "store.damaged" => "the database file is damaged",
    "store.newer_schema" => "the database was written by a newer version",
    "store.not_a_database" => "the file is not a database",
    "store.read_only" => "the database or its folder cannot be written",
    "store.missing_directory" => "the folder of the database does not exist",
    "store.second_copy" => "another copy of the library in this process has the database open",
    "store.locked" => "the database stayed locked by another process",
    "store.io" => "reading or writing the database failed",
    "unavailable.feature" => "what the operation needs is not installed, configured or switched on",
}

/// What a host operation answers when it does not succeed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// Stable dotted code, one of [`CODES`].
    pub code: String,
    /// A sentence that says what to do next.
    pub message: String,
    /// Facts for programs; an object.
    pub details: Value,
}

impl Error {
    /// An error with an empty details object.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        debug_assert!(CODES.iter().any(|entry| entry.code == code), "code {code} is not in the table");
        Self { code: code.to_owned(), message: message.into(), details: Value::Object(super::JsonMap::new()) }
    }

    /// The same error with one more fact.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        if let Value::Object(map) = &mut self.details {
            map.insert(key.to_owned(), value.into());
        }
        self
    }

    /// Parameters that do not have the form the method takes.
    pub fn arguments(message: impl Into<String>) -> Self {
        Self::new("arguments.invalid", message)
    }

    /// An object that does not exist.
    pub fn not_found(what: &str, id: &str) -> Self {
        Self::new("not_found.object", format!("No {what} has the id {id}.")).with("id", id)
    }

    /// The JSON document every face shows.
    pub fn to_json(&self) -> Value {
        serde_json::json!({ "code": self.code, "message": self.message, "details": self.details })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_dotted() {
        let mut seen = std::collections::HashSet::new();
        for entry in CODES {
            assert!(seen.insert(entry.code), "{} twice", entry.code);
            assert_eq!(entry.code.split('.').count(), 2, "{}", entry.code);
        }
    }
}
