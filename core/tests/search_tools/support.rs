//! A workspace, the two tools over it, and stand-ins for `rg`.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use zuno::config::Config;
use zuno::host::NoHost;
use zuno::store::{Location, NoEvents, Store};
use zuno::text::rules::{Layers, Place};
use zuno::tools::contract::{Body, CallContext, Output, Prepared, Services, SessionContext, Tool, ToolOutput};
use zuno::tools::{glob::Glob, grep::Grep};
use zuno::types::{CycleId, JsonMap, MessageId, RandomIds, SessionId, SystemClock, ToolError, TurnId};

/// The real `rg`.
pub(crate) fn rg() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let named = std::env::var_os("ZUNO_TEST_RG").map(PathBuf::from);
    let found = std::env::split_paths(&path).map(|directory| directory.join("rg"));
    named
        .into_iter()
        .chain(found)
        .find(|candidate| candidate.is_file())
        .expect("these tests run the real ripgrep and found none: run `make setup`, or set ZUNO_TEST_RG")
}

/// A workspace with one runtime's services.
pub(crate) struct Bench {
    folder: tempfile::TempDir,
    workspace: PathBuf,
    pub(crate) config: Config,
    services: Arc<Services>,
    pub(crate) cancel: CancellationToken,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().canonicalize().unwrap().join("workspace");
        std::fs::create_dir(&workspace).unwrap();
        let config = Config { ripgrep_path: Some(rg()), ..Config::default() };
        Self { folder, workspace, config, services: services(), cancel: CancellationToken::new() }
    }

    /// A bench with one small file `a.txt` that holds `needle`, driven by a shell script in place of `rg`.
    pub(crate) fn with_script(body: &str) -> Self {
        let mut bench = Self::new();
        bench.write("a.txt", "needle\n");
        bench.config.ripgrep_path = Some(bench.script("rg", body));
        bench
    }

    pub(crate) fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// The folder around the workspace.
    pub(crate) fn around(&self) -> &Path {
        self.workspace.parent().unwrap_or(self.folder.path())
    }

    pub(crate) fn path(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.workspace.join(Path::new(name.as_ref()))
    }

    /// The absolute path as text.
    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn write(&self, name: impl AsRef<OsStr>, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn chmod(&self, name: &str, mode: u32) {
        std::fs::set_permissions(self.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
    }

    /// A shell script beside the workspace. It is written by another process, so that no descriptor of this one can
    /// be open for writing when it is run.
    pub(crate) fn script(&self, name: &str, body: &str) -> PathBuf {
        let path = self.around().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = format!("#!/bin/sh\n{body}\n");
        let status = Command::new("/bin/sh")
            .args(["-c", "printf %s \"$1\" > \"$2\" && chmod 755 \"$2\"", "sh", &text])
            .arg(&path)
            .env("PATH", "/usr/bin:/bin")
            .status()
            .unwrap();
        assert!(status.success());
        path
    }

    pub(crate) fn session(&self) -> Arc<SessionContext> {
        let id = SessionId::generate(&*self.services.ids);
        let permission = &self.config.permission;
        Arc::new(SessionContext {
            id: id.clone(),
            root_id: id,
            agent: "build".to_owned(),
            read_only_agent: false,
            layers: Arc::new(Layers::over_shipped(&permission.rules, &permission.narrowing)),
            place: Arc::new(Place { home: None, roots: vec![self.workspace.display().to_string()] }),
            workspace: self.workspace.clone(),
            workspace_spelling: self.workspace.clone(),
            worktree: self.workspace.clone(),
            plan_mode: false,
            root: true,
            human_surface: true,
            config: Arc::new(self.config.clone()),
        })
    }

    pub(crate) fn context(&self) -> CallContext {
        let ids = &*self.services.ids;
        CallContext {
            session: self.session(),
            services: Arc::clone(&self.services),
            message_id: MessageId::generate(ids),
            call_id: "call_1".into(),
            turn_id: TurnId::generate(ids),
            cycle_id: CycleId::generate(ids),
            cancel: self.cancel.clone(),
            accept_large_output: false,
        }
    }

    pub(crate) async fn prepare(&self, tool: &dyn Tool, arguments: Value) -> Result<Prepared, ToolError> {
        tool.prepare(self.context(), object(arguments)).await
    }

    async fn call(&self, tool: &dyn Tool, arguments: Value) -> Result<ToolOutput, ToolError> {
        match self.prepare(tool, arguments).await?.body {
            Body::Run(body) => body().await,
            Body::Store(_) => panic!("a search writes nothing"),
        }
    }

    pub(crate) async fn glob(&self, arguments: Value) -> Result<ToolOutput, ToolError> {
        self.call(&Glob, arguments).await
    }

    pub(crate) async fn grep(&self, arguments: Value) -> Result<ToolOutput, ToolError> {
        self.call(&Grep, arguments).await
    }

    /// The paths glob finds.
    pub(crate) async fn paths(&self, arguments: Value) -> Vec<String> {
        strings(&self.glob(arguments).await.unwrap().metadata["paths"])
    }

    /// The files grep finds matches in.
    pub(crate) async fn files(&self, arguments: Value) -> Vec<String> {
        strings(&self.grep(arguments).await.unwrap().metadata["files"])
    }

    pub(crate) fn texts(&self, names: &[&str]) -> Vec<String> {
        names.iter().map(|name| self.text(name)).collect()
    }
}

fn services() -> Arc<Services> {
    let (clock, ids) = (Arc::new(SystemClock), Arc::new(RandomIds::default()));
    let store = Store::open(Location::Memory, clock.clone(), ids.clone(), Arc::new(NoEvents)).unwrap();
    Arc::new(Services::new(store, Arc::new(NoHost), clock, ids))
}

pub(crate) fn object(value: Value) -> JsonMap {
    value.as_object().unwrap().clone()
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect()
}

/// What the model reads.
pub(crate) fn shown(output: &ToolOutput) -> &str {
    match &output.output {
        Output::Text(text) => text,
        other => panic!("not a text: {other:?}"),
    }
}

/// A file that can be read line by line by whoever wrote it in a script.
pub(crate) fn lines_of(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

const CHILD: &str = "ZUNO_TEST_CHILD";

/// Whether this process is the one in which a test really runs, after [`in_child`].
fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Runs the test of that name again in a process of its own, with other circumstances. `true` = this is that process.
pub(crate) fn in_child(test: &str, circumstances: impl FnOnce(Command) -> Command) -> bool {
    if is_child() {
        return true;
    }
    let mut command = circumstances(Command::new(std::env::current_exe().unwrap()));
    command.env(CHILD, "1").env("ZUNO_TEST_RG", rg());
    let output = command.args([test, "--exact", "--nocapture"]).stdin(Stdio::null()).output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("1 passed"), "in the child process:\n{text}");
    false
}

/// The same, as a process that file modes bind. Root passes every mode; without two capabilities it does not.
pub(crate) fn as_ordinary_user(test: &str) -> bool {
    in_child(test, |command| {
        if !passes_every_mode() {
            return command;
        }
        let mut bound = Command::new("setpriv");
        bound.arg("--bounding-set=-dac_override,-dac_read_search").arg(command.get_program());
        bound
    })
}

fn passes_every_mode() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let bits = status.lines().find_map(|line| line.strip_prefix("CapEff:\t")).unwrap();
    u64::from_str_radix(bits, 16).unwrap() & 0b110 != 0
}
