//! The Rust face: builder, approvals, host tools, events, closing.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use zuno::tools::host_tool::HostToolSpec;
use zuno::types::{BlockKind, Outcome as Kind};
use zuno::{Approval, Call, EventsOf, HostAnswer, HostFailure, Runtime};

fn spec(name: &str) -> HostToolSpec {
    let document = json!({
        "name": name, "description": "A tool of the test.",
        "inputSchema": { "type": "object", "properties": { "text": { "type": "string" } } },
    });
    serde_json::from_value(document).unwrap()
}

#[test]
fn a_host_without_an_executor_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "hello\n").unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let runtime = Runtime::builder()
        .store(folder.path().join("state.db"))
        .approve(move |request| {
            counted.fetch_add(1, Ordering::SeqCst);
            async move { if request.tool == "write" { Approval::Once } else { Approval::Reject("not today".into()) } }
        })
        .tool(spec("shout"), |call| async move {
            match call.arguments.get("text").and_then(|text| text.as_str()) {
                Some(text) => Ok(HostAnswer::from(text.to_uppercase())),
                None => Err(HostFailure::failed("nothing to shout")),
            }
        })
        .open()
        .unwrap();
    let session = runtime.session(folder.path()).agent("build").create_blocking().unwrap();
    let read = session.call_blocking(Call::read("a.txt")).unwrap();
    assert!(read.is_ok() && read.output().contains("1: hello"), "{}", read.output());
    let written = session.call_blocking(Call::write("b.txt", "x")).unwrap();
    assert!(written.is_ok(), "{}", written.output());
    let refused = session.call_blocking(Call::new("shout", json!({ "text": "x" }))).unwrap();
    assert_eq!((refused.kind(), refused.block_kind()), (Kind::Blocked, Some(BlockKind::Denied)));
    assert!(refused.output().contains("not today"));
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_host_on_its_own_executor() {
    let folder = tempfile::tempdir().unwrap();
    let config = json!({ "permission": { "mode": "allow_all" } });
    let runtime = Runtime::builder()
        .in_memory()
        .config(config)
        .tool(spec("shout"), |call| async move {
            match call.arguments.get("text").and_then(|text| text.as_str()) {
                Some("panic") => panic!("a handler of the host"),
                Some(text) => Ok(HostAnswer::from(text.to_uppercase())),
                None => Err(HostFailure::failed("nothing to shout")),
            }
        })
        .open()
        .unwrap();
    let session = runtime.session(folder.path()).create().await.unwrap();
    let mut events = runtime.events(EventsOf::session(session.id()).after(0)).unwrap();
    let shout = |text: &str| Call::new("shout", json!({ "text": text }));
    let outcomes = session.dispatch(vec![shout("a"), Call::new("shout", json!({})), shout("panic")]).await.unwrap();
    let kinds: Vec<Kind> = outcomes.iter().map(zuno::Outcome::kind).collect();
    assert_eq!(kinds, [Kind::Ok, Kind::Error, Kind::Error]);
    assert_eq!(outcomes[0].output(), "A");
    assert!(session.call_blocking(shout("b")).is_err(), "a blocking call inside an executor is refused");
    let mut last = 0;
    while let Some(event) = events.try_next() {
        assert_eq!(event.seq, last + 1);
        last = event.seq;
    }
    assert!(last > 10);
    runtime.close(Duration::from_secs(5)).await;
    assert_eq!(session.call(shout("c")).await.unwrap_err().code, "closed.object");
}
