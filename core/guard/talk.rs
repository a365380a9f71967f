//! Both ends of a control socket: the start frame in, requests in, reports out.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use crate::frame::{CODE_NOT_EXECUTABLE, CODE_NOT_FOUND, FRAME_LIMIT, Report, Request, Role, Secret, Start};
use crate::sys;

/// The descriptors that came with a frame.
#[derive(Default)]
pub(crate) struct Descriptors {
    pub(crate) output: Option<OwnedFd>,
    pub(crate) error: Option<OwnedFd>,
    pub(crate) input: Option<OwnedFd>,
    pub(crate) ruleset: Option<OwnedFd>,
}

impl Descriptors {
    fn new(roles: &[Role], passed: Vec<OwnedFd>) -> Option<Self> {
        if roles.len() != passed.len() {
            return None;
        }
        let mut descriptors = Self::default();
        for (role, fd) in roles.iter().zip(passed) {
            *descriptors.slot(*role) = Some(fd);
        }
        Some(descriptors)
    }

    fn slot(&mut self, role: Role) -> &mut Option<OwnedFd> {
        match role {
            Role::Output => &mut self.output,
            Role::Error => &mut self.error,
            Role::Input => &mut self.input,
            Role::Ruleset => &mut self.ruleset,
        }
    }

    /// Where a diagnostic line goes: the command's standard error, or its only output.
    pub(crate) fn diagnostics(self) -> Option<OwnedFd> {
        self.error.or(self.output)
    }

    /// The same as a copy.
    pub(crate) fn copy_diagnostics(&self) -> Option<OwnedFd> {
        self.error.as_ref().or(self.output.as_ref())?.try_clone().ok()
    }

    /// The same descriptors in the order of `roles`, for passing them on.
    pub(crate) fn in_order(&mut self, roles: &[Role]) -> Vec<OwnedFd> {
        roles.iter().filter_map(|role| self.slot(*role).take()).collect()
    }
}

/// Reads the start frame. `None` = the host left before it was whole, or it is not one.
pub(crate) fn receive_start(mut socket: &UnixStream) -> Option<(Start, Descriptors)> {
    let mut length = [0; 4];
    let (read, passed) = sys::receive(socket, &mut length).ok()?;
    if read == 0 {
        return None;
    }
    socket.read_exact(&mut length[read..]).ok()?;
    let length = usize::try_from(u32::from_le_bytes(length)).ok().filter(|length| *length <= FRAME_LIMIT)?;
    let mut frame = vec![0; length];
    socket.read_exact(&mut frame).ok()?;
    let start = Start::decode(&frame)?;
    let descriptors = Descriptors::new(&start.roles, passed)?;
    Some((start, descriptors))
}

/// Sends a start frame to the next guard.
pub(crate) fn send_start(mut socket: &UnixStream, start: &Start, passed: Vec<OwnedFd>) -> io::Result<()> {
    let frame = start.encode();
    let borrowed: Vec<BorrowedFd<'_>> = passed.iter().map(AsFd::as_fd).collect();
    let sent = sys::send(socket, &frame, &borrowed)?;
    socket.write_all(&frame[sent..])
}

/// The upstream end: the host, or the guard in front of this one.
pub(crate) struct Control {
    socket: Option<UnixStream>,
    secret: Secret,
}

impl Control {
    pub(crate) fn new(socket: UnixStream, secret: Secret) -> Self {
        Self { socket: Some(socket), secret }
    }

    /// What to wait on; `None` once the other side is gone.
    pub(crate) fn watch(&self) -> Option<BorrowedFd<'_>> {
        self.socket.as_ref().map(AsFd::as_fd)
    }

    /// Tells the other side, if it is still there.
    pub(crate) fn report(&self, report: &Report) {
        if let Some(mut socket) = self.socket.as_ref() {
            let _ = socket.write_all(&report.encode(&self.secret));
        }
    }

    /// Reports that the program was not started, and leaves the line by which its output proves it.
    pub(crate) fn report_failure(&self, code: i32, text: String, diagnostics: Option<OwnedFd>) {
        let word = match code {
            CODE_NOT_FOUND => "not-found",
            CODE_NOT_EXECUTABLE => "not-executable",
            _ => "failed",
        };
        let secret: String = self.secret.iter().map(|byte| format!("{byte:02x}")).collect();
        if let Some(fd) = diagnostics {
            let _ = File::from(fd).write_all(format!("zuno-guard {secret} {word}: {text}\n").as_bytes());
        }
        self.report(&Report::Failed { code, text });
    }

    /// The requests that have arrived. Call when readable. `None` = the other side is gone.
    pub(crate) fn requests(&mut self) -> Option<Vec<Request>> {
        let mut bytes = [0; 16];
        match self.socket.as_ref()?.read(&mut bytes) {
            Ok(read) if read > 0 => Some(bytes[..read].iter().filter_map(|byte| Request::from_byte(*byte)).collect()),
            // A reset says the same as the end: the host has closed its side.
            _ => {
                self.socket = None;
                None
            }
        }
    }
}
