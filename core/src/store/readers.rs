//! Read connections: one per concurrent reader, kept for the next one.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::{Location, StoreError};

/// Connections kept open between reads; more readers than this open one of their own.
const KEPT: usize = 4;

pub(super) struct Readers {
    path: Option<PathBuf>,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(super) fn new(location: &Location) -> Self {
        let path = match location {
            Location::File(path) => Some(path.clone()),
            Location::Memory => None,
        };
        Self { path, idle: Mutex::new(Vec::new()) }
    }

    pub(super) fn read<T, E>(&self, query: impl FnOnce(&Connection) -> Result<T, E>) -> Result<T, E>
    where
        E: From<StoreError>,
    {
        let connection = self.take()?;
        let result = query(&connection);
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < KEPT {
            idle.push(connection);
        }
        result
    }

    fn take(&self) -> Result<Connection, StoreError> {
        if let Some(connection) = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            return Ok(connection);
        }
        let path = self.path.as_ref().ok_or(StoreError::Closed)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(Duration::from_secs(30))?;
        connection.execute_batch("PRAGMA cache_size = -500;")?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(connection)
    }

    pub(super) fn close(&self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
