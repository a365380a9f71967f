//! Artifacts: files that hold output which was withheld from the transcript.

use rusqlite::{Connection, OptionalExtension, params};

use super::{StoreError, Tx};
use crate::types::{Millis, SessionId};

pub(super) const SCHEMA: &str = "
CREATE TABLE artifacts (
    path         TEXT    NOT NULL PRIMARY KEY,
    session_id   TEXT    NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    bytes        INTEGER NOT NULL,
    time_created INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX artifacts_by_session ON artifacts (session_id, time_created);
";

/// A file that is complete and on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewArtifact {
    /// Its absolute path.
    pub path: String,
    /// Its size.
    pub bytes: u64,
}

/// A recorded artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// Its absolute path.
    pub path: String,
    /// The session whose call produced it.
    pub session_id: SessionId,
    /// Its size.
    pub bytes: u64,
    /// When it was recorded.
    pub time_created: Millis,
}

/// Records an artifact; from now on the session can read it back.
pub fn record(tx: &mut Tx<'_>, session: &SessionId, artifact: &NewArtifact) -> Result<(), StoreError> {
    let now = tx.now();
    let bytes = i64::try_from(artifact.bytes).unwrap_or(i64::MAX);
    tx.prepare("INSERT INTO artifacts (path, session_id, bytes, time_created) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![artifact.path, session.as_str(), bytes, now])?;
    Ok(())
}

/// The artifact of that path, when the session or one of its descendants produced it.
pub fn find(connection: &Connection, session: &SessionId, path: &str) -> Result<Option<Artifact>, StoreError> {
    let mut statement = connection.prepare_cached(
        "WITH RECURSIVE family(id) AS (
             SELECT ?1 UNION SELECT sessions.id FROM sessions JOIN family ON sessions.parent_id = family.id
         )
         SELECT path, session_id, bytes, time_created FROM artifacts
         WHERE path = ?2 AND session_id IN (SELECT id FROM family)",
    )?;
    Ok(statement.query_row([session.as_str(), path], from_row).optional()?)
}

/// All artifacts of one session, oldest first: what goes with the session.
pub fn of_session(connection: &Connection, session: &SessionId) -> Result<Vec<Artifact>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT path, session_id, bytes, time_created FROM artifacts WHERE session_id = ?1
         ORDER BY time_created, path",
    )?;
    let rows = statement.query_map([session.as_str()], from_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn from_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Artifact> {
    Ok(Artifact {
        path: row.get(0)?,
        session_id: SessionId::from(row.get::<_, String>(1)?),
        bytes: row.get::<_, i64>(2)?.unsigned_abs(),
        time_created: row.get(3)?,
    })
}
