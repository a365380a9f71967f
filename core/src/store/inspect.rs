//! Looking at an existing file before it is opened for writing, so that a file that is refused keeps every byte.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::StoreError;
use super::open::{BUSY, typed};
use super::schema;

/// Databases up to this size are checked whole when they are opened; larger ones when their pages are read.
const CHECKED_WHOLE: u64 = 4 << 20;

/// Refuses a file that this version cannot use. Even closing a writable connection may move the log into the
/// database, so only readers look.
pub(super) fn inspect(path: &Path) -> Result<(), StoreError> {
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
    // A reader of a database in WAL mode leaves two files beside it when there were none; one that takes the file as
    // immutable does not.
    let before = at_rest(path);
    if before.is_some() {
        let found = connect_immutable(path).and_then(|connection| look(connection, path, size));
        if found.is_ok() || at_rest(path) == before {
            return found;
        }
        // Another process wrote meanwhile: what was seen may be torn.
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|error| typed(error, path))?;
    connection.busy_timeout(BUSY)?;
    look(connection, path, size)
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

/// Size and time of change of a file that alone is the whole database.
fn at_rest(path: &Path) -> Option<(u64, SystemTime)> {
    let beside = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        std::fs::metadata(PathBuf::from(name)).is_ok_and(|found| found.len() > 0)
    };
    if beside("-wal") || beside("-journal") {
        return None;
    }
    let found = std::fs::metadata(path).ok()?;
    Some((found.len(), found.modified().ok()?))
}

fn connect_immutable(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(immutable_uri(path), flags).map_err(|error| typed(error, path))
}

fn immutable_uri(path: &Path) -> String {
    use std::fmt::Write;
    use std::os::unix::ffi::OsStrExt;

    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => uri.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
            byte => {
                let _ = write!(uri, "%{byte:02x}");
            }
        }
    }
    uri.push_str("?immutable=1");
    uri
}

fn look(mut connection: Connection, path: &Path, size: u64) -> Result<(), StoreError> {
    // One state for all statements: another process may be creating the database.
    let behavior = TransactionBehavior::Deferred;
    let state = connection.transaction_with_behavior(behavior).map_err(|error| typed(error, path))?;
    judge(&state, path, size)
}

fn judge(connection: &Connection, path: &Path, size: u64) -> Result<(), StoreError> {
    let found = schema::version(connection).map_err(|error| typed(error, path))?;
    if found > schema::VERSION {
        return Err(StoreError::NewerSchema { path: path.to_owned(), found, known: schema::VERSION });
    }
    let ours = match found {
        // A database that nobody has put anything into.
        0 => tables(connection).map_err(|error| typed(error, path))? == 0,
        _ => schema::is_ours(connection).map_err(|error| typed(error, path))?,
    };
    if !ours {
        return Err(StoreError::NotADatabase(path.to_owned()));
    }
    if size <= CHECKED_WHOLE {
        check_pages(connection, path)?;
    }
    Ok(())
}

fn tables(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
}

fn check_pages(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let verdict: Result<String, _> = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0));
    match verdict {
        Ok(text) if text == "ok" => Ok(()),
        Ok(text) => Err(StoreError::Damaged { path: path.to_owned(), reason: text }),
        Err(error) => Err(typed(error, path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_every_byte_of_the_path() {
        assert_eq!(immutable_uri(Path::new("/a b?#%/ü.db")), "file:/a%20b%3f%23%25/%c3%bc.db?immutable=1");
    }
}
