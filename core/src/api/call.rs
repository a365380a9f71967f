//! Calls as a host writes them.

use serde_json::{Value, json};

use crate::dispatch::CallInput;

/// One tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    name: String,
    id: Option<String>,
    arguments: Value,
}

impl Call {
    /// A call of any tool.
    pub fn new(name: impl Into<String>, arguments: Value) -> Self {
        Self { name: name.into(), id: None, arguments }
    }

    /// Reads a file or directory.
    pub fn read(path: impl Into<String>) -> Self {
        Self::new("read", json!({ "filePath": path.into() }))
    }

    /// Finds files by pattern.
    pub fn glob(pattern: impl Into<String>) -> Self {
        Self::new("glob", json!({ "pattern": pattern.into() }))
    }

    /// Searches file contents.
    pub fn grep(pattern: impl Into<String>) -> Self {
        Self::new("grep", json!({ "pattern": pattern.into() }))
    }

    /// Creates a file, or replaces one whole.
    pub fn write(path: impl Into<String>, content: impl Into<String>) -> Self {
        Self::new("write", json!({ "filePath": path.into(), "content": content.into() }))
    }

    /// Runs a command.
    pub fn shell(command: impl Into<String>) -> Self {
        Self::new("shell", json!({ "command": command.into() }))
    }

    /// The same call with one more argument.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        if let Value::Object(arguments) = &mut self.arguments {
            arguments.insert(name.to_owned(), value.into());
        }
        self
    }

    /// The same call under an id of the model.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    pub(super) fn into_input(self) -> CallInput {
        CallInput { call_id: self.id, name: self.name, arguments: self.arguments }
    }
}
