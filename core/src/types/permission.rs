//! What is asked of the permission engine, and who said no.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How asks are decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermissionMode {
    /// No prompts; denials and guards still hold.
    AllowAll,
    /// Rules and the risk gate.
    #[default]
    Standard,
    /// A fresh approval for every call with side effects.
    Strict,
}

/// What an outside directory is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Reading only.
    Read,
    /// Reading and writing.
    Write,
}

/// One key with the patterns that are judged under it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ask {
    /// The permission key.
    pub key: String,
    /// The resources, as named. Every one is judged; the strictest answer counts.
    pub patterns: Vec<String>,
    /// Patterns an `always` reply would allow; empty = not offered.
    pub always: Vec<String>,
    /// What an outside directory is wanted for; only with `external_directory`.
    #[serde(default)]
    pub access: Option<Access>,
    /// Further spellings of the same resources that only a `deny` rule sees: links resolved, `..` removed,
    /// shell quotes removed, options dropped.
    #[serde(skip)]
    pub deny_only: Vec<String>,
    /// The tool has no ordinary ask (`-` in the table of built-in tools): `ask` counts as `allow` unless a rule names
    /// the key by something other than the bare `*`.
    #[serde(skip)]
    pub implicit: bool,
}

impl Ask {
    /// An ask for one pattern, which is also what `always` would allow.
    pub fn one(key: &str, pattern: impl Into<String>) -> Self {
        let pattern = pattern.into();
        Self {
            key: key.to_owned(),
            patterns: vec![pattern.clone()],
            always: vec![pattern],
            access: None,
            deny_only: Vec::new(),
            implicit: false,
        }
    }

    /// The same ask for a tool without an ordinary ask.
    #[must_use]
    pub fn implicit(mut self) -> Self {
        self.implicit = true;
        self
    }
}

/// Who said no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DenialOrigin {
    /// A configured rule.
    Rule,
    /// A person.
    User,
    /// No approval port is installed, or it gave no answer.
    NoHandler,
    /// The shell risk gate.
    RiskGate,
    /// Plan mode.
    PlanMode,
    /// A host hook.
    Hook,
    /// A protected path.
    ProtectedPath,
    /// The agent's contract.
    Agent,
    /// The Git pre-flight.
    Preflight,
}

/// Why a call was denied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Denial {
    /// Who said no.
    pub origin: DenialOrigin,
    /// The permission key that was judged.
    pub key: String,
    /// The resource that was refused.
    pub pattern: Option<String>,
    /// The rule that decided, as written.
    pub rule: Option<String>,
    /// A sentence for the model.
    pub reason: String,
}
