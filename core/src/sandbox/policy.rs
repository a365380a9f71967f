//! What one command may do: the configuration, narrowed by the session and widened by what was granted to the call.

use std::path::{Path, PathBuf};

use crate::config::{Network, OnUnavailable, SandboxBackend, SandboxConfig, SandboxMode};
use crate::types::Access;

/// What every command has for itself, and what is the kernel's.
const OWN: [&str; 3] = ["/dev", "/proc", "/sys"];

/// The policy of one command. All paths are canonical.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    pub(super) mode: SandboxMode,
    pub(super) network: Network,
    pub(super) backend: SandboxBackend,
    pub(super) on_unavailable: OnUnavailable,
    pub(super) bubblewrap_path: Option<PathBuf>,
    pub(super) workspace: PathBuf,
    pub(super) worktree: PathBuf,
    pub(super) roots: Vec<PathBuf>,
    pub(super) readable: Vec<PathBuf>,
    pub(super) protected: Vec<PathBuf>,
    pub(super) git_metadata: bool,
}

impl Policy {
    /// The policy of a session's commands.
    pub fn new(config: &SandboxConfig, workspace: &Path, worktree: &Path) -> Self {
        Self {
            mode: config.mode,
            network: config.network,
            backend: config.backend,
            on_unavailable: config.on_unavailable,
            bubblewrap_path: config.bubblewrap_path.clone(),
            workspace: workspace.to_owned(),
            worktree: worktree.to_owned(),
            roots: config.writable_roots.iter().map(|root| canonical(root)).collect(),
            readable: Vec::new(),
            protected: config.protected_paths.clone(),
            git_metadata: config.git_metadata_writable,
        }
    }

    /// The stricter of this mode and another one. What `danger-full-access` opened closes with it.
    #[must_use]
    pub fn narrowed(mut self, mode: SandboxMode) -> Self {
        if mode < self.mode {
            self.mode = mode;
        }
        self
    }

    /// With a directory that was granted to the call. Nothing becomes writable that the mode does not let be.
    #[must_use]
    pub fn granting(mut self, directory: &Path, access: Access) -> Self {
        match access {
            Access::Read => self.readable.push(canonical(directory)),
            Access::Write => self.roots.push(canonical(directory)),
        }
        self
    }

    /// With leave to write Git metadata.
    #[must_use]
    pub fn with_git_metadata(mut self) -> Self {
        self.git_metadata = true;
        self
    }

    /// The mode asked for, after narrowing.
    pub fn mode(&self) -> SandboxMode {
        self.mode
    }

    /// Whether a path is inside what commands may write without a further grant.
    pub fn is_inside(&self, path: &Path) -> bool {
        path.starts_with(&self.workspace) || self.roots.iter().any(|root| path.starts_with(root))
    }

    /// The directories a confined command may write to, each once. Devices and the process table are the command's own
    /// whatever was granted: a grant would put the host's in their place.
    pub(super) fn writable(&self) -> Vec<PathBuf> {
        if self.mode != SandboxMode::WorkspaceWrite {
            return Vec::new();
        }
        let own = |path: &Path| OWN.iter().any(|place| path.starts_with(place));
        let granted = self.roots.iter().filter(|root| root.is_dir() && !own(root));
        let mut found: Vec<PathBuf> = std::iter::once(&self.workspace).chain(granted).cloned().collect();
        found.sort();
        found.dedup();
        found
    }
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(mode: SandboxMode) -> Policy {
        let config = SandboxConfig { mode, ..SandboxConfig::default() };
        Policy::new(&config, Path::new("/w/a"), Path::new("/w"))
    }

    #[test]
    fn modes_only_narrow() {
        assert_eq!(policy(SandboxMode::WorkspaceWrite).narrowed(SandboxMode::ReadOnly).mode(), SandboxMode::ReadOnly);
        assert_eq!(policy(SandboxMode::ReadOnly).narrowed(SandboxMode::DangerFullAccess).mode(), SandboxMode::ReadOnly);
    }

    #[test]
    fn grants_open_nothing_in_read_only_mode() {
        let granted = policy(SandboxMode::ReadOnly).granting(Path::new("/elsewhere"), Access::Write);
        assert_eq!(granted.writable(), Vec::<PathBuf>::new());
    }

    #[test]
    fn directories_that_exist_and_are_not_the_commands_own_become_writable() {
        let granted = policy(SandboxMode::WorkspaceWrite)
            .granting(Path::new("/w/a/b"), Access::Write)
            .granting(Path::new("/usr"), Access::Write)
            .granting(Path::new("/usr"), Access::Write)
            .granting(Path::new("/dev/shm"), Access::Write)
            .granting(Path::new("/nonexistent"), Access::Write)
            .granting(Path::new("/etc"), Access::Read);
        assert_eq!(granted.writable(), [PathBuf::from("/usr"), PathBuf::from("/w/a")]);
    }
}
