//! Read receipts as the file tools use them.

use std::path::{Path, PathBuf};

pub use crate::store::read_receipts::Receipt;
use crate::store::{Durability, Store, StoreError, read_receipts};
use crate::types::SessionId;

/// A file over this size gets no receipt and cannot be mutated.
pub const RECEIPT_LIMIT: u64 = 256 * 1024 * 1024;

/// Records what a session has seen of a file, or left there. Waits for no disk.
pub async fn record(store: &Store, session: &SessionId, path: &Path, sha256: String) -> Result<Receipt, StoreError> {
    let (session, path) = (session.clone(), key(path));
    store.write(Durability::Ordered, move |tx| read_receipts::record(tx, &session, &path, &sha256)).await
}

/// What a session knows about a file.
pub fn get(store: &Store, session: &SessionId, path: &Path) -> Result<Option<Receipt>, StoreError> {
    let (session, path) = (session.clone(), key(path));
    store.read(move |connection| read_receipts::get(connection, &session, &path))
}

/// Drops the receipts of a path in all sessions: the file is no longer there.
pub async fn forget(store: &Store, path: &Path) -> Result<(), StoreError> {
    let path = key(path);
    store.write(Durability::Ordered, move |tx| read_receipts::forget(tx, &path)).await
}

/// The path a receipt is kept under. Two names that differ only in bytes that are not UTF-8 share a receipt; its digest tells their contents apart.
pub fn key(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Where the lock files of a store's worktrees are: beside the database, so that all its processes share them.
pub fn lock_folder(store: &Store) -> Option<PathBuf> {
    Some(store.path()?.parent()?.join("locks"))
}
