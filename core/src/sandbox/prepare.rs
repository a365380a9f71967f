//! One confined command: looks at the machine, makes what it needs, and cleans up behind it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::cause::{Cause, Unusable};
use super::launcher::Launcher;
use super::line::View;
use super::policy::Policy;
use super::private_tmp::PrivateTmp;
use super::protected::{self, Protected};
use super::resolve::{Resolution, Sandbox};
use super::running::Hold;
use super::sockets;
use crate::process::Confinement;

/// Directories whose content is the host's own business.
const HIDDEN: [&str; 3] = ["/tmp", "/run", "/var/run"];
/// What programs need of them.
const NEEDED: [&str; 3] = ["/run/current-system", "/run/wrappers", "/run/systemd/resolve"];

/// The command, as far as the sandbox has to know it.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The command's environment: its `PATH` has to be visible, its agents' sockets must not be.
    pub environment: &'a [(OsString, OsString)],
    /// The program.
    pub program: &'a Path,
}

/// A confinement that is ready. Keep it until the command's tree is gone: dropping it removes the private temporary
/// directory and the mount points.
#[derive(Debug)]
pub struct Prepared {
    /// What the process room enforces.
    pub confinement: Confinement,
    /// Variables the command gets on top.
    pub environment: Vec<(OsString, OsString)>,
    _hold: Option<Hold>,
    _tmp: Option<PrivateTmp>,
}

impl Sandbox {
    /// Makes the confinement of one command.
    ///
    /// # Errors
    /// `policy_invalid` for a path that cannot be protected, `start_failed` when something could not be made.
    pub fn prepare(&self, policy: &Policy, resolution: &Resolution, scene: Scene<'_>) -> Result<Prepared, Unusable> {
        let Some(launcher) = &resolution.launcher else {
            let confinement = Confinement::default();
            return Ok(Prepared { confinement, environment: Vec::new(), _hold: None, _tmp: None });
        };
        let mut protected = protected::find(policy, &launcher.program)?;
        let failed = |error| Unusable::new(Cause::StartFailed, PrivateTmp::explain(&error));
        let tmp = PrivateTmp::create().map_err(failed)?;
        let (hold, made) = self.running.enter(&policy.worktree, &protected.missing);
        protected.existing.extend(made);
        let confinement = launcher.confine(&view(policy, launcher, protected, scene, tmp.path()));
        let environment = vec![("TMPDIR".into(), "/tmp".into())];
        Ok(Prepared { confinement, environment, _hold: Some(hold), _tmp: Some(tmp) })
    }

    /// Refuses a policy that cannot be enforced, without making anything.
    ///
    /// # Errors
    /// `policy_invalid`.
    pub fn check(&self, policy: &Policy, resolution: &Resolution) -> Result<(), Unusable> {
        match &resolution.launcher {
            Some(launcher) => protected::find(policy, &launcher.program).map(drop),
            None => Ok(()),
        }
    }
}

fn view(policy: &Policy, launcher: &Launcher, protected: Protected, scene: Scene<'_>, tmp: &Path) -> View {
    let mut writable = policy.writable();
    writable.extend(protected.git_writable);
    // A mount of the whole file system shows nothing of what is hidden afterwards.
    let brought_back = |path: &Path| writable.iter().any(|root| is_below_hidden(root) && path.starts_with(root));

    let path = scene.environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
    let directories: Vec<PathBuf> = path.map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
    let mut shown: Vec<PathBuf> = NEEDED.iter().map(PathBuf::from).collect();
    shown.extend([policy.worktree.clone(), policy.workspace.clone(), launcher.program.clone()]);
    shown.extend(policy.readable.iter().chain(&policy.roots).cloned());
    shown.extend(protected.git_visible);
    shown.extend(directories);
    shown.extend(scene.program.parent().map(Path::to_owned));
    shown.retain(|path| is_below_hidden(path) && !brought_back(path) && path.exists());
    shown.sort();
    shown.dedup();

    let visible =
        |path: &Path| !is_below_hidden(path) || brought_back(path) || shown.iter().any(|seen| path.starts_with(seen));
    let sockets = sockets::of_host(scene.environment).into_iter().filter(|path| visible(path)).collect();
    // Where `/var/run` is a link, it leads to a hidden directory anyway. `/tmp` is the private one.
    let is_directory = |path: &str| std::fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    let hidden = HIDDEN.iter().filter(|path| **path != "/tmp" && is_directory(path)).map(PathBuf::from).collect();
    View {
        network: policy.network,
        private_tmp: tmp.to_owned(),
        hidden,
        shown,
        writable,
        protected: protected.existing,
        sockets,
    }
}

/// Properly below: showing a hidden directory itself would undo the hiding.
fn is_below_hidden(path: &Path) -> bool {
    HIDDEN.iter().any(|hidden| path.starts_with(hidden) && path != Path::new(hidden))
}
