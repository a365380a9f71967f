//! `bg`: its operations, and withheld output read back window by window.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use zuno::config::{Config, ToolOutputConfig};
use zuno::host::NoHost;
use zuno::output::{Artifacts, Presenter, read_artifact};
use zuno::store::artifacts::{self, NewArtifact};
use zuno::store::sessions::{self, SessionMode, SessionRecord, SessionSetup, SessionState};
use zuno::store::{Durability, Location, NoEvents, Store, StoreError};
use zuno::tools::bg::Bg;
use zuno::tools::contract::{Body, CallContext, Output, Services, SessionContext, Tool, ToolOutput};
use zuno::types::{
    CallId, Concurrency, CycleId, Declarations, Effect, ErrorKind, JsonMap, MessageId, Outcome, RandomIds, Replay,
    SessionId, SystemClock, ToolError, TurnId,
};

struct Bench {
    worktree: TempDir,
    store: Store,
    ids: Arc<RandomIds>,
    session: SessionId,
    config: Config,
}

impl Bench {
    fn new() -> Self {
        let ids = Arc::new(RandomIds::default());
        let store = Store::open(Location::Memory, Arc::new(SystemClock), ids.clone(), Arc::new(NoEvents)).unwrap();
        let bench = Self {
            worktree: tempfile::tempdir().unwrap(),
            store,
            session: SessionId::generate(ids.as_ref()),
            ids,
            config: Config::default(),
        };
        bench.add_session(&bench.session, None);
        bench
    }

    fn add_session(&self, id: &SessionId, parent: Option<&SessionId>) {
        let directory = self.worktree.path().to_str().unwrap().to_owned();
        let record = SessionRecord {
            id: id.clone(),
            worktree: directory.clone(),
            directory,
            parent_id: parent.cloned(),
            agent: "orchestrator".to_owned(),
            mode: SessionMode::Work,
            title: String::new(),
            state: SessionState::Active,
            time_created: 1,
            time_updated: 1,
        };
        let setup = SessionSetup {
            record,
            root_id: parent.unwrap_or(id).clone(),
            work_state: true,
            human_surface: true,
            profile: json!({}),
            config: json!({}),
        };
        self.store
            .write_blocking::<_, StoreError>(Durability::Ordered, move |tx| sessions::create(tx, &setup))
            .unwrap();
    }

    /// Withholds this output for a session, as a settled call does. Answers the path.
    fn withhold(&self, session: &SessionId, text: &str) -> String {
        let folder = Artifacts::new(self.worktree.path(), self.ids.clone());
        let limits = ToolOutputConfig { max_bytes: 1, max_lines: 1, tail_lines: 0 };
        let presenter = Presenter { limits, artifacts: &folder, session, accept_large: false };
        let presented = presenter.present("", Output::Text(text.to_owned()), "");
        self.record(session, presented.artifacts[0].clone())
    }

    fn record(&self, session: &SessionId, artifact: NewArtifact) -> String {
        let (owner, path) = (session.clone(), artifact.path.clone());
        self.store
            .write_blocking::<_, StoreError>(Durability::Ordered, move |tx| artifacts::record(tx, &owner, &artifact))
            .unwrap();
        path
    }

    fn context(&self) -> CallContext {
        let session = SessionContext {
            config: Arc::new(self.config.clone()),
            ..SessionContext::new(self.session.clone(), self.worktree.path().to_owned())
        };
        let services = Services::new(self.store.clone(), Arc::new(NoHost), Arc::new(SystemClock), self.ids.clone());
        CallContext {
            session: Arc::new(session),
            services: Arc::new(services),
            message_id: MessageId::from("msg_1"),
            call_id: CallId::from("call_1"),
            turn_id: TurnId::from("turn_1"),
            cycle_id: CycleId::from("cyc_1"),
            cancel: CancellationToken::new(),
            accept_large_output: false,
        }
    }

    async fn call(&self, arguments: Value) -> Result<ToolOutput, ToolError> {
        let prepared = Bg.prepare(self.context(), object(arguments)).await?;
        assert!(prepared.asks.iter().all(|ask| ask.key == "bg" && ask.implicit));
        let Body::Run(run) = prepared.body else { panic!("bg runs") };
        run().await
    }

    /// A window: its text and its facts.
    async fn window(&self, arguments: Value) -> (String, Value) {
        let output = self.call(arguments).await.unwrap();
        let Output::Window(text) = output.output else { panic!("not a window") };
        (text, output.metadata["toolOutputArtifact"].clone())
    }
}

fn object(value: Value) -> JsonMap {
    value.as_object().unwrap().clone()
}

fn read(path: &str, more: Value) -> Value {
    let mut arguments = object(json!({"action": "artifact", "outputPath": path}));
    arguments.extend(object(more));
    arguments.into()
}

fn refusal(result: Result<ToolOutput, ToolError>) -> (String, Option<String>) {
    let error = result.expect_err("refused");
    assert_eq!(error.outcome(), Outcome::Blocked);
    match error.kind {
        ErrorKind::InvalidArgs { field, .. } => (error.code, field),
        other => panic!("{other:?}"),
    }
}

fn marked(bytes: usize) -> String {
    (0_usize..).flat_map(|mark| format!("{mark:015}\n").into_bytes()).take(bytes).map(char::from).collect()
}

// spec: BG-11
// spec: BG-15
#[tokio::test]
async fn a_mebibyte_comes_back_whole_one_window_per_call() {
    let bench = Bench::new();
    let text = marked(1 << 20);
    let path = bench.withhold(&bench.session, &text);
    for limit in [json!({}), json!({"limit": 51_200}), json!({"limit": 7_777})] {
        let (mut back, mut cursor) = (String::new(), json!(0));
        loop {
            let mut more = object(limit.clone());
            more.insert("cursor".to_owned(), cursor);
            let (window, facts) = bench.window(read(&path, more.into())).await;
            assert!(window.len() <= 51_200);
            back.push_str(&window);
            cursor = facts["cursor"].clone();
            if facts["hasMore"] == false {
                break;
            }
        }
        assert!(back == text);
    }
}

// spec: BG-14
// spec: BG-16
// spec: BG-28
#[tokio::test]
async fn a_window_says_where_it_lies() {
    let bench = Bench::new();
    let text = marked(1_000);
    let path = bench.withhold(&bench.session, &text);
    let (window, facts) = bench.window(read(&path, json!({"cursor": 100, "limit": 50}))).await;
    assert_eq!(window, text[100..150]);
    assert_eq!(
        facts,
        json!({"outputPath": path, "windowFrom": 100, "cursor": 150, "hasMore": true, "hasEarlier": true,
            "windowBytes": 50, "totalBytes": 1_000})
    );
    let (window, facts) = bench.window(read(&path, json!({"limit": 50}))).await;
    assert_eq!((window.as_str(), &facts["windowFrom"], &facts["hasEarlier"]), (&text[..50], &json!(0), &json!(false)));
    assert_eq!(facts["cursor"], 50);
    let (window, facts) = bench.window(read(&path, json!({"cursor": 5_000}))).await;
    assert_eq!(window, "");
    assert_eq!(
        (&facts["windowFrom"], &facts["cursor"], &facts["hasMore"]),
        (&json!(1_000), &json!(1_000), &json!(false))
    );
}

// spec: BG-17
// spec: BG-18
// spec: BG-19
#[tokio::test]
async fn the_window_is_bounded_by_its_own_limit_only() {
    let mut bench = Bench::new();
    let path = bench.withhold(&bench.session, &marked(102_400));
    for max_bytes in [1_000, 1_000_000] {
        bench.config.tool_output.max_bytes = max_bytes;
        assert_eq!(bench.window(read(&path, json!({}))).await.0.len(), 16_384);
        assert_eq!(bench.window(read(&path, json!({"limit": 51_200}))).await.0.len(), 51_200);
        assert_eq!(bench.window(read(&path, json!({"limit": 10_000_000}))).await.0.len(), 51_200);
    }
}

// spec: BG-21
#[tokio::test]
async fn a_window_of_a_huge_artifact_reads_only_itself() {
    let bench = Bench::new();
    let file = Artifacts::new(bench.worktree.path(), bench.ids.clone()).create(&bench.session).unwrap();
    let bytes = 64_u64 << 30;
    file.file.set_len(bytes).unwrap();
    let path = bench.record(&bench.session, NewArtifact { path: file.path.to_str().unwrap().to_owned(), bytes });
    let (window, facts) = bench.window(read(&path, json!({"cursor": bytes - 3}))).await;
    assert_eq!((window.len(), &facts["totalBytes"]), (3, &json!(bytes)));
}

// spec: BG-30
#[tokio::test]
async fn a_window_is_shown_as_it_is_and_names_its_artifact() {
    let bench = Bench::new();
    let path = bench.withhold(&bench.session, &marked(40_000));
    let output = bench.call(read(&path, json!({}))).await.unwrap();
    assert_eq!(output.metadata["outputPaths"], json!([path]));
    let folder = Artifacts::new(bench.worktree.path(), bench.ids.clone());
    let limits = ToolOutputConfig { max_bytes: 100, max_lines: 1, tail_lines: 0 };
    let presenter = Presenter { limits, artifacts: &folder, session: &bench.session, accept_large: false };
    let presented = presenter.present(&output.lead, output.output, &output.trail);
    assert!(presented.metadata.is_empty() && presented.artifacts.is_empty());
    let continuation = format!(
        "(bytes 0..16384 of 40000; more follows: bg {{\"action\":\"artifact\",\"outputPath\":\"{path}\",\"cursor\":16384}})"
    );
    assert_eq!(presented.text, marked(16_384) + &continuation);
    let last = bench.call(read(&path, json!({"cursor": 39_990}))).await.unwrap();
    assert_eq!(last.trail, "");
}

#[tokio::test]
async fn a_window_that_cuts_a_character_moves_no_offset() {
    let bench = Bench::new();
    let path = bench.withhold(&bench.session, "aé€z");
    let (first, facts) = bench.window(read(&path, json!({"limit": 2}))).await;
    assert_eq!((first.as_str(), &facts["cursor"]), ("a\u{fffd}", &json!(2)));
    let document = read_artifact(&bench.store, &bench.session, &path, Some(2), Some(3)).unwrap();
    let exact = base64::engine::general_purpose::STANDARD.decode(document["base64"].as_str().unwrap()).unwrap();
    assert_eq!(exact, &"aé€z".as_bytes()[2..5]);
}

// spec: BG-13
#[tokio::test]
async fn only_recorded_artifacts_of_the_session_and_its_children_are_read() {
    let bench = Bench::new();
    let [child, grandchild, stranger] = [(); 3].map(|()| SessionId::generate(bench.ids.as_ref()));
    bench.add_session(&child, Some(&bench.session));
    bench.add_session(&grandchild, Some(&child));
    bench.add_session(&stranger, None);
    for family in [&bench.session, &child, &grandchild] {
        let path = bench.withhold(family, "ours");
        assert_eq!(bench.window(read(&path, json!({}))).await.0, "ours");
    }
    let foreign = bench.withhold(&stranger, "theirs");
    let unrecorded = bench.worktree.path().join(".zuno/tool-output/tool_unrecorded");
    fs::write(&unrecorded, "x").unwrap();
    let dotted = foreign.replace("tool-output/", "tool-output/../tool-output/");
    for path in [foreign.as_str(), "/etc/passwd", unrecorded.to_str().unwrap(), &dotted, "tool_x"] {
        let refused = refusal(bench.call(read(path, json!({}))).await);
        assert_eq!(refused, ("unknown_artifact".to_owned(), Some("outputPath".to_owned())), "{path}");
    }
    let error = read_artifact(&bench.store, &bench.session, "/etc/passwd", None, None).unwrap_err();
    assert_eq!(error.code, "not_found.object");
}

#[tokio::test]
async fn a_damaged_artifact_is_uncertain() {
    let bench = Bench::new();
    let damages: [fn(&Path); 3] = [
        |path| fs::remove_file(path).unwrap(),
        |path| fs::write(path, "short").unwrap(),
        |path| {
            fs::remove_file(path).unwrap();
            std::os::unix::fs::symlink("/etc/passwd", path).unwrap();
        },
    ];
    for damage in damages {
        let path = bench.withhold(&bench.session, &marked(1_000));
        damage(Path::new(&path));
        // Also where bytes are left: they may not be the ones that were saved.
        for limit in [1_000, 2] {
            let error = bench.call(read(&path, json!({"limit": limit}))).await.unwrap_err();
            assert_eq!((error.outcome(), error.code.as_str()), (Outcome::Uncertain, "artifact_lost"));
        }
        let error = read_artifact(&bench.store, &bench.session, &path, None, None).unwrap_err();
        assert_eq!(error.code, "failed.operation");
    }
}

// spec: BG-12
// spec: BG-13
#[tokio::test]
async fn fields_are_held_against_the_action() {
    let bench = Bench::new();
    for (arguments, code, field) in [
        (json!({"action": "list", "cursor": 1}), "foreign_field", "cursor"),
        (json!({"action": "output", "taskID": "bgx_1", "outputPath": "/x"}), "foreign_field", "outputPath"),
        (json!({"action": "output", "taskID": "bgx_1", "timeout": 5}), "foreign_field", "timeout"),
        (json!({"action": "cancel", "taskID": "bgx_1", "limit": 5}), "foreign_field", "limit"),
        (json!({"action": "artifact", "outputPath": "/x", "taskID": "bgx_1"}), "foreign_field", "taskID"),
        (json!({"action": "artifact", "taskID": "bgx_1"}), "foreign_field", "taskID"),
        (json!({"action": "artifact"}), "missing_field", "outputPath"),
        (json!({"action": "wait"}), "missing_field", "taskID"),
        (json!({"action": "stop"}), "invalid_value", "action"),
        (json!({"action": "output", "taskID": "bgx_1"}), "unknown_task", "taskID"),
        (json!({"action": "wait", "taskID": "bgx_1", "timeout": 1}), "unknown_task", "taskID"),
        (json!({"action": "cancel", "taskID": "bgx_1"}), "unknown_task", "taskID"),
    ] {
        let refused = refusal(bench.call(arguments.clone()).await);
        assert_eq!(refused, (code.to_owned(), Some(field.to_owned())), "{arguments}");
    }
    let list = bench.call(json!({"action": "list"})).await.unwrap();
    assert_eq!(list.metadata["backgroundExecution"], json!({"executions": []}));
}

// spec: EFFECT-11
#[test]
fn inspections_are_read_only_and_cancel_is_not() {
    let inspection =
        Declarations { effect: Effect::ReadOnly, replay: Replay::Never, concurrency: Concurrency::ParallelSafe };
    for arguments in [
        json!({"action": "list"}),
        json!({"action": "output", "taskID": "bgx_1", "cursor": 0}),
        json!({"action": "wait", "taskID": "bgx_1"}),
        json!({"action": "artifact", "outputPath": "/x"}),
    ] {
        assert_eq!(Bg.classify(&object(arguments.clone())), inspection, "{arguments}");
    }
    for arguments in [
        json!({"action": "cancel", "taskID": "bgx_1"}),
        json!({"action": "list", "taskID": "bgx_1"}),
        json!({"action": "artifact"}),
        json!({"action": "read"}),
        json!({}),
    ] {
        assert_eq!(Bg.classify(&object(arguments.clone())), Declarations::STRICT, "{arguments}");
    }
}

#[test]
fn the_host_reads_exact_bytes_up_to_a_mebibyte() {
    let bench = Bench::new();
    let text = marked((1 << 20) + 10);
    let path = bench.withhold(&bench.session, &text);
    let document = read_artifact(&bench.store, &bench.session, &path, None, Some(u64::MAX)).unwrap();
    assert_eq!(document["windowBytes"], 1 << 20);
    assert_eq!(document["hasMore"], true);
    assert_eq!(document["text"].as_str().unwrap(), &text[..1 << 20]);
    let next = read_artifact(&bench.store, &bench.session, &path, document["cursor"].as_u64(), None).unwrap();
    assert_eq!(next["text"].as_str().unwrap(), &text[1 << 20..]);
}

#[test]
fn artifacts_go_with_their_session() {
    let bench = Bench::new();
    let path = bench.withhold(&bench.session, "two");
    let owner = bench.session.clone();
    let found = bench.store.read::<_, StoreError>(move |connection| artifacts::of_session(connection, &owner)).unwrap();
    assert_eq!(found.iter().map(|artifact| &artifact.path).collect::<Vec<_>>(), [&path]);
    let owner = bench.session.clone();
    bench.store.write_blocking::<_, StoreError>(Durability::Ordered, move |tx| sessions::delete(tx, &owner)).unwrap();
    assert!(read_artifact(&bench.store, &bench.session, &path, None, None).is_err());
}
