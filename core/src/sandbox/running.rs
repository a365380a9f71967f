//! Which worktrees have confined commands running, and the mount points that were made for them.
//!
//! Removing a mount point detaches the mount of every command that still has it, and such a command could then make the
//! path itself. So mount points stay until nothing of the worktree runs any more, in this process or another one.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{FlockOperation, flock};

/// The commands of this process.
#[derive(Clone, Debug, Default)]
pub(super) struct Running {
    worktrees: Arc<Mutex<HashMap<PathBuf, Worktree>>>,
}

#[derive(Debug, Default)]
struct Worktree {
    commands: usize,
    mount_points: BTreeSet<PathBuf>,
}

/// A command that runs, or is about to. Drop it when its tree is gone.
#[derive(Debug)]
pub(super) struct Hold {
    running: Running,
    worktree: PathBuf,
    /// Other processes see by its lock that a command runs.
    mark: Option<File>,
}

impl Running {
    /// Counts a command. `wanted` are paths that have to exist while it runs; answers those that do.
    pub(super) fn enter(&self, worktree: &Path, wanted: &[PathBuf]) -> (Hold, Vec<PathBuf>) {
        let mut worktrees = self.lock();
        let known = worktrees.entry(worktree.to_owned()).or_default();
        known.commands += 1;
        // The runtime's own folder stays.
        let own = |path: &&PathBuf| path.ends_with(".zuno");
        let mut present: Vec<PathBuf> =
            wanted.iter().filter(own).filter(|path| make(path).is_some()).cloned().collect();
        let mark = File::open(worktree.join(".zuno")).ok();
        if let Some(mark) = &mark {
            // Without it, other processes may remove a mount point early; nothing else depends on it.
            let _ = flock(mark, FlockOperation::NonBlockingLockShared);
        }
        for path in wanted.iter().filter(|path| !own(path)) {
            match make(path) {
                Some(true) => drop(known.mount_points.insert(path.clone())),
                Some(false) => {}
                // What the host cannot make, its command cannot make either.
                None => continue,
            }
            present.push(path.clone());
        }
        drop(worktrees);
        (Hold { running: self.clone(), worktree: worktree.to_owned(), mark }, present)
    }

    /// Whether a command of this worktree runs in this process.
    pub(super) fn any(&self, worktree: &Path) -> bool {
        self.lock().contains_key(worktree)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, Worktree>> {
        self.worktrees.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `Some(true)` = made, `Some(false)` = was there.
fn make(path: &Path) -> Option<bool> {
    match fs::create_dir(path) {
        Ok(()) => Some(true),
        Err(_) => fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()).then_some(false),
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut worktrees = self.running.lock();
        let Some(known) = worktrees.get_mut(&self.worktree) else { return };
        known.commands -= 1;
        if known.commands > 0 {
            return;
        }
        let alone = match &self.mark {
            Some(mark) => flock(mark, FlockOperation::NonBlockingLockExclusive).is_ok(),
            None => true,
        };
        if alone {
            for path in &known.mount_points {
                // Not empty any more: somebody else put something there, so it stays.
                let _ = fs::remove_dir(path);
            }
        }
        worktrees.remove(&self.worktree);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_stay_until_the_last_command_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let (zuno, agents) = (root.join(".zuno"), root.join(".agents"));
        let running = Running::default();
        let (first, present) = running.enter(root, &[zuno.clone(), agents.clone()]);
        assert_eq!(present, [zuno.clone(), agents.clone()]);
        let (second, _) = running.enter(root, std::slice::from_ref(&agents));
        drop(first);
        assert!(agents.is_dir() && running.any(root));
        drop(second);
        assert!(!agents.exists() && zuno.is_dir() && !running.any(root));
    }

    #[test]
    fn another_process_keeps_them() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let wanted = [root.join(".zuno"), root.join(".agents")];
        let (first, _) = Running::default().enter(root, &wanted);
        // A second table stands for a second process: the lock is per open file.
        let (second, _) = Running::default().enter(root, &wanted);
        drop(first);
        assert!(wanted[1].is_dir());
        drop(second);
    }

    #[test]
    fn what_somebody_put_there_stays() {
        let folder = tempfile::tempdir().unwrap();
        let agents = folder.path().join(".agents");
        let (hold, _) = Running::default().enter(folder.path(), std::slice::from_ref(&agents));
        fs::write(agents.join("file"), "").unwrap();
        drop(hold);
        assert!(agents.join("file").exists());
    }
}
