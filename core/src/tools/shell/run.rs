//! The body of one call: environment, sandbox, command, receipt.

use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::arguments::Arguments;
use super::environment;
use super::interpreter::Interpreter;
use super::live::Deltas;
use super::result::{Finished, receipt};
use super::verdict::Case;
use crate::output::Artifacts;
use crate::process::{CaptureFile, CaptureView, CommandSpec, Ending, Execution, Exit, Observer};
use crate::sandbox::{Policy, Prepared, Resolution, Scene};
use crate::store::verification::{VerificationReceipt, record};
use crate::store::{Durability, StoreError};
use crate::text::shell_reading::Reach;
use crate::tools::contract::{CallContext, ToolOutput};
use crate::types::ToolError;

/// A command that was admitted.
pub(super) struct Command {
    pub(super) arguments: Arguments,
    pub(super) interpreter: Interpreter,
    /// What the interpreter is given.
    pub(super) text: String,
    pub(super) reach: Reach,
    pub(super) policy: Policy,
    pub(super) resolution: Resolution,
    pub(super) inherited: Vec<(OsString, OsString)>,
}

/// Runs an admitted command and settles it.
pub(super) async fn run(call: CallContext, mut command: Command) -> Result<ToolOutput, ToolError> {
    let inherited = std::mem::take(&mut command.inherited);
    let workdir = &command.arguments.workdir;
    let environment = environment::settled(&call, &command.arguments.command, workdir, inherited).await?;
    let mut left = ATTEMPTS;
    loop {
        left -= 1;
        let Run { ending, capture, duration_ms } = attempt(&call, &command, environment.clone()).await?;
        if left == 0 || !may_be_set_up_again(&ending) {
            return settle(&call, &command, &ending, &capture, duration_ms).await;
        }
        if let Some(diagnostic) = capture.file() {
            // A file that is gone already is what was wanted.
            let _ = crate::output::remove(&diagnostic);
        }
    }
}

/// The confinement covers paths that other programs may remove between looking and starting.
const ATTEMPTS: u32 = 3;

struct Run {
    ending: Ending,
    capture: CaptureView,
    duration_ms: u64,
}

/// Whether only the confinement failed. The inner guard never said that it started the command: nothing ran, so setting
/// up once more repeats nothing.
fn may_be_set_up_again(ending: &Ending) -> bool {
    matches!(ending.exit, Exit::GuardFailed { .. }) && !ending.started && ending.stop.is_none()
}

async fn attempt(
    call: &CallContext,
    command: &Command,
    mut environment: Vec<(OsString, OsString)>,
) -> Result<Run, ToolError> {
    let prepared = prepare(call, command, &environment).await?;
    for (name, value) in &prepared.environment {
        environment.retain(|(known, _)| known != name);
        environment.push((name.clone(), value.clone()));
    }
    if call.cancel.is_cancelled() {
        return Err(ToolError::cancelled(false, "Cancelled before the command was started. Nothing happened."));
    }
    let spec = spec(command, &prepared, environment);
    let started = call.services.clock.now();
    let run = execute(call, command, &spec).await;
    let duration_ms = u64::try_from(call.services.clock.now() - started).unwrap_or(0);
    // Files are removed here, which may take a while; nothing of the tree is left that could use them.
    drop(tokio::task::spawn_blocking(move || drop(prepared)).await);
    let (ending, capture) = run?;
    Ok(Run { ending, capture, duration_ms })
}

async fn prepare(
    call: &CallContext,
    command: &Command,
    environment: &[(OsString, OsString)],
) -> Result<Prepared, ToolError> {
    let services = Arc::clone(&call.services);
    let (policy, resolution) = (command.policy.clone(), command.resolution.clone());
    let (environment, program) = (environment.to_vec(), command.interpreter.program.clone());
    let work = move || {
        let scene = Scene { environment: &environment, program: &program };
        services.sandbox.prepare(&policy, &resolution, scene)
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(prepared) => Ok(prepared?),
        Err(_) => Err(ToolError::failed("panic", "A defect of the library ended the preparation. Nothing was run.")),
    }
}

fn spec(command: &Command, prepared: &Prepared, environment: Vec<(OsString, OsString)>) -> CommandSpec {
    CommandSpec {
        args: command.interpreter.arguments(&command.text, &environment),
        env: environment,
        confinement: prepared.confinement.clone(),
        ..CommandSpec::new(&command.interpreter.program, &command.arguments.workdir)
    }
}

async fn execute(
    call: &CallContext,
    command: &Command,
    spec: &CommandSpec,
) -> Result<(Ending, CaptureView), ToolError> {
    let (observer, deltas) = Deltas::start(call);
    let capture = capture(call, observer);
    let view = capture.view();
    let ceiling = Duration::from_millis(call.session.config.shell.hard_ceiling_ms);
    let started = Execution::start(spec, Box::new(capture), Some(ceiling));
    let mut execution = match started {
        Ok(execution) => execution,
        Err(error) => {
            let interpreter = command.interpreter.program.display();
            let error = ToolError::from(error);
            return Err(ToolError { message: format!("{interpreter}: {}", error.message), ..error });
        }
    };
    let ending = tokio::select! {
        ending = execution.wait() => ending,
        () = call.cancel.cancelled() => {
            execution.control().cancel();
            execution.wait().await
        }
    };
    deltas.finish().await;
    Ok((ending, view))
}

/// Every byte goes to the artifact folder under its final name; the file is made with the first one.
fn capture(call: &CallContext, observer: Option<Observer>) -> CaptureFile {
    let artifacts = Artifacts::new(call.session.worktree.clone(), Arc::clone(&call.services.ids));
    let session = call.session.id.clone();
    let capture = CaptureFile::made_by(Box::new(move || -> std::io::Result<(PathBuf, File)> {
        let made = artifacts.create(&session)?;
        Ok((made.path, made.file))
    }));
    match observer {
        Some(observer) => capture.observed(observer),
        None => capture,
    }
}

async fn settle(
    call: &CallContext,
    command: &Command,
    ending: &Ending,
    capture: &CaptureView,
    duration_ms: u64,
) -> Result<ToolOutput, ToolError> {
    let arguments = &command.arguments;
    let limitation = arguments.exit_policy.limitation(&command.interpreter, &command.reach);
    let counts_stages = command.reach.has_pipeline && arguments.exit_policy.counts_stages(command.interpreter.family());
    let case = Case {
        ending,
        interrupted: ending.stop == Some(crate::process::Stop::Cancelled) || call.cancel.is_cancelled(),
        limitation,
        counts_stages,
        ceiling_ms: call.session.config.shell.hard_ceiling_ms,
    };
    let judgement = case.judge();
    let receipt = receipt(call, command, &judgement, capture);
    keep(call, &receipt).await?;
    Finished { command, ending, capture, judgement, receipt, duration_ms }.into_output()
}

/// The receipt is stored before its id is shown. Ordered is enough: the settlement that follows is on the disk.
async fn keep(call: &CallContext, receipt: &VerificationReceipt) -> Result<(), ToolError> {
    let (message, cycle, receipt) = (call.message_id.clone(), call.cycle_id.clone(), receipt.clone());
    let write = call
        .services
        .store
        .write::<(), StoreError>(Durability::Ordered, move |tx| record(tx, &message, &cycle, &receipt));
    write.await.map_err(|error| {
        let text = format!("The command ran, and its receipt could not be stored: {error}");
        ToolError::uncertain("receipt_not_stored", Vec::new(), text)
    })
}
