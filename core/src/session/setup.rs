//! From a stored session to one that can be driven: directories, configuration, agent, rules.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use crate::agents::{self, Agent};
use crate::config::{self, Loaded, SandboxMode};
use crate::dispatch::DispatchSession;
use crate::dispatch::surface::Profile;
use crate::runtime::Kernel;
use crate::store::sessions::{SessionMode, SessionSetup};
use crate::text::rules::{Layers, Place, parse_rules};
use crate::tools::contract::SessionContext;
use crate::types::{Error, PermissionMode, Result};

/// A directory given by a host, resolved.
pub(super) struct Directory {
    pub(super) canonical: PathBuf,
    pub(super) spelling: PathBuf,
    pub(super) worktree: PathBuf,
}

pub(super) fn resolve_directory(text: &str) -> Result<Directory> {
    let bad = |what: String| Err(Error::arguments(what).with("field", "directory").with("directory", text));
    if text.is_empty() || text.contains('\0') {
        return bad("`directory` has to be the path of an existing directory.".to_owned());
    }
    let Ok(spelling) = std::path::absolute(text) else {
        return bad(format!("`{text}` cannot be made an absolute path."));
    };
    match spelling.canonicalize() {
        Ok(canonical) if canonical.is_dir() => {
            if canonical.to_str().is_none() {
                return bad(format!("The directory `{text}` has a name that is not UTF-8; give one that is."));
            }
            let worktree = find_worktree(&canonical);
            Ok(Directory { canonical, spelling, worktree })
        }
        Ok(_) => bad(format!("`{text}` is not a directory.")),
        Err(error) => bad(format!("The directory `{text}` cannot be used: {error}.")),
    }
}

/// The nearest ancestor that holds `.git`, or the directory itself.
fn find_worktree(directory: &Path) -> PathBuf {
    directory
        .ancestors()
        .find(|ancestor| ancestor.join(".git").symlink_metadata().is_ok())
        .unwrap_or(directory)
        .to_owned()
}

pub(super) fn load_config(runtime: &Kernel, worktree: &Path, own: Option<&Value>) -> Result<Loaded> {
    let project = runtime.reads_project().then(|| config::project_file(worktree));
    runtime.loaded().for_session(project.as_deref(), own)
}

/// Makes a session ready to be driven.
pub(super) fn assemble(runtime: &Kernel, setup: &SessionSetup, spelling: Option<PathBuf>) -> Result<DispatchSession> {
    let record = &setup.record;
    let workspace = PathBuf::from(&record.directory);
    let worktree = PathBuf::from(&record.worktree);
    let own = (setup.config != Value::Object(crate::types::JsonMap::new())).then_some(&setup.config);
    let loaded = load_config(runtime, &worktree, own)?;
    let agent = agents::resolve(Some(&record.agent), loaded.values())?;
    let config = Arc::clone(loaded.config());
    let mode = effective_mode(&config, &agent);
    let home = runtime.home();
    let spelling = spelling.unwrap_or_else(|| workspace.clone());
    let mut roots = vec![workspace.to_string_lossy().into_owned()];
    if spelling != workspace {
        roots.push(spelling.to_string_lossy().into_owned());
    }
    let context = SessionContext {
        id: record.id.clone(),
        workspace,
        workspace_spelling: spelling,
        worktree,
        root_id: setup.root_id.clone(),
        agent: agent.name.clone(),
        read_only_agent: agent.read_only,
        plan_mode: record.mode == SessionMode::Plan,
        root: record.parent_id.is_none(),
        human_surface: setup.human_surface,
        layers: Arc::new(layers(&config, &agent, home.as_deref())?),
        place: Arc::new(Place { home, roots }),
        config,
    };
    let profile: Profile = serde_json::from_value(setup.profile.clone()).unwrap_or_default();
    Ok(DispatchSession::new(Arc::new(context), mode, profile, agent.contract))
}

/// Full access means no prompts; an agent can only be stricter than that.
fn effective_mode(config: &config::Config, agent: &Agent) -> PermissionMode {
    if config.sandbox.mode == SandboxMode::DangerFullAccess {
        return PermissionMode::AllowAll;
    }
    let authored = config.permission.mode;
    agent.mode.map_or(authored, |own| own.max(authored))
}

/// Layer order: shipped rules, roster entry, configuration, the agent's own rules.
fn layers(config: &config::Config, agent: &Agent, home: Option<&str>) -> Result<Layers> {
    let mut layers = Layers::over_shipped(&config.permission.rules, &config.permission.narrowing);
    if let Some(rules) = &agent.rules {
        let own = parse_rules(rules, &format!("agent {}", agent.name), home)?.rules;
        layers.trusted.extend(own);
    }
    Ok(layers)
}
