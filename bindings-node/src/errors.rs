//! Errors on their way to TypeScript: the document of the core as the message of a plain error.

use napi::{Error, Status};

/// The error as `{code, message, details}`.
pub(crate) fn told(error: &zuno::types::Error) -> Error {
    Error::new(Status::GenericFailure, error.to_json().to_string())
}

/// The answer to whoever uses a handle that was given back.
pub(crate) fn closed() -> Error {
    told(&zuno::types::Error::new("closed.object", "The runtime is closed. Open a new one."))
}
