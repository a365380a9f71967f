//! Output of a call before the limits are applied.

use std::path::PathBuf;

/// Output text, or where it was captured.
#[derive(Debug)]
pub enum Output {
    /// Text in memory.
    Text(String),
    /// A bounded window that passes no output limit.
    Window(String),
    /// Raw bytes a command wrote, in a file that may become the artifact.
    Captured(Captured),
}

/// Bytes of a command in its capture file.
#[derive(Debug)]
pub struct Captured {
    /// The file; already in the artifact folder under its final name. `None` = the command wrote nothing.
    pub file: Option<PathBuf>,
    /// Raw size.
    pub bytes: u64,
}

impl Default for Output {
    fn default() -> Self {
        Self::Text(String::new())
    }
}
