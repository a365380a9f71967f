//! Opening a store: look first, change nothing that is not ours.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::error::is_corrupt;
use super::exclusive::Exclusive;
use super::leases::Owner;
use super::readers::Readers;
use super::schema;
use super::writer::Writer;
use super::{EventSink, Inner, Location, Store, StoreError};
use crate::types::{Clock, IdSource};

/// How long a write waits for another process before it gives up with `store.locked`.
const BUSY: Duration = Duration::from_secs(30);
/// Databases up to this size are checked whole when they are opened; larger ones when their pages are read.
const CHECKED_WHOLE: u64 = 4 << 20;

pub(super) fn open(
    location: Location,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    sink: Arc<dyn EventSink>,
) -> Result<Store, StoreError> {
    let location = absolute(location)?;
    let (exclusive, connection) = match &location {
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
    let mut connection = connection;
    schema::migrate(&mut connection).map_err(|error| name_file(error, &location))?;
    let readers = Readers::new(&location);
    let identity = Owner::current(ids.as_ref());
    let writer = Writer::start(connection, clock, ids, sink)?;
    Ok(Store { inner: Arc::new(Inner { writer, readers, identity, location, exclusive: Mutex::new(exclusive) }) })
}

fn absolute(location: Location) -> Result<Location, StoreError> {
    let Location::File(path) = location else { return Ok(location) };
    let full = std::path::absolute(&path).map_err(|_| StoreError::MissingDirectory(path.clone()))?;
    let (Some(folder), Some(name)) = (full.parent(), full.file_name()) else {
        return Err(StoreError::NotADatabase(full));
    };
    let folder = folder.canonicalize().map_err(|_| StoreError::MissingDirectory(full.clone()))?;
    Ok(Location::File(folder.join(name)))
}

/// Looks at an existing file without write access, so that a file that is refused keeps every byte: even closing a
/// writable connection may move the log into the database.
fn inspect(path: &Path) -> Result<(), StoreError> {
    let size = match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(_) => return Err(StoreError::ReadOnly(path.to_owned())),
        Ok(found) if !found.is_file() => return Err(StoreError::NotADatabase(path.to_owned())),
        Ok(found) => found.len(),
    };
    if size == 0 {
        return Ok(());
    }
    check_header(path)?;
    let connection =
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .map_err(|error| typed(error, path))?;
    connection.busy_timeout(BUSY)?;
    let found = schema::version(&connection).map_err(|error| typed(error, path))?;
    if found > schema::VERSION {
        return Err(StoreError::NewerSchema { path: path.to_owned(), found, known: schema::VERSION });
    }
    if found == 0 {
        let tables: i64 = connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(|error| typed(error, path))?;
        if tables > 0 {
            return Err(StoreError::NotADatabase(path.to_owned()));
        }
    }
    if size <= CHECKED_WHOLE {
        check_pages(&connection, path)?;
    }
    Ok(())
}

// The exclusive lock is held: no connection of this process is open on the file, so opening it drops no lock.
fn check_header(path: &Path) -> Result<(), StoreError> {
    let mut header = [0u8; 16];
    let mut file = File::open(path).map_err(|_| StoreError::ReadOnly(path.to_owned()))?;
    match file.read_exact(&mut header) {
        Ok(()) if &header == b"SQLite format 3\0" => Ok(()),
        _ => Err(StoreError::NotADatabase(path.to_owned())),
    }
}

fn check_pages(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let verdict: Result<String, _> = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0));
    match verdict {
        Ok(text) if text == "ok" => Ok(()),
        Ok(text) => Err(StoreError::Damaged { path: path.to_owned(), reason: text }),
        Err(error) => Err(typed(error, path)),
    }
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
    configure(&connection).map_err(|error| name_file(error, &Location::File(path.to_owned())))?;
    Ok(connection)
}

fn configure(connection: &Connection) -> Result<(), StoreError> {
    let _mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    connection.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -2000;")?;
    connection.set_prepared_statement_cache_capacity(128);
    Ok(())
}

fn name_file(error: StoreError, location: &Location) -> StoreError {
    match (error, location) {
        (StoreError::Sqlite(error), Location::File(path)) => typed(error, path),
        (error, _) => error,
    }
}

fn typed(error: rusqlite::Error, path: &Path) -> StoreError {
    use rusqlite::ErrorCode as Code;
    match error.sqlite_error_code() {
        Some(Code::NotADatabase) => StoreError::NotADatabase(path.to_owned()),
        Some(Code::ReadOnly | Code::CannotOpen | Code::PermissionDenied) => StoreError::ReadOnly(path.to_owned()),
        _ if is_corrupt(&error) => StoreError::Damaged { path: path.to_owned(), reason: error.to_string() },
        _ => error.into(),
    }
}
