//! What a session knows about a file's content, and what this room wants from the store.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::host::BoxFuture;
use crate::types::{Result, SessionId};

/// A file over this size gets no receipt and cannot be mutated.
pub const RECEIPT_LIMIT: u64 = 256 * 1024 * 1024;

/// What a session knows about one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Canonical path of the final file.
    pub path: String,
    /// SHA-256 of the whole file's raw bytes.
    pub sha256: String,
    /// Rises with every recorded read or write of the session.
    pub generation: u64,
}

/// Where receipts are kept. The key is (session, canonical path).
pub trait ReadReceipts: Send + Sync {
    /// Records what a session has seen or left on disk. Never waits for a flush.
    fn record(&self, session: &SessionId, path: &str, sha256: &str) -> BoxFuture<'static, Result<Receipt>>;
    /// What a session knows about a path.
    fn get(&self, session: &SessionId, path: &str) -> BoxFuture<'static, Result<Option<Receipt>>>;
    /// Drops the receipts of a path in all sessions.
    fn forget(&self, path: &str) -> BoxFuture<'static, Result<()>>;
}

/// Files that no tool may open: closing one would drop the locks the store holds on it.
pub trait ForbiddenFiles: Send + Sync {
    /// Whether an object, by device and inode, belongs to the store.
    fn is_forbidden(&self, dev: u64, ino: u64) -> bool;
}

/// What the file tools want from the store.
pub trait FileStore: ReadReceipts + ForbiddenFiles {
    /// The folder lock files go to, shared by all processes on one store. `None` = the store is in memory.
    fn lock_folder(&self) -> Option<PathBuf>;
}
