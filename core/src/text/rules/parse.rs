//! `permission.rules` from JSON: an ordered object, or an array for JSON libraries that lose key order.

use serde_json::Value;

use super::decide::hits_example;
use super::{Action, Rule};
use crate::types::{Error, JsonMap, Result};

/// Rules that were read, and what was odd about them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParsedRules {
    /// The rules in their order.
    pub rules: Vec<Rule>,
    /// Findings that do not stop the configuration from being used.
    pub diagnostics: Vec<Diagnostic>,
}

/// A finding about the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable dotted code.
    pub code: &'static str,
    /// A sentence that says what to do next.
    pub detail: String,
}

/// Keys nothing is ever asked under, each with the key that governs the tool.
const REFUSED: [(&str, &str); 7] = [
    ("write", "edit"),
    ("apply_patch", "edit"),
    ("council_run", "task"),
    ("workflow", "task"),
    ("list_mcp_resources", "read"),
    ("list_mcp_resource_templates", "read"),
    ("read_mcp_resource", "read"),
];

/// Reads `permission.rules` of one layer. The examples beside the rules are checked here; a failing one is an error
/// that names rule and example.
pub fn parse_rules(value: &Value, layer: &str, home: Option<&str>) -> Result<ParsedRules> {
    let mut reader = Reader { layer, home, parsed: ParsedRules::default() };
    match value {
        Value::Object(map) => map.iter().try_for_each(|(key, entry)| reader.object_entry(key, entry))?,
        Value::Array(items) => items.iter().enumerate().try_for_each(|(at, item)| reader.array_entry(at, item))?,
        _ => {
            return Err(config("`permission.rules` has to be an object of key to action, or an array of rules."));
        }
    }
    Ok(reader.parsed)
}

fn config(message: impl Into<String>) -> Error {
    Error::new("arguments.config", message).with("field", "permission.rules")
}

struct Reader<'a> {
    layer: &'a str,
    home: Option<&'a str>,
    parsed: ParsedRules,
}

impl Reader<'_> {
    fn object_entry(&mut self, key: &str, entry: &Value) -> Result<()> {
        match entry {
            Value::Object(map) if !map.contains_key("action") => {
                map.iter().try_for_each(|(pattern, action)| self.rule(key, pattern, action))
            }
            action => self.rule(key, "*", action),
        }
    }

    fn array_entry(&mut self, at: usize, item: &Value) -> Result<()> {
        let place = format!("permission.rules[{at}]");
        let Value::Object(map) = item else {
            return Err(config(format!("`{place}` has to be an object with `key`, `pattern` and `action`.")));
        };
        let (key, pattern) = (text_field(map, "key", &place)?, text_field(map, "pattern", &place)?);
        let mut action = map.clone();
        action.shift_remove("key");
        action.shift_remove("pattern");
        self.rule(&key, &pattern, &Value::Object(action))
    }

    fn rule(&mut self, key: &str, pattern: &str, action: &Value) -> Result<()> {
        let place = format!("permission.rules, key `{key}`, pattern `{pattern}`");
        if key.is_empty() {
            return Err(config("A key in `permission.rules` is empty; name a tool's key, or `*` for all keys."));
        }
        if let Some((_, right)) = REFUSED.iter().find(|(refused, _)| *refused == key) {
            let message =
                format!("`{key}` is no key of `permission.rules`; its calls are governed by `{right}`. Use `{right}`.");
            return Err(config(message).with("key", key).with("use", *right));
        }
        let parts = ActionParts::read(action, &place)?;
        let rule = Rule {
            key: key.to_owned(),
            pattern: pattern.to_owned(),
            action: parts.action,
            reason: parts.reason,
            layer: self.layer.to_owned(),
        };
        self.check_examples(&rule, &parts.matching, true)?;
        self.check_examples(&rule, &parts.not_matching, false)?;
        if key == "question_async" {
            self.parsed.diagnostics.push(Diagnostic {
                code: "config.dead_rule",
                detail: format!(
                    "The rule {} has no effect; the key `question` governs `question_async` too.",
                    rule.as_written()
                ),
            });
        } else {
            self.parsed.rules.push(rule);
        }
        Ok(())
    }

    fn check_examples(&self, rule: &Rule, examples: &[String], wanted: bool) -> Result<()> {
        for example in examples {
            if hits_example(rule, example, self.home) != wanted {
                let (list, truth) = if wanted { ("match", "does not hit it") } else { ("not_match", "hits it") };
                let message = format!(
                    "The rule {} of `permission.rules` lists `{example}` under `{list}`, but that resource {truth}. \
                     Correct the pattern or the example.",
                    rule.as_written()
                );
                return Err(config(message).with("rule", rule.as_written()).with("example", example.as_str()));
            }
        }
        Ok(())
    }
}

/// An action with what may stand beside it.
struct ActionParts {
    action: Action,
    reason: Option<String>,
    matching: Vec<String>,
    not_matching: Vec<String>,
}

impl ActionParts {
    fn read(value: &Value, place: &str) -> Result<Self> {
        let map = match value {
            Value::String(word) => {
                let action = action_word(word, place)?;
                return Ok(Self { action, reason: None, matching: Vec::new(), not_matching: Vec::new() });
            }
            Value::Object(map) => map,
            _ => return Err(bad_action(place)),
        };
        if let Some(field) = map.keys().find(|key| !["action", "reason", "match", "not_match"].contains(&key.as_str()))
        {
            return Err(config(format!(
                "`{field}` in {place} is not a field of an action; it takes `action`, `reason`, `match` and `not_match`."
            )));
        }
        let reason = map.contains_key("reason").then(|| text_field(map, "reason", place)).transpose()?;
        Ok(Self {
            action: action_word(&text_field(map, "action", place)?, place)?,
            reason,
            matching: examples(map, "match", place)?,
            not_matching: examples(map, "not_match", place)?,
        })
    }
}

fn action_word(word: &str, place: &str) -> Result<Action> {
    match word {
        "allow" => Ok(Action::Allow),
        "ask" => Ok(Action::Ask),
        "deny" => Ok(Action::Deny),
        _ => Err(bad_action(place)),
    }
}

fn bad_action(place: &str) -> Error {
    config(format!(
        "The action in {place} has to be \"allow\", \"ask\", \"deny\", or an object with `action` and, if wanted, \
         `reason`, `match` and `not_match`."
    ))
}

fn text_field(map: &JsonMap, field: &str, place: &str) -> Result<String> {
    match map.get(field) {
        Some(Value::String(text)) => Ok(text.clone()),
        _ => Err(config(format!("`{field}` in {place} has to be a text."))),
    }
}

fn examples(map: &JsonMap, field: &str, place: &str) -> Result<Vec<String>> {
    let wrong = || config(format!("`{field}` in {place} has to be an array of texts."));
    match map.get(field) {
        None => Ok(Vec::new()),
        Some(Value::Array(items)) => {
            items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
        }
        Some(_) => Err(wrong()),
    }
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
