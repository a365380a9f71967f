//! The library's own tools: what they declare, when they are shown, and which of them a strict session asks about.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod support;

use serde_json::{Value, json};
use support::{TestHost, register};

fn names(host: &TestHost, session: &str) -> Vec<String> {
    let tools = host.call("session.tools", json!({ "sessionId": session })).unwrap();
    tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "needle\n").unwrap();
    folder
}

// spec: EFFECT-01 EFFECT-02 EFFECT-04 REPLAY-03 CONCURRENCY-09
#[test]
fn declarations_are_those_of_the_table() {
    let host = TestHost::allowing();
    let listed = host.call("tool.list", json!({})).unwrap();
    let table = [
        ("read", ["ReadOnly", "Safe", "ParallelSafe"]),
        ("glob", ["ReadOnly", "Safe", "ParallelSafe"]),
        ("grep", ["ReadOnly", "Safe", "ParallelSafe"]),
        ("write", ["SideEffecting", "Never", "Exclusive"]),
        ("shell", ["SideEffecting", "Never", "Exclusive"]),
        ("question", ["UserMediated", "Never", "Exclusive"]),
        ("question_async", ["UserMediated", "Never", "Exclusive"]),
    ];
    let rows = listed["tools"].as_array().unwrap();
    for (name, declared) in table {
        let row = rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{name} is not registered"));
        assert_eq!([&row["effect"], &row["replay"], &row["concurrency"]], declared, "{name}");
    }
    let safe: Vec<&str> =
        rows.iter().filter(|row| row["replay"] == "Safe").map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(safe, ["read", "glob", "grep"], "no other tool may be repeated");
}

// spec: SURFACE-04 SURFACE-05 SURFACE-06 SURFACE-07 SURFACE-10 SURFACE-11 SURFACE-18 SURFACE-19
#[test]
fn the_default_surface_shows_them_and_each_does_its_job() {
    let host = TestHost::allowing();
    let folder = folder();
    let session = host.session(folder.path());
    let shown = names(&host, &session);
    for name in ["read", "glob", "grep", "write", "shell", "bg", "question", "question_async"] {
        assert!(shown.contains(&name.to_owned()), "{name} is not in {shown:?}");
    }
    let output = |name: &str, arguments: Value| {
        let part = host.one(&session, name, arguments);
        assert_eq!(part["outcome"], "ok", "{part}");
        part["output"].as_str().unwrap().to_owned()
    };
    assert!(output("read", json!({ "filePath": "a.txt" })).contains("1: needle"));
    assert!(output("read", json!({ "filePath": "." })).contains("a.txt"));
    assert!(output("glob", json!({ "pattern": "*.txt" })).ends_with("a.txt"));
    assert!(output("grep", json!({ "pattern": "needle" })).contains("Line 1: needle"));
    output("write", json!({ "filePath": "b.txt", "content": "new" }));
    assert_eq!(std::fs::read(folder.path().join("b.txt")).unwrap(), b"new");
    assert!(output("shell", json!({ "command": "cat b.txt" })).starts_with("new"));
    output("bg", json!({ "action": "list" }));
    let ask = json!({ "questions": [{ "question": "Which one?", "header": "Pick" }] });
    assert!(output("question", ask.clone()).contains("que_"));
    assert!(output("question_async", ask).contains("que_"));
}

// spec: EFFECT-12 EFFECT-13
#[test]
fn a_strict_session_asks_about_changes_and_not_about_looking() {
    let options = json!({
        "database": ":memory:", "ports": ["approval"],
        "config": { "permission": { "mode": "strict", "rules": { "*": "allow" } } },
    });
    let host = TestHost::open(options, |kind, _| (kind == "approval").then(|| Ok(json!({ "reply": "once" }))));
    let folder = folder();
    let session = host.session(folder.path());
    let cases = [
        ("read", json!({ "filePath": "a.txt" }), 0),
        ("glob", json!({ "pattern": "*.txt" }), 0),
        ("grep", json!({ "pattern": "x" }), 0),
        ("bg", json!({ "action": "list" }), 0),
        ("question", json!({ "questions": [{ "question": "Why?", "header": "Why" }] }), 0),
        ("write", json!({ "filePath": "c.txt", "content": "x" }), 1),
        ("shell", json!({ "command": "true" }), 1),
        ("shell", json!({ "command": "true" }), 1),
    ];
    for (name, arguments, asked) in cases {
        let before = approvals(&host);
        let part = host.one(&session, name, arguments);
        assert_eq!(part["outcome"], "ok", "{part}");
        assert_eq!(approvals(&host) - before, asked, "{name}");
    }
}

fn approvals(host: &TestHost) -> usize {
    host.seen().iter().filter(|item| item["kind"] == "approval").count()
}

// spec: OUTPUT-03 OUTPUT-05 OUTPUT-12
// case: 56
#[test]
fn withheld_output_is_a_success_and_asking_for_all_of_it_is_a_new_call() {
    let host = TestHost::allowing();
    let folder = folder();
    let session = host.session(folder.path());
    let long = "for i in $(seq 3000); do echo line $i; done; echo x >> count";
    let part = host.one(&session, "shell", json!({ "command": long }));
    assert_eq!(part["outcome"], "ok", "{part}");
    assert_eq!(part["metadata"]["withheldOutput"]["limitCrossed"], "lines");
    let path = part["metadata"]["outputPaths"][0].as_str().unwrap();
    let expected: String = (1..=3000).map(|line| format!("line {line}\n")).collect();
    assert_eq!(std::fs::read_to_string(path).unwrap(), expected);
    let whole = host.one(&session, "shell", json!({ "command": long, "accept_large_output": true }));
    assert!(whole["output"].as_str().unwrap().contains("line 2999\n"));
    assert_eq!(std::fs::read_to_string(folder.path().join("count")).unwrap(), "x\nx\n", "it ran again");
}

// spec: CONCURRENCY-06
#[test]
fn calls_are_checked_hooked_and_asked_about_in_the_models_order() {
    let options = json!({ "database": ":memory:", "ports": ["approval", "hostTool", "hook"] });
    let host = TestHost::open(options, |kind, _| match kind {
        "approval" => Some(Ok(json!({ "reply": "once" }))),
        "hook" => Some(Ok(json!({ "decision": "continue" }))),
        _ => Some(Ok(json!({ "output": "done" }))),
    });
    let folder = folder();
    let session = host.session(folder.path());
    register(&host, "look", json!({ "effect": "ReadOnly", "concurrency": "ParallelSafe" }));
    host.call("hook.register", json!({ "hook": "beforeCall" })).unwrap();
    let calls: Vec<Value> =
        (0..3).map(|index| json!({ "callId": format!("c{index}"), "name": "look", "arguments": {} })).collect();
    host.dispatch(&session, Value::Array(calls));
    let asked: Vec<String> = host
        .seen()
        .iter()
        .filter(|item| item["type"] == "request")
        .map(|item| format!("{} {}", item["kind"].as_str().unwrap(), item["payload"]["callId"].as_str().unwrap()))
        .collect();
    let prepared = ["hook c0", "approval c0", "hook c1", "approval c1", "hook c2", "approval c2"];
    assert_eq!(asked[..6], prepared, "{asked:?}");
    assert_eq!(asked.len(), 9, "bodies start after every one of the group was prepared");
}

// case: 79
#[test]
fn a_pause_for_approval_loses_no_sibling() {
    let options = json!({
        "database": ":memory:", "ports": ["approval"],
        "config": { "permission": { "rules": { "shell": { "*": "ask", "echo denied*": "deny" } } } },
    });
    let host = TestHost::open(options, |_, _| None);
    let folder = folder();
    let session = host.session(folder.path());
    let wire = std::sync::Arc::clone(&host.wire);
    let calls = json!([
        { "callId": "A", "name": "read", "arguments": { "filePath": "a.txt" } },
        { "callId": "S", "name": "shell", "arguments": { "command": "echo allowed" } },
        { "callId": "B", "name": "grep", "arguments": { "pattern": "needle" } },
        { "callId": "T", "name": "shell", "arguments": { "command": "echo denied" } },
    ]);
    let op = wire.start("session.dispatch", &json!({ "sessionId": session, "calls": calls }).to_string()).unwrap();
    let request = host.wait_for("approval", |item| item["kind"] == "approval");
    // case: 91
    let waiting = host.call("runtime.waiting", json!({})).unwrap();
    assert_eq!(waiting["waiting"][0]["kind"], "permission");
    assert_eq!(waiting["waiting"][0]["id"], request["payload"]["id"]);
    let stored = host.call("session.messages", json!({ "sessionId": session })).unwrap();
    assert_eq!(stored["messages"][0]["parts"][0]["outcome"], "ok", "A is kept while S waits");
    wire.respond(request["id"].as_str().unwrap(), r#"{"reply":"once"}"#).unwrap();
    let done = host.wait_for("op", |item| item["type"] == "op" && item["id"] == op);
    let rows: Vec<(&str, &str)> = done["result"]["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| (part["callId"].as_str().unwrap(), part["outcome"].as_str().unwrap()))
        .collect();
    assert_eq!(rows, [("A", "ok"), ("S", "ok"), ("B", "ok"), ("T", "blocked")]);
    assert_eq!(done["result"]["results"][3]["blockKind"], "denied");
}

// spec: REPLAY-09 REPLAY-13
#[test]
fn a_command_that_ran_out_of_time_is_not_run_again() {
    let options = json!({
        "database": ":memory:",
        "config": { "permission": { "mode": "allow_all" }, "shell": { "hard_ceiling_ms": 1000 } },
    });
    let host = TestHost::open(options, |_, _| None);
    let folder = folder();
    let session = host.session(folder.path());
    let message = json!({
        "sessionId": session, "messageId": "m",
        "calls": [{ "callId": "a", "name": "shell", "arguments": { "command": "echo ran >> log; exec sleep 100" } }],
    });
    let first = host.call("session.dispatch", message.clone()).unwrap();
    let part = &first["results"][0];
    assert_eq!(
        (part["outcome"].as_str(), part["uncertain"]["cause"].as_str()),
        (Some("uncertain"), Some("hard_ceiling"))
    );
    // The same message, a closed and reopened session: nothing starts it a second time.
    assert_eq!(host.call("session.dispatch", message.clone()).unwrap(), first);
    host.call("session.close", json!({ "sessionId": session })).unwrap();
    host.call("session.open", json!({ "sessionId": session })).unwrap();
    assert_eq!(host.call("session.dispatch", message).unwrap()["results"], first["results"]);
    assert_eq!(std::fs::read_to_string(folder.path().join("log")).unwrap(), "ran\n");
    let open = host.call("session.unsettled", json!({ "sessionId": session })).unwrap();
    assert_eq!(open["calls"][0]["callId"], "a");
}
