//! Failures of the store itself.

use std::path::PathBuf;

use crate::types::{Error, ErrorKind, ToolError};

/// What can go wrong with the database.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder of the file does not exist.
    #[error("The folder of the database {} does not exist. Create it, or give another path.", .0.display())]
    MissingDirectory(PathBuf),
    /// The file is not a database.
    #[error("{} is not a database of this library. Move it away, or give another path.", .0.display())]
    NotADatabase(PathBuf),
    /// The file is damaged.
    #[error("The database {} is damaged ({reason}). It was left as it is; restore a copy, or give another path.", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        reason: String,
    },
    /// The file was written by a newer version.
    #[error("The database {} has schema {found}, newer than {known}. Use a newer version of the library.", .path.display())]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The newest schema this version knows.
        known: i64,
    },
    /// The operating system does not let the file be read or written.
    #[error("The database {} cannot be used: {reason}. It was left as it is; look at the disk and the file system.", .path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What SQLite reported.
        reason: String,
    },
    /// The file or its folder cannot be written.
    #[error("The database {} or its folder cannot be written. Check its permissions and the mount.", .0.display())]
    ReadOnly(PathBuf),
    /// Another copy in this process has it open.
    #[error("Another runtime or copy of the library in this process has {} open. Share that runtime.", .0.display())]
    SecondCopy(PathBuf),
    /// Another process kept it locked for longer than the store waits.
    #[error("The database stayed locked by another process. Try again; if it lasts, look for a process that hangs.")]
    Locked,
    /// Another runtime owns the session.
    #[error("The session {session} is owned by process {pid}. Close it there, or wait until that process has ended.")]
    NotOwner {
        /// The session.
        session: String,
        /// The owner's process.
        pid: i64,
    },
    /// Nobody owns the session any more: it was closed or deleted elsewhere.
    #[error("This runtime does not own the session {0} any more. Open it again with `session.open`.")]
    LeaseGone(String),
    /// The store was closed.
    #[error("The runtime is closed.")]
    Closed,
    /// A decision panicked; nothing of it was kept.
    #[error("A defect of the library ended this change. Nothing of it was kept, and everything else goes on.")]
    Panicked,
    /// A stored document cannot be read.
    #[error("A stored record cannot be read ({0}). The database may be damaged.")]
    Record(String),
    /// Anything else SQLite reports.
    #[error("The database failed: {0}.")]
    Sqlite(rusqlite::Error),
    /// The commit that this decision shared with others failed.
    #[error("The database failed: {0}.")]
    Commit(String),
}

impl StoreError {
    /// The same failure for the next decision that it hits.
    pub(super) fn repeat(&self) -> Self {
        match self {
            Self::Locked => Self::Locked,
            Self::Closed => Self::Closed,
            other => Self::Commit(other.to_string()),
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as Code;
        match error.sqlite_error_code() {
            Some(Code::DatabaseBusy | Code::DatabaseLocked) => Self::Locked,
            // A value that is not of the type this library stores there.
            None if is_foreign_value(&error) => Self::Record(error.to_string()),
            _ => Self::Sqlite(error),
        }
    }
}

impl From<serde_json::Error> for StoreError {
    fn from(error: serde_json::Error) -> Self {
        Self::Record(error.to_string())
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::MissingDirectory(path) => {
                Self::new("store.missing_directory", message).with("path", path.to_string_lossy())
            }
            StoreError::NotADatabase(path) => {
                Self::new("store.not_a_database", message).with("path", path.to_string_lossy())
            }
            StoreError::Damaged { path, .. } => {
                Self::new("store.damaged", message).with("path", path.to_string_lossy())
            }
            StoreError::NewerSchema { path, found, known } => Self::new("store.newer_schema", message)
                .with("path", path.to_string_lossy())
                .with("found", found)
                .with("known", known),
            StoreError::ReadOnly(path) => Self::new("store.read_only", message).with("path", path.to_string_lossy()),
            StoreError::SecondCopy(path) => {
                Self::new("store.second_copy", message).with("path", path.to_string_lossy())
            }
            StoreError::Locked => Self::new("store.locked", message).with("retryable", true),
            StoreError::NotOwner { session, pid } => {
                Self::new("busy.session", message).with("sessionId", session).with("pid", pid)
            }
            StoreError::LeaseGone(session) => Self::new("busy.session", message).with("sessionId", session),
            StoreError::Unusable { path, .. } => Self::new("store.io", message).with("path", path.to_string_lossy()),
            StoreError::Closed => Self::new("closed.object", message),
            StoreError::Panicked => Self::new("internal.panic", message),
            StoreError::Record(_) => Self::new("store.damaged", message),
            StoreError::Sqlite(error) if is_corrupt(&error) => Self::new("store.damaged", message),
            StoreError::Sqlite(_) | StoreError::Commit(_) => Self::new("store.io", message),
        }
    }
}

impl From<StoreError> for ToolError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Locked => {
                Self::new(ErrorKind::Transient { retry_after_ms: Some(1_000) }, "locked", error.to_string())
            }
            other => Self::failed("store", other.to_string()),
        }
    }
}

pub(super) fn is_corrupt(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase))
}

fn is_foreign_value(error: &rusqlite::Error) -> bool {
    use rusqlite::Error as E;
    matches!(
        error,
        E::FromSqlConversionFailure(..) | E::IntegralValueOutOfRange(..) | E::InvalidColumnType(..) | E::Utf8Error(..)
    )
}
