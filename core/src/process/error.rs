//! Why a command was not started.

use std::io;
use std::path::PathBuf;

use crate::types::ToolError;

use super::spec::MAX_ARGUMENT;

/// Nothing was started, and this is why.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// One argument is longer than the system passes on.
    #[error(
        "An argument has {bytes} bytes; a program can be given at most {MAX_ARGUMENT} in one. Put the text into a file \
         and run that."
    )]
    ArgumentTooLong {
        /// Its length.
        bytes: usize,
    },
    /// The program, an argument, the environment or the directory holds a NUL byte.
    #[error("A command cannot hold a NUL byte. Write it as an escape that the program itself reads.")]
    NulByte,
    /// The program is not named by an absolute path.
    #[error("`{}` is not an absolute path. Name the program by its full path.", path.display())]
    NotAbsolute {
        /// The path as given.
        path: PathBuf,
    },
    /// The working directory is missing.
    #[error("The working directory `{}` does not exist. Create it or name another one.", path.display())]
    MissingDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// This platform has no guard.
    #[error("Commands can be run on Linux only so far.")]
    Unsupported,
    /// The guard could not be started.
    #[error("The guard of the command could not be started: {0}. Check the limits on processes and open files.")]
    Spawn(#[from] io::Error),
}

impl StartError {
    /// A stable word for the cause.
    pub fn code(&self) -> &'static str {
        match self {
            Self::ArgumentTooLong { .. } => "command_too_long",
            Self::NulByte => "nul_byte",
            Self::NotAbsolute { .. } => "program_not_absolute",
            Self::MissingDirectory { .. } => "missing_directory",
            Self::Unsupported => "platform",
            Self::Spawn(_) => "spawn_failed",
        }
    }
}

impl From<StartError> for ToolError {
    fn from(error: StartError) -> Self {
        let message = error.to_string();
        match error {
            StartError::ArgumentTooLong { .. } | StartError::NulByte => Self::invalid(error.code(), message),
            StartError::MissingDirectory { .. } => Self::invalid_field(error.code(), "workdir", None, message),
            StartError::Unsupported => Self::unavailable(error.code(), message),
            StartError::NotAbsolute { .. } | StartError::Spawn(_) => Self::failed(error.code(), message),
        }
    }
}

impl From<StartError> for io::Error {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Spawn(error) => error,
            other => Self::new(io::ErrorKind::InvalidInput, other.to_string()),
        }
    }
}
