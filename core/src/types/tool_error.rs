//! How a call ends. The outcome follows from the error kind, so the two can never disagree.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::permission::Denial;

/// The four ends of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The tool settled with a result.
    Ok,
    /// Nothing happened.
    Blocked,
    /// The tool failed and no effect is in doubt.
    Error,
    /// An effect may have happened and the library cannot tell.
    Uncertain,
}

/// Why nothing happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlockKind {
    /// The arguments were refused.
    InvalidArguments,
    /// The tool is not there.
    Unavailable,
    /// A rule, a person or a guard said no.
    Denied,
}

/// The kind of an error with the fields that kind carries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all_fields = "camelCase")]
pub enum ErrorKind {
    /// Arguments refused before any effect.
    InvalidArgs {
        /// The field at fault.
        field: Option<String>,
        /// The nearest known field or value.
        suggestion: Option<String>,
    },
    /// The tool, its port or its backend is missing.
    Unavailable {
        /// What is missing.
        reason: String,
    },
    /// Refused by a rule, a person or a guard.
    Denied {
        /// Who refused what.
        denial: Box<Denial>,
    },
    /// A file changed, was not read, or does not match.
    MutationConflict {
        /// The conflict record.
        conflict: Box<Value>,
    },
    /// Time ran out and no effect is in doubt.
    Timeout {
        /// Milliseconds until it was given up.
        elapsed_ms: u64,
    },
    /// A network exchange ran out of time.
    NetworkTimeout {
        /// Direct or through which proxy.
        route: String,
        /// The phase that did not end.
        phase: String,
        /// Milliseconds until it was given up.
        elapsed_ms: u64,
    },
    /// The cause may pass by itself.
    Transient {
        /// When another attempt makes sense, in milliseconds.
        retry_after_ms: Option<u64>,
    },
    /// Given up on request.
    Cancelled {
        /// Whether the body had started.
        started: bool,
    },
    /// The tool failed.
    Failed {},
    /// An effect may have happened.
    Uncertain {
        /// Paths seen to have changed.
        applied_paths: Vec<String>,
        /// Why nothing better can be said.
        cause: String,
    },
}

/// A typed error of a tool call: kind, stable code, message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// The kind and its fields.
    #[serde(flatten)]
    pub kind: ErrorKind,
    /// Stable lower-case word.
    pub code: String,
    /// A sentence that says what to do next.
    pub message: String,
}

impl ErrorKind {
    /// The outcome that this kind settles with.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::InvalidArgs { .. } | Self::Unavailable { .. } | Self::Denied { .. } => Outcome::Blocked,
            Self::Uncertain { .. } => Outcome::Uncertain,
            _ => Outcome::Error,
        }
    }

    /// The block kind, for kinds that mean that nothing happened.
    pub fn block_kind(&self) -> Option<BlockKind> {
        match self {
            Self::InvalidArgs { .. } => Some(BlockKind::InvalidArguments),
            Self::Unavailable { .. } => Some(BlockKind::Unavailable),
            Self::Denied { .. } => Some(BlockKind::Denied),
            _ => None,
        }
    }

    /// Whether the cause may pass by itself.
    pub fn retryable(&self) -> bool {
        matches!(self, Self::Timeout { .. } | Self::NetworkTimeout { .. } | Self::Transient { .. })
    }

    /// The word that stands in the first line of the model text.
    pub fn name(&self) -> &'static str {
        match self {
            Self::InvalidArgs { .. } => "InvalidArgs",
            Self::Unavailable { .. } => "Unavailable",
            Self::Denied { .. } => "Denied",
            Self::MutationConflict { .. } => "MutationConflict",
            Self::Timeout { .. } => "Timeout",
            Self::NetworkTimeout { .. } => "NetworkTimeout",
            Self::Transient { .. } => "Transient",
            Self::Cancelled { .. } => "Cancelled",
            Self::Failed {} => "Failed",
            Self::Uncertain { .. } => "Uncertain",
        }
    }
}

impl ToolError {
    /// An error of any kind.
    pub fn new(kind: ErrorKind, code: &str, message: impl Into<String>) -> Self {
        Self { kind, code: code.to_owned(), message: message.into() }
    }

    /// Arguments refused before any effect.
    pub fn invalid(code: &str, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArgs { field: None, suggestion: None }, code, message)
    }

    /// Arguments refused because of one field, with the nearest known spelling.
    pub fn invalid_field(code: &str, field: &str, suggestion: Option<String>, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArgs { field: Some(field.to_owned()), suggestion }, code, message)
    }

    /// The tool, its port or its backend is missing.
    pub fn unavailable(code: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self::new(ErrorKind::Unavailable { reason: message.clone() }, code, message)
    }

    /// Refused by a rule, a person or a guard.
    pub fn denied(denial: Denial, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Denied { denial: Box::new(denial) }, "denied", message)
    }

    /// The tool failed and no effect is in doubt.
    pub fn failed(code: &str, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Failed {}, code, message)
    }

    /// Given up on request.
    pub fn cancelled(started: bool, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Cancelled { started }, "cancelled", message)
    }

    /// An effect may have happened.
    pub fn uncertain(cause: &str, applied_paths: Vec<String>, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Uncertain { applied_paths, cause: cause.to_owned() }, cause, message)
    }

    /// The outcome that this error settles with.
    pub fn outcome(&self) -> Outcome {
        self.kind.outcome()
    }

    /// Whether a call declared `Safe` may be attempted again: the cause may pass, or the call was interrupted.
    pub fn may_pass(&self) -> bool {
        self.kind.retryable() || matches!(self.kind, ErrorKind::Cancelled { started: true })
    }
}
