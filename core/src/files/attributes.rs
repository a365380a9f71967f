//! What a replaced file keeps: owner, mode, extended attributes (access control lists are among them).

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{Gid, Mode, RawMode, Uid, XattrFlags, fchmod, fchown, fgetxattr, flistxattr, fremovexattr, fsetxattr};
use rustix::io::Errno;

use super::authorized::Facts;

/// Set-user-id and set-group-id.
const SET_ID: u32 = 0o6000;

/// Gives a new file what the old one had, as far as this process may.
pub fn copy(old: &File, facts: &Facts, new: &File) -> io::Result<()> {
    let owned = copy_owner(facts, new)?;
    copy_extended(old, new)?;
    // After the owner: changing that clears set-id bits. They never come back under another owner.
    let mode = if owned { facts.mode } else { facts.mode & !SET_ID };
    // Setting an access control list changed the group bits with it, and both come from the old file.
    fchmod(new, Mode::from_raw_mode(mode as RawMode))?;
    Ok(())
}

/// Whether owner and group are the old file's now.
fn copy_owner(facts: &Facts, new: &File) -> io::Result<bool> {
    let now = Facts::of(new)?;
    if (now.uid, now.gid) == (facts.uid, facts.gid) {
        return Ok(true);
    }
    let (owner, group) = (Uid::from_raw(facts.uid), Gid::from_raw(facts.gid));
    if fchown(new, Some(owner), Some(group)).is_ok() {
        return Ok(true);
    }
    // The group alone may be permitted; a refusal is what "where permitted" means.
    let _ = fchown(new, None, Some(group));
    Ok(false)
}

fn copy_extended(old: &File, new: &File) -> io::Result<()> {
    let wanted = names(old)?;
    for name in names(new)? {
        // A default access control list of the directory gave the new file entries the old one may not have.
        if !wanted.contains(&name) {
            permitted(fremovexattr(new, OsStr::from_bytes(&name)))?;
        }
    }
    for name in wanted {
        let name = OsStr::from_bytes(&name);
        let value = match sized(|buffer| fgetxattr(old, name, buffer)) {
            Err(Errno::NODATA) => continue,
            other => match permitted(other)? {
                Some(value) => value,
                None => continue,
            },
        };
        permitted(fsetxattr(new, name, &value, XattrFlags::empty()))?;
    }
    Ok(())
}

fn names(file: &File) -> io::Result<Vec<Vec<u8>>> {
    let list = permitted(sized(|buffer| flistxattr(file, buffer)))?.unwrap_or_default();
    Ok(list.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect())
}

/// Reads a value of unknown size, growing the buffer until it fits.
fn sized(read: impl Fn(&mut [u8]) -> rustix::io::Result<usize>) -> rustix::io::Result<Vec<u8>> {
    let mut buffer = vec![0; 1024];
    loop {
        match read(&mut buffer) {
            Ok(length) => {
                buffer.truncate(length);
                return Ok(buffer);
            }
            Err(Errno::RANGE) if buffer.len() < 1 << 20 => buffer.resize(buffer.len() * 8, 0),
            Err(error) => return Err(error),
        }
    }
}

/// `None` for what this process or this file system may not do.
fn permitted<T>(outcome: rustix::io::Result<T>) -> io::Result<Option<T>> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(Errno::PERM | Errno::ACCESS | Errno::OPNOTSUPP | Errno::NODATA | Errno::INVAL) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
