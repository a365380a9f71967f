//! Permission patterns and decisions: from rules and one ask to allow, ask or deny. The caller brings the home
//! directory and the workspace as values; nothing here looks at the machine.

mod decide;
mod parse;
mod pattern;
mod shipped;
mod spelling;

use serde::{Deserialize, Serialize};

pub use decide::{Decision, Grant, Layers, Place, decide, tool_hidden};
pub use parse::{Diagnostic, ParsedRules, parse_rules};
pub use pattern::{Pattern, Reading};
pub use shipped::shipped_rules;

/// One rule, in the order it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Pattern over permission keys.
    pub key: String,
    /// Pattern over resources.
    pub pattern: String,
    /// What happens.
    pub action: Action,
    /// Text handed to the model when the rule denies.
    pub reason: Option<String>,
    /// Which layer it came from, for messages.
    pub layer: String,
}

/// What a rule decides, from loose to strict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// No question.
    Allow,
    /// A person decides.
    Ask,
    /// Never.
    Deny,
}

impl Action {
    /// The word used in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl Rule {
    /// A rule without a reason.
    pub fn new(key: &str, pattern: &str, action: Action, layer: &str) -> Self {
        Self { key: key.to_owned(), pattern: pattern.to_owned(), action, reason: None, layer: layer.to_owned() }
    }

    /// The rule as it would stand in the configuration.
    pub fn as_written(&self) -> String {
        let action = self.action.name();
        if self.pattern == "*" {
            serde_json::json!({ &self.key: action }).to_string()
        } else {
            serde_json::json!({ &self.key: { &self.pattern: action } }).to_string()
        }
    }
}
