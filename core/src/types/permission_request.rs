//! The durable record of one permission request.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Ask, CallId, JsonMap, MessageId, Millis, PermissionId, SessionId, TurnId};

/// Why a person is asked; the strictest reason that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// The rules ask.
    Rule,
    /// The shell risk gate wants a confirmation.
    Risk,
    /// Strict mode wants a fresh approval.
    Strict,
}

/// What a person may answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// This call only.
    Once,
    /// This call, and the offered patterns for the rest of the session.
    Always,
    /// No; every other pending ask of the session is rejected too.
    Reject,
}

impl Reply {
    /// The word on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Always => "always",
            Self::Reject => "reject",
        }
    }
}

/// How far a request has come; everything but `pending` is final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestState {
    /// Waiting.
    Pending,
    /// Allowed for its call.
    Once,
    /// Allowed for the session.
    Always,
    /// Refused.
    Rejected,
    /// No longer wanted.
    Cancelled,
}

/// What ended a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SettleOrigin {
    /// Its own answer, or a port that failed to give one.
    Reply,
    /// A grant from another request's `always`.
    Grant,
    /// Another request of the session was rejected.
    RejectAll,
    /// The turn was interrupted.
    Interrupt,
    /// The process ended while it waited.
    Recovery,
}

/// One request to a person. At most one per call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PermissionRequest {
    /// Its id.
    pub id: PermissionId,
    /// The session whose call it is.
    pub session_id: SessionId,
    /// The root of the session tree.
    pub root_session_id: SessionId,
    /// The active agent.
    pub agent: String,
    /// The turn.
    pub turn_id: TurnId,
    /// The message.
    pub message_id: MessageId,
    /// The call.
    pub call_id: CallId,
    /// The tool as called.
    pub tool: String,
    /// Label the model gave for the user interface.
    pub intent: Option<String>,
    /// Why a person is asked.
    pub kind: RequestKind,
    /// What is judged, in the order `external_directory`, the tool's key, `git_metadata`.
    pub asks: Vec<Ask>,
    /// What may be answered.
    pub choices: Vec<Reply>,
    /// What the call would do: a diff, commands, or the arguments.
    pub preview: Value,
    /// Facts of the tool.
    pub metadata: JsonMap,
    /// How far it has come.
    pub state: RequestState,
    /// When it was asked.
    pub time_created: Millis,
    /// When it ended.
    pub time_settled: Option<Millis>,
}
