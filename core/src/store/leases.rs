//! One live owner per session. Others may read; a dead owner's lease is taken over.

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::json;

use super::{StoreError, Tx};
use crate::types::{EventDraft, IdSource, Millis, SessionId};

pub(super) const SCHEMA: &str = "
CREATE TABLE leases (
    session_id    TEXT    NOT NULL PRIMARY KEY REFERENCES sessions(id) ON DELETE CASCADE,
    owner_id      TEXT    NOT NULL,
    host_id       TEXT    NOT NULL,
    pid           INTEGER NOT NULL,
    process_start INTEGER NOT NULL,
    heartbeat_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
";

/// A lease without a heartbeat for this long is dead, wherever its owner ran.
pub const DEAD_AFTER: Millis = 30_000;
/// How often an owner says that it lives.
pub const HEARTBEAT: Millis = 5_000;

/// One runtime towards the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Unique per runtime.
    pub id: String,
    /// Boot and PID namespace: a pid means something only under an equal one.
    pub host_id: String,
    /// The process.
    pub pid: i64,
    /// Its start time in clock ticks since boot, so that a reused pid is told apart.
    pub process_start: i64,
}

impl Owner {
    /// This process as an owner.
    pub fn current(ids: &dyn IdSource) -> Self {
        let pid = i64::from(std::process::id());
        Self { id: ids.next_id(), host_id: host_id(), pid, process_start: process_start(pid).unwrap_or(0) }
    }

    /// Whether the holder of a lease still drives its session, as this store sees it.
    fn is_alive(&self, here: &Self, heartbeat_at: Millis, now: Millis) -> bool {
        let beats = now - heartbeat_at <= DEAD_AFTER;
        if self.host_id != here.host_id {
            return beats;
        }
        // One store per process and file: a lease of this very process belongs to a runtime that has ended.
        let of_this_process = self.pid == here.pid && self.process_start == here.process_start;
        // Without start times (no /proc) a pid says nothing, and only the heartbeat counts.
        let runs = self.process_start == 0 || process_start(self.pid) == Some(self.process_start);
        beats && runs && !of_this_process
    }
}

fn host_id() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = std::fs::read_link("/proc/self/ns/pid").map(|link| link.to_string_lossy().into_owned());
    format!("{}:{}", boot.trim(), namespace.unwrap_or_default())
}

/// Field 22 of `/proc/PID/stat`; `None` when there is no such process, or it is a zombie that nobody reaped.
fn process_start(pid: i64) -> Option<i64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything, parentheses too.
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X" | "x") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

fn read(row: &Row<'_>) -> rusqlite::Result<(Owner, Millis)> {
    let owner = Owner { id: row.get(0)?, host_id: row.get(1)?, pid: row.get(2)?, process_start: row.get(3)? };
    Ok((owner, row.get(4)?))
}

/// Takes the lease of a session, unless it is held already. Answers whether a dead owner's lease was taken over.
pub fn take(tx: &mut Tx<'_>, session: &SessionId, owner: &Owner) -> Result<bool, StoreError> {
    let sql = "SELECT owner_id, host_id, pid, process_start, heartbeat_at FROM leases WHERE session_id = ?1";
    let held = tx.prepare(sql)?.query_row([session.as_str()], read).optional()?;
    let now = tx.now();
    let taken_over = held.is_some();
    if let Some((other, heartbeat_at)) = held {
        if other.id == owner.id {
            return Ok(false);
        }
        if other.is_alive(owner, heartbeat_at, now) {
            return Err(StoreError::NotOwner { session: session.to_string(), pid: other.pid });
        }
    }
    tx.prepare(
        "INSERT INTO leases (session_id, owner_id, host_id, pid, process_start, heartbeat_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (session_id) DO UPDATE SET owner_id = ?2, host_id = ?3, pid = ?4, process_start = ?5, heartbeat_at = ?6",
    )?
    .execute(params![session.as_str(), owner.id, owner.host_id, owner.pid, owner.process_start, now])?;
    let data = json!({ "ownerId": owner.id, "pid": owner.pid, "takenOver": taken_over });
    tx.emit(session, EventDraft::new("session.lease", data))?;
    Ok(taken_over)
}

/// Refuses the transaction of an owner that lost its lease.
pub fn fence(tx: &Tx<'_>, session: &SessionId, owner: &Owner) -> Result<(), StoreError> {
    let mut statement = tx.prepare("SELECT owner_id, pid FROM leases WHERE session_id = ?1")?;
    let held: Option<(String, i64)> =
        statement.query_row([session.as_str()], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    match held {
        Some((id, _)) if id == owner.id => Ok(()),
        Some((_, pid)) => Err(StoreError::NotOwner { session: session.to_string(), pid }),
        None => Err(StoreError::LeaseGone(session.to_string())),
    }
}

/// Whether an owner holds the lease of a session.
pub fn is_held(connection: &Connection, session: &SessionId, owner: &str) -> Result<bool, StoreError> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM leases WHERE session_id = ?1 AND owner_id = ?2")?;
    Ok(statement.exists([session.as_str(), owner])?)
}

/// Gives the lease back.
pub fn release(tx: &mut Tx<'_>, session: &SessionId, owner: &Owner) -> Result<(), StoreError> {
    tx.prepare("DELETE FROM leases WHERE session_id = ?1 AND owner_id = ?2")?
        .execute([session.as_str(), owner.id.as_str()])?;
    Ok(())
}

/// Gives every lease of an owner back.
pub fn release_all(tx: &mut Tx<'_>, owner: &Owner) -> Result<(), StoreError> {
    tx.prepare("DELETE FROM leases WHERE owner_id = ?1")?.execute([owner.id.as_str()])?;
    Ok(())
}

/// Says that an owner lives.
pub fn beat(tx: &mut Tx<'_>, owner: &Owner) -> Result<(), StoreError> {
    let now = tx.now();
    tx.prepare("UPDATE leases SET heartbeat_at = ?2 WHERE owner_id = ?1")?.execute(params![owner.id, now])?;
    Ok(())
}
