//! The record of a mutation that does not fit the file it is meant for.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::receipts::Receipt;
use crate::types::{ErrorKind, ToolError};

/// What does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConflictKind {
    /// No valid receipt exists for the current file.
    ReadRequired,
    /// The file changed after the recorded read.
    StaleRead,
    /// A hunk does not match the current lines, or matches several places.
    ContextMismatch,
    /// The same operation against the same content.
    IdenticalReplay,
}

impl ConflictKind {
    /// The kind as its stable code.
    pub fn code(self) -> &'static str {
        match self {
            Self::ReadRequired => "ReadRequired",
            Self::StaleRead => "StaleRead",
            Self::ContextMismatch => "ContextMismatch",
            Self::IdenticalReplay => "IdenticalReplay",
        }
    }

    /// The word for what has to be done.
    pub fn action_kind(self) -> &'static str {
        match self {
            Self::ReadRequired => "read",
            Self::StaleRead => "reread",
            Self::ContextMismatch => "rebuild_hunk",
            Self::IdenticalReplay => "revise",
        }
    }
}

/// The hunk a conflict is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    /// 1-based in its file.
    pub number: usize,
    /// The header, empty when there is none.
    pub title: String,
}

/// How a patch line and a file line differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DifferenceKind {
    /// Equal with all white space removed.
    Whitespace,
    /// Equal after folding characters that look alike.
    Lookalike,
    /// Other text.
    Content,
    /// In the patch only.
    Missing,
    /// In the file only.
    Extra,
}

/// One line that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// 1-based line of the hunk's block.
    pub patch_line: usize,
    /// 1-based line of the file.
    pub file_line: usize,
    /// How they differ.
    pub kind: DifferenceKind,
    /// What the patch says.
    pub expected: String,
    /// What the file says.
    pub found: String,
}

/// The part of the file that comes closest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Nearest {
    /// 1-based.
    pub start_line: usize,
    /// At most 20.
    pub lines: Vec<String>,
    /// Where they differ.
    pub differences: Vec<Difference>,
}

/// The conflict record. Fields that do not belong to a kind are left out; `currentDigest` is always there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Conflict {
    /// What does not fit.
    pub kind: ConflictKind,
    /// The file, in its relative spelling.
    pub resource: String,
    /// Other unread files of the same operation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub related_resources: Vec<String>,
    /// Digest of the operation.
    pub operation_digest: String,
    /// SHA-256 of the file now; null when it no longer exists.
    pub current_digest: Option<String>,
    /// What the session had read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt_digest: Option<String>,
    /// Its generation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt_generation: Option<i64>,
    /// The hunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hunk: Option<Hunk>,
    /// 1-based first lines of the places that match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<usize>,
    /// The part of the file that comes closest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<Nearest>,
    /// The word for what has to be done.
    pub required_action_kind: String,
    /// The sentence for it.
    pub required_action: String,
}

impl Conflict {
    /// The current file has no receipt of this session.
    pub fn read_required(resource: &str, operation: &str, current: Option<String>) -> Self {
        let action = format!("Read {resource}, then construct the mutation from what was read.");
        Self::new(ConflictKind::ReadRequired, resource, operation, current, action)
    }

    /// The file changed after the recorded read, or after it was checked.
    pub fn stale(resource: &str, operation: &str, current: Option<String>, receipt: Option<&Receipt>) -> Self {
        let action = if current.is_some() {
            format!("Read {resource} as it is now, then make the operation anew from what was read.")
        } else {
            format!("{resource} no longer exists: look at its directory as it is now, then make the operation anew.")
        };
        let mut conflict = Self::new(ConflictKind::StaleRead, resource, operation, current, action);
        conflict.receipt_digest = receipt.map(|known| known.sha256.clone());
        conflict.receipt_generation = receipt.map(|known| known.generation);
        conflict
    }

    /// A record without the fields that only some kinds have.
    pub fn new(
        kind: ConflictKind,
        resource: &str,
        operation: &str,
        current: Option<String>,
        required_action: String,
    ) -> Self {
        Self {
            kind,
            resource: resource.to_owned(),
            related_resources: Vec::new(),
            operation_digest: operation.to_owned(),
            current_digest: current,
            receipt_digest: None,
            receipt_generation: None,
            hunk: None,
            candidates: Vec::new(),
            nearest: None,
            required_action_kind: kind.action_kind().to_owned(),
            required_action,
        }
    }

    /// The typed error that carries the record.
    pub fn to_error(&self, message: impl Into<String>) -> ToolError {
        let record = serde_json::to_value(self).unwrap_or(Value::Null);
        ToolError::new(ErrorKind::MutationConflict { conflict: Box::new(record) }, self.kind.code(), message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: PATCH-16, PATCH-17
    #[test]
    fn the_record_has_the_documented_form() {
        let receipt = Receipt { path: "/ws/a".into(), sha256: "r".into(), generation: 7 };
        let stale = serde_json::to_value(Conflict::stale("a", "op", None, Some(&receipt))).unwrap();
        assert_eq!(
            stale,
            serde_json::json!({
                "kind": "StaleRead", "resource": "a", "operationDigest": "op", "currentDigest": null,
                "receiptDigest": "r", "receiptGeneration": 7, "requiredActionKind": "reread",
                "requiredAction": "a no longer exists: look at its directory as it is now, then make the operation anew.",
            })
        );
        let unread = serde_json::to_value(Conflict::read_required("a", "op", Some("c".into()))).unwrap();
        assert_eq!(unread["requiredActionKind"], "read");
        assert!(unread.get("hunk").is_none());
        let back: Conflict = serde_json::from_value(unread).unwrap();
        assert_eq!(back.kind, ConflictKind::ReadRequired);
    }
}
