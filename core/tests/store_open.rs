//! Opening a store: whatever cannot be used is refused by name and keeps every byte.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::print_stderr)]

mod durable_support;

use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use durable_support::{ChildHost, fingerprint, role, say};
use rusqlite::Connection;
use serde_json::json;
use zuno::types::Error;
use zuno::wire::Wire;

fn open(path: impl AsRef<Path>) -> Result<Arc<Wire>, Error> {
    Wire::open(&json!({ "database": path.as_ref() }).to_string())
}

/// Opening fails with that code, names the file, and changes nothing in its folder.
fn refuses(path: &Path, code: &str) {
    let folder = path.parent().unwrap();
    let before = fingerprint(folder);
    let error = open(path).err().unwrap_or_else(|| panic!("{} was opened", path.display()));
    assert_eq!(error.code, code, "{error:?}");
    assert_eq!(error.details["path"], path.to_str().unwrap(), "{error:?}");
    assert!(error.message.contains(path.to_str().unwrap()), "{error:?}");
    assert_eq!(fingerprint(folder), before, "{code} changed something");
}

/// A store with enough rows to have inner pages, closed properly.
fn filled(path: &Path) {
    let wire = open(path).unwrap();
    let folder = path.parent().unwrap();
    for _ in 0..200 {
        let params = json!({ "directory": folder, "title": "x".repeat(500) });
        wire.call("session.create", &params.to_string()).unwrap();
    }
    wire.close(Duration::from_secs(5));
}

fn count(wire: &Wire) -> usize {
    let listed: serde_json::Value = serde_json::from_str(&wire.call("session.list", "{}").unwrap()).unwrap();
    listed["sessions"].as_array().unwrap().len()
}

#[test]
fn a_missing_folder_is_named_and_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("no/zuno.db");
    let error = open(&path).err().unwrap();
    assert_eq!(error.code, "store.missing_directory");
    assert_eq!(error.details["path"], path.to_str().unwrap());
    assert!(!folder.path().join("no").exists());
    std::fs::write(folder.path().join("file"), "x").unwrap();
    assert_eq!(open(folder.path().join("file/zuno.db")).err().unwrap().code, "store.missing_directory");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn what_is_no_database_of_ours_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("text.db"), "not a database, but long enough to hold a header of one\n").unwrap();
    refuses(&at("text.db"), "store.not_a_database");
    std::fs::write(at("short.db"), "SQLite").unwrap();
    refuses(&at("short.db"), "store.not_a_database");
    std::fs::create_dir(at("folder.db")).unwrap();
    refuses(&at("folder.db"), "store.not_a_database");
    // Databases of other programs, with and without a version of their own.
    for (name, version) in [("other.db", 0), ("versioned.db", 1)] {
        let other = Connection::open(at(name)).unwrap();
        other.execute_batch(&format!("CREATE TABLE t (a); PRAGMA user_version = {version}")).unwrap();
        drop(other);
        refuses(&at(name), "store.not_a_database");
    }
    assert_eq!(open("/").err().unwrap().code, "store.not_a_database");
    for text in ["", "a\0b"] {
        assert_eq!(open(text).err().unwrap().code, "arguments.invalid");
    }
}

#[test]
fn a_newer_schema_is_refused_with_both_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zuno.db");
    filled(&path);
    let raw = Connection::open(&path).unwrap();
    raw.execute_batch("PRAGMA user_version = 999").unwrap();
    drop(raw);
    refuses(&path, "store.newer_schema");
    let error = open(&path).err().unwrap();
    assert_eq!(error.details["found"], 999);
    assert!(error.details["known"].as_i64().unwrap() < 999);
}

// A newer version was killed: its last changes are only in the log.
#[test]
fn a_newer_schema_in_the_log_is_seen_and_the_log_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("zuno.db"), folder.path().join("copy.db"));
    filled(&path);
    let raw = Connection::open(&path).unwrap();
    raw.execute_batch("PRAGMA user_version = 999").unwrap();
    for suffix in ["", "-wal"] {
        std::fs::copy(format!("{}{suffix}", path.display()), format!("{}{suffix}", copy.display())).unwrap();
    }
    drop(raw);
    let kept = |folder: &Path| {
        let mut all = fingerprint(folder);
        // An index of the log that SQLite makes anew whenever it likes.
        all.remove(Path::new(&format!("{}-shm", copy.display())));
        all
    };
    let before = kept(folder.path());
    let error = open(&copy).err().unwrap();
    assert_eq!(error.code, "store.newer_schema");
    assert_eq!(kept(folder.path()), before);
}

#[test]
fn damage_in_the_middle_and_a_lost_end_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zuno.db");
    filled(&path);
    let whole = std::fs::read(&path).unwrap();
    assert!(whole.len() > 20 * 4096, "too small to be torn: {}", whole.len());

    let mut flipped = whole.clone();
    for page in 5..15 {
        for byte in &mut flipped[page * 4096..page * 4096 + 64] {
            *byte ^= 0xff;
        }
    }
    for (name, bytes) in [
        ("flipped.db", flipped.as_slice()),
        ("half.db", &whole[..whole.len() / 8192 * 4096]),
        ("odd.db", &whole[..whole.len() / 2 + 77]),
        ("one.db", &whole[..4096]),
    ] {
        let torn = folder.path().join(name);
        std::fs::write(&torn, bytes).unwrap();
        refuses(&torn, "store.damaged");
    }
    // The header's first bytes are what says that it is a database at all.
    let torn = folder.path().join("header.db");
    std::fs::write(&torn, &whole).unwrap();
    std::fs::File::options().write(true).open(&torn).unwrap().write_all_at(&[0; 8], 0).unwrap();
    refuses(&torn, "store.not_a_database");
    // And the one that all copies were made from is fine.
    assert_eq!(count(&open(&path).unwrap()), 200);
}

#[test]
fn a_torn_log_loses_its_end_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("zuno.db"), folder.path().join("copy.db"));
    let wire = open(&path).unwrap();
    for _ in 0..20 {
        wire.call("session.create", &json!({ "directory": folder.path() }).to_string()).unwrap();
    }
    std::fs::copy(&path, &copy).unwrap();
    let log = std::fs::read(folder.path().join("zuno.db-wal")).unwrap();
    std::fs::write(folder.path().join("copy.db-wal"), &log[..log.len() * 2 / 3]).unwrap();
    let copy = open(&copy).unwrap();
    let kept = count(&copy);
    assert!(kept < 20, "{kept}");
    copy.call("session.create", &json!({ "directory": folder.path() }).to_string()).unwrap();
    assert_eq!(count(&copy), kept + 1);
}

#[test]
fn a_read_only_place_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    filled(&folder.path().join("zuno.db"));
    let before = fingerprint(folder.path());
    let exe = std::env::current_exe().unwrap();
    let script = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\" \
                  && exec \"$2\" --exact child_opens_a_read_only_place --nocapture --test-threads=1";
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--mount", "sh", "-c", script, "sh"]).arg(folder.path()).arg(exe);
    let child = ChildHost::start_command(command, "child_opens_a_read_only_place", json!(folder.path()));
    let said = child.finish();
    assert_eq!(said, ["store.read_only store.read_only"]);
    assert_eq!(fingerprint(folder.path()), before);
}

#[test]
fn child_opens_a_read_only_place() {
    let Some(folder) = role("child_opens_a_read_only_place") else { return };
    let folder = PathBuf::from(folder.as_str().unwrap());
    let codes: Vec<String> = ["zuno.db", "new.db"]
        .iter()
        .map(|name| {
            let error = open(folder.join(name)).err().unwrap();
            assert_eq!(error.details["path"], folder.join(name).to_str().unwrap());
            error.code
        })
        .collect();
    say(&codes.join(" "));
}

#[test]
fn an_empty_file_becomes_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zuno.db");
    std::fs::write(&path, "").unwrap();
    assert_eq!(count(&open(&path).unwrap()), 0);
}

#[test]
fn one_copy_per_process_whatever_the_file_is_called() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zuno.db");
    let first = open(&path).unwrap();
    symlink(folder.path(), folder.path().join("folder")).unwrap();
    symlink("zuno.db", folder.path().join("link.db")).unwrap();
    let working = std::env::current_dir().unwrap();
    let relative = format!("{}{}", "../".repeat(working.components().count() - 1), &path.to_str().unwrap()[1..]);
    for name in [
        path.clone(),
        folder.path().join("./zuno.db"),
        folder.path().join("folder/zuno.db"),
        folder.path().join("link.db"),
        folder.path().join("folder/link.db"),
        PathBuf::from(&relative),
    ] {
        let error = open(&name).err().unwrap();
        assert_eq!(error.code, "store.second_copy", "{}", name.display());
        assert_eq!(error.details["path"], path.to_str().unwrap());
    }
    // Closed is closed, also while somebody still holds the handle.
    first.close(Duration::from_secs(5));
    let again = open(&relative).unwrap();
    assert_eq!(first.call("session.list", "{}").unwrap_err().code, "closed.object");
    drop(first);
    assert_eq!(open(&path).err().unwrap().code, "store.second_copy", "dropping the closed one freed the lock");
    // Neither is a lock file left behind, nor anything under the name of the link.
    drop(again);
    let mut left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["folder", "link.db", "zuno.db"]);
}

#[test]
fn links_lead_to_the_file_even_before_it_exists() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("real")).unwrap();
    symlink("real/zuno.db", folder.path().join("link.db")).unwrap();
    let wire = open(folder.path().join("link.db")).unwrap();
    assert!(folder.path().join("real/zuno.db-wal").exists());
    assert!(!folder.path().join("link.db-wal").exists());
    let found: serde_json::Value = serde_json::from_str(&wire.call("runtime.diagnostics", "{}").unwrap()).unwrap();
    assert_eq!(found["database"]["path"], folder.path().join("real/zuno.db").to_str().unwrap());
    symlink("b.db", folder.path().join("a.db")).unwrap();
    symlink("a.db", folder.path().join("b.db")).unwrap();
    assert_eq!(open(folder.path().join("a.db")).err().unwrap().code, "store.not_a_database");
}

#[test]
fn the_lock_of_a_killed_process_is_cleared_away() {
    let folder = tempfile::tempdir().unwrap();
    // No process has this number: it is above the kernel's limit.
    let stale = folder.path().join("zuno.db.4194399");
    std::fs::write(&stale, "").unwrap();
    let unrelated = folder.path().join("zuno.db.backup");
    std::fs::write(&unrelated, "kept").unwrap();
    let _wire = open(folder.path().join("zuno.db")).unwrap();
    assert!(!stale.exists());
    assert_eq!(std::fs::read_to_string(unrelated).unwrap(), "kept");
}

// A sweep of another process holds this process's lock for a moment; that is no second copy.
#[test]
fn a_lock_held_for_a_moment_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().join(format!("zuno.db.{}", std::process::id()));
    let file = std::fs::File::create(&name).unwrap();
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let path = folder.path().join("zuno.db");
    let opening = std::thread::spawn(move || open(path).map(drop));
    std::thread::sleep(Duration::from_millis(50));
    drop(file);
    opening.join().unwrap().unwrap();
}
