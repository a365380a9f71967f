//! One document of one layer: checked, its short spellings written out, its rules read.

use serde_json::Value;

use super::check::{check, check_complete};
use super::keys::ROOT;
use super::origin::{Origin, join};
use super::rule_list;
use super::shape::Shape;
use crate::text::rules::{Diagnostic, ParsedRules, Rule};
use crate::types::{Error, JsonMap};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Document {
    pub(super) origin: Origin,
    /// Everything but `permission.rules`.
    pub(super) values: JsonMap,
    /// `permission.rules`: the rules of all layers are concatenated, not merged.
    pub(super) rules: Vec<Rule>,
    /// What was odd about them.
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl Document {
    pub(super) fn read(value: &Value, origin: Origin, home: Option<&str>) -> Result<Self, Error> {
        let Value::Object(map) = value else {
            return Err(origin.error("", "the configuration has to be an object."));
        };
        check(value, &ROOT, "", &origin)?;
        let mut values: JsonMap = map.iter().map(|(name, value)| (name.clone(), expand(name, value))).collect();
        let ParsedRules { rules, diagnostics } = match take_rules(&mut values) {
            Some(rules) => rule_list::read(&rules, "permission.rules", &origin, home)?,
            None => ParsedRules::default(),
        };
        check_agent_rules(&values, &origin, home)?;
        Ok(Self { origin, values, rules, diagnostics })
    }

    /// Checks that every object this document touched is complete in the merged values.
    pub(super) fn check_complete(&self, merged: &JsonMap) -> Result<(), Error> {
        let touched = merged.iter().filter(|(name, _)| self.values.contains_key(*name));
        for (name, value) in touched {
            if let Some(shape) = ROOT.child(name) {
                check_complete(value, shape, name, &self.origin)?;
            }
        }
        Ok(())
    }
}

/// Writes out a scalar that stands for an object.
fn expand(name: &str, value: &Value) -> Value {
    match ROOT.child(name) {
        Some(Shape::Short(short)) if !value.is_object() => (short.expand)(value),
        _ => value.clone(),
    }
}

fn take_rules(values: &mut JsonMap) -> Option<Value> {
    values.get_mut("permission")?.as_object_mut()?.shift_remove("rules")
}

/// The rules of agents are applied by their own room; here they are only held against the grammar.
fn check_agent_rules(values: &JsonMap, origin: &Origin, home: Option<&str>) -> Result<(), Error> {
    let Some(Value::Object(agents)) = values.get("agents") else { return Ok(()) };
    for (name, agent) in agents {
        if let Some(rules) = agent.pointer("/permission/rules") {
            rule_list::read(rules, &join(&join("agents", name), "permission.rules"), origin, home)?;
        }
    }
    Ok(())
}
