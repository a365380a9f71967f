//! The surface: which tools a session shows, and why another one is not there. A later filter only removes.

use std::collections::BTreeSet;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::registry::{Registered, Registry};
use crate::text::nearest::nearest;
use crate::tools::contract::{Services, SessionContext, Surface};
use crate::types::{Error, ToolError};

/// What an agent may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contract {
    /// The names its role holds at most; `None` = everything of the profile.
    pub role: Option<BTreeSet<String>>,
    /// Names its role does not hold.
    pub without: BTreeSet<String>,
    /// The exact allowlist of the configuration: it replaces the default surface and the role.
    pub exact: Option<BTreeSet<String>>,
}

/// `profile` of `session.create`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Which tools.
    #[serde(default)]
    pub tools: ProfileTools,
}

/// The tool composition of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileTools {
    /// Registered slots and host tools that are shown too.
    #[serde(default)]
    pub include: Vec<String>,
    /// Tools that are not shown.
    #[serde(default)]
    pub exclude: Vec<String>,
}

impl Profile {
    /// Refuses names that no registered tool has.
    ///
    /// # Errors
    /// `arguments.unknown_name` with the nearest known name.
    pub fn check(&self, registry: &Registry) -> Result<(), Error> {
        let known = registry.all();
        let names: Vec<&str> = known.iter().map(|known| known.tool.name()).collect();
        for name in self.tools.include.iter().chain(&self.tools.exclude) {
            if !names.contains(&name.as_str()) {
                let near = nearest(name, names.iter().copied());
                let hint = near.map(|near| format!(" Did you mean `{near}`?")).unwrap_or_default();
                let text = format!("The profile names `{name}`, which is not registered.{hint}");
                return Err(Error::new("arguments.unknown_name", text)
                    .with("name", name.as_str())
                    .with("suggestion", near));
            }
        }
        Ok(())
    }
}

/// What decides a surface beside the tools themselves.
pub struct Conditions<'a> {
    /// The session.
    pub session: &'a SessionContext,
    /// Its profile.
    pub profile: &'a Profile,
    /// Its agent.
    pub contract: &'a Contract,
    /// The rooms tools stand on.
    pub services: &'a Services,
    /// Whether the rules deny a key for every resource.
    pub hidden: &'a dyn Fn(&str) -> bool,
}

/// Why a registered tool is not shown.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Absence {
    NotInSurface,
    SwitchedOff,
    NotForThisSession,
    Missing(String),
    DeniedByRule,
}

/// The tools of one message, locked: what is registered or switched later does not touch it.
pub struct Snapshot {
    shown: Vec<Arc<Registered>>,
    absent: Vec<(Arc<Registered>, Absence)>,
}

/// A name looked up in a snapshot.
pub enum Found {
    /// Shown.
    Shown(Arc<Registered>),
    /// Hidden by a deny rule: a forced call is denied, not unavailable.
    Denied(Arc<Registered>),
    /// Not there.
    Unavailable(ToolError),
}

impl Snapshot {
    /// Applies the filters.
    pub fn lock(registry: &Registry, conditions: &Conditions<'_>) -> Self {
        let mut snapshot = Self { shown: Vec::new(), absent: Vec::new() };
        for known in registry.all() {
            match absence(&known, conditions) {
                None => snapshot.shown.push(known),
                Some(reason) => snapshot.absent.push((known, reason)),
            }
        }
        snapshot
    }

    /// The tools that are shown.
    pub fn shown(&self) -> &[Arc<Registered>] {
        &self.shown
    }

    /// Looks a name up.
    pub fn find(&self, name: &str) -> Found {
        if let Some(known) = self.shown.iter().find(|known| known.tool.name() == name) {
            return Found::Shown(Arc::clone(known));
        }
        match self.absent.iter().find(|(known, _)| known.tool.name() == name) {
            Some((known, Absence::DeniedByRule)) => Found::Denied(Arc::clone(known)),
            Some((_, reason)) => Found::Unavailable(explain(name, reason)),
            None => Found::Unavailable(self.unknown(name)),
        }
    }

    fn unknown(&self, name: &str) -> ToolError {
        let near = nearest(name, self.shown.iter().map(|known| known.tool.name()));
        let hint = near.map(|near| format!(" Did you mean `{near}`?")).unwrap_or_default();
        ToolError::unavailable("unknown_tool", format!("There is no tool named `{name}`.{hint}"))
    }
}

fn explain(name: &str, reason: &Absence) -> ToolError {
    match reason {
        Absence::SwitchedOff => ToolError::unavailable(
            "switched_off",
            format!("`{name}` is switched off by the configuration (`tools.{name}`)."),
        ),
        Absence::NotForThisSession => {
            ToolError::unavailable("not_in_session", format!("`{name}` is not available in a session of this kind."))
        }
        Absence::Missing(text) => ToolError::unavailable("missing", format!("`{name}` is not available: {text}")),
        Absence::NotInSurface | Absence::DeniedByRule => {
            ToolError::unavailable("not_in_surface", format!("`{name}` is not among the tools of this session."))
        }
    }
}

fn absence(known: &Registered, conditions: &Conditions<'_>) -> Option<Absence> {
    let name = known.tool.name();
    let chosen = match &conditions.contract.exact {
        Some(exact) => exact.contains(name),
        None => in_profile(known, conditions.profile) && in_role(known, conditions.contract),
    };
    if !chosen {
        return Some(Absence::NotInSurface);
    }
    if conditions.session.config.tools.get(name) == Some(&false) {
        return Some(Absence::SwitchedOff);
    }
    if !known.tool.fits(conditions.session) {
        return Some(Absence::NotForThisSession);
    }
    if (conditions.hidden)(known.tool.permission_key()) {
        return Some(Absence::DeniedByRule);
    }
    known.tool.missing(conditions.session, conditions.services).map(Absence::Missing)
}

fn in_profile(known: &Registered, profile: &Profile) -> bool {
    let name = known.tool.name();
    let listed = |names: &[String]| names.iter().any(|listed| listed == name);
    (known.tool.surface() == Surface::Default || listed(&profile.tools.include)) && !listed(&profile.tools.exclude)
}

fn in_role(known: &Registered, contract: &Contract) -> bool {
    let name = known.tool.name();
    contract.role.as_ref().is_none_or(|role| role.contains(name)) && !contract.without.contains(name)
}
