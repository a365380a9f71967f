//! Which variables a command sees. The host of these tests is a process of its own, with an environment of its own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, missing_docs)]

mod shell_support;
mod support;

use std::process::Command;

use serde_json::json;
use shell_support::Bench;

/// Runs one of the ignored tests below with these variables.
#[track_caller]
fn in_a_host_with(variables: &[(&str, &str)], test: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", test])
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
}

const PRIVATE: [(&str, &str); 12] = [
    ("ZUNO_A", "canary"),
    ("ZUNO_AUTH_CONTENT", "canary"),
    ("ZUNO_CONFIG_CONTENT_X", "canary"),
    ("ZUNO_PID", "canary"),
    ("ZUNO_CLIENT", "canary"),
    ("ZUNO_WORKSPACE_ID", "canary"),
    ("zuno_server_password", "canary"),
    ("Zuno_Mixed", "canary"),
    ("ACME_KEY", "canary"),
    ("ZUNO", "1"),
    ("AGENT", "1"),
    ("GITHUB_TOKEN", "kept"),
];

// spec: ENV-01 ENV-02 ENV-03 ENV-04 ENV-05 ENV-06 ENV-08 ENV-09 ENV-10 ENV-13 ENV-14 ENV-19
#[test]
fn the_namespace_is_withheld() {
    in_a_host_with(&PRIVATE, "host_without_a_hook");
}

#[test]
#[ignore = "run by the test above, with variables"]
fn host_without_a_hook() {
    let bench = Bench::with(json!({ "env": { "withhold_prefixes": ["ACME_"] } }));
    let part = bench.run("env").ok();
    assert!(!part.output().contains("canary"), "{}", part.output());
    let lines: Vec<&str> = part.text().lines().collect();
    for line in ["ZUNO=1", "AGENT=1", "GITHUB_TOKEN=kept", "TMPDIR=/tmp"] {
        assert!(lines.contains(&line), "{line}: {}", part.output());
    }
    assert_eq!(bench.run("echo \"$ZUNO_PID\"").ok().text(), "\n");
}

// spec: ENV-11 ENV-12
#[test]
fn the_hook_has_the_last_word() {
    in_a_host_with(&PRIVATE, "host_with_a_hook");
}

#[test]
#[ignore = "run by the test above, with variables"]
fn host_with_a_hook() {
    let handler = |kind: &str, payload: &serde_json::Value| {
        assert_eq!(kind, "environment");
        assert!(payload["env"].get("ZUNO_A").is_none() && payload["env"]["GITHUB_TOKEN"] == "kept");
        assert!(payload["command"].as_str().unwrap().starts_with("env"));
        assert!(payload["workdir"].is_string() && payload["sessionId"].is_string() && payload["callId"].is_string());
        Some(Ok(json!({ "set": { "ZUNO_NEEDED": "v", "AGENT": "2" }, "remove": ["GITHUB_TOKEN"] })))
    };
    let bench = Bench::open(tempfile::tempdir().unwrap(), json!({}), handler, json!(["environment"]));
    let part = bench.run("env").ok();
    let lines: Vec<&str> = part.text().lines().collect();
    assert!(lines.contains(&"ZUNO_NEEDED=v") && lines.contains(&"AGENT=2"), "{}", part.output());
    assert!(!part.output().contains("GITHUB_TOKEN") && !part.output().contains("ZUNO_A="));
}

#[test]
fn a_hook_that_fails_runs_nothing() {
    for answer in [Err(("host.failed".to_owned(), "no".to_owned())), Ok(json!({ "set": { "A=B": "x" } })), Ok(json!(7))]
    {
        let handler = move |_: &str, _: &serde_json::Value| Some(answer.clone());
        let bench = Bench::open(tempfile::tempdir().unwrap(), json!({}), handler, json!(["environment"]));
        let part = bench.run("touch ran");
        assert_eq!((part.outcome(), &part.error()["code"]), ("error", &json!("environment")));
        assert!(!bench.workspace.join("ran").exists());
    }
}

#[test]
fn no_profile_is_read() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let profile = folder.path().join("profile");
    std::fs::write(&profile, "echo profile\n").unwrap();
    let profile = profile.to_str().unwrap();
    in_a_host_with(&[("BASH_ENV", profile), ("ENV", profile)], "host_with_a_profile");
}

#[test]
#[ignore = "run by the test above, with variables"]
fn host_with_a_profile() {
    let bench = Bench::new();
    assert_eq!(bench.run("echo x; [ -n \"$BASH_ENV\" ] && echo set").ok().text(), "x\nset\n");
}
