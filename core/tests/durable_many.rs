//! Many processes and threads on one store, and a store that others keep locked.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::print_stderr)]

mod durable_support;
mod support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use durable_support::{ChildHost, append, lines, options, role, say};
use rusqlite::Connection;
use serde_json::{Value, json};
use support::{TestHost, register};

const WORKER: &str = "child_makes_calls";
const BLOCKER: &str = "child_holds_the_database";
const CALLS: usize = 200;

fn host(folder: &Path) -> TestHost {
    let log = folder.join("log");
    let host = TestHost::open(options(&folder.join("zuno.db")), move |_, payload| {
        let text = payload["arguments"]["text"].as_str().unwrap();
        if payload["tool"] == "append" {
            append(&log, text);
        }
        Some(Ok(json!({ "output": text })))
    });
    register(&host, "append", json!({}));
    register(&host, "look", json!({ "effect": "ReadOnly", "replay": "Safe", "concurrency": "ParallelSafe" }));
    host
}

/// Dispatches the calls of one worker; every one has to come back with its own result.
fn work(host: &TestHost, folder: &Path, worker: usize) {
    let session = host.session(folder);
    for number in 0..CALLS {
        let text = format!("{worker}/{number}");
        let tool = if number % 4 == 0 { "append" } else { "look" };
        let part = host.one(&session, tool, json!({ "text": text }));
        assert_eq!((&part["outcome"], &part["output"]), (&json!("ok"), &json!(text)), "{part}");
    }
}

/// Every call of every session is settled with its own result, and every effect happened once.
fn check(folder: &Path, workers: usize) {
    let host = host(folder);
    let sessions = host.call("session.list", json!({})).unwrap();
    let sessions = sessions["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), workers);
    let mut seen = BTreeSet::new();
    for session in sessions {
        let page = json!({ "sessionId": session["id"], "limit": 500 });
        let messages = host.call("session.messages", page).unwrap();
        for message in messages["messages"].as_array().unwrap() {
            let part = &message["parts"][0];
            assert_eq!((&part["state"], &part["outcome"]), (&json!("settled"), &json!("ok")), "{part}");
            assert_eq!(part["output"], part["arguments"]["text"]);
            assert!(seen.insert(part["output"].as_str().unwrap().to_owned()));
        }
    }
    assert_eq!(seen.len(), workers * CALLS);
    let written = lines(&folder.join("log"));
    assert_eq!(written.len(), workers * CALLS.div_ceil(4));
    assert_eq!(written.iter().collect::<BTreeSet<_>>().len(), written.len());
}

#[test]
fn child_makes_calls() {
    let Some(input) = role(WORKER) else { return };
    let folder = PathBuf::from(input["folder"].as_str().unwrap());
    work(&host(&folder), &folder, input["worker"].as_u64().unwrap() as usize);
}

#[test]
fn child_holds_the_database() {
    let Some(input) = role(BLOCKER) else { return };
    let raw = Connection::open(input["database"].as_str().unwrap()).unwrap();
    raw.busy_timeout(Duration::from_secs(30)).unwrap();
    raw.execute_batch("BEGIN IMMEDIATE").unwrap();
    say("held");
    std::thread::sleep(Duration::from_millis(input["millis"].as_u64().unwrap()));
    raw.execute_batch("COMMIT").unwrap();
}

fn blocker(folder: &Path, millis: u64) -> ChildHost {
    let mut blocker = ChildHost::start(BLOCKER, json!({ "database": folder.join("zuno.db"), "millis": millis }));
    assert_eq!(blocker.line().unwrap(), "held");
    blocker
}

// case: 74
#[test]
fn eight_processes_share_a_store_that_a_ninth_holds_for_seconds() {
    const WORKERS: usize = 8;
    let folder = tempfile::tempdir().unwrap();
    // All of them create the database at once, too.
    let workers: Vec<ChildHost> = (0..WORKERS)
        .map(|worker| ChildHost::start(WORKER, json!({ "folder": folder.path(), "worker": worker })))
        .collect();
    while lines(&folder.path().join("log")).len() < WORKERS {
        std::thread::sleep(Duration::from_millis(5));
    }
    blocker(folder.path(), 3_000).finish();
    for worker in workers {
        worker.finish();
    }
    check(folder.path(), WORKERS);
    // Nobody left a lock file behind.
    let left = std::fs::read_dir(folder.path()).unwrap();
    let left: Vec<String> = left.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!left.iter().any(|name| name.starts_with("zuno.db.")), "{left:?}");
}

// case: 74
#[test]
fn eight_threads_share_a_runtime_on_a_store_that_is_held_for_seconds() {
    const WORKERS: usize = 8;
    let folder = tempfile::tempdir().unwrap();
    let runtime = host(folder.path());
    let blocker = blocker(folder.path(), 3_000);
    std::thread::scope(|scope| {
        let (runtime, folder) = (&runtime, folder.path());
        for worker in 0..WORKERS {
            scope.spawn(move || work(runtime, folder, worker));
        }
    });
    blocker.finish();
    drop(runtime);
    check(folder.path(), WORKERS);
}

#[test]
fn many_hosts_open_a_new_store_at_once() {
    for _ in 0..10 {
        let folder = tempfile::tempdir().unwrap();
        let openers: Vec<ChildHost> =
            (0..6).map(|_| ChildHost::start("child_opens_and_closes", json!({ "folder": folder.path() }))).collect();
        for opener in openers {
            assert_eq!(opener.finish(), ["created"]);
        }
        let listed: Value = host(folder.path()).call("session.list", json!({})).unwrap();
        assert_eq!(listed["sessions"].as_array().unwrap().len(), 6);
    }
}

#[test]
fn child_opens_and_closes() {
    let Some(input) = role("child_opens_and_closes") else { return };
    let folder = PathBuf::from(input["folder"].as_str().unwrap());
    let host = host(&folder);
    host.session(&folder);
    drop(host);
    say("created");
}
