//! Decides what becomes of the output of a call.

use std::io;

use serde_json::json;

use super::folder::Artifacts;
use super::measure::{Crossed, Size};
use super::notice::{self, Withheld};
use super::source::Source;
use crate::config::ToolOutputConfig;
use crate::store::artifacts::NewArtifact;
use crate::types::{Captured, Output};
use crate::types::{JsonMap, SessionId};

/// More than this is never inlined: the host's memory and the store have to hold it.
const INLINE_CEILING: u64 = 256 << 20;

/// The circumstances of one call.
pub struct Presenter<'a> {
    /// The limits in force.
    pub limits: ToolOutputConfig,
    /// Where output is saved.
    pub artifacts: &'a Artifacts,
    /// Whose output it is.
    pub session: &'a SessionId,
    /// The caller asked for the complete output inline.
    pub accept_large: bool,
}

/// What the transcript gets.
#[derive(Debug, Default, PartialEq)]
pub struct Presented {
    /// What the model reads.
    pub text: String,
    /// Facts to be added to the metadata of the result.
    pub metadata: JsonMap,
    /// Artifacts to be recorded in the transaction that settles the call.
    pub artifacts: Vec<NewArtifact>,
}

impl Presenter<'_> {
    /// Presents output between its lead and its trail. Reads and writes files: not for an async thread.
    pub fn present(&self, lead: &str, output: Output, trail: &str) -> Presented {
        let mut presented = match output {
            Output::Window(text) => inline(text),
            Output::Text(text) => self.limited(Source::Memory(text)),
            Output::Captured(Captured { file: None, .. }) => Presented::default(),
            Output::Captured(Captured { file: Some(path), bytes }) => match Source::file(path.clone(), bytes) {
                Ok(source) => self.captured(source, &path),
                Err(error) => unreadable(bytes, &error),
            },
        };
        presented.text = join_lines([lead, &presented.text, trail]);
        presented
    }

    fn captured(&self, source: Source, path: &std::path::Path) -> Presented {
        let presented = self.limited(source);
        if presented.artifacts.is_empty() && !presented.metadata.contains_key("outputSaveFailed") {
            Source::discard(path);
        }
        presented
    }

    fn limited(&self, source: Source) -> Presented {
        let size = match source.measure() {
            Ok(size) => size,
            Err(error) => return unsaved(&source, &error),
        };
        match size.crosses(&self.limits) {
            Some(crossed) => self.large(source, size, crossed),
            None => whole(source),
        }
    }

    fn large(&self, source: Source, size: Size, crossed: Crossed) -> Presented {
        let can_be_inlined = source.bytes() <= INLINE_CEILING;
        let accepted = self.accept_large && can_be_inlined;
        let saved = source.save(self.artifacts, self.session);
        let mut presented = match saved {
            Ok(path) => {
                let path = path.to_string_lossy().into_owned();
                let artifact = NewArtifact { path: path.clone(), bytes: source.bytes() };
                let facts = Withheld {
                    path: &path,
                    artifact_bytes: artifact.bytes,
                    size,
                    crossed,
                    limits: &self.limits,
                    can_be_inlined,
                };
                let mut presented = if accepted { whole(source) } else { self.withheld(&source, &facts) };
                presented.metadata.insert("outputPaths".to_owned(), json!([path]));
                presented.artifacts.push(artifact);
                presented
            }
            Err(_) if accepted => tell_save_failed(whole(source)),
            Err(error) => unsaved(&source, &error),
        };
        if accepted {
            presented.metadata.insert("largeOutputAccepted".to_owned(), json!(true));
        }
        presented
    }

    fn withheld(&self, source: &Source, facts: &Withheld<'_>) -> Presented {
        let text = facts.text() + &notice::preview(source, self.limits.tail_lines);
        let metadata = JsonMap::from_iter([("withheldOutput".to_owned(), facts.metadata())]);
        Presented { text, metadata, artifacts: Vec::new() }
    }
}

fn inline(text: String) -> Presented {
    Presented { text, ..Presented::default() }
}

fn whole(source: Source) -> Presented {
    let bytes = source.bytes();
    match source.whole() {
        Ok(text) => inline(text),
        Err(error) => unreadable(bytes, &error),
    }
}

fn unsaved(source: &Source, error: &io::Error) -> Presented {
    tell_save_failed(inline(notice::unsaved(source, error)))
}

fn unreadable(bytes: u64, error: &io::Error) -> Presented {
    tell_save_failed(inline(format!("[output not saved] {bytes} bytes could not be saved: {error}.")))
}

fn tell_save_failed(mut presented: Presented) -> Presented {
    presented.metadata.insert("outputSaveFailed".to_owned(), json!(true));
    presented
}

/// Parts on lines of their own; the last keeps the end it has.
fn join_lines(parts: [&str; 3]) -> String {
    let mut text = String::new();
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(part);
    }
    text
}
