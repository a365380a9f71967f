//! Describing a runtime before it is opened.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::handlers::{Approval, CommandEnvironment, EnvironmentChange, Handlers, HostAnswer, HostCall, HostFailure};
use super::{Inner, Runtime};
use crate::host::{Host, Port};
use crate::runtime::{Kernel, Options};
use crate::store::Location;
use crate::tools::host_tool::HostToolSpec;
use crate::types::{Clock, Error, IdSource, PermissionRequest, RandomIds, Result, SystemClock};

/// A runtime that is not open yet.
pub struct Builder {
    database: Option<Location>,
    config: Option<Value>,
    read_global: bool,
    read_environment: bool,
    read_project: bool,
    workers: usize,
    handlers: Handlers,
    tools: Vec<HostToolSpec>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
}

impl Builder {
    pub(super) fn new() -> Self {
        Self {
            database: None,
            config: None,
            read_global: false,
            read_environment: false,
            read_project: false,
            workers: 2,
            handlers: Handlers::default(),
            tools: Vec::new(),
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds::default()),
        }
    }

    /// Keeps everything in this file; its folder must exist.
    #[must_use]
    pub fn store(mut self, path: impl Into<PathBuf>) -> Self {
        self.database = Some(Location::File(path.into()));
        self
    }

    /// Keeps nothing after the runtime is closed.
    #[must_use]
    pub fn in_memory(mut self) -> Self {
        self.database = Some(Location::Memory);
        self
    }

    /// The explicit configuration document.
    #[must_use]
    pub fn config(mut self, document: Value) -> Self {
        self.config = Some(document);
        self
    }

    /// Reads the global configuration file, the environment's variables, and each worktree's project file.
    #[must_use]
    pub fn read(mut self, global: bool, environment: bool, project: bool) -> Self {
        (self.read_global, self.read_environment, self.read_project) = (global, environment, project);
        self
    }

    /// Threads that drive futures; default 2.
    #[must_use]
    pub fn worker_threads(mut self, count: usize) -> Self {
        self.workers = count.max(1);
        self
    }

    /// Time and ids from somewhere else, for tests.
    #[must_use]
    pub fn sources(mut self, clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>) -> Self {
        (self.clock, self.ids) = (clock, ids);
        self
    }

    /// Decides permission requests. May take as long as it likes.
    #[must_use]
    pub fn approve<F, Fut>(mut self, decide: F) -> Self
    where
        F: Fn(PermissionRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Approval> + Send + 'static,
    {
        self.handlers.approve(decide);
        self
    }

    /// Has the last word on what a command sees.
    #[must_use]
    pub fn environment<F, Fut>(mut self, decide: F) -> Self
    where
        F: Fn(CommandEnvironment) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = EnvironmentChange> + Send + 'static,
    {
        self.handlers.environment(decide);
        self
    }

    /// Registers a tool of the host.
    #[must_use]
    pub fn tool<F, Fut>(mut self, spec: HostToolSpec, body: F) -> Self
    where
        F: Fn(HostCall) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = std::result::Result<HostAnswer, HostFailure>> + Send + 'static,
    {
        self.handlers.tool(&spec.name, body);
        self.tools.push(spec);
        self
    }

    /// Opens it.
    ///
    /// # Errors
    /// `arguments.*`, `store.*`; nothing is open then.
    pub fn open(self) -> Result<Runtime> {
        let threads = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(self.workers)
            .thread_name("zuno-worker")
            .enable_all()
            .build()
            .map_err(|error| Error::new("failed.operation", format!("No threads could be started: {error}.")))?;
        let host: Arc<dyn Host> = Arc::new(self.handlers);
        debug_assert!(self.tools.is_empty() || host.installed(Port::HostTool));
        let options = Options {
            database: self.database,
            host,
            config: self.config,
            read_global: self.read_global,
            read_environment: self.read_environment,
            read_project: self.read_project,
            environment: std::env::vars_os().collect(),
            clock: self.clock,
            ids: self.ids,
        };
        let _inside = threads.enter();
        let kernel = Kernel::open(options)?;
        for tool in self.tools {
            kernel.dispatcher().registry.register(tool)?;
        }
        drop(_inside);
        Ok(Runtime { inner: Arc::new(Inner { kernel, threads: Some(threads) }) })
    }
}
