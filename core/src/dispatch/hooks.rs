//! Hooks of the host around a call, in the order in which they were registered.

use std::sync::{Arc, PoisonError, RwLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::host::{Host, Port};
use crate::tools::host_tool::is_reserved;
use crate::types::{Denial, DenialOrigin, Error, JsonMap, ToolError};

/// When a hook runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HookKind {
    /// Before permission is asked; may refuse or rewrite the call.
    BeforeCall,
    /// After execution, before settling; may add facts.
    AfterCall,
}

/// What `hook.register` takes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HookSpec {
    /// When it runs.
    pub hook: HookKind,
    /// Only for these tools; empty = all.
    #[serde(default)]
    pub tools: Vec<String>,
}

#[derive(Clone)]
struct Registered {
    id: String,
    spec: HookSpec,
}

/// The registered hooks.
#[derive(Default)]
pub struct Hooks {
    hooks: RwLock<(u64, Vec<Registered>)>,
}

/// What a before-call hook decided.
pub(super) enum Decision {
    Continue,
    Block(ToolError),
    Rewrite(Value),
}

/// One before-call hook and what it said, for the event.
pub(super) struct Ran {
    pub(super) hook: String,
    pub(super) result: &'static str,
    pub(super) decision: Decision,
}

#[derive(Deserialize)]
#[serde(tag = "decision", rename_all = "camelCase")]
enum Answer {
    Continue,
    Block { reason: String },
    Rewrite { arguments: Value },
}

impl Hooks {
    /// Adds a hook and gives its id.
    pub fn register(&self, spec: HookSpec) -> String {
        let mut hooks = self.hooks.write().unwrap_or_else(PoisonError::into_inner);
        hooks.0 += 1;
        let id = format!("hook_{}", hooks.0);
        hooks.1.push(Registered { id: id.clone(), spec });
        id
    }

    /// Removes a hook; says whether it was there.
    pub fn unregister(&self, id: &str) -> bool {
        let mut hooks = self.hooks.write().unwrap_or_else(PoisonError::into_inner);
        let before = hooks.1.len();
        hooks.1.retain(|hook| hook.id != id);
        hooks.1.len() < before
    }

    /// The ids of the hooks of a kind for a tool, in order.
    pub(super) fn of(&self, kind: HookKind, tool: &str) -> Vec<String> {
        let hooks = self.hooks.read().unwrap_or_else(PoisonError::into_inner);
        let applies = |spec: &HookSpec| {
            spec.hook == kind && (spec.tools.is_empty() || spec.tools.iter().any(|name| name == tool))
        };
        hooks.1.iter().filter(|hook| applies(&hook.spec)).map(|hook| hook.id.clone()).collect()
    }
}

/// Asks one before-call hook. A hook that fails blocks the call: it was put there to watch it.
pub(super) async fn before(host: &Arc<dyn Host>, id: &str, mut payload: Value, cancel: CancellationToken) -> Ran {
    set(&mut payload, id, "beforeCall");
    let answer = host.ask(Port::Hook, payload, cancel).await;
    let (result, decision) = match answer.map(parse) {
        Ok(Ok(Answer::Continue)) => ("continue", Decision::Continue),
        Ok(Ok(Answer::Block { reason })) => ("block", Decision::Block(blocked(id, &reason))),
        Ok(Ok(Answer::Rewrite { arguments })) => ("rewrite", Decision::Rewrite(arguments)),
        Ok(Err(text)) => ("block", Decision::Block(blocked(id, &text))),
        Err(error) if error.code == "failed.canceled" => {
            ("block", Decision::Block(ToolError::cancelled(false, "Cancelled before the call was started.")))
        }
        Err(error) => ("block", Decision::Block(blocked(id, &failure(&error)))),
    };
    Ran { hook: id.to_owned(), result, decision }
}

fn parse(answer: Value) -> Result<Answer, String> {
    if answer.is_null() {
        return Ok(Answer::Continue);
    }
    serde_json::from_value(answer).map_err(|error| format!("its answer does not have the form of a decision ({error})"))
}

fn failure(error: &Error) -> String {
    format!("it failed: {}", error.message)
}

fn blocked(id: &str, reason: &str) -> ToolError {
    let denial =
        Denial { origin: DenialOrigin::Hook, key: id.to_owned(), pattern: None, rule: None, reason: reason.to_owned() };
    ToolError::denied(denial, format!("The hook {id} refused the call: {reason}"))
}

fn set(payload: &mut Value, id: &str, kind: &str) {
    if let Value::Object(map) = payload {
        map.insert("hookId".to_owned(), id.into());
        map.insert("hook".to_owned(), kind.into());
    }
}

/// Asks the after-call hooks for further facts. A failure is kept as a fact and changes nothing else.
pub(super) async fn after(
    host: &Arc<dyn Host>,
    ids: &[String],
    payload: &Value,
    metadata: &mut JsonMap,
    cancel: &CancellationToken,
) {
    for id in ids {
        let mut payload = payload.clone();
        set(&mut payload, id, "afterCall");
        let answer = host.ask(Port::Hook, payload, cancel.clone()).await;
        match answer.map(|answer| answer.get("metadata").cloned()) {
            Ok(Some(Value::Object(added))) => {
                let own = added.into_iter().filter(|(key, _)| !is_reserved(key) && key != "writtenPaths");
                for (key, value) in own {
                    metadata.entry(key).or_insert(value);
                }
            }
            Ok(None | Some(Value::Null)) => {}
            Ok(Some(_)) => {
                metadata.insert("afterHookError".to_owned(), json!(format!("{id}: `metadata` is not an object")));
            }
            Err(error) => {
                metadata.insert("afterHookError".to_owned(), json!(format!("{id}: {}", error.message)));
            }
        }
    }
}
