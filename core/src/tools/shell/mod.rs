//! `shell`: one command under the active sandbox.
//!
//! `prepare` checks the arguments, reads the text and says what needs permission; the body asks for the environment,
//! makes the sandbox and runs the command. What the result says follows from how the command ended, in `verdict.rs`
//! alone. Commands run in the foreground only in this version: a call ends with its command.

mod admission;
mod arguments;
mod environment;
mod exit_policy;
mod interpreter;
mod live;
mod outside;
mod result;
mod run;
mod verdict;

use std::sync::LazyLock;
use std::time::Duration;

use serde_json::Value;

use super::contract::{CallContext, Prepared, Services, SessionContext, Tool};
use crate::config::SandboxMode;
use crate::host::BoxFuture;
use crate::sandbox::Policy;
use crate::types::{Declarations, JsonMap, ToolError};

static SCHEMA: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("../schemas/shell.json")).unwrap_or_default());

const DESCRIPTION: &str = "Run a command in the workspace under the active sandbox and get its output, exit code and \
    a verification receipt. Nothing carries over from the call before. `exitPolicy`: `pipefail` (default) makes a \
    failing stage of a pipeline the command's failure, `all` also stops at the first failing command; choose `last` \
    only on purpose, where a failing stage is acceptable. The receipt says how far the exit code reaches: join checks \
    with `&&`, without `||` fallbacks, loops and nested shells, so that it is authoritative. Use `background` only \
    when independent local work follows at once, and `backgroundPurpose: \"remoteObserver\"` for a command that only \
    watches remote work. Some variables of the host are withheld from commands; that is a precaution and no \
    confinement.";

/// TERM, two seconds, KILL, and what is left in the pipe.
const GRACE: Duration = Duration::from_secs(10);

/// Runs commands.
#[derive(Debug, Default)]
pub struct Shell;

impl Tool for Shell {
    fn name(&self) -> &str {
        "shell"
    }

    fn description(&self) -> &str {
        DESCRIPTION
    }

    fn input_schema(&self) -> &Value {
        &SCHEMA
    }

    fn declarations(&self) -> Declarations {
        Declarations::STRICT
    }

    fn missing(&self, session: &SessionContext, services: &Services) -> Option<String> {
        services.sandbox.resolve(&policy(session)).err().map(|unusable| unusable.message)
    }

    /// Planning sessions run commands that cannot write.
    fn allowed_in_plan(&self, _declared: Declarations) -> bool {
        true
    }

    fn interrupt_grace(&self) -> Duration {
        GRACE
    }

    fn prepare(&self, call: CallContext, arguments: JsonMap) -> BoxFuture<'static, Result<Prepared, ToolError>> {
        Box::pin(admission::admit(call, arguments))
    }
}

/// The policy of a session's commands, before any grant of a call.
fn policy(session: &SessionContext) -> Policy {
    let policy = Policy::new(&session.config.sandbox, &session.workspace, &session.worktree);
    let reads_only = session.plan_mode || session.read_only_agent;
    if reads_only { policy.narrowed(SandboxMode::ReadOnly) } else { policy }
}
