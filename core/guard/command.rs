//! From a frame to a running program: everything between `fork` and `exec`.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;

use crate::frame::{CODE_FAILED, CODE_NOT_EXECUTABLE, CODE_NOT_FOUND, IMAGE_DESCRIPTOR, Start};
use crate::{shield, sys};
use crate::talk::Descriptors;

/// A child whose program may not have started yet.
pub(crate) struct Child {
    pub(crate) pid: i32,
    /// Ends without a byte when the program runs; otherwise says which step failed.
    attempt: Option<File>,
}

/// Why a program did not start.
pub(crate) struct Failure {
    pub(crate) code: i32,
    pub(crate) text: String,
}

/// The steps of a child, in the order they can fail.
#[derive(Clone, Copy)]
enum Step {
    Descriptors,
    Directory,
    Confinement,
    Program,
}

struct Refusal(Step, io::Error);

/// Ties an error to the step it happened in.
fn at(step: Step) -> impl Fn(io::Error) -> Refusal {
    move |error| Refusal(step, error)
}

impl Child {
    /// What to wait on until the program has started.
    pub(crate) fn watch(&self) -> Option<BorrowedFd<'_>> {
        self.attempt.as_ref().map(AsFd::as_fd)
    }

    /// Whether the program started. Call when readable, or when the child has ended; answers once.
    pub(crate) fn outcome(&mut self) -> Option<Result<(), Failure>> {
        let mut refusal = Vec::new();
        self.attempt.take()?.read_to_end(&mut refusal).ok();
        Some(match refusal.split_first_chunk::<5>() {
            None => Ok(()),
            Some((&[step, a, b, c, d], text)) => {
                Err(describe(step, i32::from_le_bytes([a, b, c, d]), &String::from_utf8_lossy(text)))
            }
        })
    }
}

fn describe(step: u8, errno: i32, text: &str) -> Failure {
    const PROGRAM: u8 = Step::Program as u8;
    let code = match step {
        PROGRAM if sys::is_missing(errno) => CODE_NOT_FOUND,
        PROGRAM => CODE_NOT_EXECUTABLE,
        _ => CODE_FAILED,
    };
    Failure { code, text: format!("{text}: {}", io::Error::from_raw_os_error(errno)) }
}

/// Starts the command of a frame.
pub(crate) fn start(start: &Start, descriptors: &Descriptors) -> io::Result<Child> {
    let program = text(&start.program)?;
    let args = argument_list(&start.program, &start.args)?;
    let env = start.env.iter().map(|entry| text(entry)).collect::<io::Result<Vec<_>>>()?;
    let shield = start.shield.then(|| shield::program(&shield::targets(start.host))).transpose()?;
    let name = String::from_utf8_lossy(&start.program).into_owned();
    spawn(&name, || {
        connect(descriptors).map_err(at(Step::Descriptors))?;
        std::env::set_current_dir(std::ffi::OsStr::from_bytes(&start.cwd)).map_err(at(Step::Directory))?;
        confine(start, descriptors.ruleset.as_ref(), shield.as_deref()).map_err(at(Step::Confinement))?;
        Err(Refusal(Step::Program, sys::execute(&program, &args, &env)))
    })
}

/// Starts the program that wraps the next guard. `link` becomes that guard's control socket.
pub(crate) fn start_wrapper(
    program: &[u8],
    args: &[Vec<u8>],
    image: &File,
    link: &UnixStream,
    diagnostics: &OwnedFd,
) -> io::Result<Child> {
    let name = String::from_utf8_lossy(program).into_owned();
    let path = text(program)?;
    let tail = [b"--".to_vec(), format!("/proc/self/fd/{IMAGE_DESCRIPTOR}").into_bytes()];
    let args: Vec<Vec<u8>> = args.iter().cloned().chain(tail).collect();
    let args = argument_list(program, &args)?;
    spawn(&name, || {
        sys::place(link, 0).map_err(at(Step::Descriptors))?;
        sys::place(diagnostics, 2).map_err(at(Step::Descriptors))?;
        sys::place(image, IMAGE_DESCRIPTOR).map_err(at(Step::Descriptors))?;
        Err(Refusal(Step::Program, sys::execute(&path, &args, &[])))
    })
}

/// Runs `body` in a child of its own session. A `body` that returns has failed.
fn spawn(name: &str, body: impl Fn() -> Result<(), Refusal>) -> io::Result<Child> {
    let (attempt, refused) = sys::pipe()?;
    if let Some(pid) = sys::split()? {
        return Ok(Child { pid, attempt: Some(File::from(attempt)) });
    }
    sys::new_session();
    sys::unblock_signals();
    if let Err(Refusal(step, error)) = body() {
        let errno = error.raw_os_error().unwrap_or(0);
        let mut message = vec![step as u8];
        message.extend_from_slice(&errno.to_le_bytes());
        message.extend_from_slice(step.subject(name).as_bytes());
        let _ = File::from(refused).write_all(&message);
    }
    sys::leave(CODE_FAILED)
}

impl Step {
    fn subject(self, name: &str) -> String {
        match self {
            Self::Descriptors => "cannot connect the command's streams".to_owned(),
            Self::Directory => "cannot enter the working directory".to_owned(),
            Self::Confinement => "cannot confine the command".to_owned(),
            Self::Program => name.to_owned(),
        }
    }
}

/// Standard streams of the command. Everything else closes at `exec`.
fn connect(descriptors: &Descriptors) -> io::Result<()> {
    // A guard's 1 is `/dev/null`, its 0 the control socket.
    match &descriptors.input {
        Some(input) => sys::place(input, 0)?,
        None => sys::place(&File::open("/dev/null")?, 0)?,
    }
    if let Some(output) = &descriptors.output {
        sys::place(output, 1)?;
    }
    match (&descriptors.error, &descriptors.output) {
        (Some(error), _) => sys::place(error, 2),
        (None, Some(output)) => sys::place(output, 2),
        (None, None) => Ok(()),
    }
}

/// The order matters: a seccomp program may refuse the calls before it.
fn confine(start: &Start, ruleset: Option<&OwnedFd>, shield: Option<&[u8]>) -> io::Result<()> {
    let filters = [shield.unwrap_or_default(), &start.seccomp];
    if start.drop_capabilities || ruleset.is_some() || filters.iter().any(|filter| !filter.is_empty()) {
        sys::refuse_new_privileges()?;
    }
    if let Some(ruleset) = ruleset {
        sys::enter_ruleset(ruleset)?;
    }
    if start.drop_capabilities {
        sys::drop_capabilities()?;
    }
    filters.into_iter().filter(|filter| !filter.is_empty()).try_for_each(sys::load_filter)
}

fn text(bytes: &[u8]) -> io::Result<CString> {
    CString::new(bytes).map_err(io::Error::from)
}

fn argument_list(program: &[u8], args: &[Vec<u8>]) -> io::Result<Vec<CString>> {
    std::iter::once(program).chain(args.iter().map(Vec::as_slice)).map(text).collect()
}
