//! A tool that the host registered: its declarations come with it, its body is a request to the host.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::contract::{Body, CallContext, Prepared, Services, SessionContext, Surface, Tool, ToolOutput};
use crate::host::{BoxFuture, Port};
use crate::types::{
    Ask, Attachment, Concurrency, Continuation, Declarations, Effect, Error, ErrorKind, JsonMap, Replay, ToolError,
};

/// What `tool.register` takes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HostToolSpec {
    /// `[A-Za-z][A-Za-z0-9_-]{0,63}`
    pub name: String,
    /// What the model is told.
    pub description: String,
    /// Object schema, draft 2020-12 or draft 7, at most 256 KiB, local references only.
    pub input_schema: Value,
    /// Default: `SideEffecting`.
    #[serde(default)]
    pub effect: Effect,
    /// Default: `Never`.
    #[serde(default)]
    pub replay: Replay,
    /// Default: `Exclusive`.
    #[serde(default)]
    pub concurrency: Concurrency,
    /// Effect by one string argument; an absent or unlisted value is `SideEffecting`.
    #[serde(default)]
    pub effect_by_argument: Option<EffectByArgument>,
    /// Default: the name, pattern `*`.
    #[serde(default)]
    pub permission: Option<HostPermission>,
    /// 1..=1 800 000; default 120 000.
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 1, max = 1_800_000))]
    pub timeout_ms: u64,
    /// Default: shown.
    #[serde(default = "default_surface")]
    pub surface: Surface,
    /// Take the place of a tool of the same name.
    #[serde(default)]
    pub replace: bool,
}

/// The per-call classifier of a host tool.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EffectByArgument {
    /// A top-level string argument.
    pub argument: String,
    /// Its values.
    pub map: BTreeMap<String, Effect>,
}

/// What a host tool is judged by.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HostPermission {
    /// The permission key.
    pub key: String,
    /// The argument whose value is the pattern.
    #[serde(default)]
    pub pattern_argument: Option<String>,
}

fn default_timeout() -> u64 {
    120_000
}

fn default_surface() -> Surface {
    Surface::Default
}

/// The largest schema a host may register.
const SCHEMA_BYTES: usize = 256 << 10;
/// The longest time a host tool may take.
const LONGEST_MS: u64 = 1_800_000;

/// A registered host tool.
#[derive(Debug)]
pub struct HostTool {
    spec: HostToolSpec,
}

impl HostTool {
    /// Checks a registration.
    ///
    /// # Errors
    /// `arguments.bad_tool` with the field at fault.
    pub fn new(spec: HostToolSpec) -> Result<Self, Error> {
        let bad = |field: &str, text: String| Err(Error::new("arguments.bad_tool", text).with("field", field));
        let mut letters = spec.name.chars();
        let plain = letters.next().is_some_and(|first| first.is_ascii_alphabetic())
            && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-');
        if !plain || spec.name.len() > 64 {
            return bad(
                "name",
                format!(
                    "The tool name `{}` has to be a letter followed by at most 63 letters, digits, `_` or `-`.",
                    spec.name
                ),
            );
        }
        if spec.timeout_ms == 0 || spec.timeout_ms > LONGEST_MS {
            return bad("timeoutMs", format!("`timeoutMs` has to be between 1 and {LONGEST_MS}."));
        }
        if spec.input_schema.to_string().len() > SCHEMA_BYTES {
            return bad("inputSchema", format!("The schema of `{}` is larger than {SCHEMA_BYTES} bytes.", spec.name));
        }
        if let Some(foreign) = foreign_reference(&spec.input_schema) {
            return bad(
                "inputSchema",
                format!(
                    "The schema of `{}` refers to {foreign}; only references inside the document are followed.",
                    spec.name
                ),
            );
        }
        Ok(Self { spec })
    }

    fn ask(&self, arguments: &JsonMap) -> Ask {
        let Some(permission) = &self.spec.permission else { return Ask::one(&self.spec.name, "*") };
        let pattern = permission.pattern_argument.as_ref().and_then(|name| arguments.get(name));
        match pattern {
            Some(Value::String(text)) => Ask::one(&permission.key, text),
            Some(other) if !other.is_null() => Ask::one(&permission.key, other.to_string()),
            _ => Ask::one(&permission.key, "*"),
        }
    }
}

fn foreign_reference(schema: &Value) -> Option<String> {
    match schema {
        Value::Object(map) => {
            if let Some(Value::String(target)) = map.get("$ref")
                && !target.starts_with('#')
            {
                return Some(target.clone());
            }
            map.values().find_map(foreign_reference)
        }
        Value::Array(items) => items.iter().find_map(foreign_reference),
        _ => None,
    }
}

impl Tool for HostTool {
    fn name(&self) -> &str {
        &self.spec.name
    }

    fn description(&self) -> &str {
        &self.spec.description
    }

    fn input_schema(&self) -> &Value {
        &self.spec.input_schema
    }

    fn declarations(&self) -> Declarations {
        Declarations { effect: self.spec.effect, replay: self.spec.replay, concurrency: self.spec.concurrency }
    }

    fn classify(&self, arguments: &JsonMap) -> Declarations {
        let declared = self.declarations();
        let Some(by) = &self.spec.effect_by_argument else { return declared };
        let value = arguments.get(&by.argument).and_then(Value::as_str);
        let effect = value.and_then(|value| by.map.get(value)).copied().unwrap_or(Effect::SideEffecting);
        Declarations { effect, ..declared }
    }

    fn permission_key(&self) -> &str {
        self.spec.permission.as_ref().map_or(&self.spec.name, |permission| &permission.key)
    }

    fn surface(&self) -> Surface {
        self.spec.surface
    }

    fn missing(&self, _: &SessionContext, services: &Services) -> Option<String> {
        let installed = services.host.installed(Port::HostTool);
        (!installed).then(|| "The host opened the runtime without the `hostTool` port.".to_owned())
    }

    fn prepare(&self, call: CallContext, arguments: JsonMap) -> BoxFuture<'static, Result<Prepared, ToolError>> {
        let ask = self.ask(&arguments);
        let effect = self.classify(&arguments).effect;
        let (name, timeout) = (self.spec.name.clone(), Duration::from_millis(self.spec.timeout_ms));
        let preview = Value::Object(arguments.clone());
        Box::pin(async move {
            Ok(Prepared {
                asks: vec![ask],
                preview: Some(Box::new(move || preview)),
                facts: JsonMap::new(),
                body: Body::run(move || run(call, name, arguments, effect, timeout)),
            })
        })
    }
}

async fn run(
    call: CallContext,
    name: String,
    arguments: JsonMap,
    effect: Effect,
    timeout: Duration,
) -> Result<ToolOutput, ToolError> {
    let payload = json!({
        "tool": name, "sessionId": call.session.id, "messageId": call.message_id, "callId": call.call_id,
        "arguments": arguments,
    });
    let asked = call.services.host.ask(Port::HostTool, payload, call.cancel.clone());
    let millis = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
    tokio::select! {
        answer = asked => match answer {
            Ok(answer) => parse(&name, answer),
            Err(error) => Err(lost(&name, effect, error)),
        },
        () = call.services.clock.sleep(millis) => Err(expired(&name, effect, millis)),
    }
}

fn doubtful(effect: Effect) -> bool {
    matches!(effect, Effect::SideEffecting | Effect::Delegating)
}

/// The host's handler failed by itself, or the answer will never come.
fn lost(name: &str, effect: Effect, error: Error) -> ToolError {
    match error.code.as_str() {
        "failed.canceled" if doubtful(effect) => ToolError::uncertain(
            "cancelled",
            Vec::new(),
            format!("`{name}` was cancelled while the host worked on it."),
        ),
        "failed.canceled" => ToolError::cancelled(true, format!("`{name}` was cancelled.")),
        "host.gone" | "host.dropped" if doubtful(effect) => {
            let text = format!("The host gave up `{name}` without an answer. {}", error.message);
            ToolError::uncertain("lost_response", Vec::new(), text)
        }
        _ => ToolError::failed("host_failed", format!("The host's handler of `{name}` failed: {}", error.message)),
    }
}

fn expired(name: &str, effect: Effect, millis: u64) -> ToolError {
    let text = format!("The host did not answer `{name}` within {millis} ms.");
    if doubtful(effect) {
        return ToolError::uncertain("timeout", Vec::new(), text);
    }
    ToolError::new(ErrorKind::Timeout { elapsed_ms: millis }, "timeout", text)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    output: Option<Value>,
    #[serde(default)]
    metadata: JsonMap,
    #[serde(default)]
    attachments: Vec<Attachment>,
    #[serde(default)]
    continuation: Continuation,
    #[serde(default)]
    error: Option<AnswerError>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnswerError {
    kind: String,
    #[serde(default)]
    code: Option<String>,
    message: String,
    #[serde(default)]
    applied_paths: Vec<String>,
    #[serde(default)]
    retry_after_ms: Option<u64>,
    #[serde(default)]
    elapsed_ms: u64,
}

/// Metadata the library sets itself; a host that answers with one of these would forge a fact.
const RESERVED: &[&str] = &[
    "outputPaths",
    "withheldOutput",
    "verification",
    "cancellation",
    "diff",
    "fileDiffs",
    "postWriteWarnings",
    "reportArtifact",
    "conflict",
    "progressFingerprint",
    "contextRefresh",
    "subagent",
    "requestId",
    "effective",
    "afterHookError",
    "outputSaveFailed",
    "largeOutputAccepted",
    "protectedPathsRestored",
    "readReceipt",
];

/// Whether only the library may set a metadata key.
pub fn is_reserved(key: &str) -> bool {
    RESERVED.contains(&key) || key.starts_with("sandbox")
}

fn parse(name: &str, answer: Value) -> Result<ToolOutput, ToolError> {
    // A host that answers with a plain text means its output.
    let answer = if answer.is_string() { json!({ "output": answer }) } else { answer };
    let answer: Answer = serde_json::from_value(answer).map_err(|error| {
        let text = format!("The host's answer to `{name}` does not have the form of a result: {error}.");
        ToolError::failed("bad_answer", text)
    })?;
    if let Some(error) = answer.error {
        return Err(error.into_tool_error());
    }
    let output = match answer.output {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text,
        Some(other) => other.to_string(),
    };
    let mut result = ToolOutput::text(answer.title.unwrap_or_else(|| name.to_owned()), output);
    result.metadata = answer.metadata.into_iter().filter(|(key, _)| !is_reserved(key)).collect();
    result.attachments = answer.attachments;
    result.continuation = answer.continuation;
    Ok(result)
}

impl AnswerError {
    fn into_tool_error(self) -> ToolError {
        let kind = match self.kind.as_str() {
            "InvalidArgs" => ErrorKind::InvalidArgs { field: None, suggestion: None },
            "Unavailable" => ErrorKind::Unavailable { reason: self.message.clone() },
            "Timeout" => ErrorKind::Timeout { elapsed_ms: self.elapsed_ms },
            "Transient" => ErrorKind::Transient { retry_after_ms: self.retry_after_ms },
            "Cancelled" => ErrorKind::Cancelled { started: true },
            "Uncertain" => ErrorKind::Uncertain {
                applied_paths: self.applied_paths,
                cause: self.code.clone().unwrap_or_else(|| "host".to_owned()),
            },
            // Denials and conflicts are decisions of the library; a host cannot make one.
            _ => ErrorKind::Failed {},
        };
        let code = self.code.unwrap_or_else(|| "host_failed".to_owned());
        ToolError { kind, code, message: self.message }
    }
}
