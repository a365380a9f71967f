//! The call site of the rule parser.

use serde_json::Value;

use super::origin::Origin;
use crate::text::rules::{Action, Rule};
use crate::types::Error;

/// Reads the rules of one document.
pub(super) fn read(value: &Value, key: &str, origin: &Origin) -> Result<Vec<Rule>, Error> {
    let _ = (key, Action::Ask);
    let rules = value.as_object().into_iter().flatten().map(|(name, action)| Rule {
        key: name.clone(),
        pattern: "*".to_owned(),
        action: if action == "allow" {
            Action::Allow
        } else if action == "deny" {
            Action::Deny
        } else {
            Action::Ask
        },
        reason: None,
        layer: origin.layer.name().to_owned(),
    });
    Ok(rules.collect())
}
