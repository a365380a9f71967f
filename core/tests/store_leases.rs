//! One live owner per session, in real processes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::print_stderr)]

mod durable_support;
mod support;

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use durable_support::{ChildHost, append, lines, options, role, say};
use rusqlite::{Connection, params};
use serde_json::{Value, json};
use support::{Answer, TestHost, register};

const CHILD: &str = "child_holds_a_session";

fn appender(folder: &Path) -> impl FnMut(&str, &Value) -> Answer + Send + 'static {
    let log = folder.join("log");
    move |_, payload| {
        append(&log, payload["arguments"]["text"].as_str().unwrap());
        Some(Ok(json!({ "output": "done" })))
    }
}

fn host(folder: &Path) -> TestHost {
    let host = TestHost::open(options(&folder.join("zuno.db")), appender(folder));
    register(&host, "append", json!({}));
    host
}

/// A host in its own process: `call TEXT` dispatches, anything else ends it properly.
#[test]
fn child_holds_a_session() {
    let Some(input) = role(CHILD) else { return };
    let folder = PathBuf::from(input["folder"].as_str().unwrap());
    let host = host(&folder);
    let session = match input["session"].as_str() {
        Some(session) => match host.call("session.open", json!({ "sessionId": session })) {
            Ok(_) => session.to_owned(),
            Err(error) => return say(&error.to_json().to_string()),
        },
        None => host.session(&folder),
    };
    say(&session);
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let Some(text) = line.strip_prefix("call ") else { break };
        say(host.one(&session, "append", json!({ "text": text }))["outcome"].as_str().unwrap());
    }
}

fn child(folder: &Path, session: Option<&str>) -> (ChildHost, String) {
    let mut child = ChildHost::start(CHILD, json!({ "folder": folder, "session": session }));
    let said = child.line().unwrap();
    (child, said)
}

fn tell(child: &mut ChildHost, text: &str) {
    use std::io::Write;
    writeln!(child.child.stdin.as_mut().unwrap(), "{text}").unwrap();
}

#[test]
fn a_live_owner_is_named_and_reading_needs_no_lease() {
    let folder = tempfile::tempdir().unwrap();
    let (mut owner, session) = child(folder.path(), None);
    tell(&mut owner, "call one");
    assert_eq!(owner.line().unwrap(), "ok");
    let host = host(folder.path());
    let of = json!({ "sessionId": session });
    for method in ["session.open", "session.close", "session.archive"] {
        let error = host.call(method, of.clone()).unwrap_err();
        assert_eq!(error.code, "busy.session", "{method}: {error:?}");
        assert_eq!(error.details["pid"], owner.child.id(), "{method}");
    }
    let error = host.call("session.delete", json!({ "sessionId": session, "confirm": true })).unwrap_err();
    assert_eq!(error.code, "busy.session");
    let call = json!({ "sessionId": session, "calls": [{ "name": "append", "arguments": { "text": "x" } }] });
    assert_eq!(host.call("session.dispatch", call).unwrap_err().code, "closed.object");
    // Reading and following.
    assert_eq!(host.call("session.get", of.clone()).unwrap()["state"], "active");
    assert_eq!(host.call("session.messages", of.clone()).unwrap()["messages"].as_array().unwrap().len(), 1);
    assert_eq!(host.call("session.unsettled", of.clone()).unwrap()["calls"], json!([]));
    let known = host.events(&session).len();
    assert!(known > 5);
    host.call("event.subscribe", json!({ "sessionId": session, "after": 0 })).unwrap();
    tell(&mut owner, "call two");
    assert_eq!(owner.line().unwrap(), "ok");
    let all = host.events(&session);
    assert!(all.len() > known);
    host.wait_for("the last event of the other process", |item| item["event"]["seq"] == all.len());
    let heard: Vec<Value> =
        host.seen().iter().filter(|item| item["type"] == "event").map(|item| item["event"].clone()).collect();
    assert_eq!(heard, all, "the stream of another process's session has neither gap nor repetition");
    assert_eq!(lines(&folder.path().join("log")), ["one", "two"]);
    drop(owner);
}

#[test]
fn a_killed_owner_is_taken_over_and_one_that_closed_needs_no_taking_over() {
    let folder = tempfile::tempdir().unwrap();
    let (mut owner, session) = child(folder.path(), None);
    tell(&mut owner, "call one");
    assert_eq!(owner.line().unwrap(), "ok");
    owner.kill();
    let host = host(folder.path());
    host.call("session.open", json!({ "sessionId": session })).unwrap();
    let leases = |host: &TestHost| -> Vec<Value> {
        let events = host.events(&session).into_iter();
        events.filter(|event| event["type"] == "session.lease").map(|event| event["data"].clone()).collect()
    };
    assert_eq!(leases(&host)[1]["takenOver"], true);
    assert_eq!(leases(&host)[1]["pid"], std::process::id());
    assert_eq!(host.one(&session, "append", json!({ "text": "two" }))["outcome"], "ok");
    // Opening what is open takes nothing and says nothing.
    host.call("session.open", json!({ "sessionId": session })).unwrap();
    assert_eq!(leases(&host).len(), 2);
    let (_, refused) = child(folder.path(), Some(&session));
    let refused: Value = serde_json::from_str(&refused).unwrap();
    assert_eq!((&refused["code"], &refused["details"]["pid"]), (&json!("busy.session"), &json!(std::process::id())));
    host.call("session.close", json!({ "sessionId": session })).unwrap();
    let (next, said) = child(folder.path(), Some(&session));
    assert_eq!(said, session);
    assert_eq!(leases(&host).last().unwrap()["takenOver"], false);
    drop(next);
    assert_eq!(lines(&folder.path().join("log")), ["one", "two"]);
}

/// Another process that lives, for leases written by hand.
struct Other(Child);

impl Other {
    fn start() -> Self {
        Self(Command::new("sleep").arg("1000").spawn().unwrap())
    }

    fn start_time(&self) -> i64 {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
        text.rsplit_once(')').unwrap().1.split_ascii_whitespace().nth(19).unwrap().parse().unwrap()
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64
}

/// Gives the lease of the only session to another process.
fn give_away(folder: &Path, other: &Other, start: i64, host_id: Option<&str>, heartbeat: i64) {
    let raw = Connection::open(folder.join("zuno.db")).unwrap();
    raw.busy_timeout(Duration::from_secs(10)).unwrap();
    let changed = raw
        .execute(
            "UPDATE leases SET owner_id = 'other', pid = ?1, process_start = ?2, heartbeat_at = ?3,
                 host_id = coalesce(?4, host_id)",
            params![other.0.id(), start, heartbeat, host_id],
        )
        .unwrap();
    assert_eq!(changed, 1);
}

#[test]
fn when_an_owner_counts_as_dead() {
    let folder = tempfile::tempdir().unwrap();
    let host = host(folder.path());
    let session = host.session(folder.path());
    let other = Other::start();
    let start = other.start_time();
    let cases = [
        ("lives here", start, None, 0, false),
        ("the number belongs to another process by now", start - 1, None, 0, true),
        ("no word for half a minute", start, None, 31_000, true),
        ("of another machine, just heard of", 0, Some("elsewhere"), 0, false),
        ("of another machine, long silent", 0, Some("elsewhere"), 31_000, true),
    ];
    for (what, start, host_id, age, dead) in cases {
        give_away(folder.path(), &other, start, host_id, now() - age);
        // The host held it: it notices, lets go, and takes it again only from the dead.
        let opened = host.call("session.open", json!({ "sessionId": session }));
        assert_eq!(opened.is_ok(), dead, "{what}: {opened:?}");
        if let Err(error) = opened {
            assert_eq!(error.details["pid"], other.0.id(), "{what}");
            give_away(folder.path(), &other, start, None, 0);
            host.call("session.open", json!({ "sessionId": session })).unwrap();
        }
    }
}

/// A host whose tool answers when it is told to.
fn gated(folder: &Path) -> (TestHost, Receiver<()>, Sender<()>) {
    let (begun, begins) = channel();
    let (release, released) = channel::<()>();
    let mut answer = appender(folder);
    let host = TestHost::open(options(&folder.join("zuno.db")), move |kind, payload| {
        begun.send(()).unwrap();
        let _ = released.recv();
        answer(kind, payload)
    });
    register(&host, "append", json!({}));
    (host, begins, release)
}

#[test]
fn an_owner_that_lost_its_lease_writes_nothing_more() {
    let folder = tempfile::tempdir().unwrap();
    let (host, begins, release) = gated(folder.path());
    let session = host.session(folder.path());
    let other = Other::start();
    let call = |text: &str| json!({ "sessionId": session, "messageId": text, "calls": [{ "name": "append", "arguments": { "text": text } }] });
    let (seen, busy) = std::thread::scope(|scope| {
        let running = scope.spawn(|| host.call("session.dispatch", call("before")));
        begins.recv().unwrap();
        // Stamped and running: then the lease goes.
        give_away(folder.path(), &other, other.start_time(), None, now());
        let seen = host.events(&session);
        release.send(()).unwrap();
        (seen, running.join().unwrap())
    });
    let error = busy.unwrap_err();
    assert_eq!((error.code.as_str(), &error.details["pid"]), ("busy.session", &json!(other.0.id())));
    // The next calls do not even begin.
    assert_eq!(host.call("session.dispatch", call("after")).unwrap_err().code, "busy.session");
    let ended = json!({ "sessionId": session, "calls": [], "final": true });
    assert_eq!(host.call("session.dispatch", ended).unwrap_err().code, "busy.session");
    assert_eq!(host.events(&session), seen);
    assert_eq!(lines(&folder.path().join("log")), ["before"]);
    drop(other);
    // The other one is gone: what was stamped here is uncertain, and is not run again.
    host.call("session.open", json!({ "sessionId": session })).unwrap();
    let again = host.call("session.dispatch", call("before")).unwrap();
    assert_eq!(again["results"][0]["outcome"], "uncertain");
    assert_eq!(lines(&folder.path().join("log")), ["before"]);
    release.send(()).unwrap();
    let next = host.call("session.dispatch", call("next")).unwrap();
    assert_eq!(next["results"][0]["outcome"], "ok", "{next}");
}

// A closed runtime that did not get to give its leases back must not lock its own process out.
#[test]
fn a_lease_of_an_earlier_runtime_of_this_process_is_no_obstacle() {
    let folder = tempfile::tempdir().unwrap();
    let first = host(folder.path());
    let session = first.session(folder.path());
    let raw = Connection::open(folder.path().join("zuno.db")).unwrap();
    let kept: (String, String, i64, i64) = raw
        .query_row("SELECT owner_id, host_id, pid, process_start FROM leases", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })
        .unwrap();
    drop(raw);
    drop(first);
    let raw = Connection::open(folder.path().join("zuno.db")).unwrap();
    raw.execute(
        "INSERT INTO leases (session_id, owner_id, host_id, pid, process_start, heartbeat_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![session, kept.0, kept.1, kept.2, kept.3, now()],
    )
    .unwrap();
    drop(raw);
    host(folder.path()).call("session.open", json!({ "sessionId": session })).unwrap();
}
