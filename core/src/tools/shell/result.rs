//! The result of a command: receipt, text and facts.

use serde_json::{Value, json};

use super::run::Command;
use super::verdict::Judgement;
use crate::process::{CaptureView, Ending};
use crate::store::verification::VerificationReceipt;
use crate::tools::contract::{CallContext, Captured, Output, ToolOutput};
use crate::types::{JsonMap, ReceiptId, ToolError};

/// Bytes of a command in a receipt and in a title.
const SUMMARY: usize = 160;
const NO_OUTPUT: &str = "(no output)";

/// A command that has ended.
pub(super) struct Finished<'a> {
    pub(super) command: &'a Command,
    pub(super) ending: &'a Ending,
    pub(super) capture: &'a CaptureView,
    pub(super) judgement: Judgement,
    pub(super) receipt: VerificationReceipt,
    pub(super) duration_ms: u64,
}

/// The receipt of a call.
pub(super) fn receipt(
    call: &CallContext,
    command: &Command,
    judgement: &Judgement,
    capture: &CaptureView,
) -> VerificationReceipt {
    VerificationReceipt {
        id: ReceiptId::generate(call.services.ids.as_ref()),
        session_id: call.session.id.clone(),
        turn_id: Some(call.turn_id.clone()),
        call_id: call.call_id.clone(),
        tool: "shell".to_owned(),
        summary: summary(&command.arguments.command),
        workdir: command.arguments.workdir.to_string_lossy().into_owned(),
        interpreter: command.interpreter.program.to_string_lossy().into_owned(),
        exit_policy: command.arguments.exit_policy.name().to_owned(),
        outcome: judgement.verdict,
        exit_code: judgement.exit_code,
        signal: judgement.signal.clone(),
        exit_authority: judgement.authority,
        limitation: judgement.limitation.clone(),
        detail: judgement.detail.clone(),
        git_head: None,
        output_digest: capture.digest(),
        time_created: call.services.clock.now(),
    }
}

impl Finished<'_> {
    pub(super) fn into_output(self) -> Result<ToolOutput, ToolError> {
        let metadata = self.metadata()?;
        let trail = self.trail();
        Ok(ToolOutput {
            title: summary(&self.command.arguments.command),
            output: self.output(),
            trail,
            metadata,
            lead: self.judgement.lead,
            error: self.judgement.error,
            ..ToolOutput::default()
        })
    }

    fn output(&self) -> Output {
        let bytes = self.capture.bytes();
        if bytes == 0 {
            return Output::Text(NO_OUTPUT.to_owned());
        }
        match self.ending.capture_error {
            None => Output::Captured(Captured { file: self.capture.file(), bytes }),
            // The file is not whole; what is in memory is the newest of it.
            Some(_) => Output::Text(String::from_utf8_lossy(&self.capture.window()).into_owned()),
        }
    }

    fn trail(&self) -> String {
        let mut lines: Vec<String> = self.judgement.ended.iter().cloned().collect();
        if let Some(limitation) = &self.judgement.limitation {
            lines.push(format!("[limitation {}: {}; {}]", limitation.code, limitation.construct, limitation.remedy));
        }
        if self.ending.leftover > 0 {
            lines.push(format!("[leftover processes stopped: {}]", self.ending.leftover));
        }
        if self.ending.survivors > 0 {
            lines.push(format!("[processes that could not be stopped: {}]", self.ending.survivors));
        }
        if self.command.resolution.facts.limits.contains(&"foreign_owner") {
            lines
                .push("[sandbox: the workspace belongs to another account, so the command could not write]".to_owned());
        }
        lines.push(format!("[verification {}]", self.receipt.id));
        lines.join("\n")
    }

    fn metadata(&self) -> Result<JsonMap, ToolError> {
        let arguments = &self.command.arguments;
        let verification = serde_json::to_value(&self.receipt)
            .map_err(|error| ToolError::uncertain("receipt_not_stored", Vec::new(), error.to_string()))?;
        let mut metadata = JsonMap::new();
        let mut put = |key: &str, value: Value| drop(metadata.insert(key.to_owned(), value));
        if let Some(code) = self.judgement.recorded_code {
            put("exitCode", json!(code));
        }
        if let Some(signal) = &self.judgement.signal {
            put("signal", json!(signal));
        }
        put("background", json!(false));
        put("interpreter", json!(self.command.interpreter.program.to_string_lossy()));
        put("workdir", json!(arguments.workdir.to_string_lossy()));
        put("timeoutMs", json!(arguments.timeout_ms));
        put("durationMs", json!(self.duration_ms));
        put("outputBytes", json!(self.capture.bytes()));
        put("leftoverProcesses", json!(self.ending.leftover));
        put("verification", verification);
        if let Some(cancellation) = &self.judgement.cancellation {
            put("cancellation", Value::Object(cancellation.clone()));
        }
        metadata.extend(self.command.resolution.facts.metadata());
        Ok(metadata)
    }
}

/// A command folded to one line, cut between characters.
fn summary(command: &str) -> String {
    let folded = command.split_whitespace().collect::<Vec<_>>().join(" ");
    if folded.len() <= SUMMARY {
        return folded;
    }
    let end = (0..=SUMMARY - 3).rev().find(|end| folded.is_char_boundary(*end)).unwrap_or(0);
    format!("{}...", folded.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_are_one_line_of_160_bytes() {
        assert_eq!(summary("a\n  b\tc "), "a b c");
        let long = summary(&"\u{e4}".repeat(200));
        assert!(long.len() <= SUMMARY && long.ends_with("..."));
    }
}
