//! What a command decided, from how it ended. Pure.

use serde_json::json;

use crate::process::{Ending, Exit, Stop, signal_name};
use crate::store::verification::{ExitAuthority, Verdict};
use crate::text::shell_reading::Limitation;
use crate::types::{JsonMap, ToolError};

const FINISHED: &str = "[cancelled] The command had already finished; its own result stands.";
const UNDECIDED: &str = "No verdict: the command was stopped before it decided anything, and this result cannot show \
    what it had already changed.";
const INSPECT: &str = "Inspect the authoritative state the command would have changed before anything is retried.";
/// What a writer ends with whose reader has gone.
const READER_GONE: i32 = 141;

/// How a command ended, and what its text says about that.
pub(super) struct Case<'a> {
    pub(super) ending: &'a Ending,
    /// The call was interrupted.
    pub(super) interrupted: bool,
    pub(super) limitation: Option<Limitation>,
    /// A pipeline whose failing stages count.
    pub(super) counts_stages: bool,
    pub(super) ceiling_ms: u64,
}

/// What a result says.
#[derive(Debug)]
pub(super) struct Judgement {
    pub(super) verdict: Verdict,
    pub(super) authority: ExitAuthority,
    /// For the receipt.
    pub(super) exit_code: Option<i32>,
    /// What the record holds, whether or not it decides anything.
    pub(super) recorded_code: Option<i32>,
    pub(super) signal: Option<String>,
    pub(super) limitation: Option<Limitation>,
    pub(super) detail: Option<String>,
    pub(super) error: Option<ToolError>,
    /// Stands in front of the output.
    pub(super) lead: String,
    /// Stands behind the output: how it ended.
    pub(super) ended: Option<String>,
    pub(super) cancellation: Option<JsonMap>,
}

/// Why a command has no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lack {
    Killed,
    GuardFailure,
    HardCeiling,
    UnsettledStatus,
    ProcessLost,
}

impl Case<'_> {
    pub(super) fn judge(self) -> Judgement {
        match &self.ending.exit {
            Exit::NotFound { message } => never_started("program_not_found", 127, message),
            Exit::NotExecutable { message } => never_started("not_executable", 126, message),
            _ => match (self.lack(), self.interrupted) {
                (None, false) => self.completed(),
                (None, true) => mark_cancelled(self.completed()),
                (Some(lack), true) => self.cancelled(lack),
                (Some(lack), false) => self.undecided(lack),
            },
        }
    }

    /// Why the exit cannot be taken for the command's own decision.
    fn lack(&self) -> Option<Lack> {
        let stopped = self.ending.stop.is_some() && !self.ending.exited_before_stop;
        match &self.ending.exit {
            Exit::GuardFailed { .. } => Some(Lack::GuardFailure),
            _ if stopped && self.ending.stop == Some(Stop::Ceiling) => Some(Lack::HardCeiling),
            Exit::Lost => Some(Lack::ProcessLost),
            _ if stopped => Some(Lack::Killed),
            _ if self.ending.capture_error.is_some() => Some(Lack::UnsettledStatus),
            _ => None,
        }
    }

    fn completed(self) -> Judgement {
        let signal = signal(&self.ending.exit);
        let code = self.ending.exit.code();
        let base = Judgement {
            recorded_code: code,
            exit_code: code,
            ended: Some(ended(&self.ending.exit)),
            limitation: self.limitation,
            ..Judgement::nothing()
        };
        match (code, signal) {
            (Some(READER_GONE), _) if self.counts_stages => Judgement {
                authority: ExitAuthority::Derived,
                limitation: Some(Limitation::new(
                    "reader_closed_early",
                    "a pipeline that exited with 141",
                    "let the reader consume everything, or use `last`",
                )),
                detail: Some("A reader closed the pipe; the code says nothing about the producer.".to_owned()),
                ..base
            },
            (Some(code), _) => Judgement {
                verdict: if code == 0 { Verdict::Passed } else { Verdict::Failed },
                authority: match base.limitation {
                    None => ExitAuthority::Authoritative,
                    Some(_) => ExitAuthority::Derived,
                },
                ..base
            },
            (None, signal) => Judgement {
                detail: Some("The command was killed by a signal, which decides nothing about its work.".to_owned()),
                limitation: None,
                signal,
                ..base
            },
        }
    }

    /// The call was interrupted, and the command decided nothing.
    fn cancelled(self, lack: Lack) -> Judgement {
        let code = self.ending.exit.code();
        let signal = signal(&self.ending.exit);
        let mut lead = format!("[uncertain: cancelled] {UNDECIDED}\n{INSPECT}");
        if let Some(code) = code {
            lead.push_str(&format!("\nThe record holds exit code {code}: {}", lack.why_a_number_proves_nothing()));
        } else if lack == Lack::HardCeiling {
            lead.push_str(&format!("\nIt had reached its hard ceiling of {} ms.", self.ceiling_ms));
        }
        let mut cancellation = cancellation(false, true, &status(&self.ending.exit), lack.word());
        if let Some(code) = code {
            cancellation.insert("exitCode".to_owned(), json!(code));
        }
        Judgement {
            recorded_code: code,
            signal,
            detail: Some(UNDECIDED.to_owned()),
            error: Some(ToolError::uncertain("cancelled", Vec::new(), UNDECIDED)),
            lead,
            cancellation: Some(cancellation),
            ..Judgement::nothing()
        }
    }

    /// Nobody interrupted the call, and there is no verdict all the same.
    fn undecided(self, lack: Lack) -> Judgement {
        let (cause, text) = match (&self.ending.exit, lack) {
            (Exit::GuardFailed { message }, _) => (
                "guard_failure",
                format!(
                    "The guard of the command failed with its code 125, which says nothing about whether the command \
                     ran ({message})."
                ),
            ),
            (_, Lack::HardCeiling) => (
                "hard_ceiling",
                format!(
                    "The command reached its hard ceiling of {} ms and was killed there; it decided nothing, and what \
                     it had already changed is unknown.",
                    self.ceiling_ms
                ),
            ),
            (_, Lack::UnsettledStatus) => (
                "capture_failed",
                format!(
                    "The output could not be captured ({}), so the exit status of the command is not settled.",
                    self.ending.capture_error.as_deref().unwrap_or("for an unknown reason")
                ),
            ),
            (_, Lack::Killed) => ("killed", "The command was stopped before it decided anything.".to_owned()),
            _ => (
                "process_lost",
                "The command's guard vanished without a report; anything may have happened.".to_owned(),
            ),
        };
        Judgement {
            recorded_code: self.ending.exit.code(),
            signal: signal(&self.ending.exit),
            detail: Some(text.clone()),
            error: Some(ToolError::uncertain(cause, Vec::new(), text)),
            ..Judgement::nothing()
        }
    }
}

impl Judgement {
    fn nothing() -> Self {
        Self {
            verdict: Verdict::Unknown,
            authority: ExitAuthority::Absent,
            exit_code: None,
            recorded_code: None,
            signal: None,
            limitation: None,
            detail: None,
            error: None,
            lead: String::new(),
            ended: None,
            cancellation: None,
        }
    }
}

impl Lack {
    fn word(self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::GuardFailure => "guard_failure",
            Self::HardCeiling => "hard_ceiling",
            Self::UnsettledStatus => "unsettled_status",
            Self::ProcessLost => "process_lost",
        }
    }

    fn why_a_number_proves_nothing(self) -> &'static str {
        match self {
            Self::Killed => "the command was being stopped when it ended, so the number proves nothing about its work.",
            Self::GuardFailure => "it is the guard's own failure and says nothing about whether the command ran.",
            Self::HardCeiling => "the command was killed at its hard ceiling and decided nothing.",
            Self::UnsettledStatus => {
                "the status was reported and could not be settled, because the capture broke; it cannot be cited."
            }
            Self::ProcessLost => "the process vanished, so nothing vouches for the number.",
        }
    }
}

/// The program was not started: nothing happened, and the code is the guard's.
fn never_started(code: &str, number: i32, message: &str) -> Judgement {
    let what = if number == 127 { "was not found" } else { "exists and could not be executed" };
    let text = format!("The interpreter {what}, so the command was not run ({message}). Check the `shell` setting.");
    Judgement {
        verdict: Verdict::Failed,
        exit_code: Some(number),
        recorded_code: Some(number),
        detail: Some(text.clone()),
        error: Some(ToolError::failed(code, text)),
        ..Judgement::nothing()
    }
}

/// Everything as completed, with the mark.
fn mark_cancelled(completed: Judgement) -> Judgement {
    let status = match (completed.recorded_code, &completed.signal) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "unknown".to_owned(),
    };
    let authoritative = completed.authority == ExitAuthority::Authoritative;
    let mut cancellation = cancellation(authoritative, false, &status, "completed");
    if let Some(code) = completed.recorded_code {
        cancellation.insert("exitCode".to_owned(), json!(code));
    }
    Judgement { lead: FINISHED.to_owned(), cancellation: Some(cancellation), ..completed }
}

fn cancellation(authoritative: bool, uncertain: bool, status: &str, detail: &str) -> JsonMap {
    let entries = [
        ("cancelled", json!(true)),
        ("authoritative", json!(authoritative)),
        ("uncertain", json!(uncertain)),
        ("status", json!(status)),
        ("detail", json!(detail)),
    ];
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn signal(exit: &Exit) -> Option<String> {
    match exit {
        Exit::Signal(number) => Some(signal_name(*number)),
        _ => None,
    }
}

fn status(exit: &Exit) -> String {
    match (exit.code(), signal(exit)) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "unknown".to_owned(),
    }
}

fn ended(exit: &Exit) -> String {
    format!("[{}]", status(exit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ending(exit: Exit) -> Ending {
        Ending {
            exit,
            started: true,
            leftover: 0,
            survivors: 0,
            stop: None,
            exited_before_stop: true,
            capture_error: None,
        }
    }

    fn judge(ending: &Ending, interrupted: bool) -> Judgement {
        Case { ending, interrupted, limitation: None, counts_stages: true, ceiling_ms: 1_000 }.judge()
    }

    fn detail(judgement: &Judgement) -> &str {
        judgement.cancellation.as_ref().unwrap()["detail"].as_str().unwrap()
    }

    // spec: GUARD-09 GUARD-13 GUARD-14
    #[test]
    fn a_completed_command_decides_by_its_code_alone() {
        let passed = judge(&ending(Exit::Code(0)), false);
        assert_eq!((passed.verdict, passed.authority), (Verdict::Passed, ExitAuthority::Authoritative));
        for own in [1, 125, 126, 127, 137] {
            let failed = judge(&ending(Exit::Code(own)), false);
            assert_eq!((failed.verdict, failed.exit_code), (Verdict::Failed, Some(own)));
            assert_eq!(failed.authority, ExitAuthority::Authoritative);
            assert!(failed.error.is_none());
        }
        let killed = judge(&ending(Exit::Signal(9)), false);
        assert_eq!((killed.verdict, killed.authority), (Verdict::Unknown, ExitAuthority::Absent));
        assert_eq!((killed.exit_code, killed.signal.as_deref()), (None, Some("SIGKILL")));
        assert_eq!(killed.ended.as_deref(), Some("[killed by signal SIGKILL]"));
    }

    // case: 40
    #[test]
    fn a_reader_that_closed_early_decides_nothing() {
        let judged = judge(&ending(Exit::Code(141)), false);
        assert_eq!((judged.verdict, judged.authority), (Verdict::Unknown, ExitAuthority::Derived));
        assert_eq!(judged.exit_code, Some(141));
        assert_eq!(judged.limitation.unwrap().code, "reader_closed_early");
    }

    // spec: GUARD-05 GUARD-08
    #[test]
    fn codes_of_the_guard_carry_no_authority() {
        let message = || "text".to_owned();
        let failed = judge(&ending(Exit::GuardFailed { message: message() }), false);
        assert_eq!((failed.verdict, failed.exit_code), (Verdict::Unknown, None));
        assert_eq!(failed.error.unwrap().outcome(), crate::types::Outcome::Uncertain);
        for (exit, code, number) in [
            (Exit::NotFound { message: message() }, "program_not_found", 127),
            (Exit::NotExecutable { message: message() }, "not_executable", 126),
        ] {
            let judged = judge(&ending(exit), false);
            assert_eq!((judged.verdict, judged.authority), (Verdict::Failed, ExitAuthority::Absent));
            assert_eq!(judged.exit_code, Some(number));
            assert_eq!(judged.error.unwrap().code, code);
        }
    }

    // spec: CANCEL-06 CANCEL-08
    #[test]
    fn a_command_that_had_finished_keeps_its_result() {
        for code in [0, 1] {
            let stopped = Ending { stop: Some(Stop::Cancelled), ..ending(Exit::Code(code)) };
            let (plain, marked) = (judge(&ending(Exit::Code(code)), false), judge(&stopped, true));
            assert_eq!((plain.verdict, plain.authority), (marked.verdict, marked.authority));
            assert_eq!((plain.exit_code, plain.ended), (marked.exit_code, marked.ended.clone()));
            assert_eq!(marked.lead, FINISHED);
            assert!(marked.error.is_none());
        }
    }

    // spec: CANCEL-07 CANCEL-12 CANCEL-13 CANCEL-14 CANCEL-15 CANCEL-16
    #[test]
    fn a_number_moves_nothing_into_the_first_case() {
        let stopped = |exit, stop| Ending { stop: Some(stop), exited_before_stop: false, ..ending(exit) };
        let broken = Ending { capture_error: Some("disk full".to_owned()), ..ending(Exit::Code(0)) };
        let guard = Exit::GuardFailed { message: "text".to_owned() };
        for (ending, word, number) in [
            (stopped(Exit::Code(0), Stop::Cancelled), "killed", Some(0)),
            (stopped(Exit::Signal(15), Stop::Cancelled), "killed", None),
            (stopped(Exit::Code(3), Stop::Ceiling), "hard_ceiling", Some(3)),
            (ending(guard), "guard_failure", Some(125)),
            (broken, "unsettled_status", Some(0)),
            (ending(Exit::Lost), "process_lost", None),
        ] {
            let judged = judge(&ending, true);
            assert_eq!(detail(&judged), word);
            assert_eq!((judged.verdict, judged.authority), (Verdict::Unknown, ExitAuthority::Absent));
            assert_eq!((judged.exit_code, judged.recorded_code), (None, number));
            assert_eq!(judged.error.as_ref().unwrap().outcome(), crate::types::Outcome::Uncertain);
            assert!(judged.lead.starts_with("[uncertain: cancelled] No verdict: "));
            assert!(number.is_none_or(|number| judged.lead.contains(&format!("exit code {number}: "))));
        }
    }

    #[test]
    fn a_broken_capture_leaves_no_verdict() {
        let broken = Ending { capture_error: Some("disk full".to_owned()), ..ending(Exit::Code(0)) };
        let judged = judge(&broken, false);
        assert_eq!(judged.exit_code, None);
        assert_eq!(judged.error.unwrap().code, "capture_failed");
    }
}
