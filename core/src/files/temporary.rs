//! A new file that has no final name yet.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, linkat, openat, renameat_with, unlinkat};
use rustix::io::Errno;

use super::authorized::{Facts, proc_path};
use crate::text::fingerprint::hex;

/// A new file beside its destination. Without a name where the file system can do that, so that a crash leaves
/// nothing behind; a name it has is removed again on drop.
#[derive(Debug)]
pub(crate) struct Temporary {
    directory: OwnedFd,
    /// The open file.
    pub(crate) file: File,
    name: Option<String>,
}

impl Temporary {
    pub(crate) fn new(directory: impl AsFd, mode: u32) -> io::Result<Self> {
        let directory = directory.as_fd().try_clone_to_owned()?;
        let mode = Mode::from_raw_mode(mode);
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        match openat(&directory, ".", flags | OFlags::TMPFILE, mode) {
            Ok(handle) => return Ok(Self { directory, file: File::from(handle), name: None }),
            // A removed directory answers `EPERM`, which some system call filters do too; a name tells them apart.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOSYS | Errno::PERM) => {}
            Err(error) => return Err(error.into()),
        }
        let name = fresh_name()?;
        let handle = openat(&directory, &name, flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW, mode)?;
        Ok(Self { directory, file: File::from(handle), name: Some(name) })
    }

    /// Gives the file a temporary name if it has none, and says which.
    pub(crate) fn named(&mut self) -> io::Result<&str> {
        let name = match self.name.take() {
            Some(name) => name,
            None => {
                let name = fresh_name()?;
                self.link(OsStr::new(&name))?;
                name
            }
        };
        Ok(self.name.insert(name))
    }

    /// Gives the file its final name if that is free. `false` = it is taken.
    pub(crate) fn publish_new(&mut self, name: &OsStr) -> io::Result<bool> {
        let outcome = match &self.name {
            None => self.link(name),
            Some(own) => match renameat_with(&self.directory, own, &self.directory, name, RenameFlags::NOREPLACE) {
                Ok(()) => {
                    self.name = None;
                    Ok(())
                }
                // Some network file systems cannot rename without replacing; a second name is exclusive too.
                Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                    linkat(&self.directory, own, &self.directory, name, AtFlags::empty()).map_err(Into::into)
                }
                Err(error) => Err(error.into()),
            },
        };
        match outcome {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Forgets the temporary name: something else has it now, or nothing.
    pub(crate) fn forget_name(&mut self) {
        self.name = None;
    }

    /// Facts of the new file.
    pub(crate) fn facts(&self) -> io::Result<Facts> {
        Facts::of(&self.file)
    }

    fn link(&self, name: &OsStr) -> io::Result<()> {
        match linkat(CWD, proc_path(&self.file), &self.directory, name, AtFlags::SYMLINK_FOLLOW) {
            // Without /proc there is another spelling of the same request, which not every system permits.
            Err(Errno::NOENT) if Facts::of(&self.directory)?.links > 0 => {
                Ok(linkat(&self.file, "", &self.directory, name, AtFlags::EMPTY_PATH)?)
            }
            other => Ok(other?),
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // Nothing can be done about a name that cannot be removed; the file is ours and holds no secret.
            let _ = unlinkat(&self.directory, name, AtFlags::empty());
        }
    }
}

fn fresh_name() -> io::Result<String> {
    let mut random = [0_u8; 12];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(format!(".{}.zuno-tmp", hex(&random)))
}
