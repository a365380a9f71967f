//! The JSON Schemas of all methods, items and records: what the faces generate their types from.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::methods::METHODS;
use super::params::OpenParams;
use crate::types::{CODES, Event};

/// The names of all methods, in the order of the table.
pub fn method_names() -> Vec<&'static str> {
    METHODS.iter().map(|method| method.name).collect()
}

/// The documents of `schema/`: file name and content.
pub fn export() -> Vec<(&'static str, Value)> {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let mut methods = Map::new();
    for method in METHODS {
        let (params, result) = ((method.params)(&mut generator), (method.result)(&mut generator));
        methods.insert(method.name.to_owned(), json!({ "params": params, "result": result }));
    }
    let open = generator.subschema_for::<OpenParams>();
    let event = generator.subschema_for::<Event>();
    let definitions = generator.take_definitions(true);
    let protocol = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "open": open,
        "methods": methods,
        "event": event,
        "$defs": definitions,
    });
    let codes: Vec<Value> = CODES.iter().map(|entry| json!({ "code": entry.code, "meaning": entry.meaning })).collect();
    vec![("protocol.json", protocol), ("codes.json", json!(codes))]
}
