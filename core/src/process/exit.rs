//! How commands end.

use super::frame::{CODE_NOT_EXECUTABLE, CODE_NOT_FOUND};

/// What became of the command's own process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It ended by itself with this code; 125, 126 and 127 too are the command's own here.
    Code(i32),
    /// A signal ended it, so there is no code.
    Signal(i32),
    /// The program was not found (guard code 127). Nothing ran.
    NotFound {
        /// What the guard said.
        message: String,
    },
    /// The program exists and could not be executed (guard code 126). Nothing ran.
    NotExecutable {
        /// What the guard said.
        message: String,
    },
    /// The guard itself, or the confinement, failed before the program could start (guard code 125).
    GuardFailed {
        /// What the guard said.
        message: String,
    },
    /// The guard disappeared without a report. Anything may have happened.
    Lost,
}

impl Exit {
    /// The exit code, where there is one; the guard's own codes included.
    pub fn code(&self) -> Option<i32> {
        match self {
            Self::Code(code) => Some(*code),
            Self::NotFound { .. } => Some(CODE_NOT_FOUND),
            Self::NotExecutable { .. } => Some(CODE_NOT_EXECUTABLE),
            Self::GuardFailed { .. } => Some(super::frame::CODE_FAILED),
            Self::Signal(_) | Self::Lost => None,
        }
    }

    /// Whether the command ran and ended with code 0.
    pub fn success(&self) -> bool {
        *self == Self::Code(0)
    }

    /// From a wait status.
    pub(super) fn from_status(status: i32) -> Self {
        match status & 0x7f {
            0 => Self::Code((status >> 8) & 0xff),
            signal => Self::Signal(signal),
        }
    }

    /// From a guard's code for a program that did not start.
    pub(super) fn from_guard_code(code: i32, message: String) -> Self {
        match code {
            CODE_NOT_FOUND => Self::NotFound { message },
            CODE_NOT_EXECUTABLE => Self::NotExecutable { message },
            _ => Self::GuardFailed { message },
        }
    }
}

/// Why a command was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// [`Control::cancel`](super::Control::cancel), or the execution was dropped.
    Cancelled,
    /// The ceiling given at the start.
    Ceiling,
}

/// How an execution ended. The whole tree is gone by then, `survivors` excepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// What became of the command's own process.
    pub exit: Exit,
    /// The program is known to have started.
    pub started: bool,
    /// Processes that outlived the command and were stopped.
    pub leftover: u32,
    /// Processes that could not be stopped, such as those of another user.
    pub survivors: u32,
    /// A stop was asked for, whether or not it reached the command.
    pub stop: Option<Stop>,
    /// The command's own process had ended before any stop reached it: its exit is its own.
    pub exited_before_stop: bool,
    /// Why output is missing from the capture.
    pub capture_error: Option<String>,
}

/// The name of a signal, such as `SIGKILL`; its number for those that have none.
pub fn signal_name(signal: i32) -> String {
    const NAMES: [&str; 31] = [
        "SIGHUP",
        "SIGINT",
        "SIGQUIT",
        "SIGILL",
        "SIGTRAP",
        "SIGABRT",
        "SIGBUS",
        "SIGFPE",
        "SIGKILL",
        "SIGUSR1",
        "SIGSEGV",
        "SIGUSR2",
        "SIGPIPE",
        "SIGALRM",
        "SIGTERM",
        "SIGSTKFLT",
        "SIGCHLD",
        "SIGCONT",
        "SIGSTOP",
        "SIGTSTP",
        "SIGTTIN",
        "SIGTTOU",
        "SIGURG",
        "SIGXCPU",
        "SIGXFSZ",
        "SIGVTALRM",
        "SIGPROF",
        "SIGWINCH",
        "SIGIO",
        "SIGPWR",
        "SIGSYS",
    ];
    let known = usize::try_from(signal).ok().and_then(|number| NAMES.get(number.checked_sub(1)?));
    known.map_or_else(|| format!("signal {signal}"), |name| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_statuses_become_codes_or_signals() {
        assert_eq!(Exit::from_status(0), Exit::Code(0));
        assert_eq!(Exit::from_status(125 << 8), Exit::Code(125));
        assert_eq!(Exit::from_status(9), Exit::Signal(9));
        // With a core dump.
        assert_eq!(Exit::from_status(0x80 | 11), Exit::Signal(11));
        assert_eq!(Exit::Signal(9).code(), None);
    }

    #[test]
    fn signals_have_names() {
        assert_eq!(signal_name(1), "SIGHUP");
        assert_eq!(signal_name(9), "SIGKILL");
        assert_eq!(signal_name(15), "SIGTERM");
        assert_eq!(signal_name(31), "SIGSYS");
        assert_eq!(signal_name(40), "signal 40");
        assert_eq!(signal_name(0), "signal 0");
    }
}
