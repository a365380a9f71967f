//! What a result shows of its output: limits, artifacts, notices, and the windows that read artifacts back.
//!
//! Output beyond a limit is withheld, never truncated: every byte is saved first, then a notice takes its place.

mod cut;
mod folder;
mod measure;
mod notice;
mod present;
mod read_back;
mod reader;
mod source;

pub use folder::{ArtifactFile, Artifacts, open, remove};
pub use measure::Size;
pub use present::{Presented, Presenter};
pub use read_back::{ArtifactWindow, ReadBackError, artifact_window, find_artifact, read_artifact};
pub use reader::{decode, read_window};
