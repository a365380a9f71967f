//! Watching one command: its end, the requests about it, and the end of everything it started.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};

use crate::command::{self, Child};
use crate::frame::{CANCEL_GRACE_MS, CODE_FAILED, LEFTOVER_GRACE_MS, Report, Request, Start};
use crate::stop::Stop;
use crate::sys::{self, Reaped, SIGTERM};
use crate::talk::{Control, Descriptors};
use crate::tree;

/// Runs the command of a frame until nothing of it is left.
pub(crate) fn run(control: Control, start: Start, descriptors: Descriptors) {
    control.report(&Report::Ready);
    let host = watch_host(start.host);
    let started = sys::child_signals().and_then(|ended| Ok((ended, command::start(&start, &descriptors)?)));
    // From here, apart from this one, only the tree holds the command's streams: their end is the tree's end.
    let diagnostics = descriptors.diagnostics();
    match started {
        Ok((ended, child)) => {
            let (phase, stop) = (Phase::Starting, Stop::default());
            Supervised { control, child, ended, host, diagnostics, phase, stop, leftover: 0 }.watch();
        }
        Err(error) => {
            control.report_failure(CODE_FAILED, format!("cannot start a process: {error}"), diagnostics);
            control.report(&Report::Done { leftover: 0, survivors: 0 });
        }
    }
}

/// Watches the process whose end is the tree's end. The socket's end says the same, unless a process that the host
/// forked holds a copy of it.
pub(crate) fn watch_host(host: u32) -> Option<OwnedFd> {
    (host != 0 && sys::parent() == host).then(|| sys::watch_process(host).ok()).flatten()
}

/// How far the command has come.
#[derive(PartialEq)]
enum Phase {
    /// Not known yet whether the program runs.
    Starting,
    Running,
    /// Its own process has ended, or never became the program.
    Ended,
}

struct Supervised {
    control: Control,
    child: Child,
    ended: File,
    host: Option<OwnedFd>,
    /// Where the diagnostic line goes; kept only until the program has started.
    diagnostics: Option<OwnedFd>,
    phase: Phase,
    stop: Stop,
    leftover: u32,
}

impl Supervised {
    fn watch(mut self) {
        let survivors = loop {
            if self.reap_all() {
                break 0;
            }
            if self.stop.advance() {
                break tree::living();
            }
            self.wait();
        };
        self.control.report(&Report::Done { leftover: self.leftover, survivors });
    }

    /// Collects every child that has ended; `true` = none is left.
    fn reap_all(&mut self) -> bool {
        loop {
            match sys::reap() {
                Reaped::Child(pid, status) if pid == self.child.pid => self.command_ended(status),
                Reaped::Child(..) => {}
                Reaped::Pending => return false,
                Reaped::None => return true,
            }
        }
    }

    fn command_ended(&mut self, status: i32) {
        self.settle_start();
        // The end of an attempt that failed is not an end of the command.
        if self.phase == Phase::Running {
            self.phase = Phase::Ended;
            self.control.report(&Report::Exited { status, unasked: !self.stop.begun() });
        }
    }

    /// Reports, once, whether the program started.
    fn settle_start(&mut self) {
        let Some(outcome) = self.child.outcome() else { return };
        let diagnostics = self.diagnostics.take();
        match outcome {
            Ok(()) => {
                self.phase = Phase::Running;
                self.control.report(&Report::Started);
            }
            Err(failure) => {
                self.phase = Phase::Ended;
                self.control.report_failure(failure.code, failure.text, diagnostics);
            }
        }
    }

    fn wait(&mut self) {
        let host = self.host.as_ref().map(AsFd::as_fd);
        let sources = [self.control.watch(), Some(self.ended.as_fd()), self.child.watch(), host];
        let ready = sys::wait_readable(&sources, self.stop.patience());
        let [control, ended, attempt, host] = [0, 1, 2, 3].map(|index| ready.get(index).copied().unwrap_or(false));
        if attempt {
            self.settle_start();
        }
        if ended {
            let _ = self.ended.read(&mut [0; 512]);
        }
        // Before the requests: a command that has ended by itself was not stopped.
        self.reap_all();
        if host {
            self.host = None;
            self.begin_stop(LEFTOVER_GRACE_MS);
        }
        if control {
            self.take_requests();
        }
    }

    fn take_requests(&mut self) {
        let Some(requests) = self.control.requests() else { return self.begin_stop(LEFTOVER_GRACE_MS) };
        for request in requests {
            match request {
                Request::Cancel => self.begin_stop(CANCEL_GRACE_MS),
                // A cancelled tree keeps the time it was given.
                Request::Finish if self.stop.begun() => {}
                Request::Finish => {
                    self.leftover = tree::living();
                    self.begin_stop(LEFTOVER_GRACE_MS);
                }
            }
        }
    }

    /// Sends TERM once; a later, shorter grace shortens the one that runs.
    fn begin_stop(&mut self, grace_ms: u64) {
        if !self.stop.begun() {
            tree::signal(SIGTERM);
        }
        self.stop.within(grace_ms);
    }
}
