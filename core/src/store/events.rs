//! Durable events, numbered per session without gaps.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{StoreError, Tx};
use crate::types::{CycleId, Error, Event, EventId, SessionId, TurnId};

pub(super) const SCHEMA: &str = "
CREATE TABLE events (
    session_id TEXT    NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    seq        INTEGER NOT NULL,
    id         TEXT    NOT NULL,
    type       TEXT    NOT NULL,
    time       INTEGER NOT NULL,
    turn_id    TEXT    NOT NULL DEFAULT '',
    cycle_id   TEXT    NOT NULL DEFAULT '',
    root_id    TEXT    NOT NULL,
    data       TEXT    NOT NULL,
    PRIMARY KEY (session_id, seq)
) STRICT, WITHOUT ROWID;
";

/// Events one page holds at most.
pub const PAGE: i64 = 1_000;
/// Bytes of documents after which a page ends before it is full.
const PAGE_BYTES: usize = 8 << 20;

pub(super) fn insert(tx: &Tx<'_>, event: &Event) -> Result<(), StoreError> {
    let root = event.root_session_id.as_ref().unwrap_or(&event.session_id);
    tx.prepare(
        "INSERT INTO events (session_id, seq, id, type, time, turn_id, cycle_id, root_id, data)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute(params![
        event.session_id.as_str(),
        event.seq,
        event.id.as_str(),
        event.kind,
        event.time,
        event.turn_id.as_ref().map_or("", TurnId::as_str),
        event.cycle_id.as_ref().map_or("", CycleId::as_str),
        root.as_str(),
        event.data.to_string(),
    ])?;
    Ok(())
}

/// The stored events of a session after a number, in order.
///
/// # Errors
/// `not_found.object` for an unknown session, `arguments.invalid` for a number beyond the end.
pub fn read(connection: &Connection, session: &SessionId, after: i64, limit: i64) -> Result<Vec<Event>, Error> {
    let last = last_seq(connection, session)?.ok_or_else(|| Error::not_found("session", session.as_str()))?;
    if limit < 0 {
        return Err(Error::arguments("`limit` cannot be negative.").with("field", "limit"));
    }
    if after < 0 || after > last {
        let message = format!("`after` is {after}, but the last event of this session is {last}.");
        return Err(Error::arguments(message).with("last", last));
    }
    Ok(page(connection, session, after, limit)?)
}

/// The same without the checks, for streams that catch up. Large events make a page shorter, never empty.
pub fn page(connection: &Connection, session: &SessionId, after: i64, limit: i64) -> Result<Vec<Event>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT session_id, seq, id, type, time, turn_id, cycle_id, root_id, data
         FROM events WHERE session_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
    )?;
    let mut rows = statement.query(params![session.as_str(), after, limit.clamp(0, PAGE)])?;
    let (mut events, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        bytes += row.get_ref(8)?.as_str().map_or(0, str::len);
        events.push(from_row(row)?);
        if bytes > PAGE_BYTES {
            break;
        }
    }
    Ok(events)
}

/// The number of the last durable event and the root of the tree; `None` for an unknown session.
pub fn head(connection: &Connection, session: &SessionId) -> Result<Option<(i64, SessionId)>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT last_seq, root_id FROM sessions WHERE id = ?1")?;
    let row = |row: &Row<'_>| Ok((row.get(0)?, SessionId::from(row.get::<_, String>(1)?)));
    Ok(statement.query_row([session.as_str()], row).optional()?)
}

/// The number of the last durable event; `None` for an unknown session.
pub fn last_seq(connection: &Connection, session: &SessionId) -> Result<Option<i64>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT last_seq FROM sessions WHERE id = ?1")?;
    Ok(statement.query_row([session.as_str()], |row| row.get(0)).optional()?)
}

fn from_row(row: &Row<'_>) -> Result<Event, StoreError> {
    let text = |index: usize| -> Result<Option<String>, StoreError> {
        let text: String = row.get(index)?;
        Ok((!text.is_empty()).then_some(text))
    };
    let data: String = row.get(8)?;
    Ok(Event {
        id: EventId::from(row.get::<_, String>(2)?),
        kind: row.get(3)?,
        session_id: SessionId::from(row.get::<_, String>(0)?),
        seq: row.get(1)?,
        durable: true,
        time: row.get(4)?,
        turn_id: text(5)?.map(TurnId::from),
        cycle_id: text(6)?.map(CycleId::from),
        root_session_id: text(7)?.map(SessionId::from),
        data: serde_json::from_str(&data)?,
    })
}
