//! What a tool is to the dispatcher.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::host::{BoxFuture, Host};
use crate::store::StoreError;
use crate::text::rules::{Layers, Place};
use crate::types::{
    Ask, Attachment, CallId, Clock, Continuation, CycleId, Declarations, Effect, IdSource, InputId, JsonMap, MessageId,
    SessionId, ToolError, TurnId,
};
pub use crate::types::{Captured, Output};

/// A tool: its declarations and its thin body.
pub trait Tool: Send + Sync {
    /// The name models call.
    fn name(&self) -> &str;
    /// What the model is told.
    fn description(&self) -> &str;
    /// JSON Schema of the tool's own arguments; the common ones are added when it is published.
    fn input_schema(&self) -> &Value;
    /// The declarations shown in `tool.list`.
    fn declarations(&self) -> Declarations;
    /// The declarations of one call, from validated arguments.
    fn classify(&self, _arguments: &JsonMap) -> Declarations {
        self.declarations()
    }
    /// The permission key whose `deny` for `*` takes the tool out of the surface.
    fn permission_key(&self) -> &str {
        self.name()
    }
    /// Whether it is shown without being named by a profile or an agent.
    fn surface(&self) -> Surface {
        Surface::Default
    }
    /// Whether it belongs to a session of this kind: root or child, planning or working.
    fn fits(&self, _session: &SessionContext) -> bool {
        true
    }
    /// What is missing on this machine for the tool to work; then it is not shown, and a forced call says this.
    fn missing(&self, _session: &SessionContext, _services: &Services) -> Option<String> {
        None
    }
    /// Whether a call classified like this may run while the session plans.
    fn allowed_in_plan(&self, declared: Declarations) -> bool {
        matches!(declared.effect, Effect::ReadOnly | Effect::UserMediated)
    }
    /// How long an interrupted body may take to settle by itself before it is dropped.
    fn interrupt_grace(&self) -> Duration {
        Duration::from_secs(2)
    }
    /// Checks one call against the world and says what it needs permission for. Changes nothing: an error here is a
    /// refusal. What it resolves (a path, a program) is what the body later acts on; nothing is resolved again.
    fn prepare(&self, call: CallContext, arguments: JsonMap) -> BoxFuture<'static, Result<Prepared, ToolError>>;
}

/// Whether a tool is shown by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Surface {
    /// Shown.
    Default,
    /// Registered; shown when a profile or an agent names it.
    Slot,
}

/// The session a call belongs to.
#[derive(Debug)]
pub struct SessionContext {
    /// The session.
    pub id: SessionId,
    /// The session directory: authority root of the file tools. Canonical.
    pub workspace: PathBuf,
    /// The directory as the host spelled it, made absolute; may go through links.
    pub workspace_spelling: PathBuf,
    /// Root of the Git work tree that holds the workspace, or the workspace.
    pub worktree: PathBuf,
    /// The root of its session tree.
    pub root_id: SessionId,
    /// The active agent.
    pub agent: String,
    /// The agent's role runs commands without write access.
    pub read_only_agent: bool,
    /// The session plans: nothing is changed.
    pub plan_mode: bool,
    /// Has no parent.
    pub root: bool,
    /// Questions reach a person.
    pub human_surface: bool,
    /// The effective configuration of this session.
    pub config: Arc<Config>,
    /// The permission rules in force.
    pub layers: Arc<Layers>,
    /// Where their patterns are read.
    pub place: Arc<Place>,
}

impl SessionContext {
    /// A root session at work in a directory, with default configuration and the shipped rules.
    pub fn new(id: SessionId, workspace: PathBuf) -> Self {
        let place = Place { home: None, roots: vec![workspace.to_string_lossy().into_owned()] };
        Self {
            root_id: id.clone(),
            id,
            workspace_spelling: workspace.clone(),
            worktree: workspace.clone(),
            workspace,
            agent: "orchestrator".to_owned(),
            read_only_agent: false,
            plan_mode: false,
            root: true,
            human_surface: true,
            config: Arc::new(Config::default()),
            layers: Arc::new(Layers::over_shipped(&[], &[])),
            place: Arc::new(place),
        }
    }
}

/// Everything `prepare` and the body may use.
#[derive(Clone)]
pub struct CallContext {
    /// The session.
    pub session: Arc<SessionContext>,
    /// The rooms below.
    pub services: Arc<Services>,
    /// The message.
    pub message_id: MessageId,
    /// The call.
    pub call_id: CallId,
    /// The turn.
    pub turn_id: TurnId,
    /// The cycle.
    pub cycle_id: CycleId,
    /// Cancelled when the turn is interrupted or the runtime closes.
    pub cancel: CancellationToken,
    /// The caller asked for the complete output inline.
    pub accept_large_output: bool,
}

/// The rooms tools stand on.
pub struct Services {
    /// The durable store.
    pub store: crate::store::Store,
    /// The host's ports.
    pub host: Arc<dyn Host>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids.
    pub ids: Arc<dyn IdSource>,
    /// The `rg` behind `glob` and `grep`.
    pub ripgrep: crate::search::Ripgrep,
    /// The confinement of commands.
    pub sandbox: Arc<crate::sandbox::Sandbox>,
    /// Where live events go; `None` = nobody listens.
    pub live: Option<Live>,
    /// Questions to a person.
    pub questions: crate::question::QuestionPort,
}

/// Takes a live event: its session, its type, its fields.
pub type Live = Arc<dyn Fn(&SessionId, &str, Value) + Send + Sync>;

impl Services {
    /// The rooms over a store and a host.
    pub fn new(store: crate::store::Store, host: Arc<dyn Host>, clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>) -> Self {
        let questions = crate::question::QuestionPort::new(store.clone(), Arc::clone(&clock));
        Self {
            store,
            host,
            clock,
            ids,
            ripgrep: crate::search::Ripgrep::new(),
            sandbox: Arc::default(),
            questions,
            live: None,
        }
    }
}

/// A call that passed its checks and waits for permission.
pub struct Prepared {
    /// What has to be allowed, in the order `external_directory`, the tool's key, `git_metadata`. Empty = nothing.
    pub asks: Vec<Ask>,
    /// What a person is shown; made only when a person is asked.
    pub preview: Option<Box<dyn FnOnce() -> Value + Send>>,
    /// Facts for the permission request.
    pub facts: JsonMap,
    /// The body.
    pub body: Body,
}

/// A body that runs.
pub type RunBody = Box<dyn FnOnce() -> BoxFuture<'static, Result<ToolOutput, ToolError>> + Send>;
/// A body that only writes to the store; it settles in the transaction of its effect.
pub type StoreBody = Box<dyn FnOnce(&mut crate::store::Tx<'_>) -> Result<ToolOutput, ToolError> + Send>;

/// What happens once a call is allowed.
pub enum Body {
    /// Runs between the stamp and the settlement.
    Run(RunBody),
    /// Runs inside one transaction together with both.
    Store(StoreBody),
}

impl Body {
    /// A body from an async block.
    pub fn run<F>(body: impl FnOnce() -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
    {
        Self::Run(Box::new(move || Box::pin(body())))
    }
}

/// What a body answers. An `error` beside an output is for calls that end badly and still have something to show
/// (a cancelled command); everything else returns `Err`.
#[derive(Debug, Default)]
pub struct ToolOutput {
    /// One line for a transcript.
    pub title: String,
    /// Stands in front of the output, also when that is withheld.
    pub lead: String,
    /// What the model reads; subject to the output limits.
    pub output: Output,
    /// Stands behind the output, also when that is withheld.
    pub trail: String,
    /// Typed facts.
    pub metadata: JsonMap,
    /// Files that accompany the result.
    pub attachments: Vec<Attachment>,
    /// What the engine does next.
    pub continuation: Continuation,
    /// Inbox rows whose content this result is: taken out of the queue in the transaction that settles the call.
    pub claims: Vec<InputId>,
    /// How the call ended when it did not end well.
    pub error: Option<ToolError>,
    /// What has to become true together with the settlement.
    pub on_settle: Option<OnSettle>,
}

/// A change that is committed with the settlement of its call, and the facts it adds.
pub struct OnSettle(SettleChange);

type SettleChange = Box<dyn FnOnce(&mut crate::store::Tx<'_>, &mut JsonMap) -> Result<(), StoreError> + Send>;

impl OnSettle {
    /// A change for the settling transaction.
    pub fn new(
        change: impl FnOnce(&mut crate::store::Tx<'_>, &mut JsonMap) -> Result<(), StoreError> + Send + 'static,
    ) -> Self {
        Self(Box::new(change))
    }

    /// Makes it.
    ///
    /// # Errors
    /// The store's own failure; the settlement is given up with it.
    pub fn apply(self, tx: &mut crate::store::Tx<'_>, metadata: &mut JsonMap) -> Result<(), StoreError> {
        (self.0)(tx, metadata)
    }
}

impl std::fmt::Debug for OnSettle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OnSettle")
    }
}

impl ToolOutput {
    /// Plain text with a title.
    pub fn text(title: impl Into<String>, output: impl Into<String>) -> Self {
        Self { title: title.into(), output: Output::Text(output.into()), ..Self::default() }
    }

    /// The same result with one more fact.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.to_owned(), value.into());
        self
    }
}
