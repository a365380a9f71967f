//! What is to be run.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use super::error::StartError;
use super::frame::{Chain, Role, Secret, Start};

/// The longest single argument a program can be given, in bytes: one page times 32, less the byte that ends it.
pub const MAX_ARGUMENT: usize = 131_071;

/// A command, complete: nothing is inherited and nothing is looked up.
#[derive(Clone, Debug)]
pub struct CommandSpec {
    /// The program's absolute path.
    pub program: PathBuf,
    /// Its arguments, without its name.
    pub args: Vec<OsString>,
    /// Its working directory, absolute.
    pub cwd: PathBuf,
    /// Its whole environment. See [`environment`](super::environment).
    pub env: Vec<(OsString, OsString)>,
    /// What keeps it in bounds.
    pub confinement: Confinement,
    /// Standard error has a pipe of its own; otherwise it shares the output's, so that bytes keep their order.
    pub separate_stderr: bool,
}

impl CommandSpec {
    /// A command without confinement and without an environment, whose standard error is its standard output.
    pub fn new(program: impl Into<PathBuf>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd: cwd.into(),
            env: Vec::new(),
            confinement: Confinement::default(),
            separate_stderr: false,
        }
    }
}

/// How a command is confined. The default is not at all.
#[derive(Clone, Debug, Default)]
pub struct Confinement {
    /// A program that confines everything behind it. The guard runs again inside, where it starts the command.
    pub wrapper: Option<Wrapper>,
    /// A Landlock ruleset that the command enters.
    pub ruleset: Option<Arc<OwnedFd>>,
    /// A seccomp program (`struct sock_filter[]`) that the command loads last; empty = none.
    pub seccomp: Arc<[u8]>,
    /// Drops every capability, the bounding set included.
    pub drop_capabilities: bool,
    /// Refuses calls that signal the host or the guards, by a seccomp program that the guard makes itself, since only it
    /// knows the numbers. For confinement without a PID namespace or a Landlock signal scope.
    pub shield: bool,
}

/// A confining program, run as `program args -- GUARD`. It must pass its standard input and descriptor 3 on to the
/// guard and must not start another program; bubblewrap does so with `--as-pid-1`, and needs a `/proc` inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrapper {
    /// Its absolute path.
    pub program: PathBuf,
    /// Its arguments, without the `--` that ends them.
    pub args: Vec<OsString>,
}

impl CommandSpec {
    /// Refuses what cannot be run as written.
    pub(super) fn check(&self) -> Result<(), StartError> {
        let wrapper = self.confinement.wrapper.as_ref();
        for program in [Some(&self.program), wrapper.map(|wrapper| &wrapper.program)].into_iter().flatten() {
            if !program.is_absolute() {
                return Err(StartError::NotAbsolute { path: program.clone() });
            }
        }
        let arguments = self.args.iter().chain(wrapper.iter().flat_map(|wrapper| &wrapper.args));
        if let Some(long) = arguments.clone().find(|argument| argument.len() > MAX_ARGUMENT) {
            return Err(StartError::ArgumentTooLong { bytes: long.len() });
        }
        let names = self.env.iter().flat_map(|(name, value)| [name, value]);
        let paths = [self.program.as_os_str(), self.cwd.as_os_str()];
        let texts = arguments.chain(names).map(OsString::as_os_str).chain(paths);
        if texts.into_iter().any(|text| text.as_bytes().contains(&0)) {
            return Err(StartError::NulByte);
        }
        if !self.cwd.is_absolute() || !self.cwd.is_dir() {
            return Err(StartError::MissingDirectory { path: self.cwd.clone() });
        }
        Ok(())
    }

    /// The frame that tells a guard. A `joined` command has two guards, each of which ends the tree when the other
    /// dies; with a wrapper there always are two.
    pub(super) fn frame(&self, secret: Secret, roles: Vec<Role>, joined: bool) -> Start {
        let chain = match &self.confinement.wrapper {
            Some(wrapper) => {
                Chain::Wrapped { program: bytes(wrapper.program.as_os_str()), args: byte_list(&wrapper.args) }
            }
            None if joined => Chain::Joined,
            None => Chain::Direct,
        };
        Start {
            secret,
            host: std::process::id(),
            roles,
            chain,
            program: bytes(self.program.as_os_str()),
            args: byte_list(&self.args),
            env: self.env.iter().map(|(name, value)| entry(name, value)).collect(),
            cwd: bytes(self.cwd.as_os_str()),
            seccomp: self.confinement.seccomp.to_vec(),
            drop_capabilities: self.confinement.drop_capabilities,
            shield: self.confinement.shield,
        }
    }
}

fn bytes(text: &OsStr) -> Vec<u8> {
    text.as_bytes().to_vec()
}

fn byte_list(list: &[OsString]) -> Vec<Vec<u8>> {
    list.iter().map(|text| bytes(text)).collect()
}

fn entry(name: &OsStr, value: &OsStr) -> Vec<u8> {
    [name.as_bytes(), b"=", value.as_bytes()].concat()
}
