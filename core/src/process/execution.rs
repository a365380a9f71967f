//! One command from its start to the end of its tree.
//!
//! A task on the caller's runtime reads the guard's reports and the command's output at the same time. It settles on the
//! exit of the command's own process, never on the end of its output: anything may still hold that.

use std::io;
use std::pin::Pin;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::task::JoinHandle;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::CancellationToken;

use super::error::StartError;
use super::exit::{Ending, Exit, Stop};
use super::frame::{CANCEL_GRACE_MS, KILL_LIMIT_MS, LEFTOVER_GRACE_MS, Report, Reports, Request, Secret};
use super::guard::{self, GuardProcess};
use super::spec::CommandSpec;

/// How long output is awaited after the command's own exit.
const DRAIN: Duration = Duration::from_millis(500);
/// How long a process that has closed the output may take to be gone before it counts as left over.
const SETTLE: Duration = Duration::from_millis(20);
/// What a guard may need beyond the graces of its tree before it is taken for stuck.
const GUARD_MARGIN: Duration = Duration::from_secs(2);
/// One read.
const CHUNK: usize = 64 << 10;
/// The most that can be waiting in a pipe once nobody writes any more.
const PIPE_LIMIT: usize = 1 << 20;

/// Takes a command's output, chunk by chunk and in order.
pub trait OutputSink: Send {
    /// Takes the next bytes. An error is noted in the ending; the command is not harmed and the chunks after it still
    /// come.
    ///
    /// # Errors
    /// When the bytes could not be kept.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;
}

/// A running command. Dropping it cancels the command; its tree is then stopped in the background.
#[derive(Debug)]
pub struct Execution {
    control: Control,
    guard: u32,
    task: JoinHandle<Ending>,
    ending: Option<Ending>,
}

/// Stops a command from anywhere.
#[derive(Clone, Debug)]
pub struct Control {
    cancel: CancellationToken,
}

impl Control {
    /// Asks for the end of the command's tree: TERM, two seconds, KILL. Returns at once; asking again changes nothing.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }
}

impl Execution {
    /// Starts a command. Both its streams go to `sink`; `separate_stderr` does not apply. With a `ceiling`, the command
    /// is stopped that long from now. Must be called on a tokio runtime with its I/O and time drivers.
    ///
    /// # Errors
    /// When nothing was started. That the program is missing or cannot be executed shows in the ending.
    pub fn start(spec: &CommandSpec, sink: Box<dyn OutputSink>, ceiling: Option<Duration>) -> Result<Self, StartError> {
        let runtime = tokio::runtime::Handle::try_current().map_err(io::Error::other)?;
        let guard = guard::start(spec, guard::Kind::Command)?;
        guard.control.set_nonblocking(true)?;
        let control = Control { cancel: CancellationToken::new() };
        let id = guard.process.id();
        let conversation = Conversation {
            control: UnixStream::from_std(guard.control)?,
            process: guard.process,
            secret: guard.secret,
            reports: Reports::default(),
            output: Some(pipe::Receiver::from_owned_fd(guard.output)?),
            sink,
            cancel: control.cancel.clone(),
            phase: Phase::Running,
            seen: Seen::default(),
        };
        let task = runtime.spawn(conversation.run(ceiling));
        Ok(Self { control, guard: id, task, ending: None })
    }

    /// A handle that stops the command.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// The process id of the command's guard: to be shown, and to find the tree below it. It must not be signalled.
    pub fn guard_pid(&self) -> u32 {
        self.guard
    }

    /// Waits until the command has ended and nothing of its tree is left. Giving up the wait changes nothing; waiting
    /// again gives the same answer.
    pub async fn wait(&mut self) -> Ending {
        if let Some(ending) = &self.ending {
            return ending.clone();
        }
        // A task that did not finish (a sink that panicked, a runtime that stops) took its guard, and so the tree, along.
        let ending = (&mut self.task).await.unwrap_or_else(|error| {
            let seen = Seen { capture_error: Some(error.to_string()), ..Seen::default() };
            seen.into_ending()
        });
        self.ending.insert(ending).clone()
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        self.control.cancel();
    }
}

/// Where a command stands, as far as waiting is concerned.
#[derive(Clone, Copy, PartialEq)]
enum Phase {
    /// Its own process runs.
    Running,
    /// That has ended; its output may not have.
    Draining,
    /// What it left behind is being stopped.
    Finishing,
    /// The tree is being stopped on request.
    Stopping,
}

/// What is known so far.
#[derive(Default)]
struct Seen {
    exit: Option<Exit>,
    unasked: bool,
    started: bool,
    leftover: u32,
    survivors: u32,
    stop: Option<Stop>,
    capture_error: Option<String>,
}

impl Seen {
    fn into_ending(self) -> Ending {
        Ending {
            exit: self.exit.unwrap_or(Exit::Lost),
            started: self.started,
            leftover: self.leftover,
            survivors: self.survivors,
            stop: self.stop,
            exited_before_stop: self.unasked,
            capture_error: self.capture_error,
        }
    }
}

struct Conversation {
    // First, so that a conversation that is dropped ends its guard before it waits for it.
    control: UnixStream,
    process: GuardProcess,
    secret: Secret,
    reports: Reports,
    /// `None` once it has ended.
    output: Option<pipe::Receiver>,
    sink: Box<dyn OutputSink>,
    cancel: CancellationToken,
    phase: Phase,
    seen: Seen,
}

impl Conversation {
    async fn run(mut self, ceiling: Option<Duration>) -> Ending {
        let stuck = self.converse(ceiling).await;
        if stuck {
            self.process.kill();
        }
        self.take_rest();
        self.process.ended(GUARD_MARGIN).await;
        self.seen.into_ending()
    }

    /// Until the guard has left. `true` = it does not answer.
    async fn converse(&mut self, ceiling: Option<Duration>) -> bool {
        let mut deadline = Deadline::default();
        deadline.set(ceiling);
        let mut report = [0; 1024];
        let mut chunk = vec![0; CHUNK];
        loop {
            tokio::select! {
                read = self.control.read(&mut report) => match read {
                    Ok(read) if read > 0 => {
                        self.reports.push(report.get(..read).unwrap_or_default());
                        self.take_reports(&mut deadline);
                    }
                    // A reset is an end as well: the guard left with a request unread.
                    _ => return false,
                },
                read = read_output(&mut self.output, &mut chunk), if self.output.is_some() => match read {
                    Ok(read) if read > 0 => self.keep(chunk.get(..read).unwrap_or_default()),
                    end => self.output_ended(end.err(), &mut deadline),
                },
                () = self.cancel.cancelled(), if self.seen.stop.is_none() => self.stop(Stop::Cancelled, &mut deadline).await,
                () = deadline.passed() => match self.phase {
                    Phase::Running => self.stop(Stop::Ceiling, &mut deadline).await,
                    Phase::Draining => self.finish(&mut deadline).await,
                    Phase::Finishing | Phase::Stopping => return true,
                },
            }
        }
    }

    fn take_reports(&mut self, deadline: &mut Deadline) {
        while let Some(report) = self.reports.next(&self.secret) {
            match report {
                Report::Ready => {}
                Report::Started => self.seen.started = true,
                Report::Exited { status, unasked } => {
                    self.seen.exit = Some(Exit::from_status(status));
                    self.seen.unasked = unasked;
                    self.command_ended(deadline);
                }
                Report::Failed { code, text } => {
                    self.seen.exit = Some(Exit::from_guard_code(code, text));
                    self.command_ended(deadline);
                }
                Report::Done { leftover, survivors } => {
                    self.seen.leftover = leftover;
                    self.seen.survivors = survivors;
                }
            }
        }
    }

    fn command_ended(&mut self, deadline: &mut Deadline) {
        // A tree that is being stopped ends by the guard's clock.
        if self.phase == Phase::Running {
            self.phase = Phase::Draining;
            deadline.set(Some(if self.output.is_some() { DRAIN } else { SETTLE }));
        }
    }

    async fn finish(&mut self, deadline: &mut Deadline) {
        self.phase = Phase::Finishing;
        self.ask(Request::Finish, LEFTOVER_GRACE_MS, deadline).await;
    }

    async fn stop(&mut self, stop: Stop, deadline: &mut Deadline) {
        self.seen.stop = Some(stop);
        self.phase = Phase::Stopping;
        self.ask(Request::Cancel, CANCEL_GRACE_MS, deadline).await;
    }

    async fn ask(&mut self, request: Request, grace_ms: u64, deadline: &mut Deadline) {
        // A guard that has left already needs no request; its end is read next.
        let _ = self.control.write_all(&[request.byte()]).await;
        deadline.set(Some(Duration::from_millis(grace_ms + KILL_LIMIT_MS) + GUARD_MARGIN));
    }

    fn keep(&mut self, bytes: &[u8]) {
        if let Err(error) = self.sink.write(bytes) {
            self.seen.capture_error.get_or_insert(error.to_string());
        }
    }

    fn output_ended(&mut self, error: Option<io::Error>, deadline: &mut Deadline) {
        self.output = None;
        if self.phase == Phase::Draining {
            deadline.set(Some(SETTLE));
        }
        if let Some(error) = error {
            self.seen.capture_error.get_or_insert(error.to_string());
        }
    }

    /// What was written before the last writer was gone. Read past tokio, which may not know of it yet.
    fn take_rest(&mut self) {
        let Some(Ok(output)) = self.output.take().map(pipe::Receiver::into_nonblocking_fd) else { return };
        let mut chunk = vec![0; CHUNK];
        let mut total = 0;
        while total < PIPE_LIMIT {
            match rustix::io::read(&output, &mut chunk) {
                Ok(read) if read > 0 => {
                    total += read;
                    self.keep(chunk.get(..read).unwrap_or_default());
                }
                Err(rustix::io::Errno::INTR) => {}
                _ => return,
            }
        }
    }
}

async fn read_output(output: &mut Option<pipe::Receiver>, chunk: &mut [u8]) -> io::Result<usize> {
    match output {
        Some(output) => output.read(chunk).await,
        None => Ok(0),
    }
}

/// The one moment that is waited for next.
#[derive(Default)]
struct Deadline {
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Deadline {
    fn set(&mut self, after: Option<Duration>) {
        // A ceiling beyond what a clock can hold is none.
        let at = after.and_then(|after| Instant::now().checked_add(after));
        self.sleep = at.map(|at| Box::pin(tokio::time::sleep_until(at)));
    }

    async fn passed(&mut self) {
        match &mut self.sleep {
            Some(sleep) => sleep.as_mut().await,
            None => std::future::pending().await,
        }
    }
}
