//! What a command is asked for.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, missing_docs)]

mod shell_support;
mod support;

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use shell_support::Bench;

/// A session with rules, whose host records what it is asked and answers the same every time.
struct Asked {
    bench: Bench,
    requests: Arc<Mutex<Vec<Value>>>,
}

impl Asked {
    fn new(rules: Value, reply: &'static str) -> Self {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let handler = move |kind: &str, payload: &Value| {
            assert_eq!(kind, "approval");
            seen.lock().unwrap().push(payload.clone());
            Some(Ok(json!({ "reply": reply })))
        };
        let config = json!({ "permission": { "rules": rules } });
        let bench = Bench::open(tempfile::tempdir().unwrap(), config, handler, json!(["approval"]));
        Self { bench, requests }
    }

    fn requests(&self) -> Vec<Value> {
        std::mem::take(&mut *self.requests.lock().unwrap())
    }
}

fn patterns(request: &Value, key: &str) -> Vec<String> {
    let asks = request["asks"].as_array().unwrap();
    let ask = asks.iter().find(|ask| ask["key"] == key).unwrap_or_else(|| panic!("no {key} in {request:#}"));
    ask["patterns"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

// case: 64
#[test]
fn an_allowed_prefix_carries_no_second_command() {
    let asked = Asked::new(json!({ "shell": { "*": "ask", "git status*": "allow" } }), "reject");
    for command in [
        "git status && touch x",
        "git status; touch x",
        "git status | tee x",
        "git status & touch x",
        "git status\ntouch x",
        "git status $(touch x)",
        "git status > x",
    ] {
        let part = asked.bench.run(command);
        assert_eq!((part.outcome(), &part.0["blockKind"]), ("blocked", &json!("denied")), "{command}");
        assert_eq!(asked.requests().len(), 1, "{command}");
    }
    assert!(!asked.bench.workspace.join("x").exists());
    asked.bench.run("git status --short").ok();
    assert!(asked.requests().is_empty());
}

// case: 64
#[test]
fn one_denied_part_blocks_the_whole_call() {
    let asked = Asked::new(json!({ "shell": { "*": "allow", "touch *": "deny" } }), "once");
    for command in ["echo a > y && touch x", "echo a > y; (touch x)", "echo $(touch x) > y", "bash -c 'touch x' > y"] {
        let part = asked.bench.run(command);
        assert_eq!((part.outcome(), &part.0["blockKind"]), ("blocked", &json!("denied")), "{command}");
        assert_eq!(part.error()["denial"]["origin"], "rule", "{command}");
    }
    assert!(!asked.bench.workspace.join("y").exists());
    assert!(asked.requests().is_empty());
}

// case: 65
#[test]
fn equivalent_forms_do_not_pass_a_deny() {
    let asked = Asked::new(json!({ "shell": { "*": "allow", "git push*": "deny" } }), "once");
    for command in [
        "git push",
        "git -C . push",
        "env X=1 git push",
        "command git push",
        "nice git push",
        "\"git\" push",
        "g\\it push",
        "bash -c 'git push'",
        "xargs git push",
        "/usr/bin/git push",
    ] {
        let part = asked.bench.run(command);
        assert_eq!((part.outcome(), &part.0["blockKind"]), ("blocked", &json!("denied")), "{command}");
    }
}

#[test]
fn one_request_covers_everything_a_command_needs() {
    let asked = Asked::new(json!({}), "once");
    let part = asked.bench.run("cat /etc/hostname | wc -c && cd sub && npm test").ok();
    assert!(part.fact("exitCode").is_number());
    let requests = asked.requests();
    assert_eq!(requests.len(), 1);
    let request = &requests[0];
    assert_eq!(patterns(request, "shell"), ["cat /etc/hostname", "wc -c", "npm test"]);
    assert_eq!(patterns(request, "external_directory"), ["/etc/*"]);
    assert_eq!(request["asks"][0]["key"], "external_directory");
    assert_eq!(request["asks"][0]["access"], "read");
    assert_eq!(request["preview"], json!(["cat /etc/hostname", "wc -c", "npm test"]));
    assert_eq!(request["metadata"]["workdir"], json!(asked.bench.workspace));
    let always = request["asks"][1]["always"].as_array().unwrap();
    assert_eq!(always, &[json!("cat *"), json!("wc *"), json!("npm test *")]);
}

#[test]
fn always_covers_the_next_command_of_its_kind() {
    let asked = Asked::new(json!({}), "always");
    asked.bench.run("echo a").ok();
    asked.bench.run("echo b").ok();
    assert_eq!(asked.requests().len(), 1);
    asked.bench.run("printf c").ok();
    assert_eq!(asked.requests().len(), 1);
}

#[test]
fn a_line_of_directory_changes_raises_no_ask() {
    let asked = Asked::new(json!({}), "reject");
    asked.bench.run("cd . && cd .").ok();
    assert!(asked.requests().is_empty());
}

#[test]
fn a_working_directory_outside_is_asked_for() {
    let asked = Asked::new(json!({ "shell": "allow" }), "once");
    let outside = tempfile::tempdir_in("/var/tmp").unwrap();
    let directory = outside.path().canonicalize().unwrap();
    let part = asked.bench.call(json!({ "command": "echo x > made", "workdir": directory })).ok();
    assert_eq!(part.exit(), 0, "{:#}", part.0);
    let requests = asked.requests();
    assert_eq!(patterns(&requests[0], "external_directory"), [format!("{}/*", directory.display())]);
    assert_eq!(requests[0]["asks"][0]["access"], "write");
    assert!(outside.path().join("made").exists());
}

#[test]
fn text_that_cannot_be_read_is_asked_for_as_a_whole() {
    let asked = Asked::new(json!({ "shell": { "*": "ask", "echo *": "allow" } }), "reject");
    // The allow of its beginning does not carry it.
    let part = asked.bench.run("echo a; touch 'b");
    assert_eq!(part.outcome(), "blocked", "{:#}", part.0);
    let request = &asked.requests()[0];
    assert_eq!(patterns(request, "shell"), ["echo a; touch 'b"]);
    assert_eq!((&request["kind"], &request["metadata"]["risk"][0]["finding"]), (&json!("risk"), &json!("unreadable")));
    assert_eq!(request["choices"], json!(["once", "reject"]));
}
