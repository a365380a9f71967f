//! The inbox: durable inputs that wait to become part of a conversation, each exactly once.

use rusqlite::{Connection, OptionalExtension, Row, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::calls::{parse_word, word};
use super::{StoreError, Tx};
use crate::types::{CycleId, EventDraft, InputId, Millis, SessionId};

pub(super) const SCHEMA: &str = "
CREATE TABLE inbox (
    session_id   TEXT    NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    admitted_seq INTEGER NOT NULL,
    id           TEXT    NOT NULL UNIQUE,
    kind         TEXT    NOT NULL,
    prompt       TEXT    NOT NULL,
    delivery     TEXT    NOT NULL,
    state        TEXT    NOT NULL,
    revision     INTEGER NOT NULL DEFAULT 1,
    promoted_seq INTEGER NOT NULL DEFAULT 0,
    error        TEXT    NOT NULL DEFAULT '',
    source_key   TEXT    NOT NULL DEFAULT '',
    trigger_kind TEXT    NOT NULL DEFAULT '',
    cycle_id     TEXT    NOT NULL DEFAULT '',
    time_created INTEGER NOT NULL,
    time_updated INTEGER NOT NULL,
    PRIMARY KEY (session_id, admitted_seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX inbox_by_source ON inbox (session_id, source_key) WHERE source_key <> '';
";

/// What an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum InputKind {
    /// Text of the user.
    User,
    /// The report of a child.
    SubagentReport,
    /// The report of a workflow run.
    WorkflowReport,
    /// The report of a Council run.
    CouncilReport,
    /// The end of an execution.
    BackgroundExecutionReport,
    /// The end of a foreground command that yielded.
    ForegroundExecutionResult,
    /// An answer to a question.
    HumanRequestAnswer,
    /// A message of another session.
    SessionMessage,
    /// An explicit control.
    SessionControl,
}

/// When an input is delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InputDelivery {
    /// With the next turn.
    #[default]
    Queue,
    /// At the next safe point of the running turn.
    Steer,
}

/// How far an input has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InputState {
    /// Being recorded.
    Admitting,
    /// Waits for the next turn.
    Queued,
    /// Waits for the next safe point.
    Steering,
    /// Taken by a turn.
    Promoted,
    /// Its content is in the conversation.
    Consumed,
    /// Taken back.
    Cancelled,
    /// Cannot be delivered.
    Failed,
    /// Another reader has its content.
    Superseded,
}

/// One row of the inbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InputRecord {
    /// Its id.
    pub id: InputId,
    /// The session it is for.
    pub session_id: SessionId,
    /// What it is.
    pub kind: InputKind,
    /// Its content; the shape belongs to the kind.
    pub prompt: Value,
    /// When it is delivered.
    pub delivery: InputDelivery,
    /// How far it has come.
    pub state: InputState,
    /// Raised by every change.
    pub revision: i64,
    /// Number of its `input.admitted` event: the order of the inbox.
    pub admitted_seq: i64,
    /// Number of its `input.promoted` event.
    pub promoted_seq: Option<i64>,
    /// Why it failed.
    pub error: Option<String>,
    /// Unique per session: a second input with the same key is the first one.
    pub source_key: Option<String>,
    /// What started the turn that took it.
    pub trigger_kind: Option<String>,
    /// The work cycle it belongs to.
    pub cycle_id: Option<CycleId>,
    /// When it was admitted.
    pub time_created: Millis,
    /// When it last changed.
    pub time_updated: Millis,
}

/// An input before it has its place in the order.
#[derive(Clone, Debug)]
pub struct NewInput {
    /// Its id.
    pub id: InputId,
    /// The session it is for.
    pub session_id: SessionId,
    /// What it is.
    pub kind: InputKind,
    /// Its content.
    pub prompt: Value,
    /// Unique per session.
    pub source_key: Option<String>,
    /// The work cycle it belongs to.
    pub cycle_id: Option<CycleId>,
}

/// Admits an input to the queue with its event. One whose source key is known is the one that is stored.
pub fn admit(tx: &mut Tx<'_>, input: &NewInput) -> Result<InputId, StoreError> {
    let source_key = input.source_key.as_deref().unwrap_or_default();
    if !source_key.is_empty() {
        let known: Option<String> = tx
            .prepare("SELECT id FROM inbox WHERE session_id = ?1 AND source_key = ?2 AND source_key <> ''")?
            .query_row([input.session_id.as_str(), source_key], |row| row.get(0))
            .optional()?;
        if let Some(known) = known {
            return Ok(InputId::from(known));
        }
    }
    let now = tx.now();
    let facts = Facts { id: &input.id, kind: input.kind, delivery: InputDelivery::Queue, revision: 1 };
    let seq = announce(tx, "input.admitted", &input.session_id, &facts, input.cycle_id.as_ref())?;
    tx.prepare(
        "INSERT INTO inbox (session_id, admitted_seq, id, kind, prompt, delivery, state, source_key, cycle_id,
             time_created, time_updated)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10)",
    )?
    .execute(params![
        input.session_id.as_str(),
        seq,
        input.id.as_str(),
        word(&input.kind)?,
        input.prompt.to_string(),
        word(&InputDelivery::Queue)?,
        word(&InputState::Queued)?,
        source_key,
        input.cycle_id.as_ref().map_or("", CycleId::as_str),
        now,
    ])?;
    Ok(input.id.clone())
}

/// Takes inputs out of the queue because their content is part of a stored message now. Inputs that do not wait in
/// the queue any more, or were never admitted, are passed over.
pub fn consume(tx: &mut Tx<'_>, session: &SessionId, ids: &[InputId]) -> Result<(), StoreError> {
    let now = tx.now();
    for id in ids {
        let row = tx
            .prepare(
                "UPDATE inbox SET state = 'consumed', revision = revision + 1, time_updated = ?3
                 WHERE session_id = ?1 AND id = ?2 AND state = 'queued' RETURNING kind, delivery, revision, cycle_id",
            )?
            .query_row(params![session.as_str(), id.as_str(), now], |row| {
                Ok((
                    row.get::<_, String>(0)?,
                    row.get::<_, String>(1)?,
                    row.get::<_, i64>(2)?,
                    row.get::<_, String>(3)?,
                ))
            })
            .optional()?;
        if let Some((kind, delivery, revision, cycle)) = row {
            let facts = Facts { id, kind: parse_word(kind)?, delivery: parse_word(delivery)?, revision };
            let cycle = (!cycle.is_empty()).then(|| CycleId::from(cycle));
            announce(tx, "input.consumed", session, &facts, cycle.as_ref())?;
        }
    }
    Ok(())
}

struct Facts<'a> {
    id: &'a InputId,
    kind: InputKind,
    delivery: InputDelivery,
    revision: i64,
}

fn announce(
    tx: &mut Tx<'_>,
    event: &'static str,
    session: &SessionId,
    facts: &Facts<'_>,
    cycle: Option<&CycleId>,
) -> Result<i64, StoreError> {
    let data = json!({
        "inputId": facts.id, "kind": facts.kind, "delivery": facts.delivery, "revision": facts.revision,
        "cycleId": cycle, "error": null,
    });
    tx.emit(session, EventDraft::new(event, data))
}

const COLUMNS: &str = "id, session_id, kind, prompt, delivery, state, revision, admitted_seq, promoted_seq, error, \
                       source_key, trigger_kind, cycle_id, time_created, time_updated";

/// The inputs of a session, in order.
pub fn list(connection: &Connection, session: &SessionId) -> Result<Vec<InputRecord>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM inbox WHERE session_id = ?1 ORDER BY admitted_seq");
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map([session.as_str()], |row| Ok(from_row(row)))?;
    rows.map(|row| row?).collect()
}

/// Id, state and time of the last change of the inputs one request caused, in order. The source keys of one request
/// start with `<source>:`.
pub(super) fn caused_by(
    connection: &Connection,
    session: &SessionId,
    source: &str,
) -> Result<Vec<(InputId, InputState, Millis)>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, state, time_updated FROM inbox
         WHERE session_id = ?1 AND source_key >= ?2 || ':' AND source_key < ?2 || ';' AND source_key <> ''
         ORDER BY admitted_seq",
    )?;
    let rows = statement.query_map([session.as_str(), source], |row| {
        Ok((InputId::from(row.get::<_, String>(0)?), row.get::<_, String>(1)?, row.get(2)?))
    })?;
    rows.map(|row| {
        let (id, state, time) = row?;
        Ok((id, parse_word(state)?, time))
    })
    .collect()
}

fn from_row(row: &Row<'_>) -> Result<InputRecord, StoreError> {
    let text = |index: usize| row.get::<_, String>(index);
    let optional = |index: usize| -> Result<Option<String>, StoreError> {
        let value = text(index)?;
        Ok((!value.is_empty()).then_some(value))
    };
    let promoted: i64 = row.get(8)?;
    Ok(InputRecord {
        id: InputId::from(text(0)?),
        session_id: SessionId::from(text(1)?),
        kind: parse_word(text(2)?)?,
        prompt: serde_json::from_str(&text(3)?)?,
        delivery: parse_word(text(4)?)?,
        state: parse_word(text(5)?)?,
        revision: row.get(6)?,
        admitted_seq: row.get(7)?,
        promoted_seq: (promoted != 0).then_some(promoted),
        error: optional(9)?,
        source_key: optional(10)?,
        trigger_kind: optional(11)?,
        cycle_id: optional(12)?.map(CycleId::from),
        time_created: row.get(13)?,
        time_updated: row.get(14)?,
    })
}
