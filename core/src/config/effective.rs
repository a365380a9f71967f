//! What `runtime.config` shows: the effective values, the layer of each, no secret.

use serde_json::{Value, json};

use super::keys::ROOT;
use super::shape::Shape;
use super::{Loaded, SandboxMode};
use crate::text::rules::Rule;
use crate::types::{JsonMap, PermissionMode};

const HIDDEN: &str = "***";

/// `{values, layers, effectivePermissionMode, ignored}`. `values` has the form of the configuration, with the rules of
/// all layers as one list; `layers` names the layer of every dotted key.
pub fn effective_document(loaded: &Loaded) -> Value {
    let merged = &loaded.merged;
    let mut values = hide(&merged.values, &ROOT);
    if let Some(Value::Object(permission)) = values.get_mut("permission") {
        permission.insert("rules".to_owned(), rules(loaded));
    }
    let layers: JsonMap =
        merged.origins.iter().map(|(key, origin)| (key.clone(), Value::from(origin.layer.name()))).collect();
    json!({
        "values": values,
        "layers": layers,
        "effectivePermissionMode": effective_mode(loaded),
        "ignored": loaded.ignored,
    })
}

/// Full access takes the prompts away; the authored mode stays visible beside it.
fn effective_mode(loaded: &Loaded) -> PermissionMode {
    match loaded.config.sandbox.mode {
        SandboxMode::DangerFullAccess => PermissionMode::AllowAll,
        _ => loaded.config.permission.mode,
    }
}

fn rules(loaded: &Loaded) -> Value {
    let permission = &loaded.config.permission;
    permission.rules.iter().chain(&permission.narrowing).map(rule).collect()
}

fn rule(rule: &Rule) -> Value {
    json!({ "key": rule.key, "pattern": rule.pattern, "action": rule.action.name(), "reason": rule.reason, "layer": rule.layer })
}

fn hide(value: &Value, shape: &Shape) -> Value {
    match (value, shape) {
        (_, Shape::Secret) => Value::from(HIDDEN),
        (_, Shape::Free) => hide_by_name(value),
        (Value::Object(map), _) => Value::Object(
            map.iter()
                .map(|(name, inner)| {
                    let shown = shape.child(name).map_or_else(|| inner.clone(), |child| hide(inner, child));
                    (name.clone(), shown)
                })
                .collect(),
        ),
        (Value::Array(items), Shape::List(item, ..)) => items.iter().map(|inner| hide(inner, item)).collect(),
        (Value::String(text), _) => Value::from(hide_user_information(text)),
        _ => value.clone(),
    }
}

/// Options of a provider are not read by the library: what is named like a secret is one.
fn hide_by_name(value: &Value) -> Value {
    const NAMES: &[&str] = &["key", "token", "secret", "password", "auth", "credential", "cookie", "header"];
    match value {
        Value::Object(map) => Value::Object(
            map.iter()
                .map(|(name, inner)| {
                    let lower = name.to_lowercase();
                    let secret =
                        NAMES.iter().any(|word| lower.contains(word)) && !inner.is_number() && !inner.is_boolean();
                    (name.clone(), if secret { Value::from(HIDDEN) } else { hide_by_name(inner) })
                })
                .collect(),
        ),
        Value::Array(items) => items.iter().map(hide_by_name).collect(),
        Value::String(text) => Value::from(hide_user_information(text)),
        _ => value.clone(),
    }
}

/// `https://user:word@host` shows as `https://***@host`.
fn hide_user_information(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    match authority.rfind('@').and_then(|at| rest.get(at..)) {
        Some(host) => format!("{scheme}://{HIDDEN}{host}"),
        None => text.to_owned(),
    }
}
