//! Running `rg`: started without a shell, read while it runs, gone before the call ends.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::types::ToolError;

/// Bytes of standard output a run may write.
pub(super) const LARGEST_OUTPUT: u64 = 67_108_864;

/// Bytes of standard error that are looked at.
const LARGEST_DIAGNOSTICS: u64 = 65_536;

/// One start of the program.
#[derive(Debug)]
pub(super) struct Invocation {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<OsString>,
    pub(super) directory: PathBuf,
    pub(super) environment: Vec<(OsString, OsString)>,
}

/// How the program ended by itself.
#[derive(Debug)]
pub(super) struct Ended {
    /// Exit status; `None` = ended by a signal.
    pub(super) status: Option<i32>,
    /// The start of what it wrote to standard error.
    pub(super) diagnostics: String,
}

/// Why it did not come to its own end.
#[derive(Debug)]
pub(super) enum RunError<E> {
    /// It could not be started.
    Start(io::Error),
    /// Its output could not be read.
    Read(io::Error),
    /// It wrote more than a run may.
    TooMuch,
    /// The reader gave up.
    Reader(E),
    /// The call was cancelled.
    Stopped,
}

/// Ends a run from another thread.
#[derive(Debug, Default)]
pub(super) struct Stop(Mutex<Running>);

#[derive(Debug, Default)]
struct Running {
    wanted: bool,
    child: Option<Child>,
}

impl Stop {
    fn lock(&self) -> MutexGuard<'_, Running> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stop(&self) {
        let mut running = self.lock();
        running.wanted = true;
        if let Some(child) = &mut running.child {
            // Fails only when it has ended.
            let _ = child.kill();
        }
    }

    fn is_wanted(&self) -> bool {
        self.lock().wanted
    }

    /// Starts the program unless the end is wanted already.
    fn start(&self, command: &mut Command) -> io::Result<Option<Streams>> {
        let mut running = self.lock();
        if running.wanted {
            return Ok(None);
        }
        let mut child = command.spawn()?;
        let streams = (child.stdout.take(), child.stderr.take());
        running.child = Some(child);
        Ok(Some(streams))
    }

    /// Waits for the end of a program whose output has ended.
    fn reap(&self) -> io::Result<ExitStatus> {
        loop {
            let mut running = self.lock();
            let Some(child) = &mut running.child else { return Err(io::ErrorKind::NotFound.into()) };
            if let Some(status) = child.try_wait()? {
                running.child = None;
                return Ok(status);
            }
            drop(running);
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

type Streams = (Option<std::process::ChildStdout>, Option<std::process::ChildStderr>);

/// Runs work that runs a program, off the async threads. Cancelling, or giving up the wait, ends the program; the
/// answer comes after it is gone.
pub(super) async fn cancellable<T: Send + 'static>(
    cancel: &CancellationToken,
    work: impl FnOnce(&Stop) -> T + Send + 'static,
) -> Result<T, ToolError> {
    let stop = std::sync::Arc::new(Stop::default());
    let given_up = StopOnDrop(std::sync::Arc::clone(&stop));
    let mut task = tokio::task::spawn_blocking({
        let stop = std::sync::Arc::clone(&stop);
        move || work(&stop)
    });
    let joined = tokio::select! {
        biased;
        () = cancel.cancelled() => {
            stop.stop();
            task.await
        }
        joined = &mut task => joined,
    };
    drop(given_up);
    joined.map_err(|error| match error.try_into_panic() {
        // The dispatcher knows what a panic of a body means.
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(_) => ToolError::cancelled(true, "The runtime is closing; the search was given up."),
    })
}

struct StopOnDrop(std::sync::Arc<Stop>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Runs the program to its end and hands its output to `take` as it comes.
pub(super) fn run<E>(
    invocation: &Invocation,
    stop: &Stop,
    take: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> Result<Ended, RunError<E>> {
    let mut command = Command::new(&invocation.program);
    command
        .args(&invocation.arguments)
        .current_dir(&invocation.directory)
        .env_clear()
        .envs(invocation.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let Some((stdout, stderr)) = stop.start(&mut command).map_err(RunError::Start)? else {
        return Err(RunError::Stopped);
    };
    let diagnostics = std::thread::spawn(move || read_diagnostics(stderr));
    let read = read_output(stdout, take);
    if read.is_err() {
        stop.stop();
    }
    let diagnostics = diagnostics.join().unwrap_or_default();
    let status = stop.reap().map_err(RunError::Read)?;
    read?;
    if stop.is_wanted() {
        return Err(RunError::Stopped);
    }
    Ok(Ended { status: status.code(), diagnostics })
}

fn read_output<E>(stdout: Option<impl Read>, take: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), RunError<E>> {
    let Some(mut stdout) = stdout else { return Ok(()) };
    let mut buffer = vec![0; 65_536];
    let mut total = 0u64;
    loop {
        let length = match stdout.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(RunError::Read(error)),
        };
        total += length as u64;
        if total > LARGEST_OUTPUT {
            return Err(RunError::TooMuch);
        }
        take(buffer.get(..length).unwrap_or_default()).map_err(RunError::Reader)?;
    }
}

/// Reads to the end, so that the program never waits, and keeps the start.
fn read_diagnostics(stderr: Option<impl Read>) -> String {
    let Some(mut stderr) = stderr else { return String::new() };
    let mut start = Vec::new();
    // What cannot be read is not shown.
    let _ = stderr.by_ref().take(LARGEST_DIAGNOSTICS).read_to_end(&mut start);
    let _ = io::copy(&mut stderr, &mut io::sink());
    String::from_utf8_lossy(&start).into_owned()
}

/// The host's environment without the library's own namespace, without the configured prefixes, and without the
/// variable that names an `rg` configuration file.
pub(super) fn environment(withhold_prefixes: &[String]) -> Vec<(OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| !is_withheld(name, withhold_prefixes)).collect()
}

fn is_withheld(name: &std::ffi::OsStr, prefixes: &[String]) -> bool {
    let folded = name.to_string_lossy().to_uppercase();
    folded == "RIPGREP_CONFIG_PATH"
        || folded.starts_with("ZUNO_")
        || prefixes.iter().any(|prefix| folded.starts_with(&prefix.to_uppercase()))
}

/// The error of a program that could not be started.
pub(super) fn start_failed(program: &Path, configured: Option<&Path>, error: &io::Error) -> ToolError {
    if error.kind() == io::ErrorKind::NotFound {
        return super::locate::missing(configured);
    }
    let message =
        format!("{} could not be started: {error}. Check that it is an `rg` this machine can run.", program.display());
    ToolError::failed("rg_failed", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_private_namespace_and_the_configuration_file_are_withheld() {
        let prefixes = ["Corp_".to_owned()];
        for name in ["ZUNO_X", "zuno_x", "Zuno_", "RIPGREP_CONFIG_PATH", "CORP_A", "corp_b"] {
            assert!(is_withheld(name.as_ref(), &prefixes), "{name}");
        }
        for name in ["ZUNO", "ZUNOX", "AGENT", "PATH", "MY_ZUNO_X", "RIPGREP_CONFIG"] {
            assert!(!is_withheld(name.as_ref(), &prefixes), "{name}");
        }
    }
}
