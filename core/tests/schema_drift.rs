//! Generated documents are committed and fresh. `make bless` writes them anew.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use zuno::dispatch::registry::Registry;
use zuno::tools::builtin;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../schema")
}

fn check(name: &str, fresh: &Value) {
    let path = folder().join(name);
    let text = format!("{}\n", serde_json::to_string_pretty(fresh).unwrap());
    if std::env::var_os("ZUNO_BLESS").is_some() {
        fs::create_dir_all(folder()).unwrap();
        fs::write(&path, text).unwrap();
        return;
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == text, "schema/{name} is not what the code says; run `make bless` and look at the difference");
}

#[test]
fn the_protocol_is_the_committed_one() {
    for (name, document) in zuno::wire::export() {
        check(name, &document);
    }
}

#[test]
fn the_tools_are_the_committed_ones() {
    let tools = Registry::new(builtin()).unwrap().list();
    check("tools.json", &json!(tools));
}

/// The decided schemas, one file per tool, next to the tool that publishes them.
#[test]
fn published_tool_schemas_are_the_decided_ones_with_the_common_arguments() {
    let decided: Value = serde_json::from_str(include_str!("data/decided_tool_schemas.json")).unwrap();
    for tool in Registry::new(builtin()).unwrap().list() {
        let mut published = tool.input_schema;
        let properties = published["properties"].as_object_mut().unwrap();
        assert_eq!(properties.shift_remove("intent").unwrap()["type"], "string", "{}", tool.name);
        assert_eq!(properties.shift_remove("accept_large_output").unwrap()["type"], "boolean", "{}", tool.name);
        let mut wanted = decided[&tool.name].clone();
        assert!(wanted.is_object(), "no decided schema for {}", tool.name);
        wanted.as_object_mut().unwrap().entry("properties").or_insert_with(|| Value::Object(Map::new()));
        assert_eq!(published, wanted, "{}", tool.name);
    }
}

#[test]
fn every_method_is_documented() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/protocol.md")).unwrap();
    for name in zuno::wire::method_names() {
        assert!(page.contains(&format!("`{name}`")), "docs/protocol.md does not name `{name}`");
    }
}
