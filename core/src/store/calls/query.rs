//! Reading messages and calls.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{COLUMNS, CallKey, from_row};
use crate::store::StoreError;
use crate::types::{CycleId, MessageId, Millis, Part, SessionId, ToolError, TurnId};

/// A message with its calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// Where it belongs.
    pub session_id: SessionId,
    /// Its number in the session, from 1.
    pub ordinal: i64,
    /// The turn.
    pub turn_id: TurnId,
    /// The cycle.
    pub cycle_id: CycleId,
    /// The step inside the turn.
    pub step: u32,
    /// When it was recorded.
    pub time_created: Millis,
    /// Its calls, in call order.
    pub parts: Vec<Part>,
}

/// One call.
pub fn part(connection: &Connection, key: &CallKey) -> Result<Option<Part>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM calls WHERE session_id = ?1 AND message_id = ?2 AND call_id = ?3");
    let mut statement = connection.prepare_cached(&sql)?;
    statement.query_row(key.params(), |row| Ok(from_row(row))).optional()?.transpose()
}

/// The calls of a message, in call order.
pub fn parts(connection: &Connection, session: &SessionId, message: &MessageId) -> Result<Vec<Part>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM calls WHERE session_id = ?1 AND message_id = ?2 ORDER BY ordinal");
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map([session.as_str(), message.as_str()], |row| Ok(from_row(row)))?;
    let mut parts = Vec::new();
    for row in rows {
        parts.push(row??);
    }
    Ok(parts)
}

/// The messages of a session after an ordinal, in order.
pub fn messages(
    connection: &Connection,
    session: &SessionId,
    after: i64,
    limit: i64,
) -> Result<Vec<Message>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, ordinal, turn_id, cycle_id, step, time_created FROM messages
         WHERE session_id = ?1 AND ordinal > ?2 ORDER BY ordinal LIMIT ?3",
    )?;
    let rows = statement.query_map(params![session.as_str(), after, limit], |row| {
        Ok(Message {
            id: MessageId::from(row.get::<_, String>(0)?),
            session_id: session.clone(),
            ordinal: row.get(1)?,
            turn_id: TurnId::from(row.get::<_, String>(2)?),
            cycle_id: CycleId::from(row.get::<_, String>(3)?),
            step: row.get(4)?,
            time_created: row.get(5)?,
            parts: Vec::new(),
        })
    })?;
    let mut messages = rows.collect::<Result<Vec<_>, _>>()?;
    for message in &mut messages {
        message.parts = parts(connection, session, &message.id)?;
    }
    Ok(messages)
}

/// `Safe` calls whose newest attempts failed in a way that may pass: tool, argument digest, failures in a row, and when
/// the last one was.
pub fn recent_failures(
    connection: &Connection,
    session: &SessionId,
    since: Millis,
) -> Result<Vec<(String, String, u32, Millis)>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT tool, argument_digest, outcome, error, time_completed FROM calls
         WHERE session_id = ?1 AND replay = 'Safe' AND state = 'settled' AND time_completed >= ?2
         ORDER BY time_completed",
    )?;
    let rows = statement.query_map(params![session.as_str(), since], |row| {
        Ok((
            (row.get::<_, String>(0)?, row.get::<_, String>(1)?),
            row.get::<_, String>(2)?,
            row.get::<_, String>(3)?,
            row.get::<_, Millis>(4)?,
        ))
    })?;
    let mut streaks: HashMap<(String, String), (u32, Millis)> = HashMap::new();
    for row in rows {
        let (identity, outcome, error, at) = row?;
        let passing = super::document::<ToolError>(&error)?.is_some_and(|error| error.may_pass());
        match (outcome.as_str(), passing) {
            ("error", true) => {
                let streak = streaks.entry(identity).or_insert((0, at));
                *streak = (streak.0 + 1, at);
            }
            // A refusal says nothing about the cause of the earlier failure.
            ("blocked", _) => {}
            _ => {
                streaks.remove(&identity);
            }
        }
    }
    Ok(streaks.into_iter().map(|((tool, digest), (count, at))| (tool, digest, count, at)).collect())
}
