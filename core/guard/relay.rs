//! The outer of two guards. The inner one supervises the command; this one passes messages, and ends the tree when the
//! inner one is lost or does not come to an end.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use crate::command::{self, Child};
use crate::frame::{
    CANCEL_GRACE_MS, CODE_FAILED, Chain, KILL_LIMIT_MS, LEFTOVER_GRACE_MS, Report, Reports, Request, Secret, Start,
};
use crate::stop::Stop;
use crate::supervise::{self, watch_host};
use crate::sys::{self, Reaped, SIGKILL};
use crate::talk::{self, Control, Descriptors};
use crate::tree;

/// Time the inner guard has beyond the grace it gives the command.
const INNER_MARGIN_MS: u64 = 1_000;

/// Forks the inner guard.
pub(crate) fn join(control: Control, start: Start, descriptors: Descriptors) {
    let host = watch_host(start.host);
    let forked = UnixStream::pair().and_then(|(outer, inner)| Ok((outer, inner, sys::split()?)));
    match forked {
        Ok((outer, inner, Some(_))) => {
            drop((inner, descriptors));
            Relay::new(control, outer, host, &start).run();
        }
        Ok((outer, inner, None)) => {
            // The link takes the control socket's place; a copy of the host's end would hide the outer guard's death.
            if sys::place(&inner, 0).is_ok() {
                drop((inner, outer, host));
                sys::become_guard();
                sys::new_session();
                supervise::run(control, innermost(start), descriptors);
            }
            sys::leave(0);
        }
        Err(error) => fail(&control, descriptors.diagnostics(), &error),
    }
}

/// Starts the inner guard through the program that confines it.
pub(crate) fn wrap(
    control: Control,
    start: Start,
    mut descriptors: Descriptors,
    program: &[u8],
    args: &[Vec<u8>],
    image: io::Result<File>,
) {
    let host = watch_host(start.host);
    let launched = UnixStream::pair().and_then(|(outer, inner)| {
        let (read, write) = sys::pipe()?;
        let child = command::start_wrapper(program, args, &image?, &inner, &write)?;
        Ok((outer, Wrapper { child, complaints: File::from(read), diagnostics: descriptors.copy_diagnostics() }))
    });
    match launched {
        Ok((outer, wrapper)) => {
            let passed = descriptors.in_order(&start.roles);
            let sent = talk::send_start(&outer, &innermost(start.clone()), passed);
            let mut relay = Relay { wrapper: Some(wrapper), ..Relay::new(control, outer, host, &start) };
            if sent.is_err() {
                // A wrapper that failed at once; or an inner guard that must not wait for the rest of its frame.
                relay.link = None;
            }
            relay.run();
        }
        Err(error) => fail(&control, descriptors.diagnostics(), &error),
    }
}

fn innermost(start: Start) -> Start {
    Start { chain: Chain::Direct, ..start }
}

fn fail(control: &Control, diagnostics: Option<OwnedFd>, error: &io::Error) {
    control.report_failure(CODE_FAILED, format!("cannot start the inner guard: {error}"), diagnostics);
    control.report(&Report::Done { leftover: 0, survivors: 0 });
}

/// The program between the guards.
struct Wrapper {
    child: Child,
    /// Its standard error: the only explanation when no inner guard answers.
    complaints: File,
    /// Where the diagnostic line goes then.
    diagnostics: Option<OwnedFd>,
}

struct Relay {
    control: Control,
    /// The inner guard's control socket; `None` once that guard is gone or shall see this side gone.
    link: Option<UnixStream>,
    host: Option<OwnedFd>,
    wrapper: Option<Wrapper>,
    secret: Secret,
    reports: Reports,
    /// The inner guard is there, so the command may have been started.
    ready: bool,
    /// The inner guard has said its last word.
    done: bool,
    leftover: u32,
    survivors: u32,
    stop: Stop,
}

impl Relay {
    fn new(control: Control, link: UnixStream, host: Option<OwnedFd>, start: &Start) -> Self {
        Self {
            control,
            link: Some(link),
            host,
            wrapper: None,
            secret: start.secret,
            reports: Reports::default(),
            ready: false,
            done: false,
            leftover: 0,
            survivors: 0,
            stop: Stop::default(),
        }
    }

    fn run(mut self) {
        match sys::child_signals() {
            Ok(mut ended) => self.watch(&mut ended),
            // Nobody could be watched: nothing may run.
            Err(_) => tree::signal(SIGKILL),
        }
        // What the inner guard said last is still in the socket.
        while self.link.is_some() {
            self.take_reports();
        }
        // An inner guard that is lost later leaves the command's end unknown: then no report says anything about it.
        if !self.ready {
            let text = self.wrapper.as_mut().map_or_else(|| "the inner guard was lost".to_owned(), Wrapper::explain);
            let diagnostics = self.wrapper.take().and_then(|wrapper| wrapper.diagnostics);
            self.control.report_failure(CODE_FAILED, text, diagnostics);
        }
        self.control.report(&Report::Done { leftover: self.leftover, survivors: self.survivors });
    }

    /// Until no process is left below this one.
    fn watch(&mut self, ended: &mut File) {
        loop {
            if reap_all() {
                return;
            }
            if self.stop.advance() {
                self.survivors = self.survivors.max(tree::living());
                self.link = None;
                return;
            }
            let link = self.link.as_ref().map(AsFd::as_fd);
            let sources = [self.control.watch(), Some(ended.as_fd()), link, self.host.as_ref().map(AsFd::as_fd)];
            let ready = sys::wait_readable(&sources, self.stop.patience());
            let [control, child, link, host] = [0, 1, 2, 3].map(|index| ready.get(index).copied().unwrap_or(false));
            if child {
                let _ = ended.read(&mut [0; 512]);
            }
            if link {
                self.take_reports();
            }
            if host {
                self.host = None;
                self.host_is_gone();
            }
            if control {
                self.pass_requests();
            }
        }
    }

    fn host_is_gone(&mut self) {
        self.link = None;
        self.stop.within(LEFTOVER_GRACE_MS + INNER_MARGIN_MS);
    }

    fn pass_requests(&mut self) {
        let Some(requests) = self.control.requests() else { return self.host_is_gone() };
        for request in requests {
            if let Some(mut link) = self.link.as_ref() {
                let _ = link.write_all(&[request.byte()]);
            }
            let grace = match request {
                Request::Cancel => CANCEL_GRACE_MS,
                Request::Finish => LEFTOVER_GRACE_MS,
            };
            // The inner guard gives up by itself; this is for one that is stopped or dead.
            self.stop.within(grace + KILL_LIMIT_MS.min(INNER_MARGIN_MS));
        }
    }

    fn take_reports(&mut self) {
        let mut chunk = [0; 4096];
        match self.link.as_ref().map(|mut link| link.read(&mut chunk)) {
            Some(Ok(read)) if read > 0 => self.reports.push(chunk.get(..read).unwrap_or_default()),
            _ => {
                self.link = None;
                // Whatever it supervised has been adopted by this guard. A wrapper ends by itself after its child.
                self.stop.within(if self.survivors == 0 && self.done { LEFTOVER_GRACE_MS } else { 0 });
            }
        }
        while let Some(report) = self.reports.next(&self.secret) {
            match report {
                Report::Ready => {
                    self.ready = true;
                    if let Some(wrapper) = &mut self.wrapper {
                        wrapper.diagnostics = None;
                    }
                }
                Report::Done { leftover, survivors } => {
                    self.done = true;
                    self.leftover = leftover;
                    self.survivors = survivors;
                }
                Report::Started | Report::Failed { .. } | Report::Exited { .. } => self.control.report(&report),
            }
        }
    }
}

impl Wrapper {
    /// Why there is no inner guard.
    fn explain(&mut self) -> String {
        if let Some(Err(failure)) = self.child.outcome() {
            return format!("cannot start the confinement: {}", failure.text);
        }
        let mut text = [0; 2048];
        let ready = sys::wait_readable(&[Some(self.complaints.as_fd())], Some(0));
        let read = if ready == [true] { self.complaints.read(&mut text).unwrap_or(0) } else { 0 };
        let text = String::from_utf8_lossy(text.get(..read).unwrap_or_default());
        format!("the confinement could not be set up: {}", text.trim().replace('\n', "; "))
    }
}

/// Collects every child that has ended; `true` = none is left.
fn reap_all() -> bool {
    loop {
        match sys::reap() {
            Reaped::Child(..) => {}
            Reaped::Pending => return false,
            Reaped::None => return true,
        }
    }
}
