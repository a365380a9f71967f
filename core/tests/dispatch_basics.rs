//! One call path through the wire: order, refusals, declarations, idempotency.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod support;

use serde_json::{Value, json};
use support::{Answer, TestHost, register};

fn echo(kind: &str, payload: &Value) -> Answer {
    match kind {
        "approval" => Some(Ok(json!({ "reply": "once" }))),
        "hostTool" => {
            Some(Ok(json!({ "output": format!("echo {}", payload["arguments"]["text"].as_str().unwrap_or("")) })))
        }
        _ => None,
    }
}

fn host() -> TestHost {
    TestHost::open(json!({ "database": ":memory:", "ports": ["approval", "hostTool"] }), echo)
}

// spec: REFUSAL-04 REPLAY-05 CONCURRENCY-08
#[test]
fn a_call_walks_the_whole_pipeline_and_is_stored() {
    let host = host();
    register(&host, "echo", json!({}));
    let folder = tempfile::tempdir().unwrap();
    let session = host.session(folder.path());
    let part = host.one(&session, "echo", json!({ "text": "hi", "intent": "say hi" }));
    assert_eq!(part["outcome"], "ok", "{part}");
    assert_eq!(part["output"], "echo hi");
    assert_eq!(part["intent"], "say hi");
    assert_eq!(part["effect"], "SideEffecting");
    assert_eq!(part["replay"], "Never");
    assert_eq!(part["concurrency"], "Exclusive");
    assert_eq!(part["state"], "settled");
    assert!(part["dispatchedAt"].is_i64() && part["timeCompleted"].is_i64());
    let stored = host.call("session.messages", json!({ "sessionId": session })).unwrap();
    assert_eq!(stored["messages"][0]["parts"][0], part);
    let types = host.event_types(&session);
    let wanted = [
        "session.created",
        "session.lease",
        "cycle.started",
        "turn.started",
        "tool.call.started",
        "permission.asked",
        "permission.settled",
        "tool.dispatch.started",
        "tool.dispatch.completed",
        "tool.result.appended",
    ];
    assert_eq!(types, wanted);
    let numbers: Vec<i64> = host.events(&session).iter().map(|event| event["seq"].as_i64().unwrap()).collect();
    assert_eq!(numbers, (1..=wanted.len() as i64).collect::<Vec<_>>());
}

// spec: REFUSAL-01 REFUSAL-02 REFUSAL-03 REFUSAL-04 REFUSAL-05
#[test]
fn refusals_say_which_and_come_before_the_result() {
    let host = TestHost::open(json!({ "database": ":memory:", "ports": ["hostTool"] }), echo);
    register(&host, "echo", json!({}));
    let folder = tempfile::tempdir().unwrap();
    let session = host.session(folder.path());
    let cases = [
        ("echo", json!({ "txt": "x" }), "invalid_arguments"),
        ("nothing", json!({}), "unavailable"),
        ("echo", json!({ "text": "x" }), "denied"),
    ];
    for (name, arguments, kind) in cases {
        let part = host.one(&session, name, arguments);
        assert_eq!((part["outcome"].as_str(), part["blockKind"].as_str()), (Some("blocked"), Some(kind)), "{part}");
        assert!(part["output"].as_str().unwrap().starts_with(&format!("[blocked: {kind}] ")), "{part}");
        assert!(part["dispatchedAt"].is_null());
    }
    let types = host.event_types(&session);
    let calls: Vec<&str> =
        types.iter().map(String::as_str).filter(|kind| kind.contains("dispatch") || kind.contains("result")).collect();
    let one = ["dispatch-blocked", "tool.dispatch.completed", "tool.result.appended"];
    assert_eq!(calls, [one, one, one].concat());
    let kinds: Vec<Value> = host
        .events(&session)
        .into_iter()
        .filter(|event| event["type"] == "dispatch-blocked")
        .map(|event| event["data"]["kind"].clone())
        .collect();
    assert_eq!(kinds, ["invalid_arguments", "unavailable", "denied"]);
    assert!(host.seen().iter().all(|item| item["kind"] != "hostTool"), "a refused call must not reach its body");
}

#[test]
fn the_same_message_gives_back_what_is_stored_and_a_changed_one_is_refused() {
    let host = host();
    register(&host, "echo", json!({}));
    let folder = tempfile::tempdir().unwrap();
    let session = host.session(folder.path());
    let message = |text: &str| json!({ "sessionId": session, "messageId": "m1", "calls": [{ "callId": "a", "name": "echo", "arguments": { "text": text } }] });
    let first = host.call("session.dispatch", message("x")).unwrap();
    let again = host.call("session.dispatch", message("x")).unwrap();
    assert_eq!(first, again);
    let ran = host.seen().iter().filter(|item| item["kind"] == "hostTool").count();
    assert_eq!(ran, 1, "a repeated message must not run again");
    assert_eq!(host.call("session.dispatch", message("y")).unwrap_err().code, "conflict.call_changed");
}

#[test]
fn bad_documents_get_stable_codes() {
    let host = host();
    let code = |method: &str, params: &str| host.wire.call(method, params).unwrap_err().code;
    assert_eq!(code("session.get", "{"), "arguments.json");
    assert_eq!(code("session.git", "{}"), "arguments.unknown_method");
    assert_eq!(code("session.get", "[]"), "arguments.invalid");
    assert_eq!(code("session.get", "{}"), "arguments.invalid");
    assert_eq!(code("session.get", r#"{"sessionId":7}"#), "arguments.invalid");
    assert_eq!(code("session.get", r#"{"sessionid":"x"}"#), "arguments.unknown_field");
    assert_eq!(code("session.get", r#"{"sessionId":"ses_x"}"#), "not_found.object");
    assert_eq!(code("session.dispatch", r#"{"sessionId":"ses_x","calls":[]}"#), "not_found.object");
    let error = host.wire.call("session.get", r#"{"sessionid":"x"}"#).unwrap_err();
    assert_eq!(error.details["suggestion"], "sessionId");
    host.wire.close(std::time::Duration::from_secs(1));
    assert_eq!(code("session.list", "{}"), "closed.object");
}
