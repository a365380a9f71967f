//! The layers laid over each other: objects merge, arrays and scalars replace. Every value knows where it came from.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::document::Document;
use super::origin::{Layer, Origin, join};
use crate::types::JsonMap;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Merged {
    pub(super) values: Value,
    /// Dotted key of every scalar and array, and the document that decided it.
    pub(super) origins: BTreeMap<String, Origin>,
}

impl Merged {
    pub(super) fn new() -> Self {
        Self { values: Value::Object(JsonMap::new()), origins: BTreeMap::new() }
    }

    /// Lays a document on top.
    pub(super) fn add(&mut self, document: &Document) {
        if let Value::Object(values) = &mut self.values {
            merge(values, &document.values, "", &document.origin, &mut self.origins);
        }
    }

    /// Sets one value; `path` are the names from the root.
    pub(super) fn set(&mut self, path: &[&str], value: Value, origin: &Origin) {
        let nested = path
            .iter()
            .rev()
            .fold(value, |inner, name| Value::Object(JsonMap::from_iter([((*name).to_owned(), inner)])));
        if let (Value::Object(values), Value::Object(nested)) = (&mut self.values, &nested) {
            merge(values, nested, "", origin, &mut self.origins);
        }
    }

    /// The value at a path of names.
    pub(super) fn at(&self, path: &[&str]) -> Option<&Value> {
        path.iter().try_fold(&self.values, |value, name| value.get(name))
    }

    /// A typed value at a JSON pointer.
    pub(super) fn get<T: DeserializeOwned>(&self, pointer: &str) -> Option<T> {
        self.values.pointer(pointer).and_then(|value| T::deserialize(value).ok())
    }

    /// The document that decided a key, or the first key below it.
    pub(super) fn origin(&self, key: &str) -> Origin {
        let below = format!("{key}.");
        let found = self.origins.get(key).or_else(|| {
            self.origins
                .range(below.clone()..)
                .next()
                .filter(|(name, _)| name.starts_with(&below))
                .map(|(_, origin)| origin)
        });
        found.cloned().unwrap_or_else(|| Origin::new(Layer::Default))
    }
}

fn merge(into: &mut JsonMap, from: &JsonMap, parent: &str, origin: &Origin, origins: &mut BTreeMap<String, Origin>) {
    for (name, value) in from {
        let key = join(parent, name);
        match (into.get_mut(name), value) {
            (Some(Value::Object(old)), Value::Object(new)) => merge(old, new, &key, origin, origins),
            _ => {
                forget(&key, origins);
                record(&key, value, origin, origins);
                into.insert(name.clone(), value.clone());
            }
        }
    }
}

fn forget(key: &str, origins: &mut BTreeMap<String, Origin>) {
    let below = format!("{key}.");
    origins.retain(|name, _| name != key && !name.starts_with(&below));
}

fn record(key: &str, value: &Value, origin: &Origin, origins: &mut BTreeMap<String, Origin>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(name, inner)| record(&join(key, name), inner, origin, origins)),
        _ => {
            origins.insert(key.to_owned(), origin.clone());
        }
    }
}
