//! The artifact folder `<worktree>/.zuno/tool-output`: created when something is written there, entered segment by
//! segment so that a link planted in a checkout leads nowhere.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, mkdirat, openat, unlinkat};

use crate::types::{ArtifactId, IdSource, SessionId};

const ROOT: &str = ".zuno";
const NAME: &str = "tool-output";
const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The artifacts of one worktree.
#[derive(Clone)]
pub struct Artifacts {
    worktree: PathBuf,
    ids: Arc<dyn IdSource>,
}

/// A new, empty artifact file.
#[derive(Debug)]
pub struct ArtifactFile {
    /// Its absolute path.
    pub path: PathBuf,
    /// Open for reading and writing.
    pub file: File,
    folder: OwnedFd,
}

impl Artifacts {
    /// The artifacts of this worktree.
    pub fn new(worktree: impl Into<PathBuf>, ids: Arc<dyn IdSource>) -> Self {
        Self { worktree: worktree.into(), ids }
    }

    /// Where they are.
    pub fn folder(&self) -> PathBuf {
        self.worktree.join(ROOT).join(NAME)
    }

    /// Creates `tool_<sessionId>_<26 characters>`, which nobody else may read.
    ///
    /// # Errors
    /// What the system answers; a symbolic link on the way is one.
    pub fn create(&self, session: &SessionId) -> io::Result<ArtifactFile> {
        let folder = open_folder(&self.worktree, true)?;
        let name = format!("tool_{session}_{}", ArtifactId::generate(self.ids.as_ref()));
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(openat(&folder, name.as_str(), flags, Mode::RUSR | Mode::WUSR)?);
        Ok(ArtifactFile { path: self.folder().join(name), file, folder })
    }
}

/// Opens an artifact for reading.
///
/// # Errors
/// What the system answers; anything but a regular file directly in an artifact folder is one.
pub fn open(path: &Path) -> io::Result<File> {
    let (folder, name) = locate(path)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = File::from(openat(folder, name, flags, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// Removes an artifact.
///
/// # Errors
/// What the system answers.
pub fn remove(path: &Path) -> io::Result<()> {
    let (folder, name) = locate(path)?;
    Ok(unlinkat(folder, name, AtFlags::empty())?)
}

/// Brings an artifact that others have written to the disk, together with its name.
pub(super) fn sync_at(path: &Path, file: &File) -> io::Result<()> {
    sync(file, &locate(path)?.0)
}

/// The folder of an artifact, and its name there.
fn locate(path: &Path) -> io::Result<(OwnedFd, &OsStr)> {
    let place = Path::new(ROOT).join(NAME);
    match (path.ancestors().nth(3), path.parent(), path.file_name()) {
        (Some(worktree), Some(parent), Some(name)) if parent == worktree.join(place) => {
            Ok((open_folder(worktree, false)?, name))
        }
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

fn open_folder(worktree: &Path, create: bool) -> io::Result<OwnedFd> {
    let worktree = openat(CWD, worktree, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let root = enter(&worktree, ROOT, Mode::from_raw_mode(0o755), create)?;
    let folder = enter(&root, NAME, Mode::RWXU, create)?;
    if create {
        ignore_in_git(&folder)?;
    }
    Ok(folder)
}

impl ArtifactFile {
    /// Writes all bytes and brings them to the disk, together with the name.
    ///
    /// # Errors
    /// What the system answers; the file is removed then.
    pub fn fill(mut self, bytes: &[u8]) -> io::Result<PathBuf> {
        let written = self.file.write_all(bytes).and_then(|()| sync(&self.file, &self.folder));
        match written {
            Ok(()) => Ok(self.path),
            Err(error) => {
                if let Some(name) = self.path.file_name() {
                    // Half an artifact is of no use; the error that made it so is the one to report.
                    let _ = unlinkat(&self.folder, name, AtFlags::empty());
                }
                Err(error)
            }
        }
    }
}

fn sync(file: &File, folder: &OwnedFd) -> io::Result<()> {
    file.sync_data()?;
    Ok(rustix::fs::fsync(folder)?)
}

fn enter(parent: impl AsFd, name: &str, mode: Mode, create: bool) -> io::Result<OwnedFd> {
    if create {
        match mkdirat(&parent, name, mode) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(openat(parent, name, DIRECTORY, Mode::empty())?)
}

fn ignore_in_git(folder: &OwnedFd) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(folder, ".gitignore", flags, Mode::from_raw_mode(0o644)) {
        Ok(file) => File::from(file).write_all(b"*\n"),
        Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
