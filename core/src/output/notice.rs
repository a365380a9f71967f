//! What stands in the place of output that is not shown.

use serde_json::{Value, json};

use super::measure::{Crossed, Size};
use super::{cut, source::Source};
use crate::config::ToolOutputConfig;

/// Bytes of a preview.
const PREVIEW: usize = 4_096;
/// A rough figure for the model's planning.
const BYTES_PER_TOKEN: u64 = 4;

/// Output that was saved and is not shown.
pub(super) struct Withheld<'a> {
    pub(super) path: &'a str,
    pub(super) artifact_bytes: u64,
    pub(super) size: Size,
    pub(super) crossed: Crossed,
    pub(super) limits: &'a ToolOutputConfig,
    /// Calling again with `accept_large_output` would show it.
    pub(super) can_be_inlined: bool,
}

impl Withheld<'_> {
    /// The notice. The read that is cheap comes first, the way back that runs the call again comes last.
    pub(super) fn text(&self) -> String {
        let Size { bytes, lines } = self.size;
        let read = json!({ "action": "artifact", "outputPath": self.path });
        let last = if self.can_be_inlined {
            "Only if the whole output is needed in the transcript: accept_large_output: true would run the call again."
        } else {
            "It is too large for the transcript, also with accept_large_output: true, which would run the call again."
        };
        format!(
            "[output withheld] {bytes} bytes, {lines} lines.\n\
             Limit crossed: {}.\n\
             Nothing is lost. Artifact: {} ({} bytes).\n\
             Read it with bg {read}\n\
             {last}\n",
            self.limit(),
            self.path,
            self.artifact_bytes,
        )
    }

    fn limit(&self) -> String {
        let bytes = format!("tool_output.max_bytes = {}", self.limits.max_bytes);
        let lines = format!("tool_output.max_lines = {}", self.limits.max_lines);
        match self.crossed {
            Crossed::Bytes => bytes,
            Crossed::Lines => lines,
            Crossed::Both => format!("{bytes} and {lines}"),
        }
    }

    /// The same facts for programs.
    pub(super) fn metadata(&self) -> Value {
        json!({
            "outputPath": self.path,
            "artifactBytes": self.artifact_bytes,
            "artifactLines": self.size.lines,
            "measuredBytes": self.size.bytes,
            "measuredLines": self.size.lines,
            "limitBytes": self.limits.max_bytes,
            "limitLines": self.limits.max_lines,
            "limitCrossed": self.crossed.name(),
            "estimatedTokens": self.size.bytes.div_ceil(BYTES_PER_TOKEN),
            "estimatedBytesPerToken": BYTES_PER_TOKEN,
            "retrievalTool": "bg",
            "retrievalAction": "artifact",
        })
    }
}

/// The last lines, for a glance; empty when none are wanted.
pub(super) fn preview(source: &Source, lines: u32) -> String {
    if lines == 0 {
        return String::new();
    }
    let tail = source.tail(PREVIEW);
    let shown = cut::last_lines(&tail, usize::try_from(lines).unwrap_or(usize::MAX));
    let count = Size::of(shown).lines;
    format!("(preview of the last {count} lines; the output itself is in the artifact)\n{shown}")
}

/// What is left to show when saving failed: the first and the last bytes.
pub(super) fn unsaved(source: &Source, cause: &std::io::Error) -> String {
    let bytes = source.bytes();
    let opening = format!("[output not saved] {bytes} bytes could not be saved: {cause}.");
    if bytes <= 2 * PREVIEW as u64 {
        return format!("{opening} All of it follows.\n{}", source.head(2 * PREVIEW));
    }
    let (head, tail) = (source.head(PREVIEW), source.tail(PREVIEW));
    format!("{opening} The first and the last 4 KiB follow.\n{head}\n[...]\n{tail}")
}
