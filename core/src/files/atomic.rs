//! Publishing a file whole: beside its destination, flushed, then under its name in one step that also proves that
//! nothing else was there than what was checked.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, RenameFlags, fdatasync, fsync, renameat, renameat_with, statat};
use rustix::io::Errno;

use super::authorized::Facts;
use super::temporary::Temporary;
use super::{attributes, descent, snapshot};

/// What the destination was when it was checked.
#[derive(Clone, Copy, Debug)]
pub enum Expected<'a> {
    /// Nothing had the name.
    Missing,
    /// This file had it, with this content.
    File {
        /// The file, open for reading.
        file: &'a File,
        /// What it is.
        facts: Facts,
        /// SHA-256 of its content.
        sha256: &'a str,
    },
}

/// How a publication ended. An `Err` beside it means that nothing was changed.
#[derive(Debug)]
pub enum Publication {
    /// A new file has the name.
    Created,
    /// The new file has the name of the old one.
    Replaced,
    /// The name means something else than what was checked; nothing was changed.
    Stale,
    /// Nobody can say what the name means now.
    Lost(io::Error),
}

/// How often a concurrent writer may win before the outcome counts as lost.
const EXCHANGES: usize = 64;

/// Publishes `bytes` under `name`.
pub fn publish(directory: impl AsFd, name: &OsStr, bytes: &[u8], expected: Expected<'_>) -> io::Result<Publication> {
    let directory = directory.as_fd();
    match expected {
        Expected::Missing => {
            // The process's umask and the directory's default access control list apply, as for any new file.
            let mut new = Temporary::new(directory, 0o666)?;
            fill(&new.file, bytes)?;
            match new.publish_new(name) {
                Ok(true) => Ok(flushed(directory, Publication::Created)),
                Ok(false) => Ok(Publication::Stale),
                Err(error) => after_error(directory, name, &new, error, Publication::Created),
            }
        }
        Expected::File { file, facts, sha256 } => {
            let mut new = Temporary::new(directory, 0o600)?;
            fill(&new.file, bytes)?;
            attributes::copy(file, &facts, &new.file)?;
            fsync(&new.file)?;
            let swap = Swap { directory, name, file, facts, sha256 };
            swap.run(&mut new)
        }
    }
}

fn fill(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    Ok(fdatasync(file)?)
}

/// A name is durable once its directory is flushed.
fn flushed(directory: impl AsFd, done: Publication) -> Publication {
    match flush_directory(directory) {
        Ok(()) => done,
        Err(error) => Publication::Lost(error),
    }
}

/// Flushes a directory through any handle on it.
pub(crate) fn flush_directory(directory: impl AsFd) -> io::Result<()> {
    let readable = match descent::readable(directory) {
        Ok(readable) => readable,
        // A directory that may be written and not read cannot be flushed by anybody but its owner.
        Err(Errno::ACCESS) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    match fsync(readable) {
        Err(Errno::INVAL | Errno::ROFS) => Ok(()),
        other => Ok(other?),
    }
}

/// After a failed rename or link: did it happen all the same? Network file systems lose answers.
fn after_error(
    directory: impl AsFd,
    name: &OsStr,
    new: &Temporary,
    error: io::Error,
    done: Publication,
) -> io::Result<Publication> {
    let ours = new.facts()?.identity();
    match statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(facts) if Facts::from_stat(&facts).identity() == ours => Ok(flushed(directory, done)),
        Ok(_) | Err(Errno::NOENT) => Err(error),
        Err(_) => Ok(Publication::Lost(error)),
    }
}

/// Compare and swap of two names.
struct Swap<'a> {
    directory: std::os::fd::BorrowedFd<'a>,
    name: &'a OsStr,
    file: &'a File,
    facts: Facts,
    sha256: &'a str,
}

impl Swap<'_> {
    fn run(&self, new: &mut Temporary) -> io::Result<Publication> {
        let ours = new.facts()?.identity();
        let temporary = new.named()?.to_owned();
        match self.exchange(&temporary) {
            Ok(()) => {}
            Err(Errno::NOENT) => return self.vanished(),
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => return self.rename_over(new, &temporary),
            Err(error) => {
                let outcome = after_error(self.directory, self.name, new, error.into(), Publication::Replaced);
                if outcome.is_ok() {
                    // The temporary name may mean the old file now, and must not be removed unseen.
                    new.forget_name();
                }
                return outcome;
            }
        }
        if self.is_checked(&temporary) {
            // What the temporary name means now is the old file; dropping `new` removes it.
            return Ok(flushed(self.directory, Publication::Replaced));
        }
        self.put_back(new, &temporary, ours)
    }

    fn exchange(&self, temporary: &str) -> rustix::io::Result<()> {
        renameat_with(self.directory, temporary, self.directory, self.name, RenameFlags::EXCHANGE)
    }

    /// Nothing has the name, or the directory itself is gone.
    fn vanished(&self) -> io::Result<Publication> {
        if Facts::of(self.directory)?.links == 0 { Err(Errno::NOENT.into()) } else { Ok(Publication::Stale) }
    }

    /// Whether a name means the file that was checked, with the content that was checked.
    fn is_checked(&self, name: impl rustix::path::Arg) -> bool {
        let same = |stat| Facts::from_stat(&stat).identity() == self.facts.identity();
        statat(self.directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(same)
            && snapshot::digest(self.file, self.facts.size).is_ok_and(|now| now.as_deref() == Some(self.sha256))
    }

    /// Gives the name back to what had it. What comes out in turn has to be what was put there last; anything else is
    /// newer, published in between, and gets the name instead.
    fn put_back(&self, new: &mut Temporary, temporary: &str, ours: (u64, u64)) -> io::Result<Publication> {
        let mut placed = ours;
        // A handle on each object keeps its inode number from meaning another file.
        let mut held = Vec::new();
        for _ in 0..EXCHANGES {
            let step = self.identity(temporary).and_then(|(handle, next)| {
                held.push(handle);
                self.exchange(temporary)?;
                let (handle, out) = self.identity(temporary)?;
                held.push(handle);
                Ok((next, out))
            });
            match step {
                // Ours, or a file that its own writer has replaced meanwhile: dropping `new` removes it.
                Ok((_, out)) if out == placed => return Ok(Publication::Stale),
                Ok((next, _)) => placed = next,
                Err(error) => {
                    // The temporary name may mean somebody's file now, and must not be removed.
                    new.forget_name();
                    return Ok(self.give_back(temporary, error));
                }
            }
        }
        new.forget_name();
        Ok(Publication::Lost(io::Error::other("another writer keeps replacing the file")))
    }

    fn identity(&self, name: &str) -> io::Result<(OwnedFd, (u64, u64))> {
        let handle = descent::object(self.directory, OsStr::new(name))?;
        let identity = Facts::of(&handle)?.identity();
        Ok((handle, identity))
    }

    /// Our file was removed before it could be exchanged back: what came out gets its name again.
    fn give_back(&self, temporary: &str, error: io::Error) -> Publication {
        let back = renameat_with(self.directory, temporary, self.directory, self.name, RenameFlags::NOREPLACE);
        match (error.kind(), back) {
            (io::ErrorKind::NotFound, Ok(())) => Publication::Stale,
            _ => Publication::Lost(error),
        }
    }

    /// For file systems that cannot exchange: the last look and the rename are two steps.
    fn rename_over(&self, new: &mut Temporary, temporary: &str) -> io::Result<Publication> {
        if !self.is_checked(self.name) {
            return Ok(Publication::Stale);
        }
        match renameat(self.directory, temporary, self.directory, self.name) {
            Ok(()) => {
                new.forget_name();
                Ok(flushed(self.directory, Publication::Replaced))
            }
            Err(error) => after_error(self.directory, self.name, new, error.into(), Publication::Replaced),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::text::fingerprint::sha256_hex;

    struct Place {
        folder: tempfile::TempDir,
        directory: OwnedFd,
        old: File,
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("f"), "checked").unwrap();
            let old = File::open(folder.path().join("f")).unwrap();
            let directory = descent::directory(&folder.path().canonicalize().unwrap()).unwrap();
            Self { folder, directory, old }
        }

        fn path(&self) -> std::path::PathBuf {
            self.folder.path().join("f")
        }

        fn replace(&self) -> io::Result<Publication> {
            let (facts, sha256) = (Facts::of(&self.old).unwrap(), sha256_hex(b"checked"));
            let expected = Expected::File { file: &self.old, facts, sha256: &sha256 };
            publish(&self.directory, OsStr::new("f"), b"ours", expected)
        }

        fn names(&self) -> usize {
            std::fs::read_dir(self.folder.path()).unwrap().count()
        }
    }

    fn content(path: &Path) -> String {
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn a_checked_file_is_replaced_and_nothing_is_left_beside_it() {
        let place = Place::new();
        assert!(matches!(place.replace().unwrap(), Publication::Replaced));
        assert_eq!((content(&place.path()).as_str(), place.names()), ("ours", 1));
    }

    // case: 7
    #[test]
    fn whatever_took_the_files_place_after_the_check_stays() {
        let place = Place::new();
        std::fs::write(place.folder.path().join("other"), "checked").unwrap();
        std::fs::rename(place.folder.path().join("other"), place.path()).unwrap();
        assert!(matches!(place.replace().unwrap(), Publication::Stale), "another file, though of the same content");
        assert_eq!((content(&place.path()).as_str(), place.names()), ("checked", 1));

        let place = Place::new();
        std::fs::write(place.path(), "CHECKED").unwrap();
        assert!(matches!(place.replace().unwrap(), Publication::Stale), "the same file and size, other content");
        assert_eq!((content(&place.path()).as_str(), place.names()), ("CHECKED", 1));

        let place = Place::new();
        std::fs::remove_file(place.path()).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", place.path()).unwrap();
        assert!(matches!(place.replace().unwrap(), Publication::Stale));
        assert!(place.path().is_symlink());
        assert_eq!(place.names(), 1);

        let place = Place::new();
        std::fs::remove_file(place.path()).unwrap();
        std::fs::create_dir(place.path()).unwrap();
        assert!(matches!(place.replace().unwrap(), Publication::Stale));
        assert!(place.path().is_dir());
        assert_eq!(place.names(), 1);

        let place = Place::new();
        std::fs::remove_file(place.path()).unwrap();
        assert!(matches!(place.replace().unwrap(), Publication::Stale));
        assert_eq!(place.names(), 0);
    }

    #[test]
    fn a_new_file_replaces_nothing() {
        let place = Place::new();
        let outcome = publish(&place.directory, OsStr::new("f"), b"ours", Expected::Missing).unwrap();
        assert!(matches!(outcome, Publication::Stale));
        assert_eq!((content(&place.path()).as_str(), place.names()), ("checked", 1));
        let outcome = publish(&place.directory, OsStr::new("g"), b"ours", Expected::Missing).unwrap();
        assert!(matches!(outcome, Publication::Created));
        assert_eq!((content(&place.folder.path().join("g")).as_str(), place.names()), ("ours", 2));
    }

    #[test]
    fn a_removed_directory_is_not_found() {
        let place = Place::new();
        std::fs::remove_dir_all(place.folder.path()).unwrap();
        for expected in [place.replace(), publish(&place.directory, OsStr::new("g"), b"x", Expected::Missing)] {
            assert_eq!(expected.unwrap_err().kind(), io::ErrorKind::NotFound);
        }
    }

    #[test]
    fn without_exchange_the_last_look_still_decides() {
        let place = Place::new();
        let sha256 = sha256_hex(b"checked");
        let swap = || Swap {
            directory: place.directory.as_fd(),
            name: OsStr::new("f"),
            file: &place.old,
            facts: Facts::of(&place.old).unwrap(),
            sha256: &sha256,
        };
        let renamed = |text: &[u8]| {
            let mut new = Temporary::new(&place.directory, 0o600).unwrap();
            fill(&new.file, text).unwrap();
            let name = new.named().unwrap().to_owned();
            swap().rename_over(&mut new, &name).unwrap()
        };
        assert!(matches!(renamed(b"ours"), Publication::Replaced));
        assert!(matches!(renamed(b"again"), Publication::Stale));
        assert_eq!((content(&place.path()).as_str(), place.names()), ("ours", 1));
    }

    #[test]
    fn set_id_bits_and_mode_come_from_the_old_file() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let place = Place::new();
        std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o4711)).unwrap();
        place.replace().unwrap();
        assert_eq!(std::fs::metadata(place.path()).unwrap().mode() & 0o7777, 0o4711);
    }
}
