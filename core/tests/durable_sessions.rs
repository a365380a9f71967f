//! Sessions from beginning to end: states, interrupts, repeated messages, odd input, many of them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::print_stderr)]

mod durable_support;
mod support;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use durable_support::options;
use serde_json::{Value, json};
use support::{TestHost, register};

/// A host whose tools answer at once, unless they are called `wait...`: these never answer.
fn host(database: &Path) -> (TestHost, Arc<AtomicUsize>) {
    let ran = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&ran);
    let host = TestHost::open(options(database), move |_, payload| {
        counted.fetch_add(1, Ordering::SeqCst);
        match payload["tool"].as_str().unwrap() {
            name if name.starts_with("wait") => None,
            _ => Some(Ok(json!({ "output": payload["arguments"]["text"].as_str().unwrap_or_default() }))),
        }
    });
    let reads = json!({ "effect": "ReadOnly", "replay": "Safe", "concurrency": "ParallelSafe" });
    for name in ["act", "wait_act"] {
        register(&host, name, json!({}));
    }
    for name in ["look", "wait_look"] {
        register(&host, name, reads.clone());
    }
    (host, ran)
}

fn in_memory() -> (TestHost, Arc<AtomicUsize>) {
    host(Path::new(":memory:"))
}

fn code(result: Result<Value, zuno::types::Error>) -> String {
    result.unwrap_err().code
}

#[test]
fn a_session_is_closed_archived_brought_back_and_deleted() {
    let (host, _) = in_memory();
    let folder = tempfile::tempdir().unwrap();
    let session = host.session(folder.path());
    let of = || json!({ "sessionId": session });
    let state = |method: &str| host.call(method, of()).map(|record| record["state"].as_str().unwrap().to_owned());
    assert_eq!(host.one(&session, "act", json!({ "text": "x" }))["outcome"], "ok");
    assert_eq!(state("session.close").unwrap(), "closed");
    assert_eq!(state("session.close").unwrap(), "closed");
    let call = json!({ "sessionId": session, "calls": [{ "name": "act", "arguments": {} }] });
    assert_eq!(code(host.call("session.dispatch", call.clone())), "closed.object");
    assert_eq!(code(host.call("session.unarchive", of())), "conflict.revision");
    assert_eq!(state("session.open").unwrap(), "active");
    assert_eq!(state("session.open").unwrap(), "active");
    assert_eq!(host.call("session.dispatch", call.clone()).unwrap()["results"][0]["outcome"], "ok");
    assert_eq!(state("session.archive").unwrap(), "archived");
    assert_eq!(code(host.call("session.open", of())), "closed.object");
    assert_eq!(code(host.call("session.dispatch", call)), "closed.object");
    assert_eq!(state("session.unarchive").unwrap(), "closed");
    assert_eq!(state("session.open").unwrap(), "active");
    // Each turn has one end, and closing what is closed said nothing.
    let types = host.event_types(&session);
    let count = |kind: &str| types.iter().filter(|found| *found == kind).count();
    assert_eq!((count("turn.started"), count("turn.interrupted")), (2, 2), "{types:?}");
    let states: Vec<Value> = host
        .events(&session)
        .into_iter()
        .filter(|event| event["type"] == "session.updated")
        .map(|event| event["data"]["state"].clone())
        .collect();
    assert_eq!(states, ["closed", "active", "archived", "closed", "active"]);
    assert_eq!(
        code(host.call("session.delete", json!({ "sessionId": session, "confirm": false }))),
        "arguments.invalid"
    );
    let confirmed = json!({ "sessionId": session, "confirm": true });
    assert_eq!(host.call("session.delete", confirmed.clone()).unwrap(), json!({ "deleted": true }));
    for method in ["session.get", "session.open", "session.close", "session.messages", "session.unsettled"] {
        assert_eq!(code(host.call(method, of())), "not_found.object", "{method}");
    }
    assert_eq!(code(host.call("session.delete", confirmed)), "not_found.object");
    assert_eq!(host.call("session.list", json!({})).unwrap()["sessions"], json!([]));
}

#[test]
fn deleting_removes_the_output_that_was_kept_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let (host, _) = host(&folder.path().join("zuno.db"));
    let [gone, stays] = [host.session(folder.path()), host.session(folder.path())];
    let text = "a line of output\n".repeat(20_000);
    let kept = |session: &str| {
        let part = host.one(session, "look", json!({ "text": text }));
        part["metadata"]["outputPaths"][0].as_str().unwrap().to_owned()
    };
    let (lost, left) = (kept(&gone), kept(&stays));
    host.call("session.delete", json!({ "sessionId": gone, "confirm": true })).unwrap();
    assert!(!Path::new(&lost).exists());
    assert_eq!(std::fs::read_to_string(&left).unwrap(), text);
}

#[test]
fn an_interrupt_settles_what_waits_for_the_host_by_what_it_could_have_done() {
    let (host, _) = in_memory();
    let folder = tempfile::tempdir().unwrap();
    for (tool, outcome, kind) in [("wait_act", "uncertain", "Uncertain"), ("wait_look", "error", "Cancelled")] {
        let session = host.session(folder.path());
        let of = json!({ "sessionId": session, "reason": "user_cancel" });
        assert_eq!(host.call("session.interrupt", of.clone()).unwrap(), json!({ "interrupted": false }));
        let parts = std::thread::scope(|scope| {
            let calls = json!([{ "name": tool, "arguments": {} }, { "name": "act", "arguments": {} }]);
            let running = scope.spawn(|| host.dispatch(&session, calls));
            host.wait_for("the request", |item| {
                item["kind"] == "hostTool" && item["payload"]["sessionId"] == session && item["payload"]["tool"] == tool
            });
            assert_eq!(host.call("session.interrupt", of).unwrap(), json!({ "interrupted": true }));
            running.join().unwrap()
        });
        assert_eq!(
            (&parts[0]["outcome"], parts[0]["error"]["kind"].to_string().contains(kind)),
            (&json!(outcome), true)
        );
        // What had not begun never ran.
        assert_eq!((&parts[1]["outcome"], &parts[1]["dispatchedAt"]), (&json!("error"), &Value::Null));
        let events = host.events(&session);
        let end = events.iter().find(|event| event["type"] == "turn.interrupted").unwrap();
        assert_eq!(end["data"]["reason"], "user_cancel");
        let note = events.iter().find(|event| event["type"] == "tool.dispatch.interrupted").unwrap();
        assert_eq!(note["data"]["uncertain"], outcome == "uncertain");
        // The session goes on with a new turn.
        assert_eq!(host.one(&session, "act", json!({ "text": "on" }))["outcome"], "ok");
        let request = host.wait_for("the withdrawal", |item| item["type"] == "cancelled");
        assert!(request["requestId"].is_string());
    }
}

#[test]
fn closing_a_session_waits_for_what_runs_and_lets_nothing_in_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (host, _) = host(&folder.path().join("zuno.db"));
    for _ in 0..20 {
        let session = host.session(folder.path());
        std::thread::scope(|scope| {
            for tool in ["act", "look", "wait_look"] {
                let (host, session) = (&host, &session);
                scope.spawn(move || {
                    loop {
                        let calls = json!([{ "name": tool, "arguments": {} }]);
                        let dispatch = json!({ "sessionId": session, "calls": calls });
                        match host.call("session.dispatch", dispatch) {
                            Ok(_) => {}
                            Err(error) => {
                                assert_eq!(error.code, "closed.object", "{error:?}");
                                return;
                            }
                        }
                    }
                });
            }
            host.wait_for("some work", |item| item["payload"]["sessionId"] == session);
            host.call("session.close", json!({ "sessionId": session })).unwrap();
        });
        let messages = host.call("session.messages", json!({ "sessionId": session, "limit": 500 })).unwrap();
        for message in messages["messages"].as_array().unwrap() {
            assert_eq!(message["parts"][0]["state"], "settled", "{message}");
        }
        let types = host.event_types(&session);
        assert!(!types.contains(&"history.repaired".to_owned()), "nothing was left to repair");
    }
}

// Opening looks for the remains of a crash; what runs must never be taken for that.
#[test]
fn opening_and_closing_from_many_threads_leaves_running_calls_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (host, _) = host(&folder.path().join("zuno.db"));
    let session = host.session(folder.path());
    let of = || json!({ "sessionId": session });
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (host, session, of) = (&host, &session, &of);
            scope.spawn(move || {
                for turn in 0..40 {
                    let opened = host.call("session.open", of());
                    assert!(opened.is_ok(), "{opened:?}");
                    let call = json!({ "sessionId": session, "calls": [{ "name": "act", "arguments": {} }] });
                    match host.call("session.dispatch", call) {
                        Ok(result) => {
                            let part = &result["results"][0];
                            let fine = part["outcome"] == "ok"
                                || part["error"]["kind"].to_string().contains("Cancel")
                                || part["outcome"] == "uncertain";
                            assert!(fine, "{part}");
                        }
                        Err(error) => assert_eq!(error.code, "closed.object", "{error:?}"),
                    }
                    if (turn + thread) % 4 == 0 {
                        host.call("session.close", of()).unwrap();
                    }
                }
            });
        }
    });
    assert!(!all_types(&host, &session).contains(&"history.repaired".to_owned()));
}

fn all_types(host: &TestHost, session: &str) -> Vec<String> {
    let (mut types, mut after) = (Vec::new(), 0);
    loop {
        let page = host.call("event.read", json!({ "sessionId": session, "after": after })).unwrap();
        let events = page["events"].as_array().unwrap();
        let Some(last) = events.last() else { return types };
        after = last["seq"].as_i64().unwrap();
        types.extend(events.iter().map(|event| event["type"].as_str().unwrap().to_owned()));
    }
}

// case: 89
#[test]
fn a_message_sent_twice_at_once_runs_once() {
    let (host, ran) = in_memory();
    let folder = tempfile::tempdir().unwrap();
    let session = host.session(folder.path());
    for number in 0..20 {
        let before = ran.load(Ordering::SeqCst);
        let message = |text: &str| {
            let calls = json!([{ "callId": "a", "name": "act", "arguments": { "text": text } }, { "callId": "b", "name": "look", "arguments": {} }]);
            json!({ "sessionId": session, "messageId": format!("m{number}"), "calls": calls })
        };
        let results: Vec<Value> = std::thread::scope(|scope| {
            let sending: Vec<_> =
                (0..4).map(|_| scope.spawn(|| host.call("session.dispatch", message("x")).unwrap())).collect();
            sending.into_iter().map(|sent| sent.join().unwrap()).collect()
        });
        assert!(results.iter().all(|result| *result == results[0]), "{results:?}");
        assert_eq!(results[0]["results"][0]["outcome"], "ok");
        assert_eq!(ran.load(Ordering::SeqCst) - before, 2, "each call ran once");
        assert_eq!(code(host.call("session.dispatch", message("y"))), "conflict.call_changed");
    }
}

#[test]
fn ids_have_to_tell_calls_apart() {
    let (host, ran) = in_memory();
    let folder = tempfile::tempdir().unwrap();
    let session = host.session(folder.path());
    let long = "x".repeat(257);
    for (message, calls) in [
        (json!("m"), json!([{ "callId": "a", "name": "act" }, { "callId": "a", "name": "act" }])),
        (json!("m"), json!([{ "callId": "call_2", "name": "act" }, { "name": "act" }])),
        (json!("m"), json!([{ "callId": "", "name": "act" }])),
        (json!("m"), json!([{ "callId": long, "name": "act" }])),
        (json!(""), json!([{ "name": "act" }])),
        (json!(long), json!([{ "name": "act" }])),
    ] {
        let dispatch = json!({ "sessionId": session, "messageId": message, "calls": calls });
        assert_eq!(code(host.call("session.dispatch", dispatch.clone())), "arguments.invalid", "{dispatch}");
    }
    assert_eq!(ran.load(Ordering::SeqCst), 0);
    assert_eq!(host.call("session.messages", json!({ "sessionId": session })).unwrap()["messages"], json!([]));
}

#[test]
fn ten_megabytes_and_zero_bytes_pass_through_unharmed() {
    let folder = tempfile::tempdir().unwrap();
    let (host, _) = host(&folder.path().join("zuno.db"));
    let session = host.session(folder.path());
    host.call("event.subscribe", json!({ "sessionId": session })).unwrap();
    let big = "0123456789".repeat(1 << 20);
    let part = host.one(&session, "look", json!({ "text": big }));
    assert_eq!(part["outcome"], "ok");
    assert_eq!(part["arguments"]["text"], big);
    host.wait_for("the event of the big call", |item| {
        item["event"]["type"] == "tool.call.started" && item["event"]["data"]["arguments"]["text"] == big
    });
    let odd = "a\0b\u{1}\u{7f}\u{feff}\u{10ffff}";
    let message = json!({
        "sessionId": session, "messageId": odd, "calls": [{ "callId": odd, "name": "look", "arguments": { "text": odd } }],
    });
    let result = host.call("session.dispatch", message).unwrap();
    let part = &result["results"][0];
    assert_eq!((&part["outcome"], &part["output"]), (&json!("ok"), &json!(odd)));
    assert_eq!((&part["callId"], &part["messageId"]), (&json!(odd), &json!(odd)));
    let unknown = host.one(&session, "lo\0ok", json!({}));
    assert_eq!((&unknown["blockKind"], &unknown["tool"]), (&json!("unavailable"), &json!("lo\0ok")));
    for id in ["ses_\0", "", "\0"] {
        assert_eq!(code(host.call("session.get", json!({ "sessionId": id }))), "not_found.object");
    }
    let bad = json!({ "directory": "/tmp\0x" });
    assert_eq!(code(host.call("session.create", bad)), "arguments.invalid");
    // And all of it is still there after reopening.
    host.call("session.close", json!({ "sessionId": session })).unwrap();
    let stored = host.call("session.messages", json!({ "sessionId": session })).unwrap();
    assert_eq!(stored["messages"][1]["parts"][0], *part);
    assert_eq!(stored["messages"][0]["parts"][0]["arguments"]["text"], big);
}

#[test]
fn ten_thousand_sessions_are_listed_by_age() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zuno.db");
    drop(host(&path).0.session(folder.path()));
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.execute_batch(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
         INSERT INTO sessions (id, root_id, parent_id, directory, worktree, agent, time_created, time_updated)
         SELECT 'ses_x' || i, 'ses_x' || i, CASE WHEN i % 100 = 0 THEN 'ses_x1' ELSE '' END, '/', '/', 'build', i, i FROM n",
    )
    .unwrap();
    let plan = |sql: &str| -> String {
        raw.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
            .unwrap()
            .query_map([], |row| row.get::<_, String>(3))
            .unwrap()
            .map(Result::unwrap)
            .collect()
    };
    // The order comes from an index, and children are not searched for among all sessions.
    assert!(!plan("SELECT * FROM sessions ORDER BY time_created, id").contains("TEMP B-TREE"));
    let children = plan("SELECT * FROM sessions WHERE parent_id = 'x' ORDER BY time_created, id");
    assert!(children.contains("sessions_by_parent") && !children.contains("TEMP B-TREE"), "{children}");
    drop(raw);
    let (host, _) = host(&path);
    let begun = Instant::now();
    let listed = host.call("session.list", json!({})).unwrap();
    eprintln!("10,000 sessions in {:?}", begun.elapsed());
    let listed = listed["sessions"].as_array().unwrap();
    assert_eq!(listed.len(), 10_000);
    assert!(listed.windows(2).all(|pair| pair[0]["timeCreated"].as_i64() <= pair[1]["timeCreated"].as_i64()));
    let children = host.call("session.children", json!({ "sessionId": "ses_x1" })).unwrap();
    assert_eq!(children["sessions"].as_array().unwrap().len(), 99);
}
