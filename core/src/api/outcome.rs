//! Results as a host reads them.

use serde::Deserialize;

use crate::types::{BlockKind, Outcome as Kind, Part, ToolError};

/// How one call ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    part: Part,
}

/// What a shell exit status proves.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// `rcp_...`
    pub id: String,
    /// What it decided: `passed`, `failed`, `unknown`.
    pub outcome: String,
    /// The code, when there is one.
    pub exit_code: Option<i64>,
    /// The signal that ended the command, when one did.
    pub signal: Option<String>,
    /// How far the code reaches: `authoritative`, `derived`, `absent`.
    pub exit_authority: String,
}

impl Outcome {
    pub(super) fn new(part: Part) -> Self {
        Self { part }
    }

    /// Which of the four ends.
    pub fn kind(&self) -> Kind {
        self.part.outcome.unwrap_or(Kind::Error)
    }

    /// The tool settled with a result.
    pub fn is_ok(&self) -> bool {
        self.kind() == Kind::Ok
    }

    /// Why nothing happened.
    pub fn block_kind(&self) -> Option<BlockKind> {
        self.part.block_kind
    }

    /// The typed error.
    pub fn error(&self) -> Option<&ToolError> {
        self.part.error.as_ref()
    }

    /// What the model reads.
    pub fn output(&self) -> &str {
        &self.part.output
    }

    /// The verification receipt of a shell result.
    pub fn receipt(&self) -> Option<Receipt> {
        serde_json::from_value(self.part.metadata.get("verification")?.clone()).ok()
    }

    /// The stored record, with everything.
    pub fn part(&self) -> &Part {
        &self.part
    }
}
