//! Helper programs (ripgrep, git) whose streams the caller reads itself. Blocking; needs no runtime.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};

use super::error::StartError;
use super::exit::Exit;
use super::frame::{CANCEL_GRACE_MS, KILL_LIMIT_MS, Report, Reports, Request, Secret};
use super::guard::{self, GuardProcess};
use super::spec::CommandSpec;

/// A guard that has not ended this long after a stop is killed itself.
const STOP_LIMIT: Duration = Duration::from_millis(CANCEL_GRACE_MS + KILL_LIMIT_MS + 2_000);

/// A running helper program. Dropping it stops the program and everything it started.
#[derive(Debug)]
pub struct Piped {
    /// Its standard output; also its standard error unless that was asked for separately.
    pub stdout: File,
    /// Its standard error, when asked for separately.
    pub stderr: Option<File>,
    control: PipedControl,
    reports: Reports,
    secret: Secret,
    exit: Option<Exit>,
    // Last: the socket must be closed before the guard is waited for.
    process: GuardProcess,
}

/// Stops a helper program from another thread.
#[derive(Clone, Debug)]
pub struct PipedControl {
    socket: Arc<UnixStream>,
}

/// What a helper program wrote, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collected {
    /// How it ended.
    pub exit: Exit,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error; empty unless asked for separately.
    pub stderr: Vec<u8>,
    /// Bytes beyond the limit were thrown away.
    pub truncated: bool,
}

/// Starts a helper program behind a guard.
///
/// # Errors
/// When nothing could be started. That the program itself is missing shows in [`Piped::wait`].
pub fn spawn_piped(spec: &CommandSpec) -> Result<Piped, StartError> {
    let guard = guard::start(spec, guard::Kind::Helper)?;
    Ok(Piped {
        stdout: File::from(guard.output),
        stderr: guard.error.map(File::from),
        control: PipedControl { socket: Arc::new(guard.control) },
        reports: Reports::default(),
        secret: guard.secret,
        exit: None,
        process: guard.process,
    })
}

impl PipedControl {
    /// Asks for the end of the program and of everything it started. Returns at once; [`Piped::wait`] then returns
    /// within seconds.
    pub fn cancel(&self) {
        send(&self.socket, Request::Cancel);
    }
}

impl Piped {
    /// A handle that stops the program.
    pub fn control(&self) -> PipedControl {
        self.control.clone()
    }

    /// Waits for the program's end, stops what it left running, and says how it ended. Read the streams to their end
    /// first: a program that cannot write does not end.
    pub fn wait(&mut self) -> Exit {
        while self.exit.is_none() {
            match self.next_report() {
                Some(Report::Exited { status, .. }) => self.exit = Some(Exit::from_status(status)),
                Some(Report::Failed { code, text }) => self.exit = Some(Exit::from_guard_code(code, text)),
                Some(Report::Ready | Report::Started) => {}
                Some(Report::Done { .. }) | None => self.exit = Some(Exit::Lost),
            }
        }
        send(&self.control.socket, Request::Finish);
        let _ = self.control.socket.set_read_timeout(Some(STOP_LIMIT));
        while self.next_report().is_some() {}
        if !self.process.reap_within(STOP_LIMIT) {
            self.process.kill();
        }
        self.exit.clone().unwrap_or(Exit::Lost)
    }

    /// Reads both streams to their end, keeping at most `limit` bytes of each, and waits.
    ///
    /// # Errors
    /// When a stream cannot be read.
    pub fn collect(mut self, limit: usize) -> io::Result<Collected> {
        let mut stdout = Kept::new(limit);
        let mut stderr = Kept::new(limit);
        let mut open = (true, self.stderr.is_some());
        while open.0 || open.1 {
            let ready = readable(open.0.then_some(&self.stdout), self.stderr.as_ref().filter(|_| open.1))?;
            if ready.0 {
                open.0 = stdout.take(&mut self.stdout)?;
            }
            if let (true, Some(stream)) = (ready.1, self.stderr.as_mut()) {
                open.1 = stderr.take(stream)?;
            }
        }
        let exit = self.wait();
        let truncated = stdout.truncated || stderr.truncated;
        Ok(Collected { exit, stdout: stdout.bytes, stderr: stderr.bytes, truncated })
    }

    fn next_report(&mut self) -> Option<Report> {
        loop {
            if let Some(report) = self.reports.next(&self.secret) {
                return Some(report);
            }
            let mut chunk = [0; 1024];
            match (&*self.control.socket).read(&mut chunk) {
                Ok(read) if read > 0 => self.reports.push(chunk.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A reset is an end as well: the guard left with a request unread.
                _ => return None,
            }
        }
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        // Copies of the control keep the socket open; the guard has to see its end all the same.
        let _ = self.control.socket.shutdown(std::net::Shutdown::Both);
    }
}

fn send(mut socket: &UnixStream, request: Request) {
    // A guard that is gone needs no request.
    let _ = socket.write_all(&[request.byte()]);
}

/// Which of the streams can be read or have ended.
fn readable(stdout: Option<&File>, stderr: Option<&File>) -> io::Result<(bool, bool)> {
    let mut entries: Vec<PollFd<'_>> = [stdout, stderr]
        .into_iter()
        .flatten()
        .map(|file| PollFd::from_borrowed_fd(file.as_fd(), PollFlags::IN))
        .collect();
    rustix::event::poll(&mut entries, None)?;
    let mut ready = entries.iter().map(|entry| !entry.revents().is_empty());
    let first = stdout.is_some() && ready.next().unwrap_or(false);
    Ok((first, stderr.is_some() && ready.next().unwrap_or(false)))
}

struct Kept {
    bytes: Vec<u8>,
    limit: usize,
    truncated: bool,
}

impl Kept {
    fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), limit, truncated: false }
    }

    /// Reads once; `false` at the end.
    fn take(&mut self, stream: &mut File) -> io::Result<bool> {
        let mut chunk = [0; 16 * 1024];
        let read = match stream.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            other => other?,
        };
        let room = self.limit.saturating_sub(self.bytes.len());
        let kept = read.min(room);
        self.bytes.extend_from_slice(chunk.get(..kept).unwrap_or_default());
        self.truncated |= kept < read;
        Ok(read > 0)
    }
}
