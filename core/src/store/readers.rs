//! Read connections: one per concurrent reader, kept for the next one.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::{Location, StoreError};

/// Connections kept open between reads; more readers than this open one of their own.
const KEPT: usize = 4;

pub(super) struct Readers {
    path: Option<PathBuf>,
    pool: Mutex<Pool>,
}

#[derive(Default)]
struct Pool {
    idle: Vec<Connection>,
    lent: usize,
    closed: bool,
}

/// A connection on its way back to the pool, also when the query panics.
struct Lent<'a> {
    readers: &'a Readers,
    connection: Option<Connection>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let mut pool = self.readers.lock();
        pool.lent -= 1;
        if let Some(connection) = self.connection.take().filter(|_| !pool.closed && pool.idle.len() < KEPT) {
            pool.idle.push(connection);
        }
    }
}

impl Readers {
    pub(super) fn new(location: &Location) -> Self {
        let path = match location {
            Location::File(path) => Some(path.clone()),
            Location::Memory => None,
        };
        Self { path, pool: Mutex::new(Pool::default()) }
    }

    pub(super) fn read<T, E>(&self, query: impl FnOnce(&Connection) -> Result<T, E>) -> Result<T, E>
    where
        E: From<StoreError>,
    {
        let mut lent = self.lend()?;
        let connection = match lent.connection.take() {
            Some(connection) => connection,
            None => self.connect()?,
        };
        query(lent.connection.insert(connection))
    }

    fn lend(&self) -> Result<Lent<'_>, StoreError> {
        let mut pool = self.lock();
        if pool.closed {
            return Err(StoreError::Closed);
        }
        pool.lent += 1;
        let connection = pool.idle.pop();
        Ok(Lent { readers: self, connection })
    }

    fn connect(&self) -> Result<Connection, StoreError> {
        let path = self.path.as_ref().ok_or(StoreError::Closed)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(Duration::from_secs(30))?;
        connection.execute_batch("PRAGMA cache_size = -500;")?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(connection)
    }

    /// Refuses further reads; answers whether every connection is closed.
    pub(super) fn close(&self) -> bool {
        let mut pool = self.lock();
        pool.closed = true;
        pool.idle.clear();
        pool.lent == 0
    }

    fn lock(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
