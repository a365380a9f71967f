//! What a result says about the confinement of its command.

use serde_json::{Value, json};

use super::cause::Cause;
use crate::config::{Network, SandboxMode};
use crate::types::JsonMap;

/// Which backend confined a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// bubblewrap.
    Bubblewrap,
    /// No confinement, by explicit declaration.
    Native,
    /// No confinement.
    None,
}

/// How it came to that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResolutionKind {
    /// The policy is enforced.
    Confined,
    /// `danger-full-access`.
    FullAccess,
    /// `sandbox.backend` is `native`.
    TrustedNative,
    /// No backend is usable, and the configuration runs commands all the same.
    UnavailableFallback,
}

/// The sandbox facts of one result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Which backend.
    pub backend: Backend,
    /// How it came to that.
    pub kind: ResolutionKind,
    /// The mode asked for.
    pub requested_mode: SandboxMode,
    /// The network asked for.
    pub requested_network: Network,
    /// Why there is no confinement although one was asked for.
    pub fallback: Option<Cause>,
    /// What the backend cannot keep.
    pub limits: Vec<&'static str>,
}

impl Facts {
    /// Whether the policy is enforced.
    pub fn confined(&self) -> bool {
        self.kind == ResolutionKind::Confined
    }

    /// The metadata keys, the same on every result.
    pub fn metadata(&self) -> JsonMap {
        let (mode, network) = match self.confined() {
            true => (mode_word(self.requested_mode), network_word(self.requested_network)),
            false => ("unconfined", "host"),
        };
        let entries: [(&str, Value); 10] = [
            ("sandboxBackend", json!(self.backend.word())),
            ("sandboxMode", json!(mode)),
            ("sandboxNetwork", json!(network)),
            ("sandboxRequestedMode", json!(mode_word(self.requested_mode))),
            ("sandboxRequestedNetwork", json!(network_word(self.requested_network))),
            ("sandboxResolutionKind", json!(self.kind.word())),
            ("sandboxFallback", json!(self.fallback.is_some())),
            ("sandboxFallbackReason", json!(self.fallback.map(Cause::code))),
            ("sandboxLimits", json!(self.limits)),
            // A backend that cannot keep protected paths restores them afterwards; bubblewrap keeps them.
            ("protectedPathsRestored", json!([])),
        ];
        entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

impl Backend {
    fn word(self) -> &'static str {
        match self {
            Self::Bubblewrap => "bubblewrap",
            Self::Native => "native",
            Self::None => "none",
        }
    }
}

impl ResolutionKind {
    fn word(self) -> &'static str {
        match self {
            Self::Confined => "confined",
            Self::FullAccess => "full_access",
            Self::TrustedNative => "trusted_native",
            Self::UnavailableFallback => "unavailable_fallback",
        }
    }
}

fn mode_word(mode: SandboxMode) -> &'static str {
    match mode {
        SandboxMode::ReadOnly => "read-only",
        SandboxMode::WorkspaceWrite => "workspace-write",
        SandboxMode::DangerFullAccess => "danger-full-access",
    }
}

fn network_word(network: Network) -> &'static str {
    match network {
        Network::Deny => "deny",
        Network::Allow => "allow",
    }
}
