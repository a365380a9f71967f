//! Running `rg`: started without a shell, read while it runs, gone before the call ends.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::process::environment::withhold;
use crate::process::{CommandSpec, Exit, Piped, PipedControl, StartError, spawn_piped};
use crate::types::ToolError;

/// Bytes of standard output a run may write.
pub(super) const LARGEST_OUTPUT: u64 = 67_108_864;

/// Bytes of standard error that are looked at.
const LARGEST_DIAGNOSTICS: u64 = 65_536;

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
    /// There is no such program.
    Missing,
    /// It could not be started or watched.
    Start(String),
    /// Its output could not be read.
    Read(io::Error),
    /// It wrote more than a run may.
    TooMuch,
    /// The reader gave up.
    Reader(E),
    /// The call was cancelled.
    Stopped,
}

impl<E> From<StartError> for RunError<E> {
    fn from(error: StartError) -> Self {
        Self::Start(error.to_string())
    }
}

/// Ends a run from another thread.
#[derive(Debug, Default)]
pub(super) struct Stop(Mutex<Running>);

#[derive(Debug, Default)]
struct Running {
    wanted: bool,
    control: Option<PipedControl>,
}

impl Stop {
    fn lock(&self) -> MutexGuard<'_, Running> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stop(&self) {
        let mut running = self.lock();
        running.wanted = true;
        if let Some(control) = &running.control {
            control.cancel();
        }
    }

    fn is_wanted(&self) -> bool {
        self.lock().wanted
    }

    /// Starts the program unless its end is wanted already.
    fn start(&self, spec: &CommandSpec) -> Result<Option<Piped>, StartError> {
        let mut running = self.lock();
        if running.wanted {
            return Ok(None);
        }
        let piped = spawn_piped(spec)?;
        running.control = Some(piped.control());
        Ok(Some(piped))
    }
}

/// Runs work that runs a program, off the async threads. Cancelling, or giving up the wait, ends the program; the
/// answer comes after it is gone.
pub(super) async fn cancellable<T: Send + 'static>(
    cancel: &CancellationToken,
    work: impl FnOnce(&Stop) -> T + Send + 'static,
) -> Result<T, ToolError> {
    let stop = Arc::new(Stop::default());
    let _given_up = StopOnDrop(Arc::clone(&stop));
    let mut task = tokio::task::spawn_blocking({
        let stop = Arc::clone(&stop);
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
    joined.map_err(|error| match error.try_into_panic() {
        // The dispatcher knows what a panic of a body means.
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(_) => ToolError::cancelled(true, "The runtime is closing; the search was given up."),
    })
}

struct StopOnDrop(Arc<Stop>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// What is run: the program, its arguments and its directory, in the environment of [`environment`].
pub(super) fn command(program: &Path, args: Vec<OsString>, directory: &Path, prefixes: &[String]) -> CommandSpec {
    let env = environment(std::env::vars_os(), prefixes);
    CommandSpec { args, env, separate_stderr: true, ..CommandSpec::new(program, directory) }
}

/// The host's environment without the library's own namespace, without the configured prefixes, and without the
/// variable that names an `rg` configuration file.
fn environment(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    prefixes: &[String],
) -> Vec<(OsString, OsString)> {
    let mut kept = withhold(variables, prefixes);
    kept.retain(|(name, _)| !name.eq_ignore_ascii_case(OsStr::new("RIPGREP_CONFIG_PATH")));
    kept
}

/// Runs the program to its end and hands its output to `take` as it comes.
pub(super) fn run<E>(
    spec: &CommandSpec,
    stop: &Stop,
    take: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> Result<Ended, RunError<E>> {
    let Some(mut piped) = stop.start(spec)? else { return Err(RunError::Stopped) };
    let stderr = piped.stderr.take();
    let diagnostics = std::thread::spawn(move || read_diagnostics(stderr));
    let read = read_output(&mut piped.stdout, take);
    if read.is_err() {
        stop.stop();
    }
    // A panic there would lose a message and nothing else.
    let diagnostics = diagnostics.join().unwrap_or_default();
    let exit = piped.wait();
    read?;
    if stop.is_wanted() {
        return Err(RunError::Stopped);
    }
    let status = match exit {
        Exit::Code(code) => Some(code),
        Exit::Signal(_) => None,
        Exit::NotFound { .. } => return Err(RunError::Missing),
        Exit::NotExecutable { message } | Exit::GuardFailed { message } => return Err(RunError::Start(message)),
        Exit::Lost => return Err(RunError::Start("its guard disappeared".to_owned())),
    };
    Ok(Ended { status, diagnostics })
}

fn read_output<E>(stdout: &mut impl Read, take: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), RunError<E>> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_private_namespace_and_the_configuration_file_are_withheld() {
        let names = ["ZUNO_X", "zuno_x", "RIPGREP_CONFIG_PATH", "CORP_A", "PATH", "ZUNO", "AGENT", "RIPGREP_CONFIG"];
        let variables = names.map(|name| (OsString::from(name), OsString::new()));
        let kept: Vec<_> = environment(variables, &["Corp_".to_owned()]).into_iter().map(|(name, _)| name).collect();
        assert_eq!(kept, ["PATH", "ZUNO", "AGENT", "RIPGREP_CONFIG"]);
    }

    #[test]
    fn output_is_counted_over_the_whole_run() {
        let mut exactly = io::repeat(b'x').take(LARGEST_OUTPUT);
        assert!(read_output::<()>(&mut exactly, &mut |_| Ok(())).is_ok());
        let mut more = io::repeat(b'x').take(LARGEST_OUTPUT + 1);
        assert!(matches!(read_output::<()>(&mut more, &mut |_| Ok(())), Err(RunError::TooMuch)));
        let gives_up = read_output(&mut io::repeat(b'x'), &mut |_| Err("enough"));
        assert!(matches!(gives_up, Err(RunError::Reader("enough"))));
    }
}
