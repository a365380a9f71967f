//! Layers, trust and errors of the configuration, as a host meets them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;
use zuno::config::{
    Config, Environment, Loaded, Network, SandboxMode, Sources, effective_document, load, project_file,
};
use zuno::types::{Error, PermissionMode};

fn runtime(value: Value) -> Result<Loaded, Error> {
    load(&Sources { runtime: Some(value), ..Sources::default() })
}

fn refused(value: Value) -> Error {
    let error = runtime(value.clone()).expect_err(&value.to_string());
    assert_eq!(error.code, "arguments.config", "{value}");
    error
}

fn environment(entries: &[(&str, &str)]) -> Environment {
    entries.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
}

/// A worktree with a project file.
fn project(text: &str) -> (TempDir, PathBuf) {
    let worktree = tempfile::tempdir().unwrap();
    let file = project_file(worktree.path());
    fs::create_dir(file.parent().unwrap()).unwrap();
    fs::write(&file, text).unwrap();
    (worktree, file)
}

fn with_project(trusted: Value, text: &str) -> Result<Loaded, Error> {
    let (_worktree, file) = project(text);
    load(&Sources { runtime: Some(trusted), project: Some(file), ..Sources::default() })
}

// spec: OUTPUT-01
// spec: OUTPUT-02
// spec: CONCURRENCY-10
// spec: CONCURRENCY-11
// spec: CONCURRENCY-12
// spec: CONCURRENCY-13
#[test]
fn nothing_configured_is_the_default_and_is_shown() {
    let loaded = load(&Sources::default()).unwrap();
    assert_eq!(**loaded.config(), Config::default());
    let document = effective_document(&loaded);
    assert_eq!(document["values"]["tool_output"], json!({"max_bytes": 51200, "max_lines": 2000, "tail_lines": 0}));
    assert_eq!(
        document["values"]["concurrency"],
        json!({"tool_calls": 8, "delegations": 8, "mcp_connections": 8, "lsp_requests": 4})
    );
    assert_eq!(document["layers"]["concurrency.tool_calls"], "default");
}

// spec: CONCURRENCY-14
#[test]
fn concurrency_takes_1_to_64() {
    for field in ["tool_calls", "delegations", "mcp_connections", "lsp_requests"] {
        for good in [1, 64] {
            assert!(runtime(json!({"concurrency": {field: good}})).is_ok(), "{field} {good}");
        }
        for bad in [json!(0), json!(65), json!(-1), json!(1.5), json!(8.0), json!("8"), json!(null), json!(true)] {
            let error = refused(json!({"concurrency": {field: bad}}));
            assert_eq!(error.details["key"], format!("concurrency.{field}"));
            assert!(error.message.contains(&format!("`concurrency.{field}`")), "{}", error.message);
        }
    }
}

#[test]
fn the_example_of_the_reference_is_accepted() {
    let example: Value = serde_json::from_str(include_str!("data/config_example.json")).unwrap();
    let loaded = runtime(example).unwrap();
    assert_eq!(loaded.config().shell.interpreter.as_deref(), Some("bash"));
    assert_eq!(loaded.config().withhold_prefixes, ["ACME_PRIVATE_"]);
    assert_eq!(loaded.config().formatters["rustfmt"].command, ["rustfmt", "$FILE"]);
    assert_eq!(loaded.config().ripgrep_path, Some("/usr/bin/rg".into()));
    assert_eq!(loaded.values()["provider"]["local"]["options"]["apiKey"], "set-by-host");
}

#[test]
fn an_unknown_key_names_the_nearest_known_one() {
    for (value, key, suggestion) in [
        (json!({"tool_outptu": {}}), "tool_outptu", json!("tool_output")),
        (json!({"tool_output": {"max_byte": 1}}), "tool_output.max_byte", json!("tool_output.max_bytes")),
        (json!({"toolOutput": {"maxBytes": 1}}), "toolOutput", json!("tool_output")),
        (json!({"mcp": {"x": {"type": "local", "comand": ["a"]}}}), "mcp.x.comand", json!("mcp.x.command")),
        (json!({"agents": {"a": {"perspective": 1}}}), "agents.a.perspective", json!(null)),
        (json!({"sandbox": {"mode": "read_only"}}), "sandbox.mode", json!("read-only")),
        (json!({"completely_else": 1}), "completely_else", json!(null)),
        (json!({"": 1}), "", json!(null)),
    ] {
        let error = refused(value);
        assert_eq!(error.details["key"], key);
        assert_eq!(error.details["suggestion"], suggestion, "{}", error.message);
        assert_eq!(error.details["layer"], "runtime");
    }
}

#[test]
fn values_are_held_against_type_and_range_and_never_clamped() {
    for bad in [
        json!([]),
        json!({"permission": "strict"}),
        json!({"permission": {"mode": "Strict"}}),
        json!({"tool_output": {"max_bytes": 0}}),
        json!({"tool_output": {"max_bytes": 16_777_217}}),
        json!({"tool_output": {"max_lines": 1_000_001}}),
        json!({"tool_output": {"tail_lines": 201}}),
        json!({"tools": {"shell": "false"}}),
        json!({"tools": {"": false}}),
        json!({"shell": ""}),
        json!({"shell": 3}),
        json!({"shell": {"hard_ceiling_ms": 999}}),
        json!({"shell": {"background_ceiling_ms": 604_800_001}}),
        json!({"shell": "ba\u{0}sh"}),
        json!({"env": {"withhold_prefixes": [""]}}),
        json!({"env": {"withhold_prefixes": vec!["A"; 65]}}),
        json!({"env": {"withhold_prefixes": ["A".repeat(65)]}}),
        json!({"git": {"preflight_budget_ms": 99}}),
        json!({"search": {"ripgrep_path": "rg"}}),
        json!({"model": "medium"}),
        json!({"subagent_depth": 9}),
        json!({"goal": {"retry": {"initial_delay_ms": 5000, "max_delay_ms": 4000}}}),
        json!({"goal": {"default_token_budget": 1_000_000_000_001_u64}}),
        json!({"compaction": {"threshold": 0.96}}),
        json!({"memory": {"auto_confidence": 1.1}}),
        json!({"continuity": 1}),
        json!({"continuity": {"memory": true}}),
        json!({"skills": {"config": [{"path": "/a", "exposure": "eager"}]}}),
        json!({"events": {"queue": 63}}),
        json!({"log": {"level": "verbose"}}),
        json!({"workflows": {"w": {"maxAgents": 2, "maxParallel": 3, "nodes": [{"id": "a", "agent": "b"}]}}}),
        json!({"workflows": {"w": {"nodes": [{"id": "a"}]}}}),
        json!({"councils": {"c": {"seats": [{"id": "a", "agent": "b"}], "quorum": 2}}}),
        json!({"councils": {"c": {"seats": [{"id": "a", "agent": "b"}, {"id": "a", "agent": "b"}], "quorum": 1}}}),
        json!({"mcp": {"x": {"command": ["a"]}}}),
        json!({"mcp": {"x": {"type": "remote"}}}),
        json!({"web_search": {"provider": {"name": "x", "url": "http://a", "query_param": "q", "results": "", "fields": {"title": "t", "url": "u"}}}}),
        json!({"formatter": {"f": {"command": [], "extensions": [".rs"]}}}),
    ] {
        refused(bad);
    }
}

#[test]
fn later_layers_win_objects_merge_and_arrays_replace() {
    let folder = tempfile::tempdir().unwrap();
    let (global, named) = (folder.path().join("zuno.json"), folder.path().join("named.json"));
    fs::write(&global, "{ // mine\n\"tool_output\": {\"max_bytes\": 1, \"max_lines\": 1}, \"log\": {\"level\": \"info\"}, \"env\": {\"withhold_prefixes\": [\"A\", \"B\"]}}").unwrap();
    fs::write(&named, r#"{"tool_output": {"max_lines": 2, "tail_lines": 2}, "shell": {"hard_ceiling_ms": 5000}}"#)
        .unwrap();
    let environment = environment(&[
        ("ZUNO_CONFIG", named.to_str().unwrap()),
        ("ZUNO_CONFIG_CONTENT", r#"{"tool_output": {"tail_lines": 3}, "env": {"withhold_prefixes": ["C"]}}"#),
        ("ZUNO_SANDBOX_MODE", "read-only"),
        ("ZUNO_SANDBOX_NETWORK", ""),
    ]);
    let sources = Sources {
        global: Some(global),
        environment: Some(environment),
        runtime: Some(json!({"shell": "zsh", "events": {"queue": 64}})),
        session: Some(json!({"events": {"queue": 65}})),
        ..Sources::default()
    };
    let loaded = load(&sources).unwrap();
    let config = loaded.config();
    assert_eq!((config.tool_output.max_bytes, config.tool_output.max_lines, config.tool_output.tail_lines), (1, 2, 3));
    assert_eq!((config.shell.interpreter.as_deref(), config.shell.hard_ceiling_ms), (Some("zsh"), 5000));
    assert_eq!(config.withhold_prefixes, ["C"]);
    assert_eq!(config.sandbox.mode, SandboxMode::ReadOnly);
    assert_eq!(config.events_queue, 65);
    let layers = effective_document(&loaded)["layers"].clone();
    for (key, layer) in [
        ("tool_output.max_bytes", "global"),
        ("tool_output.max_lines", "environment"),
        ("env.withhold_prefixes", "environment"),
        ("sandbox.mode", "environment"),
        ("sandbox.network", "default"),
        ("shell.interpreter", "runtime"),
        ("events.queue", "session"),
    ] {
        assert_eq!(layers[key], layer, "{key}");
    }
}

#[test]
fn a_fault_names_its_document() {
    let folder = tempfile::tempdir().unwrap();
    let global = folder.path().join("zuno.json");
    fs::write(&global, "{\"apiKey\": sesame}").unwrap();
    let error = load(&Sources { global: Some(global.clone()), ..Sources::default() }).unwrap_err();
    assert_eq!(error.details["file"], global.to_str().unwrap());
    assert!(!error.message.contains("sesame"));
    fs::write(&global, [0xff, 0xfe]).unwrap();
    assert!(load(&Sources { global: Some(global.clone()), ..Sources::default() }).is_err());
    fs::remove_file(&global).unwrap();
    assert!(load(&Sources { global: Some(global.clone()), ..Sources::default() }).is_ok());

    for (name, value) in [
        ("ZUNO_SANDBOX_MODE", "open"),
        ("ZUNO_SANDBOX_NETWORK", "yes"),
        ("ZUNO_SANDBOX_ON_UNAVAILABLE", "run"),
        ("ZUNO_CONFIG_CONTENT", "{"),
        ("ZUNO_CONFIG", "/does/not/exist.json"),
    ] {
        let environment = Some(environment(&[(name, value)]));
        let error = load(&Sources { environment, ..Sources::default() }).unwrap_err();
        assert!(error.message.contains(name), "{}", error.message);
        assert_eq!(error.details["layer"], "environment");
    }
}

#[test]
fn the_project_file_only_narrows() {
    let text = r#"{
        "permission": {"mode": "strict"},
        "sandbox": {"mode": "read-only", "network": "deny", "onUnavailable": "deny", "landlock_new_entries": "deny"},
        "tools": {"shell": false, "webfetch": true},
        "tool_output": {"max_bytes": 1000, "max_lines": 5000},
        "concurrency": {"tool_calls": 64, "delegations": 1},
        "shell": {"hard_ceiling_ms": 2000, "background_ceiling_ms": 7000},
        "env": {"withhold_prefixes": ["B", "A"]},
        "budget": {"tool_calls": 9, "wall_clock_ms": 0}
    }"#;
    let trusted = json!({
        "sandbox": {"network": "allow", "onUnavailable": "run-unconfined"},
        "tools": {"webfetch": false},
        "env": {"withhold_prefixes": ["A"]},
        "budget": {"wall_clock_ms": 4}
    });
    let loaded = with_project(trusted, text).unwrap();
    let config = loaded.config();
    assert_eq!(config.permission.mode, PermissionMode::Strict);
    assert_eq!((config.sandbox.mode, config.sandbox.network), (SandboxMode::ReadOnly, Network::Deny));
    assert!(config.sandbox.landlock_denies_new_entries);
    assert_eq!(config.sandbox.on_unavailable, zuno::config::OnUnavailable::Deny);
    assert_eq!((config.tools["shell"], config.tools["webfetch"]), (false, false));
    assert_eq!((config.tool_output.max_bytes, config.tool_output.max_lines), (1000, 2000));
    assert_eq!((config.concurrency.tool_calls, config.concurrency.delegations), (8, 1));
    assert_eq!((config.shell.hard_ceiling_ms, config.shell.background_ceiling_ms), (2000, 7000));
    assert_eq!(config.withhold_prefixes, ["A", "B"]);
    assert_eq!(loaded.values()["budget"], json!({"tool_calls": 9, "wall_clock_ms": 4}));
    let ignored: Vec<&str> = loaded.ignored().iter().map(|entry| entry.key.as_str()).collect();
    assert_eq!(ignored, ["tools.webfetch", "tool_output.max_lines", "concurrency.tool_calls", "budget.wall_clock_ms"]);
    let document = effective_document(&loaded);
    assert_eq!(document["layers"]["tool_output.max_bytes"], "project");
    assert_eq!(document["layers"]["tool_output.max_lines"], "default");
}

#[test]
fn the_project_file_may_not_set_other_keys() {
    for (text, key) in [
        (r#"{"model": "a/b"}"#, "model"),
        (r#"{"mcp": {}}"#, "mcp"),
        (r#"{"mcp": {"x": {"type": "local", "command": ["evil"]}}}"#, "mcp"),
        (r#"{"shell": "./evil"}"#, "shell.interpreter"),
        (r#"{"sandbox": {"backend": "native"}}"#, "sandbox.backend"),
        (r#"{"sandbox": {"writableRoots": ["/"]}}"#, "sandbox.writableRoots"),
        (r#"{"tool_output": {"tail_lines": 1}}"#, "tool_output.tail_lines"),
        (r#"{"search": {"ripgrep_path": "/tmp/rg"}}"#, "search"),
        (r#"{"formatter": {"f": {"command": ["evil"], "extensions": [".rs"]}}}"#, "formatter"),
        (r#"{"agents": {"a": {"model": "x/y"}}}"#, "agents.a.model"),
        (r#"{"agents": {"a": {"options": {}}}}"#, "agents.a.options"),
        (r#"{"sandbox": {"protectedPaths": ["missing"]}}"#, "sandbox.protectedPaths"),
    ] {
        let error = with_project(json!({}), text).expect_err(text);
        assert_eq!(
            (error.code.as_str(), &error.details["key"]),
            ("arguments.config", &json!(key)),
            "{}",
            error.message
        );
        assert_eq!(error.details["layer"], "project");
    }
}

#[test]
fn the_project_file_cannot_hang_or_fill_the_host() {
    let (worktree, file) = project("{}");
    fs::remove_file(&file).unwrap();
    std::process::Command::new("mkfifo").arg(&file).status().unwrap();
    let sources = Sources { project: Some(file.clone()), ..Sources::default() };
    assert!(load(&sources).unwrap_err().message.contains("regular file"));
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &file).unwrap();
    assert!(load(&sources).unwrap_err().message.contains("regular file"));
    drop(worktree);
}

#[test]
fn protected_paths_of_the_project_are_added_from_the_worktree() {
    let (worktree, file) = project(r#"{"sandbox": {"protectedPaths": ["keys"]}}"#);
    let keys = worktree.path().join("keys");
    fs::create_dir(&keys).unwrap();
    let trusted = json!({"sandbox": {"protectedPaths": [worktree.path()]}});
    let sources = Sources { runtime: Some(trusted), project: Some(file), ..Sources::default() };
    assert_eq!(load(&sources).unwrap().config().sandbox.protected_paths, [worktree.path().to_owned(), keys]);
}

#[test]
fn full_access_excludes_restrictions() {
    let folder = tempfile::tempdir().unwrap();
    let full = |extra: Value| {
        let mut sandbox = json!({"mode": "danger-full-access"});
        sandbox.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        json!({ "sandbox": sandbox })
    };
    for (extra, key) in [
        (json!({"network": "deny"}), "sandbox.network"),
        (json!({"writableRoots": [folder.path()]}), "sandbox.writableRoots"),
        (json!({"protectedPaths": [folder.path()]}), "sandbox.protectedPaths"),
    ] {
        assert_eq!(refused(full(extra)).details["key"], key);
    }
    let loaded = runtime(full(json!({"writableRoots": []}))).unwrap();
    assert_eq!(loaded.config().sandbox.network, Network::Allow);
    assert_eq!(loaded.config().permission.mode, PermissionMode::Standard);
    let document = effective_document(&loaded);
    assert_eq!(document["effectivePermissionMode"], "allow_all");
    assert_eq!(document["values"]["permission"]["mode"], "standard");
    // A restriction the project asks for and nobody would enforce is refused as well.
    let error = with_project(full(json!({})), r#"{"sandbox": {"network": "deny"}}"#).unwrap_err();
    assert_eq!((&error.details["key"], &error.details["layer"]), (&json!("sandbox.network"), &json!("project")));
    // Narrowed away from full access, the network is what it would have been.
    let narrowed = with_project(full(json!({})), r#"{"sandbox": {"mode": "workspace-write"}}"#).unwrap();
    assert_eq!(narrowed.config().sandbox.network, Network::Deny);
}

#[test]
fn writable_roots_need_an_existing_directory_and_workspace_write() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let root = folder.path();
    assert!(runtime(json!({"sandbox": {"writableRoots": [root]}})).is_ok());
    for bad in [
        json!({"mode": "read-only", "writableRoots": [root]}),
        json!({"writableRoots": [file]}),
        json!({"writableRoots": [root.join("missing")]}),
        json!({"writableRoots": ["."]}),
        json!({"protectedPaths": [root.join("missing")]}),
    ] {
        refused(json!({ "sandbox": bad }));
    }
    let narrowed = with_project(json!({"sandbox": {"writableRoots": [root]}}), r#"{"sandbox": {"mode": "read-only"}}"#);
    assert!(narrowed.unwrap().config().sandbox.writable_roots.is_empty());
}

#[test]
fn a_session_lays_its_own_on_top_and_its_project_stays_the_last_word() {
    let base = runtime(json!({"tool_output": {"max_bytes": 100}, "permission": {"rules": {"edit": "allow"}}})).unwrap();
    let (_worktree, file) = project(r#"{"tool_output": {"max_bytes": 60}, "permission": {"rules": {"edit": "deny"}}}"#);
    let config = json!({"tool_output": {"max_bytes": 200}, "permission": {"rules": {"edit": "ask"}}});
    let session = base.for_session(Some(&file), Some(&config)).unwrap();
    assert_eq!(session.config().tool_output.max_bytes, 60);
    assert_eq!(base.config().tool_output.max_bytes, 100);
    let permission = &session.config().permission;
    assert_eq!(permission.rules.iter().map(|rule| rule.layer.as_str()).collect::<Vec<_>>(), ["runtime", "session"]);
    assert_eq!(permission.narrowing.len(), 1);
    assert_eq!(base.for_session(None, Some(&config)).unwrap().config().tool_output.max_bytes, 200);
    let error = base.for_session(None, Some(&json!({"tool_ouput": {}}))).unwrap_err();
    assert_eq!(error.details["layer"], "session");
}

#[test]
fn secrets_are_never_shown() {
    let secret = "sesame-4711";
    let loaded = runtime(json!({
        "provider": {"p": {"kind": "k", "baseUrl": format!("https://u:{secret}@h/v1"),
            "options": {"apiKey": secret, "region": "eu", "headers": {"X": secret}, "deep": [{"authToken": secret}]}}},
        "mcp": {"m": {"type": "remote", "url": format!("https://{secret}@h"), "headers": {"A": secret}, "environment": {"E": secret}}},
        "web_search": {"provider": {"name": "n", "url": "https://s", "query_param": "q", "key": secret, "key_in": "bearer",
            "headers": {"H": secret}, "results": "items", "fields": {"title": "t", "url": "u"}}},
    }))
    .unwrap();
    let document = effective_document(&loaded);
    assert!(!document.to_string().contains(secret), "{document}");
    assert_eq!(document["values"]["provider"]["p"]["options"]["apiKey"], "***");
    assert_eq!(document["values"]["provider"]["p"]["options"]["region"], "eu");
    assert_eq!(document["values"]["mcp"]["m"]["environment"], json!({"E": "***"}));
    assert_eq!(document["values"]["web_search"]["provider"]["key"], "***");
    let wrong = refused(json!({"model": secret}));
    assert!(!wrong.to_json().to_string().contains(secret));
}

#[test]
fn an_unknown_tool_name_is_kept() {
    assert!(!runtime(json!({"tools": {"no_such_tool": false}})).unwrap().config().tools["no_such_tool"]);
}

#[test]
fn rules_of_all_layers_are_concatenated_and_their_faults_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let global = folder.path().join("zuno.json");
    fs::write(
        &global,
        r#"{"permission": {"rules": {"edit": {"*": "ask", "docs/*": "allow"}, "question_async": "deny"}}}"#,
    )
    .unwrap();
    let sources = Sources {
        global: Some(global),
        runtime: Some(
            json!({"permission": {"rules": [{"key": "shell", "pattern": "git *", "action": "deny", "reason": "No."}]}}),
        ),
        ..Sources::default()
    };
    let loaded = load(&sources).unwrap();
    assert_eq!(
        effective_document(&loaded)["values"]["permission"]["rules"],
        json!([
            {"key": "edit", "pattern": "*", "action": "ask", "reason": null, "layer": "global"},
            {"key": "edit", "pattern": "docs/*", "action": "allow", "reason": null, "layer": "global"},
            {"key": "shell", "pattern": "git *", "action": "deny", "reason": "No.", "layer": "runtime"},
        ])
    );
    assert_eq!(loaded.diagnostics().map(|found| found.code).collect::<Vec<_>>(), ["config.dead_rule"]);

    let error = refused(json!({"permission": {"rules": {"apply_patch": "deny"}}}));
    assert_eq!((&error.details["key"], &error.details["suggestion"]), (&json!("permission.rules"), &json!("edit")));
    let example = json!({"edit": {"*.lock": {"action": "deny", "match": ["src/lock.rs"]}}});
    let error = refused(json!({"permission": {"rules": example.clone()}}));
    assert_eq!(error.details["example"], "src/lock.rs");
    let error = refused(json!({"agents": {"a": {"permission": {"rules": example}}}}));
    assert_eq!(error.details["key"], "agents.a.permission.rules");
}
