//! Permission requests: asked once, ended once.

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::{Value, json};

use super::{StoreError, Tx, leases};
use crate::types::{
    CycleId, EventDraft, Millis, PermissionId, PermissionRequest, RequestState, SessionId, SettleOrigin,
};

pub(super) const SCHEMA: &str = "
CREATE TABLE permissions (
    id           TEXT    NOT NULL PRIMARY KEY,
    session_id   TEXT    NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    cycle_id     TEXT    NOT NULL,
    state        TEXT    NOT NULL,
    request      TEXT    NOT NULL,
    time_settled INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX permissions_of_session ON permissions (session_id);
CREATE INDEX permissions_pending ON permissions (session_id) WHERE state = 'pending';
";

/// Keeps a new request.
pub fn ask(tx: &mut Tx<'_>, request: &PermissionRequest, cycle: &CycleId) -> Result<(), StoreError> {
    leases::fence(tx, &request.session_id, tx.owner())?;
    let document = serde_json::to_value(request)?;
    tx.prepare("INSERT INTO permissions (id, session_id, cycle_id, state, request) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![
            request.id.as_str(),
            request.session_id.as_str(),
            cycle.as_str(),
            word(request.state)?,
            document.to_string()
        ])?;
    let draft = EventDraft::new("permission.asked", document).in_turn(&request.turn_id, cycle);
    tx.emit(&request.session_id, draft)?;
    Ok(())
}

/// Ends a pending request. Answers false, and changes nothing, when it has ended before.
pub fn settle(
    tx: &mut Tx<'_>,
    id: &PermissionId,
    state: RequestState,
    origin: SettleOrigin,
    at: Millis,
) -> Result<bool, StoreError> {
    let ended = tx
        .prepare(
            "UPDATE permissions SET state = ?2, time_settled = ?3 WHERE id = ?1 AND state = 'pending'
             RETURNING request, state, time_settled, cycle_id",
        )?
        .query_row(params![id.as_str(), word(state)?, at], |row| Ok((from_row(row), row.get::<_, String>(3)?)))
        .optional()?;
    let Some((request, cycle)) = ended else { return Ok(false) };
    let request = request?;
    leases::fence(tx, &request.session_id, tx.owner())?;
    let data = json!({ "requestId": id, "state": state, "origin": origin });
    let draft = EventDraft::new("permission.settled", data).in_turn(&request.turn_id, &CycleId::from(cycle));
    tx.emit(&request.session_id, draft)?;
    Ok(true)
}

/// Cancels what a process left waiting when it ended; its calls never ran. Answers how many there were.
pub fn recover(tx: &mut Tx<'_>, session: &SessionId) -> Result<usize, StoreError> {
    let waiting: Vec<String> = tx
        .prepare("SELECT id FROM permissions WHERE session_id = ?1 AND state = 'pending' ORDER BY id")?
        .query_map([session.as_str()], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let now = tx.now();
    for id in &waiting {
        settle(tx, &PermissionId::from(id.as_str()), RequestState::Cancelled, SettleOrigin::Recovery, now)?;
    }
    Ok(waiting.len())
}

/// A request that was ever asked.
pub fn get(connection: &Connection, id: &PermissionId) -> Result<Option<PermissionRequest>, StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT request, state, time_settled FROM permissions WHERE id = ?1")?;
    statement.query_row([id.as_str()], |row| Ok(from_row(row))).optional()?.transpose()
}

/// The document is as it was asked; what changes has columns of its own.
fn from_row(row: &Row<'_>) -> Result<PermissionRequest, StoreError> {
    let document: String = row.get(0)?;
    let settled: Millis = row.get(2)?;
    let mut request: PermissionRequest = serde_json::from_str(&document)?;
    request.state = serde_json::from_value(Value::String(row.get(1)?))?;
    request.time_settled = (settled != 0).then_some(settled);
    Ok(request)
}

fn word(state: RequestState) -> Result<String, StoreError> {
    match serde_json::to_value(state)? {
        Value::String(word) => Ok(word),
        other => Err(StoreError::Record(format!("{other} is no state"))),
    }
}
