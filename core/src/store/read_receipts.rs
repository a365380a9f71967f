//! What sessions know about the content of files. The key is (session, canonical path).

use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};

use super::{StoreError, Tx};
use crate::types::SessionId;

pub(super) const SCHEMA: &str = "
CREATE TABLE read_receipts (
    session_id TEXT    NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    path       TEXT    NOT NULL,
    sha256     TEXT    NOT NULL,
    generation INTEGER NOT NULL,
    PRIMARY KEY (session_id, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX read_receipts_by_path ON read_receipts (path);
";

/// What a session knows about one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Canonical path of the final file.
    pub path: String,
    /// SHA-256 of the whole file's raw bytes.
    pub sha256: String,
    /// Rises with every recorded read or write of the session.
    pub generation: i64,
}

/// Records what a session has seen of a file, or left there.
pub fn record(tx: &mut Tx<'_>, session: &SessionId, path: &str, sha256: &str) -> Result<Receipt, StoreError> {
    let generation = tx
        .prepare("UPDATE sessions SET generation = generation + 1 WHERE id = ?1 RETURNING generation")?
        .query_row([session.as_str()], |row| row.get(0))?;
    tx.prepare(
        "INSERT INTO read_receipts (session_id, path, sha256, generation) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (session_id, path) DO UPDATE SET sha256 = ?3, generation = ?4",
    )?
    .execute(params![session.as_str(), path, sha256, generation])?;
    Ok(Receipt { path: path.to_owned(), sha256: sha256.to_owned(), generation })
}

/// What a session knows about a file.
pub fn get(connection: &Connection, session: &SessionId, path: &str) -> Result<Option<Receipt>, StoreError> {
    let sql = "SELECT sha256, generation FROM read_receipts WHERE session_id = ?1 AND path = ?2";
    let found = connection
        .prepare_cached(sql)?
        .query_row([session.as_str(), path], |row| {
            Ok(Receipt { path: path.to_owned(), sha256: row.get(0)?, generation: row.get(1)? })
        })
        .optional()?;
    Ok(found)
}

/// Drops the receipts of a path in all sessions: the file is no longer there.
pub fn forget(tx: &mut Tx<'_>, path: &str) -> Result<(), StoreError> {
    tx.prepare("DELETE FROM read_receipts WHERE path = ?1")?.execute([path])?;
    Ok(())
}
