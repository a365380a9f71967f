//! A guard as its host sees it: how it is started, told, and reaped.
//!
//! Three rules hold here. The guard is spawned by std without `pre_exec`, uid or groups, because any of them makes std
//! fork, which costs 80 ms in a host with 2 GB. It is reaped through its pidfd, and that somebody else has reaped it
//! already is fine: the result never comes from `wait`. It is never signalled by process id; closing its socket ends it.

use std::io::{self, IoSlice, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};

use super::error::StartError;
use super::frame::{DESCRIPTOR_LIMIT, Role, Secret};
use super::image;
use super::spec::CommandSpec;

/// A guard that needs longer than this to read its start frame is not running.
const FRAME_TIMEOUT: Duration = Duration::from_secs(10);

/// The guard's process. Dropping it reaps it, in the background if need be; close its socket before.
#[derive(Debug)]
pub(super) struct GuardProcess {
    id: u32,
    /// `None` once reaped.
    handle: Option<OwnedFd>,
}

/// A guard that has been told what to run.
pub(super) struct Guard {
    pub(super) process: GuardProcess,
    pub(super) control: UnixStream,
    pub(super) secret: Secret,
    pub(super) output: OwnedFd,
    pub(super) error: Option<OwnedFd>,
}

/// What a guard is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A command somebody composed: two guards, since it may attack one, and one stream.
    Command,
    /// A program of the library's own choosing: one guard, streams as the specification says.
    Helper,
}

/// Starts a guard and tells it what to run.
pub(super) fn start(spec: &CommandSpec, kind: Kind) -> Result<Guard, StartError> {
    spec.check()?;
    let mut secret = [0; 16];
    getrandom::fill(&mut secret).map_err(io::Error::other)?;
    let (output, output_end) = io::pipe()?;
    let separate = kind == Kind::Helper && spec.separate_stderr;
    let error = separate.then(io::pipe).transpose()?;

    let mut roles = vec![Role::Output];
    let mut passed = vec![output_end.as_fd()];
    if let Some((_, end)) = &error {
        roles.push(Role::Error);
        passed.push(end.as_fd());
    }
    if let Some(ruleset) = &spec.confinement.ruleset {
        roles.push(Role::Ruleset);
        passed.push(ruleset.as_fd());
    }
    let frame = spec.frame(secret, roles, kind == Kind::Command).encode();

    let (control, guards_end) = UnixStream::pair()?;
    let process = spawn(guards_end)?;
    control.set_write_timeout(Some(FRAME_TIMEOUT))?;
    send(&control, &frame, &passed)?;
    Ok(Guard { process, control, secret, output: output.into(), error: error.map(|(error, _)| error.into()) })
}

fn spawn(control: UnixStream) -> Result<GuardProcess, StartError> {
    let attempt = |control: UnixStream| -> Result<std::process::Child, StartError> {
        let mut command = Command::new(image::path()?);
        command.arg0("zuno-guard").env_clear().stdin(OwnedFd::from(control));
        Ok(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?)
    };
    let child = match attempt(control.try_clone()?) {
        Err(StartError::Spawn(refused)) if image::fall_back(&refused) => attempt(control)?,
        other => other?,
    };
    let id = child.id();
    // It cannot have ended by itself: it waits for its frame. So the id is still its own.
    let handle =
        Pid::from_raw(id.cast_signed()).and_then(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok());
    Ok(GuardProcess { id, handle })
}

/// Sends the frame with the descriptors attached to its first byte.
fn send(mut control: &UnixStream, frame: &[u8], passed: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTOR_LIMIT))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(passed)) {
        return Err(io::Error::other("too many descriptors for one frame"));
    }
    let sent = rustix::net::sendmsg(control, &[IoSlice::new(frame)], &mut ancillary, SendFlags::NOSIGNAL)?;
    control.write_all(frame.get(sent..).unwrap_or_default())
}

impl GuardProcess {
    /// Its process id, to be shown; never to be signalled.
    pub(super) fn id(&self) -> u32 {
        self.id
    }

    /// Kills a guard that does not answer, which ends its tree. Through its handle, so it cannot hit another process.
    pub(super) fn kill(&self) {
        if let Some(handle) = &self.handle {
            let _ = rustix::process::pidfd_send_signal(handle, Signal::KILL);
        }
    }

    /// Collects the guard if it has ended; `true` = nothing is left to collect.
    pub(super) fn try_reap(&mut self) -> bool {
        let Some(handle) = &self.handle else { return true };
        match rustix::process::waitid(WaitId::PidFd(handle.as_fd()), WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
            Ok(None) => false,
            // An error says that the host ignores SIGCHLD or has its own reaper: it is gone either way.
            Ok(Some(_)) | Err(_) => {
                self.handle = None;
                true
            }
        }
    }

    /// Waits for the end of a guard that has closed its socket, and collects it.
    pub(super) async fn ended(mut self, limit: Duration) {
        // It is about to end: a moment here is shorter than the way to another thread and back.
        if !self.reap_within(Duration::from_millis(2)) {
            let _ = tokio::task::spawn_blocking(move || self.reap_within(limit)).await;
        }
    }

    /// Waits at most this long, blocking; `true` = nothing is left to collect.
    pub(super) fn reap_within(&mut self, limit: Duration) -> bool {
        if let Some(handle) = &self.handle {
            let timeout = rustix::event::Timespec::try_from(limit).ok();
            let _ = rustix::event::poll(&mut [PollFd::new(handle, PollFlags::IN)], timeout.as_ref());
        }
        self.try_reap()
    }
}

impl Drop for GuardProcess {
    fn drop(&mut self) {
        // The end of its socket is the end of its life, but only once its tree is gone.
        const SHORT: Duration = Duration::from_millis(1);
        const LONG: Duration = Duration::from_secs(60);
        if self.reap_within(SHORT) {
            return;
        }
        let mut rest = Self { id: self.id, handle: self.handle.take() };
        let reaper = std::thread::Builder::new().name("zuno-reaper".to_owned());
        let _ = reaper.spawn(move || {
            rest.reap_within(LONG);
            // Not again: a guard that lives on after a minute is stuck in the kernel.
            drop(rest.handle.take());
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// Sends a part of a frame, closes the socket, waits for the guard's end, and says what came back.
    fn converse(frame: &[u8], output_end: &io::PipeWriter) -> Vec<u8> {
        let (mut control, guards_end) = UnixStream::pair().unwrap();
        let mut process = spawn(guards_end).unwrap();
        send(&control, frame, &[output_end.as_fd()]).unwrap();
        control.shutdown(std::net::Shutdown::Write).unwrap();
        let mut reports = Vec::new();
        let _ = control.read_to_end(&mut reports);
        assert!(process.reap_within(Duration::from_secs(20)));
        reports
    }

    #[test]
    fn nothing_starts_before_the_frame_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let mut spec = CommandSpec::new("/bin/bash", folder.path());
        spec.args = vec!["-c".into(), "trap '' TERM; : > ran".into()];
        let (_output, output_end) = io::pipe().unwrap();
        for joined in [false, true] {
            let frame = spec.frame([1; 16], vec![Role::Output], joined).encode();
            for length in [1, 4, frame.len() / 2, frame.len() - 1] {
                assert!(converse(&frame[..length], &output_end).is_empty());
                assert!(!folder.path().join("ran").exists(), "{length} of {}", frame.len());
            }
        }
    }

    #[test]
    fn what_is_no_frame_starts_nothing() {
        let (_output, output_end) = io::pipe().unwrap();
        let frame = CommandSpec::new("/bin/true", "/").frame([1; 16], vec![Role::Output], false).encode();
        // One descriptor announced, none meant for it: the roles do not match what came along.
        let lone = CommandSpec::new("/bin/true", "/").frame([1; 16], vec![Role::Output, Role::Error], false).encode();
        let huge = [&u32::MAX.to_le_bytes()[..], &frame[4..]].concat();
        let broken = [&frame[..4], &[0xff; 8], &frame[12..20], &[0xff; 8], &frame[28..]].concat();
        for frame in [lone, huge, broken] {
            assert!(converse(&frame, &output_end).is_empty());
        }
    }
}
