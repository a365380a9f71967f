//! What the session operations take.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::dispatch::surface::Profile;
use crate::store::calls::Verdict;
use crate::store::sessions::SessionMode;
use crate::types::{CallId, MessageId, SessionId};

/// `session.create`
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateParams {
    /// The workspace: an existing directory.
    pub directory: String,
    /// The agent; default `default_agent` of the configuration, else `orchestrator`.
    #[serde(default)]
    pub agent: Option<String>,
    /// Default `work`.
    #[serde(default)]
    pub mode: Option<SessionMode>,
    /// For a list of sessions.
    #[serde(default)]
    pub title: Option<String>,
    /// Shows plan, todo and goal tools; default true.
    #[serde(default)]
    pub work_state: Option<bool>,
    /// Questions reach a person; default true.
    #[serde(default)]
    pub human_surface: Option<bool>,
    /// The tool composition.
    #[serde(default)]
    pub profile: Option<Profile>,
    /// Configuration on top of the runtime's.
    #[serde(default)]
    pub config: Option<Value>,
}

/// `session.reconcile`
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReconcileParams {
    /// The session.
    pub session_id: SessionId,
    /// The call.
    pub call_id: CallId,
    /// Its message; needed when several open calls have that id.
    #[serde(default)]
    pub message_id: Option<MessageId>,
    /// What a look at the authoritative state showed.
    pub verdict: Verdict,
    /// What was looked at.
    #[serde(default)]
    pub evidence: String,
}
