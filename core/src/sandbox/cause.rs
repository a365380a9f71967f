//! Why confinement is not usable.

use crate::types::ToolError;

/// The causes, each with a stable code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// This platform has no confining backend.
    Platform,
    /// The program or kernel feature that confines is missing.
    NoLauncher,
    /// bubblewrap is there and lacks something that is needed.
    LauncherCapability,
    /// The container or the kernel refuses namespaces.
    HostPolicy,
    /// bubblewrap could have been replaced by somebody else than root.
    LauncherUntrusted,
    /// The policy, or a path in it, cannot be enforced.
    PolicyInvalid,
    /// seccomp, the guard or a helper failed.
    SetupFailed,
    /// Preparing or starting one command failed.
    StartFailed,
}

impl Cause {
    /// The code in facts and errors.
    pub fn code(self) -> &'static str {
        match self {
            Self::Platform => "platform",
            Self::NoLauncher => "no_launcher",
            Self::LauncherCapability => "launcher_capability",
            Self::HostPolicy => "host_policy",
            Self::LauncherUntrusted => "launcher_untrusted",
            Self::PolicyInvalid => "policy_invalid",
            Self::SetupFailed => "setup_failed",
            Self::StartFailed => "start_failed",
        }
    }

    /// Whether `onUnavailable: "run-unconfined"` applies: only where the machine has no confinement to offer, never
    /// where one was tampered with or failed.
    pub fn eligible(self) -> bool {
        matches!(self, Self::Platform | Self::NoLauncher | Self::LauncherCapability | Self::HostPolicy)
    }
}

/// Confinement that cannot be had, and what would have to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Unusable {
    /// The cause.
    pub cause: Cause,
    /// What is missing, and what to do about it.
    pub message: String,
}

impl Unusable {
    pub(super) fn new(cause: Cause, message: impl Into<String>) -> Self {
        Self { cause, message: message.into() }
    }
}

impl From<Unusable> for ToolError {
    fn from(unusable: Unusable) -> Self {
        Self::unavailable(unusable.cause.code(), unusable.message)
    }
}
