//! Messages and calls: what was asked, what was stamped, how it ended. A settled call is never overwritten.

mod admit;
mod query;
mod reconcile;
mod recover;
mod settle;

use rusqlite::Row;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::StoreError;
use crate::types::{
    CallId, Concurrency, CycleId, Declarations, Effect, MessageId, Outcome, Part, Replay, SessionId, TurnId,
};

pub use admit::{Admission, Admitted, NewCall, Turn, admit, end_turn};
pub use query::{Message, messages, part, parts, recent_failures};
pub use reconcile::{Verdict, reconcile, unsettled};
pub use recover::{Repaired, recover};
pub use settle::{Settlement, rewrite, settle, stamp};

pub(super) const SCHEMA: &str = "
CREATE TABLE messages (
    session_id   TEXT    NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    id           TEXT    NOT NULL,
    ordinal      INTEGER NOT NULL,
    turn_id      TEXT    NOT NULL,
    cycle_id     TEXT    NOT NULL,
    step         INTEGER NOT NULL,
    time_created INTEGER NOT NULL,
    PRIMARY KEY (session_id, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX messages_in_order ON messages (session_id, ordinal);

CREATE TABLE calls (
    session_id          TEXT    NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    message_id          TEXT    NOT NULL,
    call_id             TEXT    NOT NULL,
    ordinal             INTEGER NOT NULL,
    turn_id             TEXT    NOT NULL,
    cycle_id            TEXT    NOT NULL,
    step                INTEGER NOT NULL,
    tool                TEXT    NOT NULL,
    arguments           TEXT    NOT NULL,
    argument_digest     TEXT    NOT NULL,
    effective_arguments TEXT    NOT NULL DEFAULT '',
    intent              TEXT    NOT NULL DEFAULT '',
    effect              TEXT    NOT NULL,
    replay              TEXT    NOT NULL,
    concurrency         TEXT    NOT NULL,
    state               TEXT    NOT NULL DEFAULT 'pending',
    outcome             TEXT    NOT NULL DEFAULT '',
    block_kind          TEXT    NOT NULL DEFAULT '',
    title               TEXT    NOT NULL DEFAULT '',
    output              TEXT    NOT NULL DEFAULT '',
    metadata            TEXT    NOT NULL DEFAULT '{}',
    attachments         TEXT    NOT NULL DEFAULT '[]',
    error               TEXT    NOT NULL DEFAULT '',
    uncertain           TEXT    NOT NULL DEFAULT '',
    continuation        TEXT    NOT NULL DEFAULT 'continue',
    time_created        INTEGER NOT NULL,
    dispatched_at       INTEGER NOT NULL DEFAULT 0,
    time_started        INTEGER NOT NULL DEFAULT 0,
    time_completed      INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (session_id, message_id, call_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX calls_open ON calls (session_id) WHERE state <> 'settled';
CREATE INDEX calls_uncertain ON calls (session_id) WHERE outcome = 'uncertain';
";

/// Which call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallKey {
    /// The session.
    pub session_id: SessionId,
    /// The message.
    pub message_id: MessageId,
    /// The call inside the message.
    pub call_id: CallId,
}

impl CallKey {
    fn params(&self) -> [&str; 3] {
        [self.session_id.as_str(), self.message_id.as_str(), self.call_id.as_str()]
    }
}

const COLUMNS: &str = "session_id, message_id, call_id, turn_id, cycle_id, step, tool, arguments, \
    effective_arguments, intent, effect, replay, concurrency, state, outcome, block_kind, title, output, metadata, \
    attachments, error, uncertain, continuation, time_created, dispatched_at, time_started, time_completed";

/// The word a unit variant is stored as.
pub(super) fn word<T: Serialize>(value: &T) -> Result<String, StoreError> {
    match serde_json::to_value(value)? {
        serde_json::Value::String(text) => Ok(text),
        other => Err(StoreError::Record(format!("{other} is no word"))),
    }
}

pub(super) fn parse_word<T: DeserializeOwned>(text: String) -> Result<T, StoreError> {
    Ok(serde_json::from_value(serde_json::Value::String(text))?)
}

/// An absent document is stored as an empty text.
pub(super) fn document<T: DeserializeOwned>(text: &str) -> Result<Option<T>, StoreError> {
    if text.is_empty() { Ok(None) } else { Ok(Some(serde_json::from_str(text)?)) }
}

fn declarations(row: &Row<'_>, from: usize) -> Result<Declarations, StoreError> {
    Ok(Declarations {
        effect: parse_word::<Effect>(row.get(from)?)?,
        replay: parse_word::<Replay>(row.get(from + 1)?)?,
        concurrency: parse_word::<Concurrency>(row.get(from + 2)?)?,
    })
}

fn from_row(row: &Row<'_>) -> Result<Part, StoreError> {
    let text = |index: usize| row.get::<_, String>(index);
    let optional = |index: usize| -> Result<Option<String>, StoreError> {
        let value = text(index)?;
        Ok((!value.is_empty()).then_some(value))
    };
    let time = |index: usize| -> Result<Option<i64>, StoreError> {
        let value: i64 = row.get(index)?;
        Ok((value != 0).then_some(value))
    };
    let declared = declarations(row, 10)?;
    Ok(Part {
        session_id: SessionId::from(text(0)?),
        message_id: MessageId::from(text(1)?),
        call_id: CallId::from(text(2)?),
        turn_id: TurnId::from(text(3)?),
        cycle_id: CycleId::from(text(4)?),
        step: row.get(5)?,
        tool: text(6)?,
        arguments: serde_json::from_str(&text(7)?)?,
        effective_arguments: document(&text(8)?)?,
        intent: optional(9)?,
        effect: declared.effect,
        replay: declared.replay,
        concurrency: declared.concurrency,
        state: parse_word(text(13)?)?,
        outcome: optional(14)?.map(parse_word::<Outcome>).transpose()?,
        block_kind: optional(15)?.map(parse_word).transpose()?,
        title: text(16)?,
        output: text(17)?,
        metadata: serde_json::from_str(&text(18)?)?,
        attachments: serde_json::from_str(&text(19)?)?,
        error: document(&text(20)?)?,
        uncertain: document(&text(21)?)?,
        continuation: parse_word(text(22)?)?,
        time_created: row.get(23)?,
        dispatched_at: time(24)?,
        time_started: time(25)?,
        time_completed: time(26)?,
    })
}
