//! Read connections: one per concurrent reader, kept for the next one.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::open::BUSY;
use super::{Location, StoreError};

/// Connections kept open between reads; more readers than this open one of their own.
const KEPT: usize = 4;

pub(super) struct Readers {
    path: Option<PathBuf>,
    // `None` once the store is closed.
    idle: Mutex<Option<Vec<Connection>>>,
}

impl Readers {
    pub(super) fn new(location: &Location) -> Self {
        let path = match location {
            Location::File(path) => Some(path.clone()),
            Location::Memory => None,
        };
        Self { path, idle: Mutex::new(Some(Vec::new())) }
    }

    /// Runs a query on one state of the database, however many statements it has.
    pub(super) fn read<T, E>(&self, query: impl FnOnce(&Connection) -> Result<T, E>) -> Result<T, E>
    where
        E: From<StoreError>,
    {
        let mut connection = self.take()?;
        let result = in_one_state(&mut connection, query);
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(idle) = idle.as_mut().filter(|idle| idle.len() < KEPT) {
            idle.push(connection);
        }
        result
    }

    fn take(&self) -> Result<Connection, StoreError> {
        match self.idle.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(Vec::pop) {
            None => return Err(StoreError::Closed),
            Some(Some(connection)) => return Ok(connection),
            Some(None) => {}
        }
        let path = self.path.as_ref().ok_or(StoreError::Closed)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY)?;
        connection.execute_batch("PRAGMA cache_size = -500;")?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(connection)
    }

    pub(super) fn close(&self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

fn in_one_state<T, E>(connection: &mut Connection, query: impl FnOnce(&Connection) -> Result<T, E>) -> Result<T, E>
where
    E: From<StoreError>,
{
    let state = connection.transaction_with_behavior(TransactionBehavior::Deferred).map_err(StoreError::from)?;
    // Nothing was written: ending it by a rollback is as good.
    query(&state)
}
