//! The call site of the rule parser.

use serde_json::Value;

use super::origin::Origin;
use crate::text::rules::{ParsedRules, parse_rules};
use crate::types::Error;

/// Reads the rules under one key of a document; a fault names the document and the key.
pub(super) fn read(value: &Value, key: &str, origin: &Origin, home: Option<&str>) -> Result<ParsedRules, Error> {
    parse_rules(value, origin.layer.name(), home).map_err(|error| {
        let mut told = origin.error(key, &error.message);
        for fact in ["rule", "example"] {
            if let Some(fact_value) = error.details.get(fact) {
                told = told.with(fact, fact_value.clone());
            }
        }
        match error.details.get("use") {
            Some(right) => told.with("suggestion", right.clone()),
            None => told,
        }
    })
}
