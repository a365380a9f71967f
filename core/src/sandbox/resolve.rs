//! From a policy to a backend. Each bubblewrap is tried out once per runtime.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::cause::{Cause, Unusable};
use super::facts::{Backend, Facts, ResolutionKind};
use super::launcher::Launcher;
use super::policy::Policy;
use super::running::Running;
use crate::config::{OnUnavailable, SandboxBackend, SandboxMode};

/// The sandbox of one runtime: what was found out about the machine, and what runs.
#[derive(Debug, Default)]
pub struct Sandbox {
    /// By configured path.
    launchers: Mutex<HashMap<Option<PathBuf>, Result<Launcher, Unusable>>>,
    pub(super) running: Running,
}

/// How a policy will be enforced.
#[derive(Clone, Debug)]
pub struct Resolution {
    /// What results report.
    pub facts: Facts,
    pub(super) launcher: Option<Launcher>,
}

impl Sandbox {
    /// Which backend enforces a policy. Blocks for some milliseconds at the first need.
    ///
    /// # Errors
    /// When none does and the configuration does not let the command run unconfined.
    pub fn resolve(&self, policy: &Policy) -> Result<Resolution, Unusable> {
        if policy.mode == SandboxMode::DangerFullAccess {
            return Ok(unconfined(policy, Backend::None, ResolutionKind::FullAccess, None));
        }
        let found = match policy.backend {
            SandboxBackend::Native => {
                return Ok(unconfined(policy, Backend::Native, ResolutionKind::TrustedNative, None));
            }
            SandboxBackend::Landlock => Err(Unusable::new(
                Cause::NoLauncher,
                "landlock: this version of the library has no Landlock backend. Set `sandbox.backend` to `auto` or \
                 `bubblewrap`.",
            )),
            SandboxBackend::Auto | SandboxBackend::Bubblewrap => self.launcher(policy.bubblewrap_path.as_deref()),
        };
        match found {
            Ok(launcher) => Ok(Resolution {
                facts: facts(policy, Backend::Bubblewrap, ResolutionKind::Confined, None),
                launcher: Some(launcher),
            }),
            Err(unusable) if may_fall_back(policy, unusable.cause) => {
                let cause = Some(unusable.cause);
                Ok(unconfined(policy, Backend::None, ResolutionKind::UnavailableFallback, cause))
            }
            Err(unusable) => Err(unusable),
        }
    }

    /// Whether a confined command of this worktree runs in this process.
    pub fn command_runs(&self, worktree: &Path) -> bool {
        self.running.any(worktree)
    }

    fn launcher(&self, configured: Option<&Path>) -> Result<Launcher, Unusable> {
        if !cfg!(target_os = "linux") {
            let text = "This platform has no confining backend. Set `sandbox.backend` to `native` to do without.";
            return Err(Unusable::new(Cause::Platform, text));
        }
        let mut launchers = self.launchers.lock().unwrap_or_else(PoisonError::into_inner);
        let known = launchers.entry(configured.map(Path::to_owned));
        known.or_insert_with(|| Launcher::probe(configured).map_err(for_diagnostics)).clone()
    }
}

/// Names what is missing per backend.
fn for_diagnostics(unusable: Unusable) -> Unusable {
    let message =
        format!("bubblewrap: {} landlock: not part of this version of the library.", sentence(unusable.message));
    Unusable { message, ..unusable }
}

fn sentence(text: String) -> String {
    if text.ends_with('.') { text } else { text + "." }
}

/// A read-only request never runs unconfined: its promise is that nothing changes.
fn may_fall_back(policy: &Policy, cause: Cause) -> bool {
    policy.on_unavailable == OnUnavailable::RunUnconfined
        && policy.mode == SandboxMode::WorkspaceWrite
        && cause.eligible()
}

fn unconfined(policy: &Policy, backend: Backend, kind: ResolutionKind, fallback: Option<Cause>) -> Resolution {
    Resolution { facts: facts(policy, backend, kind, fallback), launcher: None }
}

fn facts(policy: &Policy, backend: Backend, kind: ResolutionKind, fallback: Option<Cause>) -> Facts {
    let foreign = kind == ResolutionKind::Confined && belongs_to_another(policy);
    Facts {
        backend,
        kind,
        requested_mode: policy.mode,
        requested_network: policy.network,
        fallback,
        limits: foreign.then_some("foreign_owner").into_iter().collect(),
    }
}

/// Inside a user namespace root has no more rights to files of others than anybody else.
fn belongs_to_another(policy: &Policy) -> bool {
    policy.mode == SandboxMode::WorkspaceWrite
        && rustix::process::geteuid().is_root()
        && std::fs::metadata(&policy.workspace).is_ok_and(|found| found.uid() != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Network, SandboxConfig};

    fn missing_bubblewrap(on_unavailable: OnUnavailable, mode: SandboxMode) -> Result<Resolution, Unusable> {
        let config = SandboxConfig {
            mode,
            on_unavailable,
            bubblewrap_path: Some("/nonexistent/bwrap".into()),
            ..SandboxConfig::default()
        };
        Sandbox::default().resolve(&Policy::new(&config, Path::new("/"), Path::new("/")))
    }

    #[test]
    fn without_a_backend_there_is_no_command_unless_configured() {
        let refused = missing_bubblewrap(OnUnavailable::Deny, SandboxMode::WorkspaceWrite).unwrap_err();
        assert_eq!(refused.cause, Cause::NoLauncher);
        assert!(refused.message.contains("bubblewrap: ") && refused.message.contains("landlock: "));

        let allowed = missing_bubblewrap(OnUnavailable::RunUnconfined, SandboxMode::WorkspaceWrite).unwrap();
        let facts = allowed.facts.metadata();
        assert_eq!(facts["sandboxBackend"], "none");
        assert_eq!(facts["sandboxMode"], "unconfined");
        assert_eq!(facts["sandboxNetwork"], "host");
        assert_eq!(facts["sandboxRequestedMode"], "workspace-write");
        assert_eq!(facts["sandboxResolutionKind"], "unavailable_fallback");
        assert_eq!(facts["sandboxFallback"], true);
        assert_eq!(facts["sandboxFallbackReason"], "no_launcher");

        // A read-only request never runs unconfined.
        assert!(missing_bubblewrap(OnUnavailable::RunUnconfined, SandboxMode::ReadOnly).is_err());
    }

    #[test]
    fn an_untrusted_bubblewrap_is_no_reason_to_do_without() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("bwrap");
        std::fs::write(&program, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        let config = SandboxConfig {
            on_unavailable: OnUnavailable::RunUnconfined,
            bubblewrap_path: Some(program),
            ..SandboxConfig::default()
        };
        let policy = Policy::new(&config, Path::new("/"), Path::new("/"));
        assert_eq!(Sandbox::default().resolve(&policy).unwrap_err().cause, Cause::LauncherUntrusted);
    }

    #[test]
    fn declared_ways_without_confinement_are_told() {
        let of = |config: &SandboxConfig| {
            let policy = Policy::new(config, Path::new("/"), Path::new("/"));
            Sandbox::default().resolve(&policy).unwrap().facts.metadata()
        };
        let full = of(&SandboxConfig {
            mode: SandboxMode::DangerFullAccess,
            network: Network::Allow,
            ..SandboxConfig::default()
        });
        assert_eq!((&full["sandboxBackend"], &full["sandboxResolutionKind"]), (&"none".into(), &"full_access".into()));
        assert_eq!(full["sandboxRequestedMode"], "danger-full-access");
        assert_eq!(full["sandboxFallbackReason"], serde_json::Value::Null);

        let native = of(&SandboxConfig {
            mode: SandboxMode::ReadOnly,
            backend: SandboxBackend::Native,
            ..SandboxConfig::default()
        });
        let kind = (&native["sandboxBackend"], &native["sandboxResolutionKind"]);
        assert_eq!(kind, (&"native".into(), &"trusted_native".into()));
    }
}
