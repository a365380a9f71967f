//! The arguments of one call, checked.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::exit_policy::ExitPolicy;
use crate::tools::contract::SessionContext;
use crate::types::{JsonMap, ToolError};

const DEFAULT_TIMEOUT_MS: u64 = 120_000;

/// What is to be run.
#[derive(Debug)]
pub(super) struct Arguments {
    pub(super) command: String,
    pub(super) workdir: PathBuf,
    pub(super) timeout_ms: u64,
    pub(super) exit_policy: ExitPolicy,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw {
    command: String,
    timeout: Option<u64>,
    workdir: Option<String>,
    #[serde(default)]
    background: bool,
    expected_git_head: Option<String>,
    #[serde(default)]
    exit_policy: ExitPolicy,
}

impl Arguments {
    pub(super) fn read(arguments: JsonMap, session: &SessionContext) -> Result<Self, ToolError> {
        let raw: Raw = serde_json::from_value(Value::Object(arguments))
            .map_err(|error| ToolError::invalid("invalid", format!("The arguments do not fit: {error}.")))?;
        check_command(&raw.command)?;
        if raw.background {
            return Err(background(raw.timeout.is_some()));
        }
        if raw.expected_git_head.is_some() {
            // A condition that nobody checks must not look as if it held.
            let text = "`expectedGitHead` is not checked by this version, so the command was not run. Leave it out for \
                commands that do not rewrite history.";
            return Err(ToolError::unavailable("git_head", text));
        }
        let workdir = match raw.workdir {
            None => session.workspace.clone(),
            Some(named) => directory(&named, &session.workspace)?,
        };
        let timeout_ms = raw.timeout.unwrap_or(DEFAULT_TIMEOUT_MS);
        Ok(Self { command: raw.command, workdir, timeout_ms, exit_policy: raw.exit_policy })
    }
}

fn check_command(command: &str) -> Result<(), ToolError> {
    let invalid = |code, text| Err(ToolError::invalid_field(code, "command", None, text));
    if command.trim().is_empty() {
        return invalid("blank_command", "The command is blank. Give the text that is to be run.");
    }
    if command.contains('\0') {
        let text = "A command cannot hold a NUL byte. Write it as an escape that the program itself reads.";
        return invalid("nul_byte", text);
    }
    Ok(())
}

fn background(with_timeout: bool) -> ToolError {
    if with_timeout {
        let text = "`timeout` is the deadline of a foreground call; leave it out with `background: true`.";
        return ToolError::invalid_field("timeout_in_background", "timeout", None, text);
    }
    let text =
        "Background commands are not part of this version; the command was not run. Run it without `background`.";
    ToolError::unavailable("background", text)
}

fn directory(named: &str, workspace: &Path) -> Result<PathBuf, ToolError> {
    let path = workspace.join(named);
    match path.canonicalize() {
        Ok(found) if found.is_dir() => Ok(found),
        found => {
            let what = if found.is_ok() { "is not a directory" } else { "does not exist" };
            let text = format!("The working directory `{}` {what}. Create it or name another one.", path.display());
            Err(ToolError::invalid_field("missing_directory", "workdir", None, text))
        }
    }
}
