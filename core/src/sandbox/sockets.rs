//! UNIX sockets of the host. Neither a network namespace nor a read-only mount keeps a command from connecting to one
//! that has a path, so each of them is covered.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Variables that name a socket, or a folder of sockets, of an agent.
const NAMED_BY: [&str; 2] = ["SSH_AUTH_SOCK", "XDG_RUNTIME_DIR"];
/// The same below the home directory.
const BELOW_HOME: [&str; 2] = [".ssh/agent", ".gnupg"];

/// Sockets with a path that a command could reach.
pub(super) fn of_host(environment: &[(OsString, OsString)]) -> BTreeSet<PathBuf> {
    let bound = fs::read("/proc/net/unix").map(|table| listed(&table)).unwrap_or_default();
    let known = known_places(environment).into_iter().flat_map(|place| below(&place));
    bound.into_iter().chain(known).filter_map(|path| usable(&path)).collect()
}

/// The paths in the table of sockets. Columns are separated by spaces; the path is the rest of the line.
fn listed(table: &[u8]) -> Vec<PathBuf> {
    let path_of = |line: &[u8]| {
        let start = line.windows(2).position(|pair| pair == b" /")? + 1;
        line.get(start..).map(|path| PathBuf::from(OsStr::from_bytes(path)))
    };
    table.split(|byte| *byte == b'\n').filter_map(path_of).collect()
}

fn known_places(environment: &[(OsString, OsString)]) -> Vec<PathBuf> {
    let value = |name: &str| environment.iter().find(|(known, _)| known == name).map(|(_, value)| PathBuf::from(value));
    let home = value("HOME");
    let below_home = BELOW_HOME.iter().filter_map(|name| Some(home.as_ref()?.join(name)));
    NAMED_BY.iter().filter_map(|name| value(name)).chain(below_home).filter(|path| path.is_absolute()).collect()
}

/// A socket itself, or what a folder holds.
fn below(place: &Path) -> Vec<PathBuf> {
    match fs::read_dir(place) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(_) => vec![place.to_owned()],
    }
}

/// The canonical path of a socket that exists and that a process without capabilities could get at. bubblewrap is such
/// a process, so it could not cover the others; and the command could not connect to them.
fn usable(path: &Path) -> Option<PathBuf> {
    let path = path.canonicalize().ok()?;
    let is_socket = fs::symlink_metadata(&path).ok()?.file_type().is_socket();
    (is_socket && path.ancestors().skip(1).all(may_enter)).then_some(path)
}

fn may_enter(folder: &Path) -> bool {
    let Ok(found) = fs::metadata(folder) else { return false };
    let (user, mode) = (rustix::process::geteuid().as_raw(), found.mode());
    // Of several bits that could apply any is taken: covering one socket too many does no harm.
    mode & 0o011 != 0 || (found.uid() == user && mode & 0o100 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn paths_are_read_from_the_table() {
        let table = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 12345 /run/a socket\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 12346 @abstract/x\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 12347\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 12348 relative.sock\n";
        assert_eq!(listed(table), [PathBuf::from("/run/a socket")]);
    }

    #[test]
    fn sockets_that_exist_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let path = root.join("s");
        let listener = UnixListener::bind(&path).unwrap();
        assert!(of_host(&[]).contains(&path));
        drop(listener);
        // Nobody listens any more, but an agent's socket is known by its name.
        let named = [(OsString::from("SSH_AUTH_SOCK"), path.clone().into_os_string())];
        assert!(of_host(&named).contains(&path));
        let folder = [(OsString::from("XDG_RUNTIME_DIR"), root.clone().into_os_string())];
        assert!(of_host(&folder).contains(&path));
        fs::remove_file(&path).unwrap();
        assert!(!of_host(&named).contains(&path));
    }
}
