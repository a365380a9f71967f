//! SQLite: one file per aggregate. Every public function of an aggregate is one decision inside a transaction.
//!
//! All writes go through one thread per store, which commits what has queued up in one transaction (group commit).
//! Whoever needs its change on disk before going on asks for [`Durability::Full`]; everybody else is only ordered.
//! Nothing here knows what a tool is.

mod error;
mod exclusive;
mod open;
mod readers;
mod schema;
mod tx;
mod writer;

pub mod artifacts;
pub mod calls;
pub mod events;
pub mod inbox;
pub mod leases;
pub mod permissions;
pub mod questions;
pub mod read_receipts;
pub mod sessions;
pub mod verification;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::types::{Clock, Event, IdSource};

pub use error::StoreError;
pub use tx::Tx;

/// Where the database is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A file; its folder must exist.
    File(PathBuf),
    /// Nothing is kept after the store is closed.
    Memory,
}

/// Whether a commit waits for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// Ordered and atomic; survives the death of the process, not of the machine.
    Ordered,
    /// On disk before the call returns: guards a side effect.
    Full,
}

/// Gets every durable event after its transaction has been committed, in order of commit.
pub trait EventSink: Send + Sync {
    /// The events of one commit.
    fn committed(&self, events: Vec<Arc<Event>>);
}

/// A sink for stores that nobody listens to.
#[derive(Debug, Default)]
pub struct NoEvents;

impl EventSink for NoEvents {
    fn committed(&self, _: Vec<Arc<Event>>) {}
}

/// An open store. Clones share it; the last one closes it.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    writer: writer::Writer,
    readers: readers::Readers,
    identity: leases::Owner,
    location: Location,
    // Held for as long as the store is open: dropped last.
    exclusive: Mutex<Option<exclusive::Exclusive>>,
}

impl Store {
    /// Opens or creates a store.
    ///
    /// # Errors
    /// `store.*` naming the file, which is left as it is.
    pub fn open(
        location: Location,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
        sink: Arc<dyn EventSink>,
    ) -> Result<Self, StoreError> {
        open::open(location, clock, ids, sink)
    }

    /// Runs one decision in a transaction and waits for its commit.
    ///
    /// # Errors
    /// What the decision answers, or the store's own failure; then nothing of it has happened.
    pub async fn write<T, E>(
        &self,
        durability: Durability,
        decision: impl FnOnce(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        self.enqueue(durability, decision, move |result| {
            // Nobody waits any more: the decision stands, only its answer is not wanted.
            let _ = sender.send(result);
        });
        receiver.await.unwrap_or_else(|_| Err(StoreError::Closed.into()))
    }

    /// The same for a thread that may block.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn write_blocking<T, E>(
        &self,
        durability: Durability,
        decision: impl FnOnce(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        self.enqueue(durability, decision, move |result| {
            let _ = sender.send(result);
        });
        receiver.recv().unwrap_or_else(|_| Err(StoreError::Closed.into()))
    }

    /// Queues a decision without waiting. It is committed before every decision queued later.
    pub fn submit<E>(
        &self,
        durability: Durability,
        decision: impl FnOnce(&mut Tx<'_>) -> Result<(), E> + Send + 'static,
    ) where
        E: From<StoreError> + Send + 'static,
    {
        self.enqueue(durability, decision, |_| {});
    }

    fn enqueue<T, E>(
        &self,
        durability: Durability,
        decision: impl FnOnce(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
        answer: impl FnOnce(Result<T, E>) + Send + 'static,
    ) where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.inner.writer.enqueue(durability, decision, answer);
    }

    /// Reads one consistent state.
    ///
    /// # Errors
    /// What the query answers, or the store's own failure.
    pub fn read<T, E>(&self, query: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        match &self.inner.location {
            Location::File(_) => self.inner.readers.read(query),
            // Only the writer's connection sees a database in memory.
            Location::Memory => self.write_blocking(Durability::Ordered, move |tx| query(tx.connection())),
        }
    }

    /// Who this store is towards other processes.
    pub fn owner(&self) -> &leases::Owner {
        &self.inner.identity
    }

    /// The database file, when there is one.
    pub fn path(&self) -> Option<&Path> {
        match &self.inner.location {
            Location::File(path) => Some(path),
            Location::Memory => None,
        }
    }

    /// Device and inode of the files that only SQLite may open: opening and closing one of them elsewhere in this
    /// process would drop SQLite's locks.
    pub fn file_identities(&self) -> Vec<(u64, u64)> {
        let Some(path) = self.path() else { return Vec::new() };
        ["", "-wal", "-shm"]
            .iter()
            .filter_map(|suffix| {
                let mut name = path.as_os_str().to_owned();
                name.push(suffix);
                let found = rustix::fs::stat(Path::new(&name)).ok()?;
                Some((found.st_dev, found.st_ino))
            })
            .collect()
    }

    /// Commits what is queued and closes the files, whoever still holds a handle: those get `closed.object`.
    pub fn close(&self) {
        self.inner.close();
    }

    /// Waits until everything queued so far is committed.
    pub fn flush(&self) {
        let _ = self.write_blocking::<(), StoreError>(Durability::Ordered, |_| Ok(()));
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close();
    }
}

impl Inner {
    fn close(&self) {
        self.writer.close();
        // A read that is under way keeps the file open, and so the claim on it, until the store is dropped.
        if self.readers.close() {
            drop(self.exclusive.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
    }
}
