//! The schema and its migrations, numbered by `user_version`.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::{
    StoreError, artifacts, calls, events, inbox, leases, permissions, questions, read_receipts, sessions, verification,
};

/// The schema this version writes.
pub(super) const VERSION: i64 = MIGRATIONS.len() as i64;

/// Migration N brings a database from `user_version` N to N + 1. A published migration is never changed.
const MIGRATIONS: &[&[&str]] = &[&[
    sessions::SCHEMA,
    leases::SCHEMA,
    events::SCHEMA,
    calls::SCHEMA,
    permissions::SCHEMA,
    artifacts::SCHEMA,
    read_receipts::SCHEMA,
    verification::SCHEMA,
    questions::SCHEMA,
    inbox::SCHEMA,
]];

/// Written into the file's header, so that a database of another program is told apart: `zuno` in ASCII.
const APPLICATION: i64 = 0x7a75_6e6f;

pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

pub(super) fn is_ours(connection: &Connection) -> rusqlite::Result<bool> {
    let found: i64 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    Ok(found == APPLICATION)
}

pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    if version(connection)? == VERSION {
        return Ok(());
    }
    // Looked at again under the write lock: another process may be creating the same database.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = version(&transaction)?;
    if found > VERSION {
        return Err(StoreError::NewerSchema { path: path.to_owned(), found, known: VERSION });
    }
    let from = usize::try_from(found).map_err(|_| StoreError::NotADatabase(path.to_owned()))?;
    for steps in MIGRATIONS.iter().skip(from) {
        for sql in *steps {
            transaction.execute_batch(sql)?;
        }
    }
    transaction.execute_batch(&format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};"))?;
    transaction.commit()?;
    Ok(())
}
