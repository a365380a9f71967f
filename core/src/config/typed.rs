//! Typed values from the merged document.

use super::merged::Merged;
use super::{
    ConcurrencyConfig, Config, FormatterConfig, PermissionConfig, SandboxConfig, ShellConfig, ToolOutputConfig,
};
use crate::text::rules::Rule;

/// The typed configuration. Every value has passed its check; what has no value keeps the default.
pub(super) fn build(merged: &Merged, rules: Vec<Rule>, narrowing: Vec<Rule>) -> Config {
    let base = Config::default();
    Config {
        permission: PermissionConfig { mode: merged.get("/permission/mode").unwrap_or_default(), rules, narrowing },
        sandbox: sandbox(merged),
        tools: merged.get("/tools").unwrap_or_default(),
        tool_output: tool_output(merged, base.tool_output),
        concurrency: concurrency(merged, base.concurrency),
        shell: shell(merged, base.shell),
        withhold_prefixes: merged.get("/env/withhold_prefixes").unwrap_or_default(),
        git_preflight_budget_ms: merged.get("/git/preflight_budget_ms").unwrap_or(base.git_preflight_budget_ms),
        ripgrep_path: merged.get("/search/ripgrep_path"),
        formatters: formatters(merged),
        events_queue: merged.get("/events/queue").unwrap_or(base.events_queue),
    }
}

fn sandbox(merged: &Merged) -> SandboxConfig {
    SandboxConfig {
        mode: merged.get("/sandbox/mode").unwrap_or_default(),
        network: merged.get("/sandbox/network").unwrap_or_default(),
        on_unavailable: merged.get("/sandbox/onUnavailable").unwrap_or_default(),
        backend: merged.get("/sandbox/backend").unwrap_or_default(),
        bubblewrap_path: merged.get("/sandbox/bubblewrap_path"),
        git_metadata_writable: merged.get::<String>("/sandbox/git_metadata").as_deref() == Some("writable"),
        landlock_denies_new_entries: merged.get::<String>("/sandbox/landlock_new_entries").as_deref() == Some("deny"),
        writable_roots: merged.get("/sandbox/writableRoots").unwrap_or_default(),
        protected_paths: merged.get("/sandbox/protectedPaths").unwrap_or_default(),
    }
}

fn tool_output(merged: &Merged, base: ToolOutputConfig) -> ToolOutputConfig {
    ToolOutputConfig {
        max_bytes: merged.get("/tool_output/max_bytes").unwrap_or(base.max_bytes),
        max_lines: merged.get("/tool_output/max_lines").unwrap_or(base.max_lines),
        tail_lines: merged.get("/tool_output/tail_lines").unwrap_or(base.tail_lines),
    }
}

fn concurrency(merged: &Merged, base: ConcurrencyConfig) -> ConcurrencyConfig {
    ConcurrencyConfig {
        tool_calls: merged.get("/concurrency/tool_calls").unwrap_or(base.tool_calls),
        delegations: merged.get("/concurrency/delegations").unwrap_or(base.delegations),
        mcp_connections: merged.get("/concurrency/mcp_connections").unwrap_or(base.mcp_connections),
        lsp_requests: merged.get("/concurrency/lsp_requests").unwrap_or(base.lsp_requests),
    }
}

fn shell(merged: &Merged, base: ShellConfig) -> ShellConfig {
    ShellConfig {
        interpreter: merged.get("/shell/interpreter"),
        hard_ceiling_ms: merged.get("/shell/hard_ceiling_ms").unwrap_or(base.hard_ceiling_ms),
        background_ceiling_ms: merged.get("/shell/background_ceiling_ms").unwrap_or(base.background_ceiling_ms),
    }
}

fn formatters(merged: &Merged) -> std::collections::BTreeMap<String, FormatterConfig> {
    merged.get("/formatter").unwrap_or_default()
}
