//! Reads a window of withheld output back. Runs nothing again and passes no output limit.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{decode, open, read_window};
use crate::store::artifacts::{self, Artifact};
use crate::store::{Store, StoreError};
use crate::text::windows::{HOST_CEILING, Start, Window, effective_limit};
use crate::types::{Error, SessionId, ToolError};

/// One window of an artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactWindow {
    /// The artifact.
    pub path: String,
    /// Where the window lies.
    pub window: Window,
    /// Its exact bytes.
    pub bytes: Vec<u8>,
}

/// Why there is no window.
#[derive(Debug, thiserror::Error)]
pub enum ReadBackError {
    /// The path is no recorded artifact of the session or its children.
    #[error(
        "{0} is no artifact of this session. Use an `outputPath` that a result of this session named; other files are \
         read with the read tool."
    )]
    Unknown(String),
    /// The artifact was recorded and cannot be read as it was.
    #[error("The artifact {path} cannot be read as it was saved: {cause}.")]
    Lost {
        /// The artifact.
        path: String,
        /// What was found.
        cause: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The recorded artifact of that path, when the session may read it.
///
/// # Errors
/// [`ReadBackError::Unknown`], or the store's failure.
pub fn find_artifact(store: &Store, session: &SessionId, path: &str) -> Result<Artifact, ReadBackError> {
    let (owner, wanted) = (session.clone(), path.to_owned());
    let found = store.read(move |connection| artifacts::find(connection, &owner, &wanted))?;
    found.ok_or_else(|| ReadBackError::Unknown(path.to_owned()))
}

/// One window of an artifact; without a cursor from byte 0. Reads the window and nothing else of the file: not for an
/// async thread.
///
/// # Errors
/// [`ReadBackError::Lost`]
pub fn artifact_window(artifact: &Artifact, cursor: Option<u64>, limit: u64) -> Result<ArtifactWindow, ReadBackError> {
    let lost = |cause: String| ReadBackError::Lost { path: artifact.path.clone(), cause };
    let file = open(Path::new(&artifact.path)).map_err(|error| lost(error.to_string()))?;
    let there = file.metadata().map_err(|error| lost(error.to_string()))?.len();
    if there < artifact.bytes {
        return Err(lost(format!("it had {} bytes and has {there}", artifact.bytes)));
    }
    let window = Window::new(Start::At(cursor.unwrap_or(0)), limit, artifact.bytes);
    let bytes = read_window(&file, &window).map_err(|error| lost(error.to_string()))?;
    Ok(ArtifactWindow { path: artifact.path.clone(), window, bytes })
}

impl ArtifactWindow {
    /// The facts of the window.
    pub fn facts(&self) -> Value {
        json!({
            "outputPath": self.path,
            "windowFrom": self.window.from,
            "cursor": self.window.end,
            "hasMore": self.window.has_more(),
            "hasEarlier": self.window.has_earlier(),
            "windowBytes": self.window.len(),
            "totalBytes": self.window.total,
        })
    }

    /// The bytes as text for display.
    pub fn into_text(self) -> String {
        decode(self.bytes)
    }
}

/// The host operation `artifact.read`: the facts, the text and the exact bytes. Not for an async thread.
///
/// # Errors
/// `not_found.object`, `failed.operation`, `store.*`.
pub fn read_artifact(
    store: &Store,
    session: &SessionId,
    path: &str,
    cursor: Option<u64>,
    limit: Option<u64>,
) -> Result<Value, Error> {
    let artifact = find_artifact(store, session, path)?;
    let window = artifact_window(&artifact, cursor, effective_limit(limit, HOST_CEILING))?;
    let mut document = window.facts();
    if let Value::Object(map) = &mut document {
        map.insert("base64".to_owned(), STANDARD.encode(&window.bytes).into());
        map.insert("text".to_owned(), window.into_text().into());
    }
    Ok(document)
}

impl From<ReadBackError> for Error {
    fn from(error: ReadBackError) -> Self {
        let message = error.to_string();
        match error {
            ReadBackError::Unknown(path) => Self::new("not_found.object", message).with("outputPath", path),
            ReadBackError::Lost { path, .. } => Self::new("failed.operation", message).with("outputPath", path),
            ReadBackError::Store(error) => error.into(),
        }
    }
}

impl From<ReadBackError> for ToolError {
    fn from(error: ReadBackError) -> Self {
        let message = error.to_string();
        match error {
            ReadBackError::Unknown(_) => Self::invalid_field("unknown_artifact", "outputPath", None, message),
            ReadBackError::Lost { .. } => Self::uncertain("artifact_lost", Vec::new(), message),
            ReadBackError::Store(error) => error.into(),
        }
    }
}
