//! Opening a store: look first, change nothing that is not ours.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::error::is_corrupt;
use super::exclusive::Exclusive;
use super::inspect::inspect;
use super::leases::Owner;
use super::readers::Readers;
use super::schema;
use super::writer::Writer;
use super::{EventSink, Inner, Location, Store, StoreError};
use crate::types::{Clock, IdSource};

/// How long a write waits for another process before it gives up with `store.locked`.
pub(super) const BUSY: Duration = Duration::from_secs(30);
/// Links followed from the given path to the file.
const LINKS: usize = 40;

pub(super) fn open(
    location: Location,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    sink: Arc<dyn EventSink>,
) -> Result<Store, StoreError> {
    let location = resolve(location)?;
    let (exclusive, mut connection) = match &location {
        Location::File(path) => {
            let exclusive = Exclusive::take(path)?;
            inspect(path)?;
            (Some(exclusive), connect(path)?)
        }
        Location::Memory => {
            let connection = Connection::open_in_memory()?;
            configure(&connection)?;
            (None, connection)
        }
    };
    match &location {
        Location::File(path) => schema::migrate(&mut connection, path).map_err(|error| name_file(error, path))?,
        Location::Memory => schema::migrate(&mut connection, Path::new(":memory:"))?,
    }
    let readers = Readers::new(&location);
    let identity = Owner::current(ids.as_ref());
    let writer = Writer::start(connection, exclusive, identity.clone(), clock, ids, sink)?;
    Ok(Store { inner: Arc::new(Inner { writer, readers, identity, location }) })
}

/// The file itself: absolute and behind every link, because locks and the files beside a database go by its name.
fn resolve(location: Location) -> Result<Location, StoreError> {
    let Location::File(given) = location else { return Ok(location) };
    let mut path = given.clone();
    for _ in 0..LINKS {
        path = in_real_folder(&path)?;
        match std::fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("/")).join(target),
            Err(_) => return Ok(Location::File(path)),
        }
    }
    Err(StoreError::NotADatabase(given))
}

fn in_real_folder(path: &Path) -> Result<PathBuf, StoreError> {
    let missing = |_| StoreError::MissingDirectory(path.to_owned());
    let full = std::path::absolute(path).map_err(missing)?;
    let (Some(folder), Some(name)) = (full.parent(), full.file_name()) else {
        return Err(StoreError::NotADatabase(full));
    };
    let folder = folder.canonicalize().map_err(missing)?;
    if !folder.is_dir() {
        return Err(StoreError::MissingDirectory(full));
    }
    Ok(folder.join(name))
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
    .map_err(|error| typed(error, path))?;
    connection.busy_timeout(BUSY)?;
    if connection.is_readonly(rusqlite::MAIN_DB)? {
        return Err(StoreError::ReadOnly(path.to_owned()));
    }
    configure(&connection).map_err(|error| name_file(error, path))?;
    Ok(connection)
}

fn configure(connection: &Connection) -> Result<(), StoreError> {
    let _mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    connection.execute_batch(
        // A checkpoint waits for the disk: every 16 MiB of log is often enough.
        "PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -2000;
         PRAGMA wal_autocheckpoint = 4000;",
    )?;
    connection.set_prepared_statement_cache_capacity(128);
    Ok(())
}

fn name_file(error: StoreError, path: &Path) -> StoreError {
    match error {
        StoreError::Sqlite(error) => typed(error, path),
        error => error,
    }
}

pub(super) fn typed(error: rusqlite::Error, path: &Path) -> StoreError {
    use rusqlite::ErrorCode as Code;
    match error.sqlite_error_code() {
        Some(Code::NotADatabase) => StoreError::NotADatabase(path.to_owned()),
        Some(Code::ReadOnly | Code::CannotOpen | Code::PermissionDenied) => StoreError::ReadOnly(path.to_owned()),
        Some(Code::DatabaseBusy | Code::DatabaseLocked) => StoreError::Locked,
        _ if is_corrupt(&error) => StoreError::Damaged { path: path.to_owned(), reason: error.to_string() },
        _ => StoreError::Unusable { path: path.to_owned(), reason: error.to_string() },
    }
}
