//! The event envelope. Durable events are numbered per session without gaps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CycleId, EventId, Millis, SessionId, TurnId};

/// One event as every face shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Stable id; a replayed event has the same one.
    pub id: EventId,
    /// The type, such as `tool.dispatch.started`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The session it belongs to.
    pub session_id: SessionId,
    /// Number of this durable event, or of the last durable event before a live one.
    pub seq: i64,
    /// Stored and readable again.
    pub durable: bool,
    /// When the fact was made.
    pub time: Millis,
    /// The turn, when one applies.
    pub turn_id: Option<TurnId>,
    /// The work cycle, when one applies.
    pub cycle_id: Option<CycleId>,
    /// The root of the session tree.
    pub root_session_id: Option<SessionId>,
    /// The fields of the type. Readers ignore fields they do not know.
    pub data: Value,
}

/// An event before it has its id, number and time.
#[derive(Clone, Debug, PartialEq)]
pub struct EventDraft {
    /// The type.
    pub kind: &'static str,
    /// The turn, when one applies.
    pub turn_id: Option<TurnId>,
    /// The work cycle, when one applies.
    pub cycle_id: Option<CycleId>,
    /// The fields of the type.
    pub data: Value,
}

impl EventDraft {
    /// An event outside any turn.
    pub fn new(kind: &'static str, data: Value) -> Self {
        Self { kind, turn_id: None, cycle_id: None, data }
    }

    /// The same event inside a turn.
    #[must_use]
    pub fn in_turn(mut self, turn: &TurnId, cycle: &CycleId) -> Self {
        self.turn_id = Some(turn.clone());
        self.cycle_id = Some(cycle.clone());
        self
    }
}
