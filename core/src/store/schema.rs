//! The schema and its migrations, numbered by `user_version`.

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

pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

pub(super) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    if version(connection)? == VERSION {
        return Ok(());
    }
    // Looked at again under the write lock: another process may be creating the same database.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let from = usize::try_from(version(&transaction)?).unwrap_or(0);
    for steps in MIGRATIONS.iter().skip(from) {
        for sql in *steps {
            transaction.execute_batch(sql)?;
        }
    }
    transaction.execute_batch(&format!("PRAGMA user_version = {VERSION}"))?;
    transaction.commit()?;
    Ok(())
}
