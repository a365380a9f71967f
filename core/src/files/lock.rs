//! One mutation at a time per worktree: a lock inside the process, and a lock file for other processes.

use std::collections::HashMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};
use std::time::Duration;

use rustix::fs::{FlockOperation, OFlags, flock};
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

use crate::text::fingerprint::sha256_hex;
use crate::types::{ErrorKind, ToolError};

const PATIENCE: Duration = Duration::from_secs(30);
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

type WorktreeLock = tokio::sync::Mutex<()>;

/// Per process and not per runtime: two runtimes of one process may work on the same worktree.
static WORKTREES: LazyLock<Mutex<HashMap<PathBuf, Weak<WorktreeLock>>>> = LazyLock::new(Mutex::default);

/// The right to mutate files of one worktree, until it is dropped.
#[derive(Debug)]
pub struct MutationGuard {
    // Dropped first: nobody in this process may try the file while it is still locked.
    _file: Option<File>,
    _process: OwnedMutexGuard<()>,
}

/// Waits for the right to mutate files of a worktree. The wait can be cancelled, blocks no thread and ends after 30
/// seconds with `mutation_lock`.
pub async fn acquire(
    worktree: &Path,
    folder: Option<&Path>,
    cancel: &CancellationToken,
) -> Result<MutationGuard, ToolError> {
    let waiting = async {
        let process = lock_of(worktree).lock_owned().await;
        let file = match folder {
            Some(folder) => Some(lock_file(worktree, folder).await?),
            None => None,
        };
        Ok(MutationGuard { _file: file, _process: process })
    };
    tokio::select! {
        biased;
        () = cancel.cancelled() => {
            Err(ToolError::cancelled(true, "The call was interrupted while it waited for the mutation lock; nothing was changed."))
        }
        outcome = tokio::time::timeout(PATIENCE, waiting) => outcome.unwrap_or_else(|_| Err(busy())),
    }
}

fn busy() -> ToolError {
    ToolError::new(
        ErrorKind::Transient { retry_after_ms: None },
        "mutation_lock",
        "Another mutation of this worktree did not end within 30 s; nothing was changed. Try again later.",
    )
}

fn lock_of(worktree: &Path) -> Arc<WorktreeLock> {
    let mut locks = WORKTREES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(lock) = locks.get(worktree).and_then(Weak::upgrade) {
        return lock;
    }
    locks.retain(|_, lock| lock.strong_count() > 0);
    let lock = Arc::new(WorktreeLock::default());
    locks.insert(worktree.to_owned(), Arc::downgrade(&lock));
    lock
}

async fn lock_file(worktree: &Path, folder: &Path) -> Result<File, ToolError> {
    let failed = |error: io::Error| ToolError::failed("io", format!("Could not take the mutation lock file: {error}."));
    let file = open_lock_file(worktree, folder).map_err(failed)?;
    let mut pause = FIRST_PAUSE;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => {}
            Err(error) => return Err(failed(error.into())),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Lock files are never removed: removing one that somebody waits on would give two holders.
fn open_lock_file(worktree: &Path, folder: &Path) -> io::Result<File> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::CLOEXEC).bits()).unwrap_or(0);
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(flags)
        .open(folder.join(sha256_hex(worktree.as_os_str().as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_second_holder_waits_and_gives_up_after_half_a_minute() {
        let worktree = Path::new("/lock-test/one");
        let cancel = CancellationToken::new();
        let first = acquire(worktree, None, &cancel).await.unwrap();
        let error = acquire(worktree, None, &cancel).await.unwrap_err();
        assert_eq!((error.code.as_str(), error.kind.name()), ("mutation_lock", "Transient"));
        drop(first);
        acquire(worktree, None, &cancel).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_lock_file_of_another_process_is_respected() {
        let folder = tempfile::tempdir().unwrap();
        let worktree = Path::new("/lock-test/two");
        let foreign = open_lock_file(worktree, folder.path()).unwrap();
        flock(&foreign, FlockOperation::LockExclusive).unwrap();
        let cancel = CancellationToken::new();
        let error = acquire(worktree, Some(folder.path()), &cancel).await.unwrap_err();
        assert_eq!(error.code, "mutation_lock");
        drop(foreign);
        acquire(worktree, Some(folder.path()), &cancel).await.unwrap();
    }

    #[tokio::test]
    async fn waiting_can_be_cancelled() {
        let worktree = Path::new("/lock-test/three");
        let cancel = CancellationToken::new();
        let _first = acquire(worktree, None, &cancel).await.unwrap();
        let waiting = tokio::spawn({
            let cancel = cancel.clone();
            async move { acquire(worktree, None, &cancel).await }
        });
        cancel.cancel();
        assert_eq!(waiting.await.unwrap().unwrap_err().kind.name(), "Cancelled");
    }
}
