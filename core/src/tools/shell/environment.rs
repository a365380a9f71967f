//! The environment of one command: what the host has now, less what is withheld, and the host's last word.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::host::Port;
use crate::process::environment::withhold;
use crate::tools::contract::CallContext;
use crate::types::ToolError;

/// What a command inherits before the host's last word.
pub(super) fn inherited(call: &CallContext) -> Vec<(OsString, OsString)> {
    withhold(std::env::vars_os(), &call.session.config.withhold_prefixes)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    #[serde(default)]
    set: BTreeMap<String, String>,
    #[serde(default)]
    remove: Vec<String>,
}

/// What the command sees: the environment after the `environment` port, which alone can put a withheld value back.
pub(super) async fn settled(
    call: &CallContext,
    command: &str,
    workdir: &Path,
    mut environment: Vec<(OsString, OsString)>,
) -> Result<Vec<(OsString, OsString)>, ToolError> {
    if !call.services.host.installed(Port::Environment) {
        return Ok(environment);
    }
    // What is no text is inherited and not shown.
    let shown = environment.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
    let payload = json!({
        "sessionId": call.session.id,
        "callId": call.call_id,
        "messageId": call.message_id, "command": command,
        "workdir": workdir.to_string_lossy(),
        "env": shown.collect::<BTreeMap<_, _>>(),
    });
    let answer = call.services.host.ask(Port::Environment, payload, call.cancel.clone()).await;
    let answer = match answer {
        Ok(answer) => answer,
        Err(_) if call.cancel.is_cancelled() => {
            return Err(ToolError::cancelled(false, "Cancelled before the command was started. Nothing happened."));
        }
        Err(error) => return Err(failed(&error.message)),
    };
    let Answer { set, remove } = read(answer)?;
    environment.retain(|(name, _)| {
        !name.to_str().is_some_and(|name| set.contains_key(name) || remove.iter().any(|removed| removed == name))
    });
    environment.extend(set.into_iter().map(|(name, value)| (name.into(), value.into())));
    Ok(environment)
}

fn read(answer: Value) -> Result<Answer, ToolError> {
    let answer = if answer.is_null() { json!({}) } else { answer };
    let answer: Answer = serde_json::from_value(answer).map_err(|error| failed(&error.to_string()))?;
    let is_name = |name: &String| !name.is_empty() && !name.contains(['=', '\0']);
    match answer.set.iter().find(|(name, value)| !is_name(name) || value.contains('\0')) {
        Some((name, _)) => Err(failed(&format!("`{name}` is no variable with a value"))),
        None => Ok(answer),
    }
}

fn failed(reason: &str) -> ToolError {
    let text = format!("The `environment` port did not give an environment, so the command was not run: {reason}");
    ToolError::failed("environment", text)
}
