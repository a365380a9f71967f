//! The roster, and what the configuration adds to it.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::dispatch::surface::Contract;
use crate::text::nearest::nearest;
use crate::types::{Error, JsonMap, PermissionMode};

/// An agent as a session uses it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// Its tools.
    pub contract: Contract,
    /// Runs commands without write access.
    pub read_only: bool,
    /// Its own permission mode, which can only be stricter.
    pub mode: Option<PermissionMode>,
    /// Its own rules, the last layer.
    pub rules: Option<Value>,
}

struct Entry {
    name: &'static str,
    read_only: bool,
    /// `None` = everything of the profile.
    names: Option<&'static [&'static str]>,
    without: &'static [&'static str],
    /// State tools the role may use without a question.
    allowed: &'static [&'static str],
}

/// What every role that is not hidden holds.
const EVERY_ROLE: &[&str] = &["report_write", "tool_search", "memory_read"];
const STUDY: &[&str] = &["read", "glob", "grep", "lsp", "shell", "bg", "skill"];
const STATE: &[&str] = &["plan_update", "todo_update", "goal_update", "task_context"];

const ROSTER: &[Entry] = &[
    Entry { name: "orchestrator", read_only: false, names: None, without: &[], allowed: STATE },
    Entry {
        name: "build",
        read_only: false,
        names: None,
        without: &["task", "job", "council_run", "workflow"],
        allowed: STATE,
    },
    Entry {
        name: "plan",
        read_only: true,
        names: Some(&[
            "read",
            "glob",
            "grep",
            "lsp",
            "shell",
            "bg",
            "webfetch",
            "web_search",
            "question",
            "question_async",
            "plan_exit",
            "goal_get",
            "plan_get",
            "plan_update",
            "todo_get",
            "todo_update",
            "task_context",
            "skill",
        ]),
        without: &[],
        allowed: &["plan_update", "todo_update", "task_context"],
    },
    Entry {
        name: "review",
        read_only: true,
        names: Some(&[
            "read",
            "glob",
            "grep",
            "lsp",
            "shell",
            "bg",
            "webfetch",
            "web_search",
            "skill",
            "question",
            "task",
            "job",
            "council_run",
            "plan_get",
            "todo_get",
            "goal_get",
        ]),
        without: &[],
        allowed: &[],
    },
    Entry {
        name: "deep",
        read_only: false,
        names: Some(&[
            "write",
            "edit",
            "apply_patch",
            "read",
            "glob",
            "grep",
            "lsp",
            "shell",
            "bg",
            "task",
            "job",
            "webfetch",
            "web_search",
            "question",
            "goal_get",
            "goal_update",
            "goal_request_input",
            "plan_get",
            "plan_update",
            "plan_exit",
            "todo_get",
            "todo_update",
            "task_context",
            "skill",
            "execute",
            "memory_update",
        ]),
        without: &[],
        allowed: STATE,
    },
    Entry {
        name: "fixer",
        read_only: false,
        names: Some(&[
            "write",
            "edit",
            "apply_patch",
            "read",
            "glob",
            "grep",
            "lsp",
            "shell",
            "bg",
            "plan_get",
            "todo_get",
            "skill",
            "memory_update",
        ]),
        without: &[],
        allowed: &[],
    },
    Entry {
        name: "general",
        read_only: false,
        names: Some(&[
            "write",
            "edit",
            "apply_patch",
            "read",
            "glob",
            "grep",
            "shell",
            "bg",
            "webfetch",
            "web_search",
            "plan_get",
            "plan_update",
            "plan_exit",
            "todo_get",
            "todo_update",
            "skill",
            "execute",
            "memory_update",
        ]),
        without: &[],
        allowed: &["plan_update", "todo_update"],
    },
    Entry { name: "explorer", read_only: true, names: Some(STUDY), without: &[], allowed: &[] },
    Entry {
        name: "librarian",
        read_only: true,
        names: Some(&["read", "glob", "grep", "lsp", "shell", "bg", "skill", "webfetch", "web_search"]),
        without: &[],
        allowed: &[],
    },
    Entry { name: "oracle", read_only: true, names: Some(STUDY), without: &[], allowed: &[] },
    Entry { name: "looker", read_only: true, names: Some(STUDY), without: &[], allowed: &[] },
];

/// The agent a session uses: the one that is named, else `default_agent`, else `orchestrator`.
///
/// # Errors
/// `arguments.invalid` for a name that neither the roster nor the configuration has.
pub fn resolve(name: Option<&str>, values: &Value) -> Result<Agent, Error> {
    let default = values.get("default_agent").and_then(Value::as_str).unwrap_or("orchestrator");
    let name = name.unwrap_or(default);
    let configured = values.get("agents").and_then(|agents| agents.get(name)).and_then(Value::as_object);
    let disabled = configured.is_some_and(|agent| agent.get("disable") == Some(&Value::Bool(true)));
    let entry = ROSTER.iter().find(|entry| entry.name == name);
    if disabled || (entry.is_none() && configured.is_none()) {
        return Err(unknown(name, values));
    }
    let mut agent = entry.map(from_entry).unwrap_or_default();
    agent.name = name.to_owned();
    if let Some(configured) = configured {
        apply(&mut agent, configured);
    }
    Ok(agent)
}

fn unknown(name: &str, values: &Value) -> Error {
    let configured = values.get("agents").and_then(Value::as_object);
    let known: Vec<&str> = ROSTER
        .iter()
        .map(|entry| entry.name)
        .chain(configured.into_iter().flat_map(|agents| agents.keys().map(String::as_str)))
        .collect();
    let near = nearest(name, known.iter().copied());
    let hint = near.map(|near| format!(" Did you mean `{near}`?")).unwrap_or_default();
    Error::arguments(format!("There is no agent named `{name}`.{hint}")).with("agent", name).with("suggestion", near)
}

fn from_entry(entry: &Entry) -> Agent {
    let role = entry.names.map(|names| names.iter().chain(EVERY_ROLE).map(|name| (*name).to_owned()).collect());
    let rules: JsonMap = entry.allowed.iter().map(|name| ((*name).to_owned(), Value::from("allow"))).collect();
    Agent {
        name: entry.name.to_owned(),
        contract: Contract {
            role,
            without: entry.without.iter().map(|name| (*name).to_owned()).collect(),
            exact: None,
        },
        read_only: entry.read_only,
        mode: None,
        rules: (!rules.is_empty()).then_some(Value::Object(rules)),
    }
}

fn apply(agent: &mut Agent, configured: &JsonMap) {
    if let Some(tools) = configured.get("tools").and_then(Value::as_array) {
        let exact: BTreeSet<String> = tools.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        agent.contract.exact = Some(exact);
    }
    let sandbox = configured.get("sandbox").and_then(|sandbox| sandbox.get("mode")).and_then(Value::as_str);
    agent.read_only |= sandbox == Some("read-only");
    if let Some(permission) = configured.get("permission") {
        let mode = permission.get("mode").cloned();
        agent.mode = mode.and_then(|mode| serde_json::from_value(mode).ok());
        if let Some(rules) = permission.get("rules") {
            agent.rules = Some(rules.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    // spec: SWITCH-04 SWITCH-05
    #[test]
    fn an_exact_allowlist_stands_for_itself() {
        let values =
            json!({ "agents": { "auditor": { "tools": ["read", "grep"], "sandbox": { "mode": "read-only" } } } });
        let agent = resolve(Some("auditor"), &values).unwrap();
        let exact: Vec<&str> = agent.contract.exact.as_ref().unwrap().iter().map(String::as_str).collect();
        assert_eq!(exact, ["grep", "read"]);
        assert!(agent.read_only);
    }

    #[test]
    fn names_are_resolved_and_unknown_ones_refused() {
        assert_eq!(resolve(None, &json!({})).unwrap().name, "orchestrator");
        assert_eq!(resolve(None, &json!({ "default_agent": "build" })).unwrap().name, "build");
        let error = resolve(Some("biuld"), &json!({})).unwrap_err();
        assert_eq!(error.details["suggestion"], "build");
        assert!(resolve(Some("build"), &json!({ "agents": { "build": { "disable": true } } })).is_err());
    }
}
