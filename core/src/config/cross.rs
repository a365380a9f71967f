//! What holds between keys.

use std::path::Path;

use serde_json::Value;

use super::merged::Merged;
use super::origin::Layer;
use crate::types::{Error, JsonMap};

/// Checks what the trusted layers decided together.
pub(super) fn check_trusted(merged: &Merged) -> Result<(), Error> {
    check_confinement(merged)?;
    check_roots(merged)?;
    check_paths(merged, "writableRoots", "an existing directory", Path::is_dir)?;
    check_paths(merged, "protectedPaths", "an existing path", |path| path.symlink_metadata().is_ok())?;
    check_retry(merged)?;
    each(merged, "workflows", check_workflow)?;
    each(merged, "councils", check_council)?;
    each(merged, "mcp", check_server)?;
    check_search_provider(merged)
}

fn fault(merged: &Merged, key: &str, what: String) -> Error {
    merged.origin(key).error(key, what)
}

fn mode(merged: &Merged) -> String {
    merged.get("/sandbox/mode").unwrap_or_default()
}

fn paths(merged: &Merged, name: &str) -> Vec<String> {
    merged.get(&format!("/sandbox/{name}")).unwrap_or_default()
}

/// Full access cannot be combined with restrictions nobody would enforce.
pub(super) fn check_confinement(merged: &Merged) -> Result<(), Error> {
    if mode(merged) != "danger-full-access" {
        return Ok(());
    }
    let refuse = |name: &str| {
        let key = format!("sandbox.{name}");
        Err(fault(
            merged,
            &key,
            format!("`{key}` cannot be enforced under `sandbox.mode` danger-full-access; remove one of them."),
        ))
    };
    let network: String = merged.get("/sandbox/network").unwrap_or_default();
    if network == "deny" && merged.origin("sandbox.network").layer != Layer::Default {
        return refuse("network");
    }
    match ["writableRoots", "protectedPaths"].into_iter().find(|name| !paths(merged, name).is_empty()) {
        Some(name) => refuse(name),
        None => Ok(()),
    }
}

fn check_roots(merged: &Merged) -> Result<(), Error> {
    if mode(merged) == "workspace-write" || paths(merged, "writableRoots").is_empty() {
        return Ok(());
    }
    let what = "`sandbox.writableRoots` needs `sandbox.mode` workspace-write; remove one of them.".to_owned();
    Err(fault(merged, "sandbox.writableRoots", what))
}

fn check_paths(merged: &Merged, name: &str, kind: &str, good: impl Fn(&Path) -> bool) -> Result<(), Error> {
    let key = format!("sandbox.{name}");
    match paths(merged, name).iter().map(Path::new).find(|path| !path.is_absolute() || !good(path)) {
        Some(path) => {
            let what = format!("`{key}` names {}, which is not the absolute path of {kind}.", path.display());
            Err(fault(merged, &key, what))
        }
        None => Ok(()),
    }
}

fn check_retry(merged: &Merged) -> Result<(), Error> {
    let delay = |name: &str| merged.get::<u64>(&format!("/goal/retry/{name}"));
    if delay("max_delay_ms") >= delay("initial_delay_ms") {
        return Ok(());
    }
    let what = "`goal.retry.max_delay_ms` has to be at least `goal.retry.initial_delay_ms`.".to_owned();
    Err(fault(merged, "goal.retry.max_delay_ms", what))
}

/// Runs a check over the entries of a named object. The check answers the key below the entry and what is wrong.
fn each(merged: &Merged, name: &str, check: fn(&JsonMap) -> Result<(), (&'static str, String)>) -> Result<(), Error> {
    let entries = merged.values.get(name).and_then(Value::as_object).into_iter().flatten();
    for (entry_name, entry) in entries {
        if let Some(Err((key, what))) = entry.as_object().map(check) {
            let key = format!("{name}.{entry_name}.{key}");
            return Err(fault(merged, &key, format!("`{key}` {what}.")));
        }
    }
    Ok(())
}

fn number(map: &JsonMap, name: &str, default: u64) -> u64 {
    map.get(name).and_then(Value::as_u64).unwrap_or(default)
}

fn check_workflow(workflow: &JsonMap) -> Result<(), (&'static str, String)> {
    let agents = number(workflow, "maxAgents", 12);
    if number(workflow, "maxParallel", 1) > agents {
        return Err(("maxParallel", format!("has to be at most maxAgents, which is {agents}")));
    }
    Ok(())
}

fn check_council(council: &JsonMap) -> Result<(), (&'static str, String)> {
    let seats = council.get("seats").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let ids: std::collections::HashSet<_> = seats.iter().filter_map(|seat| seat.get("id")?.as_str()).collect();
    if ids.len() < seats.len() {
        return Err(("seats", "holds two seats with one id".to_owned()));
    }
    for name in ["quorum", "maxParallel"] {
        if number(council, name, 1) > seats.len() as u64 {
            return Err((name, format!("has to be at most the number of seats, which is {}", seats.len())));
        }
    }
    if number(council, "synthesis_ms", 60_000) >= number(council, "deadline_ms", 600_000) {
        return Err(("synthesis_ms", "has to be smaller than deadline_ms".to_owned()));
    }
    Ok(())
}

fn check_server(server: &JsonMap) -> Result<(), (&'static str, String)> {
    let (kind, needs) = match server.get("type").and_then(Value::as_str) {
        Some("remote") => ("remote", "url"),
        _ => ("local", "command"),
    };
    if server.contains_key(needs) { Ok(()) } else { Err((needs, format!("is needed by a {kind} server; add it"))) }
}

fn check_search_provider(merged: &Merged) -> Result<(), Error> {
    let Some(provider) = merged.at(&["web_search", "provider"]) else { return Ok(()) };
    let text = |name: &str| provider.get(name).and_then(Value::as_str);
    let error = |name: &str, what: &str| {
        let key = format!("web_search.provider.{name}");
        Err(fault(merged, &key, format!("`{key}` {what}.")))
    };
    let private = provider.get("allow_private").and_then(Value::as_bool).unwrap_or(false);
    let url = text("url").unwrap_or_default();
    let encrypted = url.starts_with("https://") || (private && url.starts_with("http://"));
    if !encrypted {
        return error("url", "has to begin with https:// unless allow_private is true");
    }
    if text("key").is_some() && text("key_env").is_some() {
        return error("key_env", "and `web_search.provider.key` exclude each other");
    }
    let placed = |place: &str| {
        place == "bearer"
            || ["header:", "query:"].iter().any(|kind| place.strip_prefix(kind).is_some_and(|name| !name.is_empty()))
    };
    match text("key_in") {
        Some(place) if !placed(place) => error("key_in", "has to be bearer, header:<name> or query:<name>"),
        _ => Ok(()),
    }
}
