//! Walking down open directory handles without following a link.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::Errno;

const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const OBJECT: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A handle on a directory that no link leads to.
pub(crate) fn directory(path: &Path) -> io::Result<OwnedFd> {
    let strict = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(CWD, path, DIRECTORY, Mode::empty(), strict) {
        Err(error) if lacks_openat2(error) => {
            let root = openat(CWD, "/", DIRECTORY, Mode::empty())?;
            walk(root, path)
        }
        other => Ok(other?),
    }
}

/// A handle on a directory below another one.
pub(crate) fn directory_below(root: impl AsFd, path: &Path) -> io::Result<OwnedFd> {
    let strict = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(root.as_fd(), path, DIRECTORY, Mode::empty(), strict) {
        Err(error) if lacks_openat2(error) => walk(root.as_fd().try_clone_to_owned()?, path),
        other => Ok(other?),
    }
}

/// A handle on whatever one name means, without following, opening or waking it.
pub(crate) fn object(parent: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    Ok(openat(parent, name, OBJECT, Mode::empty())?)
}

/// Opens the directory of a handle for listing or flushing: an `O_PATH` handle can do neither.
pub(crate) fn readable(directory: impl AsFd) -> rustix::io::Result<OwnedFd> {
    openat(directory, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// Kernels before 5.6 and some system call filters have no `openat2`.
fn lacks_openat2(error: Errno) -> bool {
    matches!(error, Errno::NOSYS | Errno::PERM)
}

/// The same walk segment by segment. `O_PATH | O_DIRECTORY | O_NOFOLLOW` refuses a link with `ENOTDIR`.
fn walk(from: OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    let mut here = from;
    for component in path.components() {
        match component {
            Component::Normal(name) => here = openat(&here, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?,
            Component::RootDir | Component::CurDir => {}
            Component::ParentDir | Component::Prefix(_) => return Err(Errno::XDEV.into()),
        }
    }
    Ok(here)
}

/// What kind of object a handle is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A FIFO, socket or device, by name.
    Special(&'static str),
}

/// What the system says about an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Device.
    pub dev: u64,
    /// Inode.
    pub ino: u64,
    /// Bytes.
    pub size: u64,
    /// Permission bits, set-user-id and the like included.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Names the object has.
    pub links: u64,
    /// Its kind.
    pub kind: Kind,
}

impl Facts {
    /// Facts of an open object.
    pub fn of(handle: impl AsFd) -> io::Result<Self> {
        Ok(Self::from_stat(&fstat(handle)?))
    }

    /// Facts from a `stat` record. The field widths differ between platforms.
    #[allow(clippy::unnecessary_cast, clippy::useless_conversion, reason = "the widths differ between platforms")]
    pub(crate) fn from_stat(stat: &rustix::fs::Stat) -> Self {
        Self {
            dev: stat.st_dev as u64,
            ino: stat.st_ino as u64,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mode: stat.st_mode as u32 & 0o7777,
            uid: stat.st_uid,
            gid: stat.st_gid,
            links: stat.st_nlink as u64,
            kind: kind_of(rustix::fs::FileType::from_raw_mode(stat.st_mode)),
        }
    }

    /// Device and inode.
    pub fn identity(&self) -> (u64, u64) {
        (self.dev, self.ino)
    }
}

fn kind_of(kind: rustix::fs::FileType) -> Kind {
    use rustix::fs::FileType;
    match kind {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Link,
        FileType::Fifo => Kind::Special("FIFO"),
        FileType::Socket => Kind::Special("socket"),
        FileType::CharacterDevice | FileType::BlockDevice => Kind::Special("device"),
        FileType::Unknown => Kind::Special("special file"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_walk_without_openat2_refuses_links_and_parents_too() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("a/b")).unwrap();
        std::os::unix::fs::symlink("a", folder.path().join("link")).unwrap();
        let root = || openat(CWD, folder.path(), DIRECTORY, Mode::empty()).unwrap();
        let expected = Facts::of(directory_below(root(), Path::new("a/b")).unwrap()).unwrap();
        assert_eq!(Facts::of(walk(root(), Path::new("a/b")).unwrap()).unwrap(), expected);
        for refused in ["link/b", "link", "a/../a", "a/none"] {
            assert!(walk(root(), Path::new(refused)).is_err(), "{refused}");
            assert!(directory_below(root(), Path::new(refused)).is_err() || refused == "a/../a", "{refused}");
        }
    }
}
