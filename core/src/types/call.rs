//! The durable record of one call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    BlockKind, CallId, Concurrency, CycleId, Effect, JsonMap, MessageId, Millis, Outcome, Replay, SessionId, ToolError,
    TurnId,
};

/// How far a call has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// Recorded, not yet allowed to run.
    Pending,
    /// Stamped: the body may have started.
    Dispatched,
    /// Ended. Never overwritten.
    Settled,
}

/// What the engine does after a result; never shown to the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Continuation {
    /// Go on.
    #[default]
    Continue,
    /// End the turn without a final until an input arrives.
    YieldUntilInput,
    /// End the turn, waiting for a person.
    WaitingForHuman,
}

/// A file that accompanies a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attachment {
    /// Always `file`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Media type.
    pub mime: String,
    /// Name for display.
    pub filename: Option<String>,
    /// A `data:` or `file://` URL.
    pub url: String,
}

/// What is known about an effect in doubt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Uncertainty {
    /// The tool.
    pub tool: String,
    /// The call.
    pub call_id: CallId,
    /// Paths seen to have changed.
    pub applied_paths: Vec<String>,
    /// Why nothing better can be said.
    pub cause: String,
    /// When that was found.
    pub observed_at: Millis,
    /// When a person or program looked and said what happened.
    pub reconciled_at: Option<Millis>,
}

/// The durable part of a call. Absent values are `null` and never left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Part {
    /// Where it belongs.
    pub session_id: SessionId,
    /// The message it was part of.
    pub message_id: MessageId,
    /// Its id inside the message.
    pub call_id: CallId,
    /// The turn.
    pub turn_id: TurnId,
    /// The work cycle.
    pub cycle_id: CycleId,
    /// The step inside the turn, from 1.
    pub step: u32,
    /// The tool's name as called.
    pub tool: String,
    /// The arguments exactly as sent.
    pub arguments: Value,
    /// The arguments after a hook rewrote them.
    pub effective_arguments: Option<Value>,
    /// Label for the user interface.
    pub intent: Option<String>,
    /// The effect that applied to this call.
    pub effect: Effect,
    /// The replay policy that applied.
    pub replay: Replay,
    /// The concurrency policy that applied.
    pub concurrency: Concurrency,
    /// How far it has come.
    pub state: CallState,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// Why nothing happened.
    pub block_kind: Option<BlockKind>,
    /// One line for a transcript.
    pub title: String,
    /// What the model reads.
    pub output: String,
    /// Typed facts; keys that do not apply are left out.
    pub metadata: JsonMap,
    /// Files that accompany the result.
    pub attachments: Vec<Attachment>,
    /// The typed error.
    pub error: Option<ToolError>,
    /// What is known about an effect in doubt.
    pub uncertain: Option<Uncertainty>,
    /// What the engine does next.
    pub continuation: Continuation,
    /// When it was recorded.
    pub time_created: Millis,
    /// When it was stamped.
    pub dispatched_at: Option<Millis>,
    /// When its body started.
    pub time_started: Option<Millis>,
    /// When it ended.
    pub time_completed: Option<Millis>,
}
