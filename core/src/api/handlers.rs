//! The host's side as closures.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::host::{BoxFuture, Host, Port};
use crate::types::{Attachment, CallId, Continuation, Error, JsonMap, MessageId, PermissionRequest, Result, SessionId};

/// A decision about a permission request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approval {
    /// This call only.
    Once,
    /// This call, and what it offered for the rest of the session.
    Always,
    /// No, with a reason for the model.
    Reject(String),
}

/// What a command would see, before the host has its say.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandEnvironment {
    /// The session.
    pub session_id: SessionId,
    /// The call.
    pub call_id: CallId,
    /// The command.
    pub command: String,
    /// Where it runs.
    pub workdir: String,
    /// What it would see.
    pub env: BTreeMap<String, String>,
}

/// What a host changes about it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct EnvironmentChange {
    /// Variables to set.
    pub set: BTreeMap<String, String>,
    /// Variables to remove.
    pub remove: Vec<String>,
}

/// A call of a host tool.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostCall {
    /// The tool.
    pub tool: String,
    /// The session.
    pub session_id: SessionId,
    /// The message.
    pub message_id: MessageId,
    /// The call.
    pub call_id: CallId,
    /// The checked arguments.
    pub arguments: JsonMap,
    /// Cancelled when the answer is no longer wanted.
    #[serde(skip)]
    pub cancel: CancellationToken,
}

/// What a host tool answers.
#[derive(Clone, Debug, Default, Serialize)]
pub struct HostAnswer {
    /// One line for a transcript; default the tool's name.
    pub title: Option<String>,
    /// What the model reads.
    pub output: String,
    /// Typed facts.
    pub metadata: JsonMap,
    /// Files.
    pub attachments: Vec<Attachment>,
    /// What the engine does next.
    pub continuation: Continuation,
}

impl From<String> for HostAnswer {
    fn from(output: String) -> Self {
        Self { output, ..Self::default() }
    }
}

/// How a host tool fails.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostFailure {
    /// An error kind, such as `Failed`, `InvalidArgs`, `Transient`, `Uncertain`.
    pub kind: String,
    /// A stable word.
    pub code: Option<String>,
    /// A sentence.
    pub message: String,
    /// Paths seen to have changed.
    pub applied_paths: Vec<String>,
}

impl HostFailure {
    /// A plain failure.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { kind: "Failed".to_owned(), code: None, message: message.into(), applied_paths: Vec::new() }
    }
}

type Handler = Arc<dyn Fn(Value, CancellationToken) -> BoxFuture<'static, Result<Value>> + Send + Sync>;

/// Closures by port.
#[derive(Default)]
pub(super) struct Handlers {
    ports: HashMap<Port, Handler>,
    tools: HashMap<String, Handler>,
}

impl Handlers {
    pub(super) fn approve<F, Fut>(&mut self, decide: F)
    where
        F: Fn(PermissionRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Approval> + Send + 'static,
    {
        let handler: Handler = Arc::new(move |payload, _| match read(payload) {
            Ok(request) => {
                let deciding = decide(request);
                Box::pin(async move {
                    Ok(match deciding.await {
                        Approval::Once => json!({ "reply": "once" }),
                        Approval::Always => json!({ "reply": "always" }),
                        Approval::Reject(reason) => json!({ "reply": "reject", "message": reason }),
                    })
                })
            }
            Err(error) => Box::pin(async move { Err(error) }),
        });
        self.ports.insert(Port::Approval, handler);
    }

    pub(super) fn environment<F, Fut>(&mut self, decide: F)
    where
        F: Fn(CommandEnvironment) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = EnvironmentChange> + Send + 'static,
    {
        let handler: Handler = Arc::new(move |payload, _| match read(payload) {
            Ok(command) => {
                let deciding = decide(command);
                Box::pin(async move { write(&deciding.await) })
            }
            Err(error) => Box::pin(async move { Err(error) }),
        });
        self.ports.insert(Port::Environment, handler);
    }

    pub(super) fn tool<F, Fut>(&mut self, name: &str, body: F)
    where
        F: Fn(HostCall) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = std::result::Result<HostAnswer, HostFailure>> + Send + 'static,
    {
        let handler: Handler = Arc::new(move |payload, cancel| match read::<HostCall>(payload) {
            Ok(call) => {
                let running = body(HostCall { cancel, ..call });
                Box::pin(async move {
                    match running.await {
                        Ok(answer) => write(&answer),
                        Err(failure) => Ok(json!({ "error": write(&failure)? })),
                    }
                })
            }
            Err(error) => Box::pin(async move { Err(error) }),
        });
        self.tools.insert(name.to_owned(), handler);
    }

    fn handler(&self, port: Port, payload: &Value) -> Option<&Handler> {
        match port {
            Port::HostTool => payload.get("tool").and_then(Value::as_str).and_then(|name| self.tools.get(name)),
            other => self.ports.get(&other),
        }
    }
}

fn read<T: serde::de::DeserializeOwned>(payload: Value) -> Result<T> {
    serde_json::from_value(payload)
        .map_err(|error| Error::new("internal.panic", format!("A request has an unexpected form: {error}.")))
}

fn write<T: Serialize>(answer: &T) -> Result<Value> {
    serde_json::to_value(answer)
        .map_err(|error| Error::new("host.failed", format!("The answer cannot be written as JSON: {error}.")))
}

impl Host for Handlers {
    fn installed(&self, port: Port) -> bool {
        if port == Port::HostTool { !self.tools.is_empty() } else { self.ports.contains_key(&port) }
    }

    fn ask(&self, port: Port, payload: Value, cancel: CancellationToken) -> BoxFuture<'static, Result<Value>> {
        let Some(handler) = self.handler(port, &payload) else {
            let text = format!("No handler of the `{}` port is installed.", port.name());
            return Box::pin(async move { Err(Error::new("host.unsupported", text)) });
        };
        let running = handler(payload, cancel.clone());
        Box::pin(async move {
            // A task of its own: a handler that panics fails its request and nothing else.
            let mut task = tokio::spawn(running);
            tokio::select! {
                answer = &mut task => answer.unwrap_or_else(|_| {
                    Err(Error::new("host.failed", "The host's handler panicked."))
                }),
                () = cancel.cancelled() => {
                    Err(Error::new("failed.canceled", "The answer was no longer wanted: the call was cancelled."))
                }
            }
        })
    }
}
