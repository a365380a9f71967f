//! Operations and requests: one terminal item each, whatever hosts and threads do.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::print_stderr)]

mod durable_support;
mod support;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use durable_support::options;
use serde_json::{Value, json};
use zuno::wire::Wire;

const SHORT: Duration = Duration::from_millis(100);

fn open() -> Arc<Wire> {
    let wire = Wire::open(&options(Path::new(":memory:")).to_string()).unwrap();
    for (name, effect) in [("act", "SideEffecting"), ("look", "ReadOnly")] {
        let concurrency = if effect == "ReadOnly" { "ParallelSafe" } else { "Exclusive" };
        let tool = json!({
            "name": name, "description": "A tool.", "effect": effect, "concurrency": concurrency,
            "inputSchema": { "type": "object" },
        });
        call(&wire, "tool.register", tool);
    }
    wire
}

fn call(wire: &Wire, method: &str, params: Value) -> Value {
    serde_json::from_str(&wire.call(method, &params.to_string()).unwrap()).unwrap()
}

fn session(wire: &Wire) -> String {
    let record = call(wire, "session.create", json!({ "directory": std::env::temp_dir() }));
    record["id"].as_str().unwrap().to_owned()
}

fn one_call(session: &str, tool: &str) -> String {
    json!({ "sessionId": session, "calls": [{ "name": tool, "arguments": {} }] }).to_string()
}

fn next(wire: &Wire) -> Value {
    let item = wire.next(Some(Duration::from_secs(30))).expect("an item");
    serde_json::from_str(&item).unwrap()
}

/// The next item of that type.
fn next_of(wire: &Wire, kind: &str) -> Value {
    loop {
        let item = next(wire);
        if item["type"] == kind {
            return item;
        }
    }
}

fn nothing_more(wire: &Wire) {
    let item = wire.next(Some(SHORT));
    assert!(item.is_none(), "{item:?}");
}

fn result_of(item: &Value) -> &Value {
    &item["result"]["results"][0]
}

// case: 89
#[test]
fn the_first_answer_counts_from_whichever_thread() {
    let wire = open();
    let session = session(&wire);
    for _ in 0..20 {
        let op = wire.start("session.dispatch", &one_call(&session, "act")).unwrap();
        let request = next_of(&wire, "request");
        let id = request["id"].as_str().unwrap();
        let wanted = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (wire, wanted) = (&wire, &wanted);
                scope.spawn(move || {
                    let taken = match thread {
                        0 => wire.fail(id, "host.failed", "no"),
                        _ => wire.respond(id, &json!({ "output": format!("{thread}") }).to_string()).unwrap(),
                    };
                    wanted.fetch_add(usize::from(taken), Ordering::Relaxed);
                });
            }
        });
        assert_eq!(wanted.into_inner(), 1);
        let item = next_of(&wire, "op");
        assert_eq!(item["id"], op);
        assert!(["ok", "error"].iter().any(|outcome| result_of(&item)["outcome"] == *outcome), "{item}");
        assert!(!wire.respond(id, "{}").unwrap(), "a late answer is accepted and dropped");
    }
    nothing_more(&wire);
}

#[test]
fn an_answer_that_is_not_json_leaves_the_request_open() {
    let wire = open();
    let session = session(&wire);
    wire.start("session.dispatch", &one_call(&session, "act")).unwrap();
    let request = next_of(&wire, "request");
    let id = request["id"].as_str().unwrap();
    for bad in ["{", "", " ", "undefined"] {
        assert_eq!(wire.respond(id, bad).unwrap_err().code, "arguments.json", "{bad:?}");
    }
    assert!(!wire.respond("req_999", "{}").unwrap());
    assert!(wire.respond(id, r#"{"output":"late but right"}"#).unwrap());
    assert_eq!(result_of(&next_of(&wire, "op"))["output"], "late but right");
}

#[test]
fn a_request_that_is_failed_settles_its_call() {
    let wire = open();
    let session = session(&wire);
    for (code, outcome) in [("host.failed", "error"), ("host.dropped", "uncertain"), ("made.up", "error")] {
        wire.start("session.dispatch", &one_call(&session, "act")).unwrap();
        let request = next_of(&wire, "request");
        assert!(wire.fail(request["id"].as_str().unwrap(), code, "It raised."));
        assert_eq!(result_of(&next_of(&wire, "op"))["outcome"], outcome, "{code}");
    }
}

#[test]
fn cancelling_withdraws_the_request_and_ends_the_operation_once() {
    let wire = open();
    let session = session(&wire);
    for (tool, outcome) in [("act", "uncertain"), ("look", "error")] {
        let op = wire.start("session.dispatch", &one_call(&session, tool)).unwrap();
        let request = next_of(&wire, "request");
        assert!(wire.cancel(op));
        let cancelled = next(&wire);
        assert_eq!((&cancelled["type"], &cancelled["requestId"]), (&json!("cancelled"), &request["id"]));
        let item = next(&wire);
        assert_eq!((&item["type"], &item["id"]), (&json!("op"), &json!(op)));
        assert_eq!(result_of(&item)["outcome"], outcome);
        assert!(!wire.cancel(op));
        assert!(!wire.respond(request["id"].as_str().unwrap(), "{}").unwrap());
    }
    assert!(!wire.cancel(999));
    nothing_more(&wire);
}

#[test]
fn what_cannot_start_is_told_by_its_item() {
    let wire = open();
    for (method, params, code) in [
        ("session.get", "{", "arguments.json"),
        ("session.git", "{}", "arguments.unknown_method"),
        ("session.get", r#"{"sessionId":"ses_x"}"#, "not_found.object"),
    ] {
        let op = wire.start(method, params).unwrap();
        let item = next(&wire);
        assert_eq!((&item["id"], &item["result"], &item["error"]["code"]), (&json!(op), &Value::Null, &json!(code)));
    }
}

/// Starts operations of every kind on many threads while the runtime is closed, and reads to the end.
#[test]
fn closing_in_the_middle_of_everything_gives_each_operation_its_item_and_closed_is_last() {
    for round in 0..30 {
        let wire = open();
        let session = session(&wire);
        let mut started: Vec<u64> =
            ["act", "look"].map(|tool| wire.start("session.dispatch", &one_call(&session, tool)).unwrap()).to_vec();
        let (more, all) = std::thread::scope(|scope| {
            // Two readers that wait without a time limit: both have to be let go.
            let readers = [(); 2].map(|()| scope.spawn(|| read_to_the_end(&wire)));
            let starters: Vec<_> = (0..3)
                .map(|_| {
                    scope.spawn(|| {
                        let mut started = Vec::new();
                        while let Ok(op) = wire.start("session.list", "{}") {
                            started.push(op);
                        }
                        started
                    })
                })
                .collect();
            let closers: Vec<_> = (0..2)
                .map(|_| {
                    scope.spawn(|| {
                        std::thread::sleep(Duration::from_micros(300 * round));
                        wire.close(Duration::from_secs(5));
                    })
                })
                .collect();
            for closer in closers {
                closer.join().unwrap();
            }
            let more: Vec<u64> = starters.into_iter().flat_map(|starter| starter.join().unwrap()).collect();
            (more, readers.map(|reader| reader.join().unwrap()).concat())
        });
        started.extend(more);
        let mut ends: BTreeMap<u64, usize> = BTreeMap::new();
        for item in all.iter().filter(|item| item["type"] == "op") {
            *ends.entry(item["id"].as_u64().unwrap()).or_default() += 1;
        }
        for op in &started {
            assert_eq!(ends.get(op), Some(&1), "operation {op} of round {round}");
        }
        assert_eq!(ends.len(), started.len());
        assert_eq!(all.iter().filter(|item| item["type"] == "closed").count(), 1);
        assert!(wire.next(Some(Duration::ZERO)).is_none());
        assert_eq!(wire.start("session.list", "{}").unwrap_err().code, "closed.object");
        assert!(wire.is_closed());
    }
}

fn read_to_the_end(wire: &Wire) -> Vec<Value> {
    std::iter::from_fn(|| wire.next(None)).map(|item| serde_json::from_str(&item).unwrap()).collect()
}

#[test]
fn closing_tells_the_host_what_is_not_wanted_any_more_and_closed_comes_last() {
    let wire = open();
    let session = session(&wire);
    let op = wire.start("session.dispatch", &one_call(&session, "act")).unwrap();
    let request = next_of(&wire, "request");
    wire.close(Duration::from_secs(5));
    wire.close(Duration::from_secs(5));
    let items: Vec<Value> = wire.drain(100).iter().map(|item| serde_json::from_str(item).unwrap()).collect();
    let kinds: Vec<&str> = items.iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["cancelled", "op", "closed"], "{items:?}");
    assert_eq!(items[0]["requestId"], request["id"]);
    assert_eq!(items[1]["id"], op);
    assert_eq!(result_of(&items[1])["outcome"], "uncertain");
    assert!(wire.next(None).is_none());
    assert!(!wire.respond(request["id"].as_str().unwrap(), "{}").unwrap());
}

#[test]
fn a_blocking_call_is_settled_by_close_on_another_thread() {
    let wire = open();
    let session = session(&wire);
    std::thread::scope(|scope| {
        let calling = scope.spawn(|| wire.call("session.dispatch", &one_call(&session, "act")));
        next_of(&wire, "request");
        wire.close(Duration::from_secs(5));
        let result: Value = serde_json::from_str(&calling.join().unwrap().unwrap()).unwrap();
        assert_eq!(result["results"][0]["outcome"], "uncertain");
    });
}

#[test]
fn dropping_without_closing_settles_what_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zuno.db");
    let wire = Wire::open(&options(&path).to_string()).unwrap();
    call(
        &wire,
        "tool.register",
        json!({ "name": "act", "description": "A tool.", "inputSchema": { "type": "object" } }),
    );
    let session = session(&wire);
    wire.start("session.dispatch", &one_call(&session, "act")).unwrap();
    next_of(&wire, "request");
    drop(wire);
    let wire = Wire::open(&options(&path).to_string()).unwrap();
    let of = json!({ "sessionId": session });
    let messages = call(&wire, "session.messages", of.clone());
    let part = &messages["messages"][0]["parts"][0];
    assert_eq!((&part["state"], &part["outcome"]), (&json!("settled"), &json!("uncertain")), "{part}");
    assert_eq!(call(&wire, "session.unsettled", of)["calls"], json!([part]));
}

#[test]
fn on_a_thread_of_an_async_runtime_call_is_refused_and_the_rest_works() {
    let host = tokio::runtime::Builder::new_current_thread().build().unwrap();
    host.block_on(async {
        let bad = Wire::open(r#"{"database":"/no/such/folder/zuno.db"}"#).err().unwrap();
        assert_eq!(bad.code, "store.missing_directory");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("zuno.db");
        let wire = Wire::open(&options(&path).to_string()).unwrap();
        assert_eq!(wire.call("session.list", "{}").unwrap_err().code, "failed.operation");
        let create = json!({ "directory": folder.path() }).to_string();
        wire.start("session.create", &create).unwrap();
        let session = next(&wire)["result"]["id"].clone();
        wire.close(Duration::from_secs(5));
        assert_eq!(next(&wire)["type"], "closed");
        // Its lease was given back and the file may be opened again, here and at once.
        let again = Wire::open(&options(&path).to_string()).unwrap();
        again.start("session.open", &json!({ "sessionId": session }).to_string()).unwrap();
        assert_eq!(next(&again)["result"]["id"], session);
        drop(again);
    });
}

// Host code that panics in a waker stays there.
#[test]
fn wakers_announce_what_is_there_and_may_panic() {
    let wire = open();
    let session = session(&wire);
    wire.start("session.list", "{}").unwrap();
    let rings = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&rings);
    while wire.drain(1).is_empty() {
        std::thread::yield_now();
    }
    wire.set_waker(Some(Box::new(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        panic!("a waker panics");
    })));
    call(&wire, "event.subscribe", json!({ "sessionId": session, "after": 0 }));
    assert!(rings.load(Ordering::Relaxed) > 0, "two events wait");
    let drained = wire.drain(1);
    assert_eq!(drained.len(), 1);
    let so_far = rings.load(Ordering::Relaxed);
    assert!(so_far > 1, "the rest is announced again");
    wire.drain(100);
    call(&wire, "session.dispatch", json!({ "sessionId": session, "calls": [{ "name": "nothing", "arguments": {} }] }));
    assert!(rings.load(Ordering::Relaxed) > so_far, "the store still writes");
    wire.set_waker(None);
    // A waker that comes late is told of what it missed.
    let late = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&late);
    wire.set_waker(Some(Box::new(move || {
        counted.fetch_add(1, Ordering::Relaxed);
    })));
    assert_eq!(late.load(Ordering::Relaxed), 1);
}
