//! `bg`: background executions, and windows of output that is not in the transcript.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::contract::{Body, CallContext, Output, Prepared, Tool, ToolOutput};
use crate::host::BoxFuture;
use crate::output::{self, ArtifactWindow};
use crate::text::windows::{MODEL_CEILING, effective_limit};
use crate::types::{Ask, Concurrency, Declarations, Effect, JsonMap, Replay, ToolError};

static SCHEMA: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("schemas/bg.json")).unwrap_or_default());

const DESCRIPTION: &str = "Read output that is not in the transcript, and look after commands that outlive their call. \
    A background command reports its end by itself: do not poll for it. Use wait only when the next step needs the \
    result now. output and wait without a cursor return the newest bytes; artifact starts at byte 0. Every result \
    names the cursor of the next window. Reading never runs anything again.";

const INSPECTION: Declarations =
    Declarations { effect: Effect::ReadOnly, replay: Replay::Never, concurrency: Concurrency::ParallelSafe };

/// Background executions and withheld output.
#[derive(Debug, Default)]
pub struct Bg;

impl Tool for Bg {
    fn name(&self) -> &str {
        "bg"
    }

    fn description(&self) -> &str {
        DESCRIPTION
    }

    fn input_schema(&self) -> &Value {
        &SCHEMA
    }

    fn declarations(&self) -> Declarations {
        Declarations::STRICT
    }

    fn classify(&self, arguments: &JsonMap) -> Declarations {
        match Request::read(arguments) {
            Ok(Request::Cancel { .. }) | Err(_) => Declarations::STRICT,
            Ok(_) => INSPECTION,
        }
    }

    fn prepare(&self, call: CallContext, arguments: JsonMap) -> BoxFuture<'static, Result<Prepared, ToolError>> {
        Box::pin(async move { prepare(call, Request::read(&arguments)?).await })
    }
}

/// One operation with its fields.
#[derive(Debug, PartialEq, Eq)]
enum Request {
    List,
    Output { task: String },
    Wait { task: String },
    Cancel { task: String },
    Artifact { path: String, cursor: Option<u64>, limit: u64 },
}

/// An operation, the field it requires and the fields it allows beside it.
const OPERATIONS: &[(&str, Option<&str>, &[&str])] = &[
    ("list", None, &[]),
    ("output", Some("taskID"), &["cursor", "limit"]),
    ("wait", Some("taskID"), &["cursor", "limit", "timeout"]),
    ("cancel", Some("taskID"), &[]),
    ("artifact", Some("outputPath"), &["cursor", "limit"]),
];

impl Request {
    fn read(arguments: &JsonMap) -> Result<Self, ToolError> {
        let action = text(arguments, "action").unwrap_or_default();
        let (action, required) = check_fields(arguments, &action)?;
        let task = required.clone();
        Ok(match action {
            "list" => Self::List,
            "output" => Self::Output { task },
            "wait" => Self::Wait { task },
            "cancel" => Self::Cancel { task },
            _ => Self::Artifact {
                path: required,
                cursor: number(arguments, "cursor"),
                limit: effective_limit(number(arguments, "limit"), MODEL_CEILING),
            },
        })
    }

    fn action(&self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Output { .. } => "output",
            Self::Wait { .. } => "wait",
            Self::Cancel { .. } => "cancel",
            Self::Artifact { .. } => "artifact",
        }
    }
}

/// Holds the fields against the operation; answers the operation and the value of its required field.
fn check_fields(arguments: &JsonMap, action: &str) -> Result<(&'static str, String), ToolError> {
    let Some((name, required, allowed)) = OPERATIONS.iter().find(|(name, ..)| *name == action) else {
        let message = "`action` has to be one of list, output, wait, cancel, artifact.";
        return Err(ToolError::invalid_field("invalid_value", "action", None, message));
    };
    let known = |field: &str| field == "action" || Some(field) == *required || allowed.contains(&field);
    if let Some(field) = arguments.keys().find(|field| !known(field)) {
        let fields: Vec<&str> = required.iter().chain(allowed.iter()).copied().collect();
        let takes = if fields.is_empty() { "no other field".to_owned() } else { fields.join(", ") };
        let message = format!("`{field}` does not belong to the action {name}, which takes {takes}.");
        return Err(ToolError::invalid_field("foreign_field", field, None, message));
    }
    let Some(field) = required else { return Ok((name, String::new())) };
    match text(arguments, field) {
        Some(value) => Ok((name, value)),
        None => {
            let message = format!("The action {name} needs `{field}`.");
            Err(ToolError::invalid_field("missing_field", field, None, message))
        }
    }
}

fn text(arguments: &JsonMap, field: &str) -> Option<String> {
    arguments.get(field).and_then(Value::as_str).map(str::to_owned)
}

/// A schema takes 5.0 for an integer as well.
fn number(arguments: &JsonMap, field: &str) -> Option<u64> {
    let value = arguments.get(field)?;
    value.as_u64().or_else(|| value.as_f64().map(|number| number as u64))
}

async fn prepare(call: CallContext, request: Request) -> Result<Prepared, ToolError> {
    let asks = vec![Ask::one("bg", request.action()).implicit()];
    let body = match request {
        Request::List => Body::run(|| async { Ok(no_executions()) }),
        Request::Output { task } | Request::Wait { task } | Request::Cancel { task } => {
            return Err(unknown_task(&task));
        }
        Request::Artifact { path, cursor, limit } => artifact(call, path, cursor, limit).await?,
    };
    Ok(Prepared { asks, preview: None, facts: JsonMap::new(), body })
}

fn no_executions() -> ToolOutput {
    ToolOutput::text("bg list", "No background executions.").with("backgroundExecution", json!({ "executions": [] }))
}

fn unknown_task(task: &str) -> ToolError {
    let message = format!(
        "{task} is no background execution of this session. bg {{\"action\":\"list\"}} lists them; withheld output is \
         read with the action artifact."
    );
    ToolError::invalid_field("unknown_task", "taskID", None, message)
}

async fn artifact(call: CallContext, path: String, cursor: Option<u64>, limit: u64) -> Result<Body, ToolError> {
    let (store, session) = (call.services.store.clone(), call.session.id.clone());
    let artifact = blocking(move || output::find_artifact(&store, &session, &path)).await??;
    Ok(Body::run(move || async move {
        Ok(present(blocking(move || output::artifact_window(&artifact, cursor, limit)).await??))
    }))
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ToolError> {
    let stopped = |_| ToolError::failed("stopped", "The read was stopped before it ended; try again.");
    tokio::task::spawn_blocking(work).await.map_err(stopped)
}

fn present(window: ArtifactWindow) -> ToolOutput {
    let facts = window.facts();
    let (range, path) = (window.window, window.path.clone());
    let trail = if range.has_more() {
        let next = json!({ "action": "artifact", "outputPath": path, "cursor": range.end });
        format!("(bytes {}..{} of {}; more follows: bg {next})", range.from, range.end, range.total)
    } else {
        String::new()
    };
    let title = format!("bytes {}..{} of {path}", range.from, range.end);
    ToolOutput { title, output: Output::Window(window.into_text()), trail, ..ToolOutput::default() }
        .with("toolOutputArtifact", facts)
        .with("outputPaths", json!([path]))
}
