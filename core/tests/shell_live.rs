//! Output as a host sees it while the command runs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, missing_docs)]

mod shell_support;
mod support;

use base64::Engine;
use serde_json::{Value, json};
use shell_support::Bench;

fn deltas(bench: &Bench) -> Vec<Value> {
    let items = bench.host.seen();
    let events = items.iter().map(|item| if item["event"].is_object() { &item["event"] } else { item });
    events.filter(|event| event["type"] == "tool.output.delta").cloned().collect()
}

#[test]
fn the_bytes_of_all_events_are_the_output() {
    let bench = Bench::new();
    bench.host.call("event.subscribe", json!({ "sessionId": bench.session, "live": true })).unwrap();
    let part = bench
        .run("printf '\\303'; sleep 0.2; printf '\\244\\377'; sleep 0.2; for i in $(seq 2000); do echo line $i; done")
        .ok();
    let total = part.fact("outputBytes").as_u64().unwrap();
    bench.host.wait_for("end of the call", |item| item.to_string().contains("tool.result.appended"));
    let events = deltas(&bench);
    assert!(events.len() >= 3, "{events:?}");
    let mut bytes = Vec::new();
    let mut text = String::new();
    for event in &events {
        let data = &event["data"];
        assert_eq!(event["durable"], false);
        assert_eq!((&data["callId"], &data["stream"]), (&json!("call_1"), &json!("combined")));
        assert_eq!(data["offset"], bytes.len());
        bytes.extend(base64::engine::general_purpose::STANDARD.decode(data["bytes"].as_str().unwrap()).unwrap());
        text.push_str(data["text"].as_str().unwrap());
    }
    assert_eq!(bytes.len() as u64, total);
    assert_eq!(text, String::from_utf8_lossy(&bytes));
    assert!(text.starts_with("\u{e4}\u{fffd}line 1\n"));
}

#[test]
fn output_is_told_while_the_command_runs() {
    let bench = Bench::new();
    bench.host.call("event.subscribe", json!({ "sessionId": bench.session, "live": true })).unwrap();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| bench.run("echo early; while [ ! -e go ]; do sleep 0.02; done"));
        bench.host.wait_for("output", |item| {
            let text = item.to_string();
            text.contains("tool.output.delta") && text.contains("early")
        });
        std::fs::write(bench.workspace.join("go"), "").unwrap();
        running.join().unwrap().ok();
    });
}
