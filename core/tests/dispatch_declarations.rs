//! Declarations, surface, switches and refusals of the dispatcher.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod support;

use std::path::Path;

use serde_json::{Value, json};
use support::{Answer, TestHost, register};

fn options(config: Value) -> Value {
    json!({ "database": ":memory:", "ports": ["approval", "hostTool", "hook"], "config": config })
}

fn obliging(kind: &str, _payload: &Value) -> Answer {
    match kind {
        "approval" => Some(Ok(json!({ "reply": "once" }))),
        "hostTool" => Some(Ok(json!({ "output": "done" }))),
        _ => None,
    }
}

fn open(config: Value) -> (TestHost, tempfile::TempDir) {
    (TestHost::open(options(config), obliging), tempfile::tempdir().unwrap())
}

fn names(host: &TestHost, session: &str) -> Vec<String> {
    let tools = host.call("session.tools", json!({ "sessionId": session })).unwrap();
    tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn create(host: &TestHost, folder: &Path, extra: Value) -> Result<String, zuno::types::Error> {
    let mut params = json!({ "directory": folder });
    params.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    host.call("session.create", params).map(|record| record["id"].as_str().unwrap().to_owned())
}

// spec: SURFACE-01 SURFACE-02 EFFECT-05
#[test]
fn every_combination_of_the_three_declarations_is_kept_as_given() {
    let (host, folder) = open(json!({}));
    let mut wanted = Vec::new();
    for effect in ["ReadOnly", "UserMediated", "Delegating", "SideEffecting"] {
        for replay in ["Never", "Safe"] {
            for concurrency in ["Exclusive", "ParallelSafe", "IsolatedBackground"] {
                let name = format!("t_{effect}_{replay}_{concurrency}");
                register(&host, &name, json!({ "effect": effect, "replay": replay, "concurrency": concurrency }));
                wanted.push((name, [effect, replay, concurrency]));
            }
        }
    }
    let listed = host.call("tool.list", json!({})).unwrap();
    let session = host.session(folder.path());
    for (name, declared) in wanted {
        let row =
            listed["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name.as_str()).unwrap().clone();
        let part = host.one(&session, &name, json!({}));
        for source in [&row, &part] {
            assert_eq!([&source["effect"], &source["replay"], &source["concurrency"]], declared, "{name}");
        }
    }
}

// spec: EFFECT-09 EFFECT-10 REPLAY-02 CONCURRENCY-02
#[test]
fn a_tool_without_declarations_gets_the_strict_value_of_each() {
    let (host, folder) = open(json!({}));
    register(&host, "plain", json!({}));
    let session = host.session(folder.path());
    let part = host.one(&session, "plain", json!({}));
    assert_eq!([&part["effect"], &part["replay"], &part["concurrency"]], ["SideEffecting", "Never", "Exclusive"]);
}

// spec: EFFECT-11
#[test]
fn a_classifier_reads_one_argument_and_fails_closed() {
    let (host, folder) = open(json!({}));
    register(
        &host,
        "ticket",
        json!({ "effectByArgument": { "argument": "op", "map": { "get": "ReadOnly", "close": "SideEffecting" } } }),
    );
    let session = host.session(folder.path());
    let effect = |arguments: Value| host.one(&session, "ticket", arguments)["effect"].clone();
    assert_eq!(effect(json!({ "op": "get" })), "ReadOnly");
    assert_eq!(effect(json!({ "op": "close" })), "SideEffecting");
    assert_eq!(effect(json!({ "op": "other" })), "SideEffecting");
    assert_eq!(effect(json!({})), "SideEffecting");
}

// spec: EFFECT-06 EFFECT-07 EFFECT-08 EFFECT-09
#[test]
fn strict_mode_asks_afresh_for_every_call_that_changes_something() {
    let config = json!({ "permission": { "mode": "strict", "rules": { "*": "allow" } } });
    let (host, folder) = open(config);
    let session = host.session(folder.path());
    for (effect, asked) in [("ReadOnly", 0), ("UserMediated", 0), ("Delegating", 2), ("SideEffecting", 2)] {
        register(&host, effect, json!({ "effect": effect }));
        let before = approvals(&host);
        for _ in 0..2 {
            assert_eq!(host.one(&session, effect, json!({ "text": "same" }))["outcome"], "ok");
        }
        assert_eq!(approvals(&host) - before, asked, "{effect}");
    }
}

fn approvals(host: &TestHost) -> usize {
    host.seen().iter().filter(|item| item["kind"] == "approval").count()
}

// spec: SWITCH-01 SWITCH-02 SWITCH-03
#[test]
fn a_switch_is_availability_and_grants_nothing() {
    let config = json!({ "tools": { "one": false, "two": true, "nobody": false }, "permission": { "rules": { "two": "deny" } } });
    let (host, folder) = open(config);
    for name in ["one", "two", "three"] {
        register(&host, name, json!({}));
    }
    let session = host.session(folder.path());
    let shown = names(&host, &session);
    assert!(!shown.contains(&"one".to_owned()) && shown.contains(&"three".to_owned()));
    let part = host.one(&session, "one", json!({}));
    assert_eq!(part["blockKind"], "unavailable");
    // Switched on and denied: hidden, and a forced call is denied, not unavailable.
    assert!(!shown.contains(&"two".to_owned()));
    assert_eq!(host.one(&session, "two", json!({}))["blockKind"], "denied");
    assert_eq!(host.one(&session, "three", json!({}))["outcome"], "ok");
    let diagnostics = host.call("runtime.diagnostics", json!({})).unwrap();
    let found = diagnostics["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["code"] == "config.unknown_tool")
        .count();
    assert!(found >= 1, "{diagnostics}");
}

// spec: SWITCH-04 SWITCH-05 SURFACE-28
#[test]
fn an_agent_allowlist_replaces_the_default_surface() {
    let config = json!({
        "tools": { "off": false },
        "agents": { "auditor": { "tools": ["read", "slot", "off"] } },
    });
    let (host, folder) = open(config);
    register(&host, "slot", json!({ "surface": "slot" }));
    register(&host, "off", json!({}));
    register(&host, "shown", json!({}));
    let session = create(&host, folder.path(), json!({ "agent": "auditor" })).unwrap();
    assert_eq!(names(&host, &session), ["read", "slot"]);
    let part = host.one(&session, "shown", json!({}));
    assert_eq!(part["blockKind"], "unavailable");
}

// spec: SURFACE-27 SURFACE-28
#[test]
fn a_slot_is_shown_only_through_a_profile() {
    let (host, folder) = open(json!({}));
    register(&host, "slot", json!({ "surface": "slot" }));
    let plain = host.session(folder.path());
    assert!(!names(&host, &plain).contains(&"slot".to_owned()));
    assert_eq!(host.one(&plain, "slot", json!({}))["blockKind"], "unavailable");
    let profile = json!({ "profile": { "tools": { "include": ["slot"], "exclude": ["glob"] } } });
    let session = create(&host, folder.path(), profile).unwrap();
    let shown = names(&host, &session);
    assert!(shown.contains(&"slot".to_owned()) && !shown.contains(&"glob".to_owned()));
    assert_eq!(host.one(&session, "slot", json!({}))["outcome"], "ok");
    let unknown = create(&host, folder.path(), json!({ "profile": { "tools": { "include": ["slto"] } } })).unwrap_err();
    assert_eq!(unknown.code, "arguments.unknown_name");
    assert_eq!(unknown.details["suggestion"], "slot");
}

// spec: SURFACE-26
#[test]
fn a_snapshot_is_locked_for_its_message() {
    // The first call's handler takes the second tool away; the message still finds it.
    let (host, folder) = open(json!({}));
    register(&host, "second", json!({}));
    register(&host, "first", json!({}));
    let session = host.session(folder.path());
    let watch = host.watch();
    let wire = std::sync::Arc::clone(&host.wire);
    let remover = std::thread::spawn(move || {
        for item in watch {
            if item["kind"] == "hostTool" && item["payload"]["tool"] == "first" {
                wire.call("tool.unregister", r#"{"name":"second"}"#).unwrap();
                return;
            }
        }
    });
    let calls = json!([{ "name": "first", "arguments": {} }, { "name": "second", "arguments": {} }]);
    let parts = host.dispatch(&session, calls);
    remover.join().unwrap();
    assert!(parts.iter().all(|part| part["outcome"] == "ok"), "{parts:?}");
    assert_eq!(host.one(&session, "second", json!({}))["blockKind"], "unavailable");
}

// spec: REFUSAL-06 REPLAY-10
#[test]
fn failures_are_errors_and_a_lost_answer_of_a_side_effect_is_uncertain() {
    let failing = |kind: &str, payload: &Value| -> Answer {
        match (kind, payload["tool"].as_str()) {
            ("approval", _) => Some(Ok(json!({ "reply": "once" }))),
            (_, Some(name)) if name.starts_with("raise") => Some(Err(("host.failed".into(), "boom".into()))),
            (_, Some(name)) if name.starts_with("drop") => Some(Err(("host.dropped".into(), "gone".into()))),
            (_, Some(name)) if name.starts_with("odd") => Some(Ok(json!([1, 2]))),
            _ => None,
        }
    };
    let host = TestHost::open(options(json!({})), failing);
    let folder = tempfile::tempdir().unwrap();
    let session = host.session(folder.path());
    let cases = [
        ("raise", "SideEffecting", "error", "Failed"),
        ("odd", "SideEffecting", "error", "Failed"),
        ("drop", "SideEffecting", "uncertain", "Uncertain"),
        ("never", "SideEffecting", "uncertain", "Uncertain"),
        ("drop", "ReadOnly", "error", "Failed"),
        ("never", "ReadOnly", "error", "Timeout"),
        ("never", "Delegating", "uncertain", "Uncertain"),
    ];
    for (behaviour, effect, outcome, kind) in cases {
        let name = format!("{behaviour}_{effect}");
        register(&host, &name, json!({ "effect": effect, "timeoutMs": 50 }));
        let part = host.one(&session, &name, json!({}));
        assert_eq!(
            (part["outcome"].as_str(), part["error"]["kind"].as_str()),
            (Some(outcome), Some(kind)),
            "{name}: {part}"
        );
        // spec: REPLAY-06 REPLAY-07
        assert!(part["output"].as_str().unwrap().contains("Inspect the authoritative state"), "{part}");
    }
    let types = host.event_types(&session);
    assert!(!types.contains(&"dispatch-blocked".to_owned()), "failures are no refusals");
    let open = host.call("session.unsettled", json!({ "sessionId": session })).unwrap();
    assert_eq!(open["calls"].as_array().unwrap().len(), 3);
}

#[test]
fn an_uncertain_call_is_reconciled_once_and_stays_uncertain() {
    let host = TestHost::open(options(json!({})), |kind, _| match kind {
        "approval" => Some(Ok(json!({ "reply": "once" }))),
        _ => Some(Err(("host.dropped".into(), "gone".into()))),
    });
    let folder = tempfile::tempdir().unwrap();
    let session = host.session(folder.path());
    register(&host, "risky", json!({}));
    let part = host.one(&session, "risky", json!({}));
    let verdict =
        json!({ "sessionId": session, "callId": part["callId"], "verdict": "did_not_happen", "evidence": "looked" });
    let after = host.call("session.reconcile", verdict.clone()).unwrap();
    assert_eq!(after["outcome"], "uncertain");
    assert!(after["uncertain"]["reconciledAt"].is_i64());
    assert_eq!(host.call("session.reconcile", verdict).unwrap_err().code, "conflict.already_reconciled");
    let open = host.call("session.unsettled", json!({ "sessionId": session })).unwrap();
    assert_eq!(open["calls"], json!([]));
}

// spec: EFFECT-17
#[test]
fn arguments_that_cannot_be_read_classify_strictly() {
    let (host, folder) = open(json!({}));
    register(&host, "reader", json!({ "effect": "ReadOnly", "replay": "Safe", "concurrency": "ParallelSafe" }));
    let session = host.session(folder.path());
    let part = host.one(&session, "reader", json!({ "nope": 1 }));
    assert_eq!([&part["effect"], &part["replay"], &part["concurrency"]], ["SideEffecting", "Never", "Exclusive"]);
}

#[test]
fn registrations_are_checked() {
    let (host, _folder) = open(json!({}));
    let schema = json!({ "type": "object", "properties": {} });
    let code = |spec: Value| host.call("tool.register", spec).unwrap_err().code;
    let spec = |name: &str, schema: &Value| json!({ "name": name, "description": "", "inputSchema": schema });
    assert_eq!(code(spec("1bad", &schema)), "arguments.bad_tool");
    assert_eq!(code(spec(&"a".repeat(65), &schema)), "arguments.bad_tool");
    assert_eq!(code(spec("t", &json!({ "type": "string" }))), "arguments.bad_tool");
    assert_eq!(
        code(spec("t", &json!({ "type": "object", "properties": { "a": { "$ref": "https://example.org/x" } } }))),
        "arguments.bad_tool"
    );
    assert_eq!(
        code(spec("t", &json!({ "type": "object", "properties": { "a": { "const": "x".repeat(300_000) } } }))),
        "arguments.bad_tool"
    );
    assert_eq!(code(spec("read", &schema)), "conflict.name_taken");
    let mut replacing = spec("glob", &schema);
    replacing["replace"] = json!(true);
    host.call("tool.register", replacing).unwrap();
    assert_eq!(host.call("tool.unregister", json!({ "name": "glob" })).unwrap()["removed"], true);
    let origins = host.call("tool.list", json!({})).unwrap();
    assert!(
        origins["tools"].as_array().unwrap().iter().all(|tool| tool["origin"] == "builtin"),
        "the original is back"
    );
    assert_eq!(host.call("tool.unregister", json!({ "name": "grep" })).unwrap()["removed"], false);
}

#[test]
fn a_host_answer_cannot_forge_facts_of_the_library() {
    let host = TestHost::open(options(json!({})), |kind, _| match kind {
        "approval" => Some(Ok(json!({ "reply": "once" }))),
        _ => Some(Ok(
            json!({ "output": "x", "metadata": { "verification": { "exitAuthority": "authoritative" }, "sandboxBackend": "native", "mine": 1 } }),
        )),
    });
    let folder = tempfile::tempdir().unwrap();
    let session = host.session(folder.path());
    register(&host, "forger", json!({}));
    let part = host.one(&session, "forger", json!({}));
    assert_eq!(part["metadata"], json!({ "mine": 1 }));
}

#[test]
fn hooks_run_in_order_and_may_refuse_rewrite_and_add_facts() {
    let host = TestHost::open(options(json!({})), |kind, payload| match kind {
        "approval" => Some(Ok(json!({ "reply": "once" }))),
        "hostTool" => Some(Ok(json!({ "output": payload["arguments"].to_string() }))),
        _ if payload["hook"] == "afterCall" => {
            Some(Ok(json!({ "metadata": { "seen": payload["output"], "verification": 1 } })))
        }
        _ => match payload["arguments"]["text"].as_str() {
            Some("no") => Some(Ok(json!({ "decision": "block", "reason": "not today" }))),
            Some("change") => Some(Ok(json!({ "decision": "rewrite", "arguments": { "text": "changed" } }))),
            Some("break") => Some(Ok(json!({ "decision": "rewrite", "arguments": { "tixt": 1 } }))),
            Some("raise") => Some(Err(("host.failed".into(), "boom".into()))),
            _ => Some(Ok(json!({ "decision": "continue" }))),
        },
    });
    let folder = tempfile::tempdir().unwrap();
    let session = host.session(folder.path());
    register(&host, "echo", json!({}));
    host.call("hook.register", json!({ "hook": "beforeCall", "tools": ["echo"] })).unwrap();
    host.call("hook.register", json!({ "hook": "afterCall" })).unwrap();
    let call = |text: &str| host.one(&session, "echo", json!({ "text": text }));
    let plain = call("plain");
    assert_eq!(plain["metadata"], json!({ "seen": "{\"text\":\"plain\"}" }));
    let refused = call("no");
    assert_eq!(
        (refused["blockKind"].as_str(), refused["error"]["denial"]["origin"].as_str()),
        (Some("denied"), Some("hook"))
    );
    let changed = call("change");
    assert_eq!(changed["arguments"], json!({ "text": "change" }));
    assert_eq!(changed["effectiveArguments"], json!({ "text": "changed" }));
    assert_eq!(changed["output"], "{\"text\":\"changed\"}");
    assert_eq!(call("break")["blockKind"], "invalid_arguments");
    assert_eq!(call("raise")["blockKind"], "denied");
}

#[test]
fn a_hook_that_never_answers_holds_a_call_only_until_it_is_interrupted() {
    for (kind, outcome) in [("beforeCall", "error"), ("afterCall", "ok")] {
        let host = TestHost::open(options(json!({})), |kind, payload| match kind {
            "hook" => None,
            _ => obliging(kind, payload),
        });
        let folder = tempfile::tempdir().unwrap();
        let session = host.session(folder.path());
        register(&host, "echo", json!({}));
        host.call("hook.register", json!({ "hook": kind })).unwrap();
        let params = json!({ "sessionId": session, "calls": [{ "name": "echo", "arguments": {} }] });
        let op = host.wire.start("session.dispatch", &params.to_string()).unwrap();
        host.wait_for("hook request", |item| item["kind"] == "hook");
        assert_eq!(host.call("session.interrupt", json!({ "sessionId": session })).unwrap()["interrupted"], true);
        let done = host.wait_for("op", |item| item["type"] == "op" && item["id"] == op);
        assert_eq!(done["result"]["results"][0]["outcome"], outcome, "{kind}");
        host.wait_for("cancelled request", |item| item["type"] == "cancelled");
    }
}
