//! A session on a temporary workspace, and calls of its file tools without the dispatcher.

#![allow(dead_code, reason = "every test binary uses a part of it")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use zuno::config::Config;
use zuno::host::NoHost;
use zuno::store::sessions::{self, SessionMode, SessionRecord, SessionSetup, SessionState};
use zuno::store::{Durability, Location, NoEvents, Store, StoreError};
use zuno::tools::contract::{Body, CallContext, Output, Prepared, Services, SessionContext, Tool, ToolOutput};
use zuno::tools::{read::Read, write::Write};
use zuno::types::{CallId, CycleId, JsonMap, MessageId, RandomIds, SessionId, SystemClock, ToolError, TurnId};

pub(crate) struct Bench {
    _folder: tempfile::TempDir,
    pub(crate) top: PathBuf,
    pub(crate) ws: PathBuf,
    pub(crate) session: Arc<SessionContext>,
    pub(crate) services: Arc<Services>,
    pub(crate) cancel: CancellationToken,
}

/// Nobody is asked: the body runs, whatever the call asked for.
pub(crate) type Outcome = Result<ToolOutput, ToolError>;

impl Bench {
    pub(crate) fn new() -> Self {
        Self::build(Location::Memory, |top| top.join("ws"), Config::default())
    }

    /// The session directory is given through a link.
    pub(crate) fn through_alias() -> Self {
        let build = |top: &Path| {
            std::os::unix::fs::symlink(top.join("ws"), top.join("alias")).unwrap();
            top.join("alias")
        };
        Self::build(Location::Memory, build, Config::default())
    }

    pub(crate) fn with_config(config: Config) -> Self {
        Self::build(Location::Memory, |top| top.join("ws"), config)
    }

    /// The database lies in the workspace.
    pub(crate) fn on_disk() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        std::fs::create_dir(top.join("ws")).unwrap();
        let location = Location::File(top.join("ws/zuno.db"));
        Self::assemble(folder, top, location, |top| top.join("ws"), Config::default())
    }

    fn build(location: Location, spelling: impl FnOnce(&Path) -> PathBuf, config: Config) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        std::fs::create_dir(top.join("ws")).unwrap();
        Self::assemble(folder, top, location, spelling, config)
    }

    fn assemble(
        folder: tempfile::TempDir,
        top: PathBuf,
        location: Location,
        spelling: impl FnOnce(&Path) -> PathBuf,
        config: Config,
    ) -> Self {
        let clock = Arc::new(SystemClock);
        let ids = Arc::new(RandomIds::default());
        let store = Store::open(location, clock.clone(), ids.clone(), Arc::new(NoEvents)).unwrap();
        let spelling = spelling(&top);
        let ws = top.join("ws");
        let session = Arc::new(SessionContext {
            workspace_spelling: spelling,
            config: Arc::new(config),
            ..SessionContext::new(new_session(&store, &ws), ws.clone())
        });
        let services = Arc::new(Services::new(store, Arc::new(NoHost), clock, ids));
        Self { _folder: folder, top, ws, session, services, cancel: CancellationToken::new() }
    }

    /// The same runtime in another session.
    pub(crate) fn other_session(&self) -> SessionContext {
        SessionContext::new(new_session(&self.services.store, &self.ws), self.ws.clone())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.ws.join(name)
    }

    pub(crate) fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn context(&self) -> CallContext {
        CallContext {
            session: self.session.clone(),
            services: self.services.clone(),
            message_id: MessageId::from("msg_1"),
            call_id: CallId::from("call_1"),
            turn_id: TurnId::from("turn_1"),
            cycle_id: CycleId::from("cyc_1"),
            cancel: self.cancel.clone(),
            accept_large_output: false,
        }
    }

    pub(crate) async fn prepare(&self, tool: &dyn Tool, arguments: Value) -> Result<Prepared, ToolError> {
        let Value::Object(arguments) = arguments else { panic!("not an object") };
        tool.prepare(self.context(), arguments).await
    }

    pub(crate) async fn read(&self, path: &str) -> Outcome {
        self.read_with(json!({ "filePath": path })).await
    }

    pub(crate) async fn read_with(&self, arguments: Value) -> Outcome {
        self.settled(self.prepare(&Read, arguments).await?).await
    }

    pub(crate) async fn settled(&self, prepared: Prepared) -> Outcome {
        self.settle(run(prepared).await?).await
    }

    /// Makes what has to become true with the settlement.
    async fn settle(&self, mut output: ToolOutput) -> Outcome {
        if let Some(change) = output.on_settle.take() {
            let mut metadata = std::mem::take(&mut output.metadata);
            let store = &self.services.store;
            let settled = store.write::<_, StoreError>(Durability::Ordered, move |tx| {
                change.apply(tx, &mut metadata)?;
                Ok(metadata)
            });
            output.metadata = settled.await?;
        }
        Ok(output)
    }

    pub(crate) async fn prepare_write(&self, path: &str, content: &str) -> Result<Prepared, ToolError> {
        self.prepare(&Write, json!({ "filePath": path, "content": content })).await
    }

    pub(crate) async fn write(&self, path: &str, content: &str) -> Outcome {
        run(self.prepare_write(path, content).await?).await
    }

    /// Names left behind that are not among the expected ones.
    pub(crate) fn names(&self, folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

fn new_session(store: &Store, ws: &Path) -> SessionId {
    let id = SessionId::generate(&RandomIds::default());
    let record = SessionRecord {
        id: id.clone(),
        directory: ws.to_string_lossy().into_owned(),
        worktree: ws.to_string_lossy().into_owned(),
        parent_id: None,
        agent: "build".into(),
        mode: SessionMode::Work,
        title: String::new(),
        state: SessionState::Active,
        time_created: 1,
        time_updated: 1,
    };
    let setup = SessionSetup {
        root_id: id.clone(),
        record,
        work_state: true,
        human_surface: true,
        profile: json!({}),
        config: json!({}),
    };
    store.write_blocking::<(), StoreError>(Durability::Ordered, move |tx| sessions::create(tx, &setup)).unwrap();
    id
}

pub(crate) async fn run(prepared: Prepared) -> Outcome {
    match prepared.body {
        Body::Run(body) => body().await,
        Body::Store(_) => panic!("a store body"),
    }
}

pub(crate) fn text(output: &ToolOutput) -> &str {
    match &output.output {
        Output::Text(text) | Output::Window(text) => text,
        Output::Captured(_) => panic!("captured output"),
    }
}

pub(crate) fn code(outcome: Outcome) -> String {
    match outcome {
        Err(error) => error.code,
        Ok(output) => output.error.expect("the call went well").code,
    }
}

pub(crate) fn conflict(outcome: Outcome) -> Value {
    let error = outcome.expect_err("the call went well");
    let json = serde_json::to_value(&error).unwrap();
    assert_eq!(json["kind"], "MutationConflict");
    assert_eq!(json["code"], json["conflict"]["kind"]);
    json["conflict"].clone()
}

pub(crate) fn sha(bytes: impl AsRef<[u8]>) -> String {
    zuno::text::fingerprint::sha256_hex(bytes.as_ref())
}

pub(crate) fn object(value: Value) -> JsonMap {
    value.as_object().unwrap().clone()
}
