//! Where a value comes from, and the one error of this room.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use crate::types::Error;

/// The layers, from weak to strong; the project layer restricts what the others decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Built in.
    Default,
    /// The user's global file.
    Global,
    /// The `ZUNO_*` variables and what they name.
    Environment,
    /// `config` of `runtime.open`.
    Runtime,
    /// `config` of `session.create`.
    Session,
    /// The project file: trusted to narrow only.
    Project,
}

impl Layer {
    /// The word for messages and documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Global => "global",
            Self::Environment => "environment",
            Self::Runtime => "runtime",
            Self::Session => "session",
            Self::Project => "project",
        }
    }
}

/// One document of a layer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Origin {
    pub(super) layer: Layer,
    /// The file, when it is one.
    pub(super) file: Option<PathBuf>,
    /// The environment variable, when it is one.
    variable: Option<&'static str>,
}

impl Origin {
    pub(super) fn new(layer: Layer) -> Self {
        Self { layer, file: None, variable: None }
    }

    pub(super) fn file(layer: Layer, path: &Path) -> Self {
        Self { layer, file: Some(path.to_owned()), variable: None }
    }

    pub(super) fn variable(name: &'static str) -> Self {
        Self { layer: Layer::Environment, file: None, variable: Some(name) }
    }

    /// How a message names this document.
    fn describe(&self) -> String {
        match (&self.file, self.variable, self.layer) {
            (Some(path), ..) => format!("{}", path.display()),
            (_, Some(name), _) => format!("The environment variable {name}"),
            (_, _, Layer::Runtime) => "`config` of runtime.open".to_owned(),
            (_, _, Layer::Session) => "`config` of session.create".to_owned(),
            (_, _, layer) => format!("The {} configuration", layer.name()),
        }
    }

    /// An error about one key of this document: `<document>: <what>`.
    pub(super) fn error(&self, key: &str, what: impl AsRef<str>) -> Error {
        let file = self.file.as_ref().map(|path| path.display().to_string());
        Error::new("arguments.config", format!("{}: {}", self.describe(), what.as_ref()))
            .with("layer", self.layer.name())
            .with("file", file)
            .with("variable", self.variable)
            .with("key", key)
            .with("suggestion", Value::Null)
    }
}

/// The dotted spelling of a key below another.
pub(super) fn join(parent: &str, name: &str) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") }
}
