//! What may overlap, and in which order calls are prepared, run and stored.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod support;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use support::{TestHost, register};

/// Host tools that meet each other: a body answers once `together` bodies run at the same time, or when it is told to.
#[derive(Default)]
struct Meeting {
    running: Mutex<Vec<String>>,
    changed: Condvar,
    most: AtomicUsize,
    log: Mutex<Vec<String>>,
}

impl Meeting {
    fn enter(&self, name: &str) {
        let mut running = self.running.lock().unwrap();
        running.push(name.to_owned());
        self.most.fetch_max(running.len(), Ordering::SeqCst);
        self.log.lock().unwrap().push(format!("+{name}"));
        self.changed.notify_all();
    }

    fn leave(&self, name: &str) {
        self.running.lock().unwrap().retain(|other| other != name);
        self.log.lock().unwrap().push(format!("-{name}"));
        self.changed.notify_all();
    }

    /// Waits until so many bodies have run at the same time; says whether they did.
    fn wait(&self, together: usize) -> bool {
        let running = self.running.lock().unwrap();
        let (_running, timeout) = self
            .changed
            .wait_timeout_while(running, Duration::from_secs(20), |_| self.most.load(Ordering::SeqCst) < together)
            .unwrap();
        !timeout.timed_out()
    }

    fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }
}

/// A host whose tools are answered by threads of their own.
struct Host {
    host: TestHost,
    meeting: Arc<Meeting>,
    session: String,
    _folder: tempfile::TempDir,
}

type Body = dyn Fn(&Meeting, &str) -> Value + Send + Sync;

fn host(config: Value, bodies: HashMap<&'static str, Arc<Body>>) -> Host {
    let meeting = Arc::new(Meeting::default());
    let options = json!({
        "database": ":memory:", "ports": ["approval", "hostTool"],
        "config": { "permission": { "mode": "allow_all" }, "concurrency": config },
    });
    let host = TestHost::open(options, |_, _| None);
    let folder = tempfile::tempdir().unwrap();
    let session = host.session(folder.path());
    serve(&host, &meeting, bodies);
    Host { host, meeting, session, _folder: folder }
}

/// Answers host tool requests on threads of their own, so that bodies can overlap.
fn serve(host: &TestHost, meeting: &Arc<Meeting>, bodies: HashMap<&'static str, Arc<Body>>) {
    let (wire, meeting) = (Arc::clone(&host.wire), Arc::clone(meeting));
    let seen = host.watch();
    std::thread::spawn(move || {
        for item in seen {
            if item["kind"] != "hostTool" {
                continue;
            }
            let name = item["payload"]["tool"].as_str().unwrap().to_owned();
            let call = item["payload"]["callId"].as_str().unwrap().to_owned();
            let id = item["id"].as_str().unwrap().to_owned();
            let (wire, meeting, body) = (Arc::clone(&wire), Arc::clone(&meeting), Arc::clone(&bodies[name.as_str()]));
            std::thread::spawn(move || {
                meeting.enter(&call);
                let answer = body(&meeting, &call);
                meeting.leave(&call);
                wire.respond(&id, &answer.to_string()).unwrap();
            });
        }
    });
}

fn ok() -> Value {
    json!({ "output": "ok" })
}

fn call(id: &str, name: &str) -> Value {
    json!({ "callId": id, "name": name, "arguments": {} })
}

fn parallel() -> Value {
    json!({ "effect": "ReadOnly", "replay": "Safe", "concurrency": "ParallelSafe" })
}

// spec: CONCURRENCY-04 CONCURRENCY-07
#[test]
fn calls_that_may_overlap_do() {
    let meet: Arc<Body> = Arc::new(|meeting, _| json!({ "output": meeting.wait(3).to_string() }));
    let host = host(json!({}), HashMap::from([("meet", meet)]));
    register(&host.host, "meet", parallel());
    let parts = host.host.dispatch(&host.session, json!([call("a", "meet"), call("b", "meet"), call("c", "meet")]));
    assert!(parts.iter().all(|part| part["output"] == "true"), "{parts:?}");
}

// spec: CONCURRENCY-07 CONCURRENCY-15
#[test]
fn the_bound_is_kept_and_one_makes_the_layer_serial() {
    for bound in [1, 2] {
        let body: Arc<Body> = Arc::new(move |meeting, _| {
            // Gives others the chance to run beside: with a free slot they would.
            meeting.wait(bound);
            ok()
        });
        let host = host(json!({ "tool_calls": bound }), HashMap::from([("meet", body)]));
        register(&host.host, "meet", parallel());
        let calls: Vec<Value> = (0..6).map(|index| call(&format!("c{index}"), "meet")).collect();
        let parts = host.host.dispatch(&host.session, Value::Array(calls));
        assert_eq!(parts.len(), 6);
        assert_eq!(host.meeting.most.load(Ordering::SeqCst), bound);
    }
}

// spec: CONCURRENCY-02 CONCURRENCY-03 CONCURRENCY-09
#[test]
fn an_exclusive_call_is_a_barrier_on_both_sides() {
    let plain: Arc<Body> = Arc::new(|_, _| ok());
    let bodies = HashMap::from([("reader", Arc::clone(&plain)), ("undeclared", plain)]);
    let host = host(json!({}), bodies);
    register(&host.host, "reader", parallel());
    register(&host.host, "undeclared", json!({}));
    let order = json!([call("r1", "reader"), call("r2", "reader"), call("x", "undeclared"), call("r3", "reader")]);
    host.host.dispatch(&host.session, order);
    let log = host.meeting.log();
    let at = |what: &str| log.iter().position(|entry| entry == what).unwrap();
    assert!(at("-r1") < at("+x") && at("-r2") < at("+x"), "{log:?}");
    assert!(at("-x") < at("+r3"), "{log:?}");
}

// spec: CONCURRENCY-03
#[test]
fn the_barrier_holds_between_messages_of_a_session() {
    let plain: Arc<Body> = Arc::new(|meeting, call| {
        if call.starts_with('x') {
            // An exclusive call must be alone, whoever else tries.
            assert!(meeting.running.lock().unwrap().len() == 1);
        }
        ok()
    });
    let host = Arc::new(host(json!({}), HashMap::from([("reader", Arc::clone(&plain)), ("writer", plain)])));
    register(&host.host, "reader", parallel());
    register(&host.host, "writer", json!({}));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let host = Arc::clone(&host);
            scope.spawn(move || {
                for round in 0..5 {
                    let calls = json!([
                        call(&format!("r{thread}{round}"), "reader"),
                        call(&format!("x{thread}{round}"), "writer")
                    ]);
                    let parts = host.host.dispatch(&host.session, calls);
                    assert!(parts.iter().all(|part| part["outcome"] == "ok"), "{parts:?}");
                }
            });
        }
    });
    let log = host.meeting.log();
    for (index, entry) in log.iter().enumerate().filter(|(_, entry)| entry.starts_with("+x")) {
        assert_eq!(log.get(index + 1).map(String::as_str), Some(entry.replace('+', "-").as_str()), "{log:?}");
    }
}

// spec: CONCURRENCY-08
#[test]
fn results_are_stored_in_call_order_whichever_finished_first() {
    let body: Arc<Body> = Arc::new(|meeting, call| {
        if call == "first" {
            // Ends last: waits until the other two have left.
            let log = || meeting.log().iter().filter(|entry| entry.starts_with('-')).count();
            while log() < 2 {
                std::thread::yield_now();
            }
        }
        ok()
    });
    let host = host(json!({}), HashMap::from([("meet", body)]));
    register(&host.host, "meet", parallel());
    let parts = host
        .host
        .dispatch(&host.session, json!([call("first", "meet"), call("second", "meet"), call("third", "meet")]));
    let order: Vec<&str> = parts.iter().map(|part| part["callId"].as_str().unwrap()).collect();
    assert_eq!(order, ["first", "second", "third"]);
    let appended: Vec<Value> = host
        .host
        .events(&host.session)
        .into_iter()
        .filter(|event| event["type"] == "tool.result.appended")
        .map(|event| event["data"]["callId"].clone())
        .collect();
    assert_eq!(appended, ["first", "second", "third"]);
}

// spec: CONCURRENCY-01
#[test]
fn a_call_that_may_overlap_and_must_not_be_repeated_runs_once() {
    let body: Arc<Body> = Arc::new(|_, _| json!({ "error": { "kind": "Transient", "message": "busy" } }));
    let host = host(json!({}), HashMap::from([("flaky", body)]));
    register(&host.host, "flaky", json!({ "effect": "ReadOnly", "replay": "Never", "concurrency": "ParallelSafe" }));
    let part = host.host.one(&host.session, "flaky", json!({}));
    assert_eq!((part["outcome"].as_str(), part["error"]["kind"].as_str()), (Some("error"), Some("Transient")));
    assert_eq!(host.meeting.log().len(), 2, "one body, no second attempt");
}

// spec: CONCURRENCY-05
#[test]
fn isolated_background_work_overlaps_with_others_and_not_with_an_exclusive_call() {
    let meet: Arc<Body> = Arc::new(|meeting, _| json!({ "output": meeting.wait(2).to_string() }));
    let plain: Arc<Body> =
        Arc::new(|meeting, _| json!({ "output": meeting.running.lock().unwrap().len().to_string() }));
    let bodies = HashMap::from([("isolated", Arc::clone(&meet)), ("reader", meet), ("writer", plain)]);
    let host = host(json!({}), bodies);
    register(&host.host, "isolated", json!({ "effect": "Delegating", "concurrency": "IsolatedBackground" }));
    register(&host.host, "reader", parallel());
    register(&host.host, "writer", json!({}));
    let calls = json!([call("a", "isolated"), call("b", "reader"), call("x", "writer")]);
    let parts = host.host.dispatch(&host.session, calls);
    let outputs: Vec<&str> = parts.iter().map(|part| part["output"].as_str().unwrap()).collect();
    assert_eq!(outputs, ["true", "true", "1"]);
}
