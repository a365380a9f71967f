//! Event streams: order, crossing from stored to live, full queues, slow readers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::print_stderr)]

mod durable_support;
mod support;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use durable_support::options;
use serde_json::{Value, json};
use support::{Answer, TestHost, register};
use zuno::wire::Wire;

fn play(kind: &str, payload: &Value) -> Answer {
    match kind {
        "approval" => Some(Ok(json!({ "reply": "once" }))),
        _ => Some(Ok(json!({ "output": payload["arguments"]["text"].as_str().unwrap_or_default() }))),
    }
}

fn opened(options: Value) -> TestHost {
    let host = TestHost::open(options, play);
    register(&host, "look", json!({ "effect": "ReadOnly", "replay": "Safe", "concurrency": "ParallelSafe" }));
    host
}

fn in_memory(extra: Value) -> Value {
    let mut options = options(Path::new(":memory:"));
    options["config"].as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    options
}

fn last(host: &TestHost, session: &str) -> i64 {
    host.call("event.read", json!({ "sessionId": session, "after": 0, "limit": 0 })).unwrap()["last"].as_i64().unwrap()
}

fn subscribe(host: &TestHost, params: Value) -> u64 {
    host.call("event.subscribe", params).unwrap()["subscriptionId"].as_u64().unwrap()
}

/// Events of a subscription as they were seen, up to the durable one of that number.
fn heard(host: &TestHost, subscription: u64, until: i64) -> Vec<Value> {
    let fits = |item: &Value| item["subscriptionId"] == subscription;
    host.wait_for("the last event", |item| {
        fits(item) && item["event"]["durable"] == true && item["event"]["seq"] == until
    });
    host.seen().into_iter().filter(fits).map(|item| item["event"].clone()).collect()
}

/// Without gap or repetition; says where it goes wrong.
fn assert_counts(numbers: &[i64], wanted: std::ops::RangeInclusive<i64>) {
    let torn = numbers.windows(2).find(|pair| pair[1] != pair[0] + 1);
    let ends = (numbers.first().copied(), numbers.last().copied());
    let right = torn.is_none() && ends == (Some(*wanted.start()), Some(*wanted.end()));
    assert!(right, "wanted {wanted:?}, torn at {torn:?}, from {:?} to {:?}", ends.0, ends.1);
}

fn numbers(events: &[Value]) -> Vec<i64> {
    events.iter().filter(|event| event["durable"] == true).map(|event| event["seq"].as_i64().unwrap()).collect()
}

// Writers run all the while, and streams begin at every point of the past.
#[test]
fn a_stream_crosses_from_stored_to_live_without_gap_or_repetition() {
    let folder = tempfile::tempdir().unwrap();
    // Readers of a file see a commit before it has been told; those of a store in memory wait for the writer.
    for (options, streams) in
        [(in_memory(json!({ "events": { "queue": 64 } })), 15), (options(&folder.path().join("zuno.db")), 60)]
    {
        let host = opened(options);
        let session = host.session(folder.path());
        let stop = AtomicBool::new(false);
        let subscriptions = std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        host.one(&session, "look", json!({ "text": "x" }));
                    }
                });
            }
            let subscriptions: Vec<(u64, i64)> = (0..streams)
                .map(|turn| {
                    let last = last(&host, &session);
                    let after = last * (turn % 5) / 4;
                    (subscribe(&host, json!({ "sessionId": session, "after": after })), after)
                })
                .collect();
            stop.store(true, Ordering::Relaxed);
            subscriptions
        });
        let end = last(&host, &session);
        for (subscription, after) in subscriptions {
            let events = heard(&host, subscription, end);
            assert_counts(&numbers(&events), after + 1..=end);
        }
    }
}

#[test]
fn events_of_one_session_come_in_order_and_equal_what_is_stored() {
    let host = opened(in_memory(json!({})));
    let folder = tempfile::tempdir().unwrap();
    let all = subscribe(&host, json!({}));
    let typed = subscribe(&host, json!({ "types": ["tool.call.started"] }));
    let sessions: Vec<String> = (0..4).map(|_| host.session(folder.path())).collect();
    std::thread::scope(|scope| {
        for session in &sessions {
            scope.spawn(|| (0..50).for_each(|_| drop(host.one(session, "look", json!({})))));
        }
    });
    let ends: BTreeMap<&str, i64> = sessions.iter().map(|session| (session.as_str(), last(&host, session))).collect();
    for session in &sessions {
        host.wait_for("the end", |item| {
            item["subscriptionId"] == all
                && item["event"]["sessionId"] == *session
                && item["event"]["seq"] == ends[session.as_str()]
        });
        let of = |subscription: u64| -> Vec<Value> {
            let fits = |item: &Value| {
                item["subscriptionId"] == subscription
                    && item["event"]["sessionId"] == *session
                    && item["event"]["durable"] == true
            };
            host.seen().into_iter().filter(fits).map(|item| item["event"].clone()).collect()
        };
        assert_eq!(of(all), host.events(session));
        let wanted: Vec<Value> =
            host.events(session).into_iter().filter(|event| event["type"] == "tool.call.started").collect();
        assert_eq!(of(typed), wanted);
    }
}

/// A runtime whose items are read only when the test says so.
struct Unread(Arc<Wire>);

impl Unread {
    fn open(options: Value) -> Self {
        Self(Wire::open(&options.to_string()).unwrap())
    }

    fn call(&self, method: &str, params: Value) -> Value {
        serde_json::from_str(&self.0.call(method, &params.to_string()).unwrap()).unwrap()
    }

    fn session(&self) -> String {
        let directory = std::env::temp_dir();
        self.call("session.create", json!({ "directory": directory }))["id"].as_str().unwrap().to_owned()
    }

    /// Durable events without a side effect: refused calls.
    fn busy(&self, session: &str, calls: usize) {
        for _ in 0..calls {
            let call = json!({ "name": "nothing", "arguments": { "text": "x".repeat(2_000) } });
            self.call("session.dispatch", json!({ "sessionId": session, "calls": [call] }));
        }
    }

    fn live(&self, session: &str) {
        self.0.runtime().unwrap().hub().live(&session.into(), "tool.progress", json!({ "message": "on" }));
    }

    fn events(&self) -> Vec<Value> {
        let mut events = Vec::new();
        while let Some(item) = self.0.next(Some(Duration::ZERO)) {
            let item: Value = serde_json::from_str(&item).unwrap();
            if item["type"] == "event" {
                events.push(item["event"].clone());
            }
        }
        events
    }
}

#[test]
fn a_full_queue_drops_live_events_says_so_and_never_loses_a_durable_one() {
    let host = Unread::open(in_memory(json!({ "events": { "queue": 64 } })));
    let session = host.session();
    host.call("event.subscribe", json!({ "sessionId": session, "after": 0 }));
    host.busy(&session, 40);
    for _ in 0..7 {
        host.live(&session);
    }
    host.busy(&session, 40);
    let events = host.events();
    let end = host.call("event.read", json!({ "sessionId": session, "after": 0 }))["last"].as_i64().unwrap();
    assert_counts(&numbers(&events), 1..=end);
    let lagged: Vec<usize> = (0..events.len()).filter(|at| events[*at]["type"] == "stream.lagged").collect();
    assert_eq!(lagged.len(), 1);
    let notice = &events[lagged[0]];
    assert_eq!(notice["data"]["dropped"], 7);
    assert_eq!(notice["durable"], false);
    assert_eq!(notice["data"]["resumeAfter"], events[lagged[0] - 1]["seq"], "it stands where they were");
    assert!(events.iter().all(|event| event["type"] != "tool.progress"));
    // Once it has caught up, live events come again.
    host.live(&session);
    let after = host.events();
    assert_eq!(after.len(), 1);
    assert_eq!((&after[0]["type"], &after[0]["seq"]), (&json!("tool.progress"), &json!(end)));
}

#[test]
fn who_wants_no_live_events_is_told_of_none() {
    let host = Unread::open(in_memory(json!({ "events": { "queue": 64 } })));
    let session = host.session();
    host.call("event.subscribe", json!({ "sessionId": session, "after": 0, "live": false }));
    host.busy(&session, 40);
    host.live(&session);
    let events = host.events();
    assert!(events.iter().all(|event| event["durable"] == true), "{events:?}");
    host.live(&session);
    assert_eq!(host.events(), [] as [Value; 0]);
}

// A session from before this runtime has no place in the hub yet; its past has more than one page.
#[test]
fn a_session_of_another_time_is_read_to_its_end_and_then_followed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zuno.db");
    let first = Unread::open(options(&path));
    let session = first.session();
    first.busy(&session, 250);
    first.0.close(Duration::from_secs(5));
    let host = opened(options(&path));
    let end = last(&host, &session);
    assert!(end > 600, "{end}");
    let old = subscribe(&host, json!({ "sessionId": session, "after": 10 }));
    assert_counts(&numbers(&heard(&host, old, end)), 11..=end);
    let everything = subscribe(&host, json!({}));
    host.call("session.open", json!({ "sessionId": session })).unwrap();
    host.one(&session, "look", json!({}));
    let now = last(&host, &session);
    assert_counts(&numbers(&heard(&host, old, now)), 11..=now);
    let fresh = numbers(&heard(&host, everything, now));
    assert_counts(&fresh, end + 1..=now);
}

// The same while the subscriber is behind: catching up must not reach into the past either.
#[test]
fn catching_up_does_not_reach_behind_the_beginning_of_a_stream() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zuno.db");
    let mut opened = options(&path);
    opened["config"]["events"] = json!({ "queue": 64 });
    let first = Unread::open(opened.clone());
    let old = first.session();
    first.busy(&old, 30);
    first.0.close(Duration::from_secs(5));
    let host = Unread::open(opened);
    let end = host.call("event.read", json!({ "sessionId": old, "after": 0 }))["last"].as_i64().unwrap();
    host.call("event.subscribe", json!({}));
    let busy = host.session();
    host.busy(&busy, 40);
    host.call("session.open", json!({ "sessionId": old }));
    host.busy(&old, 3);
    let events = host.events();
    let of = |session: &str| -> Vec<Value> {
        events.iter().filter(|event| event["sessionId"] == session).cloned().collect()
    };
    let now = host.call("event.read", json!({ "sessionId": old, "after": 0 }))["last"].as_i64().unwrap();
    assert_counts(&numbers(&of(&old)), end + 1..=now);
    let last = host.call("event.read", json!({ "sessionId": busy, "after": 0 }))["last"].as_i64().unwrap();
    assert_counts(&numbers(&of(&busy)), 1..=last);
}

#[test]
fn a_deleted_session_does_not_hold_up_the_others() {
    let host = Unread::open(in_memory(json!({ "events": { "queue": 64 } })));
    host.call("event.subscribe", json!({}));
    let (gone, stays) = (host.session(), host.session());
    host.busy(&gone, 40);
    host.call("session.delete", json!({ "sessionId": gone, "confirm": true }));
    host.busy(&stays, 40);
    let events = host.events();
    let of: Vec<Value> = events.into_iter().filter(|event| event["sessionId"] == stays).collect();
    let last = host.call("event.read", json!({ "sessionId": stays, "after": 0 }))["last"].as_i64().unwrap();
    assert_counts(&numbers(&of), 1..=last);
    host.live(&stays);
    assert_eq!(host.events().len(), 1, "the stream is up to date again");
}

#[test]
fn after_unsubscribing_nothing_more_is_queued() {
    let host = Unread::open(in_memory(json!({})));
    let session = host.session();
    let subscription = host.call("event.subscribe", json!({}))["subscriptionId"].clone();
    let gone = json!({ "subscriptionId": subscription });
    host.busy(&session, 1);
    assert!(!host.events().is_empty());
    assert_eq!(host.call("event.unsubscribe", gone.clone()), json!({ "removed": true }));
    assert_eq!(host.call("event.unsubscribe", gone), json!({ "removed": false }));
    host.busy(&session, 1);
    host.live(&session);
    assert_eq!(host.events(), [] as [Value; 0]);
}

// case: 95
#[test]
fn two_thousand_approved_calls_beside_a_subscription_that_nobody_reads() {
    const CALLS: usize = 2_000;
    let mut options = options(Path::new(":memory:"));
    options["config"] = json!({ "events": { "queue": 64 } });
    options["ports"] = json!(["hostTool", "approval"]);
    let host = Unread::open(options);
    let tool = json!({ "name": "act", "description": "Acts.", "inputSchema": { "type": "object" } });
    host.call("tool.register", tool);
    let session = host.session();
    host.call("event.subscribe", json!({ "sessionId": session, "after": 0 }));
    // Items of the subscription are kept aside unread: only requests are looked at, as a host with two readers would.
    let stop = AtomicBool::new(false);
    let (mut kept, mut answered) = (Vec::new(), 0);
    std::thread::scope(|scope| {
        let calls = scope.spawn(|| {
            let big = "x".repeat(1_000);
            for number in 0..CALLS {
                let call = json!({ "name": "act", "arguments": { "number": number, "text": big } });
                let result = host.call("session.dispatch", json!({ "sessionId": session, "calls": [call] }));
                assert_eq!(result["results"][0]["outcome"], "ok", "{result}");
            }
            stop.store(true, Ordering::Release);
        });
        // Requests and events share one queue; events stop coming when the subscription is full, requests never do.
        while !stop.load(Ordering::Acquire) {
            let Some(item) = host.0.next(Some(Duration::from_millis(10))) else { continue };
            let item: Value = serde_json::from_str(&item).unwrap();
            match item["kind"].as_str() {
                Some("approval") => drop(host.0.respond(item["id"].as_str().unwrap(), r#"{"reply":"once"}"#)),
                Some(_) => drop(host.0.respond(item["id"].as_str().unwrap(), r#"{"output":"acted"}"#)),
                None => kept.push(item["event"].clone()),
            }
            answered += usize::from(item["type"] == "request");
        }
        calls.join().unwrap();
    });
    assert_eq!(answered, 2 * CALLS);
    kept.extend(host.events());
    let end =
        host.call("event.read", json!({ "sessionId": session, "after": 0, "limit": 0 }))["last"].as_i64().unwrap();
    assert_counts(&numbers(&kept), 1..=end);
}

// case: 95
#[test]
fn a_subscription_that_is_never_read_takes_a_bounded_amount_of_memory() {
    let folder = tempfile::tempdir().unwrap();
    let host = Unread::open(options(&folder.path().join("zuno.db")));
    let session = host.session();
    host.busy(&session, 50);
    let begin =
        host.call("event.read", json!({ "sessionId": session, "after": 0, "limit": 0 }))["last"].as_i64().unwrap();
    host.call("event.subscribe", json!({}));
    for _ in 0..400 {
        let call = json!({ "name": "nothing", "arguments": { "text": "x".repeat(100_000) } });
        host.call("session.dispatch", json!({ "sessionId": session, "calls": [call] }));
    }
    // What waits in the queue is taken at once, before anything is fetched after it.
    let waiting = host.0.drain(usize::MAX);
    let bytes: usize = waiting.iter().map(String::len).sum();
    assert!((7 << 20..9 << 20).contains(&bytes), "{bytes} bytes of 40 MB wait");
    let mut events: Vec<Value> =
        waiting.iter().map(|item| serde_json::from_str::<Value>(item).unwrap()["event"].clone()).collect();
    events.extend(host.events());
    let end =
        host.call("event.read", json!({ "sessionId": session, "after": 0, "limit": 0 }))["last"].as_i64().unwrap();
    assert_counts(&numbers(&events), begin + 1..=end);
}

#[test]
fn reading_has_its_limits() {
    let host = opened(in_memory(json!({})));
    let folder = tempfile::tempdir().unwrap();
    let session = host.session(folder.path());
    for _ in 0..250 {
        host.one(&session, "look", json!({}));
    }
    let end = last(&host, &session);
    assert!(end > 1_000);
    let read = |after: i64, limit: Value| {
        host.call("event.read", json!({ "sessionId": session, "after": after, "limit": limit }))
    };
    let count = |after: i64, limit: Value| read(after, limit).unwrap()["events"].as_array().unwrap().len();
    assert_eq!(count(0, json!(10_000)), 1_000);
    assert_eq!(count(0, Value::Null), 1_000);
    assert_eq!(count(end - 1, json!(5)), 1);
    assert_eq!(count(end, json!(5)), 0);
    assert_eq!(read(end, json!(5)).unwrap()["last"], end);
    for (after, limit) in [(end + 1, json!(1)), (-1, json!(1)), (0, json!(-1))] {
        assert_eq!(read(after, limit).unwrap_err().code, "arguments.invalid");
    }
    assert_eq!(read(0, json!(3)).unwrap(), read(0, json!(3)).unwrap(), "reading again changes nothing");
    let unknown = |params: Value, method: &str| host.call(method, params).unwrap_err().code;
    assert_eq!(unknown(json!({ "sessionId": "ses_x", "after": 0 }), "event.read"), "not_found.object");
    assert_eq!(unknown(json!({ "sessionId": "ses_x" }), "event.subscribe"), "not_found.object");
    assert_eq!(unknown(json!({ "rootSessionId": "ses_x" }), "event.subscribe"), "not_found.object");
    assert_eq!(unknown(json!({ "after": 0 }), "event.subscribe"), "arguments.invalid");
    assert_eq!(unknown(json!({ "sessionId": session, "after": end + 1 }), "event.subscribe"), "arguments.invalid");
}
