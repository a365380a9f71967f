//! One copy of the library per process and store. Two copies carry two SQLite libraries, and closing a file in one
//! drops the POSIX locks of the other.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use super::StoreError;

/// A sweep of another process holds a lock for a moment; a second copy holds it for good.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(5);

/// A lock file beside the database that names this process.
pub(super) struct Exclusive {
    path: PathBuf,
    _file: File,
}

impl Exclusive {
    /// Takes the lock of this process on a store.
    pub(super) fn take(database: &Path) -> Result<Self, StoreError> {
        sweep(database);
        let path = lock_path(database, std::process::id());
        let mut tries = 0;
        loop {
            let file = match File::options().create(true).truncate(false).write(true).open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    return Err(StoreError::MissingDirectory(database.to_owned()));
                }
                Err(_) => return Err(StoreError::ReadOnly(database.to_owned())),
            };
            if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
                tries += 1;
                if tries == TRIES {
                    return Err(StoreError::SecondCopy(database.to_owned()));
                }
                std::thread::sleep(PAUSE);
                continue;
            }
            // A sweep of another process may have removed the name between open and lock: then the lock is on a file
            // that nobody else will find.
            if same_file(&file, &path) {
                return Ok(Self { path, _file: file });
            }
        }
    }
}

impl Drop for Exclusive {
    fn drop(&mut self) {
        // Removed while still locked, so that nobody can lock the old name in between.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn lock_path(database: &Path, pid: u32) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(format!(".{pid}"));
    PathBuf::from(name)
}

fn same_file(file: &File, path: &Path) -> bool {
    match (rustix::fs::fstat(file), rustix::fs::stat(path)) {
        (Ok(a), Ok(b)) => (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino),
        _ => false,
    }
}

/// Removes the lock files of processes that were killed.
fn sweep(database: &Path) {
    let (Some(folder), Some(name)) = (database.parent(), database.file_name().and_then(|name| name.to_str())) else {
        return;
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let file_name = entry.file_name();
        let Some(pid) = file_name
            .to_str()
            .and_then(|text| text.strip_prefix(name))
            .and_then(|rest| rest.strip_prefix('.'))
            .and_then(|digits| digits.parse::<u32>().ok())
        else {
            continue;
        };
        if pid == std::process::id() {
            continue;
        }
        let Ok(file) = File::options().write(true).open(entry.path()) else { continue };
        // The name is removed only while it still belongs to the locked file: its process may have been replaced by a
        // new one of the same number.
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() && same_file(&file, &entry.path()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
