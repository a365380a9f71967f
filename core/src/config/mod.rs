//! The effective configuration: typed values with their defaults. Parsing, layers and trust live beside this file.
//!
//! One document walks: `jsonc` (text to JSON) → `document` (held against the table of `keys` by `check`) → `merged`
//! (laid over the layers below) → `cross` (what holds between keys) → `narrow` (the project file) → `typed`.

mod check;
mod cross;
mod document;
mod effective;
mod jsonc;
mod keys;
mod load;
mod locations;
mod merged;
mod narrow;
mod origin;
mod rule_list;
mod shape;
mod typed;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use effective::effective_document;
pub use load::{Loaded, Sources, load};
pub use locations::{Environment, database_file, global_file, project_file};
pub use narrow::Ignored;
pub use origin::Layer;

use crate::types::PermissionMode;

/// Everything that can be configured, with defaults in force.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Modes and rules.
    pub permission: PermissionConfig,
    /// Confinement of commands.
    pub sandbox: SandboxConfig,
    /// Per-tool switches: `false` takes a tool out of the surface.
    pub tools: BTreeMap<String, bool>,
    /// When output is withheld.
    pub tool_output: ToolOutputConfig,
    /// How much may overlap.
    pub concurrency: ConcurrencyConfig,
    /// The interpreter and its time limits.
    pub shell: ShellConfig,
    /// Further environment prefixes that are withheld from commands.
    pub withhold_prefixes: Vec<String>,
    /// Shared budget of the Git reads before a commit, in milliseconds.
    pub git_preflight_budget_ms: u64,
    /// Absolute path of `rg`; `None` = looked up on `PATH`.
    pub ripgrep_path: Option<PathBuf>,
    /// Programs that format files after a write, by name.
    pub formatters: BTreeMap<String, FormatterConfig>,
    /// Entries an event subscriber may have waiting.
    pub events_queue: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            permission: PermissionConfig::default(),
            sandbox: SandboxConfig::default(),
            tools: BTreeMap::new(),
            tool_output: ToolOutputConfig::default(),
            concurrency: ConcurrencyConfig::default(),
            shell: ShellConfig::default(),
            withhold_prefixes: Vec::new(),
            git_preflight_budget_ms: 30_000,
            ripgrep_path: None,
            formatters: BTreeMap::new(),
            events_queue: 1_024,
        }
    }
}

/// `permission.*`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PermissionConfig {
    /// The authored mode.
    pub mode: PermissionMode,
    /// Rules of the trusted layers, in order; the shipped rules are not among them.
    pub rules: Vec<crate::text::rules::Rule>,
    /// Rules of the narrowing layers: they can only tighten.
    pub narrowing: Vec<crate::text::rules::Rule>,
}

/// `sandbox.mode`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    /// Nothing is writable but a private temporary directory.
    ReadOnly,
    /// The workspace and granted directories are writable.
    #[default]
    WorkspaceWrite,
    /// The host's authority.
    DangerFullAccess,
}

/// `sandbox.network`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// No network.
    #[default]
    Deny,
    /// The host's network.
    Allow,
}

/// `sandbox.onUnavailable`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnUnavailable {
    /// No shell.
    #[default]
    Deny,
    /// Run a `workspace-write` request without confinement.
    RunUnconfined,
}

/// `sandbox.backend`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxBackend {
    /// The first usable one.
    #[default]
    Auto,
    /// bubblewrap.
    Bubblewrap,
    /// Landlock and seccomp.
    Landlock,
    /// No confinement, by explicit declaration.
    Native,
}

/// `sandbox.*`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SandboxConfig {
    /// What is writable.
    pub mode: SandboxMode,
    /// Whether the network is reachable.
    pub network: Network,
    /// What happens without a backend.
    pub on_unavailable: OnUnavailable,
    /// Which backend.
    pub backend: SandboxBackend,
    /// Absolute path of `bwrap`.
    pub bubblewrap_path: Option<PathBuf>,
    /// `sandbox.git_metadata` is `writable`.
    pub git_metadata_writable: bool,
    /// `sandbox.landlock_new_entries` is `deny`.
    pub landlock_denies_new_entries: bool,
    /// Further writable directories.
    pub writable_roots: Vec<PathBuf>,
    /// Further read-only paths.
    pub protected_paths: Vec<PathBuf>,
}

/// `tool_output.*`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolOutputConfig {
    /// Bytes that still go inline.
    pub max_bytes: u64,
    /// Lines that still go inline.
    pub max_lines: u64,
    /// Last lines shown below a withheld notice.
    pub tail_lines: u32,
}

impl Default for ToolOutputConfig {
    fn default() -> Self {
        Self { max_bytes: 51_200, max_lines: 2_000, tail_lines: 0 }
    }
}

/// `concurrency.*`; each 1..=64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConcurrencyConfig {
    /// Calls of one session at once.
    pub tool_calls: usize,
    /// Child runs of the whole runtime.
    pub delegations: usize,
    /// Connection attempts at once.
    pub mcp_connections: usize,
    /// Requests to the lsp port.
    pub lsp_requests: usize,
}

impl Default for ConcurrencyConfig {
    fn default() -> Self {
        Self { tool_calls: 8, delegations: 8, mcp_connections: 8, lsp_requests: 4 }
    }
}

/// `shell.*`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellConfig {
    /// Name or path of the interpreter; `None` = chosen.
    pub interpreter: Option<String>,
    /// A foreground command is stopped after this long.
    pub hard_ceiling_ms: u64,
    /// A background command is stopped after this long; 0 = never.
    pub background_ceiling_ms: u64,
}

impl Default for ShellConfig {
    fn default() -> Self {
        Self { interpreter: None, hard_ceiling_ms: 1_800_000, background_ceiling_ms: 0 }
    }
}

/// `formatter.<name>`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct FormatterConfig {
    /// Program and arguments; `$FILE` stands for the path.
    pub command: Vec<String>,
    /// Endings it is used for.
    pub extensions: Vec<String>,
    /// It is stopped after this long.
    #[serde(default = "formatter_timeout_ms")]
    pub timeout_ms: u64,
}

fn formatter_timeout_ms() -> u64 {
    10_000
}
