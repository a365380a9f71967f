//! The guard program in executable form.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags};
use rustix::io::Errno;

use super::error::StartError;

/// What `build.rs` compiled.
const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/zuno-guard"));

/// The image of this process; made at the first use and kept.
static IMAGE: Mutex<Option<File>> = Mutex::new(None);

/// Where the guard can be executed from.
pub(super) fn path() -> Result<PathBuf, StartError> {
    if PROGRAM.is_empty() {
        return Err(StartError::Unsupported);
    }
    let mut image = IMAGE.lock().unwrap_or_else(PoisonError::into_inner);
    let file = match image.take() {
        Some(file) => file,
        None => memory_file().or_else(|_| private_file())?,
    };
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    *image = Some(file);
    Ok(path)
}

/// Replaces an image that the system refuses to execute; `true` = another attempt makes sense.
pub(super) fn fall_back(refused: &io::Error) -> bool {
    if refused.kind() != io::ErrorKind::PermissionDenied {
        return false;
    }
    let Ok(file) = private_file() else { return false };
    *IMAGE.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
    true
}

/// Sealed: nobody can change it, the host included.
fn memory_file() -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file: OwnedFd = match rustix::fs::memfd_create("zuno-guard", flags | MemfdFlags::EXEC) {
        // Kernels before 6.3 do not know the flag and execute memory files anyway.
        Err(Errno::INVAL) => rustix::fs::memfd_create("zuno-guard", flags)?,
        other => other?,
    };
    let mut file = File::from(file);
    file.write_all(PROGRAM)?;
    rustix::fs::fcntl_add_seals(&file, SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE)?;
    Ok(file)
}

/// For systems that refuse to execute memory files: a file of this user alone, without a name from the start on.
fn private_file() -> io::Result<File> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let name: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let path = std::env::temp_dir().join(format!("zuno-guard-{name}"));
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut writer = File::from(rustix::fs::open(&path, flags, Mode::RWXU)?);
    let written = writer.write_all(PROGRAM).and_then(|()| File::open(&path));
    // A file that is open for writing cannot be executed.
    drop(writer);
    std::fs::remove_file(&path)?;
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a start frame the guard leaves at once and silently.
    fn runs(file: &File) {
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let output = std::process::Command::new(path).stdin(std::process::Stdio::null()).output().unwrap();
        assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
    }

    #[test]
    fn a_memory_file_runs_and_cannot_be_changed() {
        let mut file = memory_file().unwrap();
        runs(&file);
        assert!(file.write_all(b"x").is_err());
        assert!(file.set_len(0).is_err());
    }

    #[test]
    fn a_private_file_runs_and_has_no_name() {
        let file = private_file().unwrap();
        runs(&file);
        let target = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap();
        assert!(target.to_string_lossy().ends_with(" (deleted)"), "{target:?}");
        assert_eq!(std::os::unix::fs::MetadataExt::mode(&file.metadata().unwrap()) & 0o777, 0o700);
    }

    #[test]
    fn only_a_refusal_makes_a_fallback() {
        assert!(!fall_back(&io::Error::from(io::ErrorKind::OutOfMemory)));
    }
}
