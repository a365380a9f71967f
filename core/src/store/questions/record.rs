//! The question record that every surface shows.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::store::inbox::InputState;
use crate::types::{CallId, InputId, MessageId, Millis, QuestionId, SessionId, TurnId};

/// Values by item id.
pub type Answers = BTreeMap<String, Vec<String>>;

/// Where a question came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "QuestionOrigin")]
pub struct Origin {
    /// The session.
    pub session_id: SessionId,
    /// The message whose call asked.
    pub message_id: Option<MessageId>,
    /// The call that asked.
    pub call_id: Option<CallId>,
    /// The turn of that call.
    pub turn_id: Option<TurnId>,
    /// The Goal that needs the answer.
    pub goal_id: Option<String>,
}

/// Whether a call waits for the first response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuestionMode {
    /// A call waits.
    Blocking,
    /// Nothing waits.
    Deferred,
}

/// What an answer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// An optional clarification.
    Clarification,
    /// Input a Goal cannot go on without.
    RequiredInput,
    /// Approval of a Plan.
    PlanAuthorization,
    /// Whether a paused Goal goes on.
    GoalResume,
}

/// How far a question has come. Everything but `pending` is final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuestionState {
    /// Open.
    Pending,
    /// Every item has an answer.
    Answered,
    /// A person passed it over.
    Skipped,
    /// Withdrawn.
    Cancelled,
    /// It could not be carried out.
    Failed,
}

/// One choice of an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// The value an answer gives. Unique inside its item.
    pub label: String,
    /// What choosing it means.
    #[serde(default)]
    pub description: String,
}

/// One item as it is published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewItem {
    /// The question.
    pub question: String,
    /// A short heading.
    pub header: String,
    /// Choices, the recommended one first.
    #[serde(default)]
    pub options: Vec<Choice>,
    /// More than one value may be given.
    #[serde(default)]
    pub multiple: bool,
}

/// One item of a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Item {
    /// `q1`, `q2`, ...
    pub id: String,
    /// The question.
    pub question: String,
    /// A short heading.
    pub header: String,
    /// Choices.
    pub options: Vec<Choice>,
    /// More than one value may be given.
    pub multiple: bool,
    /// A typed value is accepted beside the labels.
    pub custom: bool,
}

/// The clock of an optional clarification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutoDefer {
    /// When the form defers itself.
    pub deadline_at: Millis,
    /// From when on a countdown is shown.
    pub countdown_at: Millis,
    /// What became of the clock.
    pub state: AutoDeferState,
}

/// What became of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AutoDeferState {
    /// It runs.
    Armed,
    /// A person works on the form; it does not run again.
    Snoozed,
    /// The form was deferred.
    Deferred,
}

/// What a person decided about a Plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Work is authorized.
    Approve,
    /// Work is not authorized.
    Decline,
}

/// What became of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Authorization {
    /// The planning turn is not over.
    WaitingForHandoff,
    /// Work was authorized.
    Applied,
    /// The approval counts no longer.
    Invalidated,
}

/// How far the answers have come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryPhase {
    /// There is none.
    #[default]
    WaitingAnswer,
    /// At least one waits in the inbox.
    AnsweredPendingDelivery,
    /// All are part of the conversation.
    Applied,
}

/// Derived from the inbox, never stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Delivery {
    /// How far the answers have come.
    pub phase: DeliveryPhase,
    /// Inputs of this question that are not delivered.
    pub pending_inputs: u32,
    /// Inputs of this question that are part of the conversation.
    pub applied_inputs: u32,
    /// The newest input.
    pub last_input_id: Option<InputId>,
    /// How far that one has come.
    pub last_input_state: Option<InputState>,
    /// When the last input was applied.
    pub applied_at: Option<Millis>,
}

/// A question as every surface shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// Its id, stable across restarts.
    pub id: QuestionId,
    /// Where it came from.
    pub origin: Origin,
    /// Raised by every accepted command but snooze, and by the auto-defer.
    pub revision: i64,
    /// Whether a call waits.
    pub mode: QuestionMode,
    /// What an answer is for.
    pub purpose: Purpose,
    /// How far it has come.
    pub state: QuestionState,
    /// Its items.
    pub questions: Vec<Item>,
    /// Submitted answers.
    pub answers: Answers,
    /// Drafts; nobody acts on them.
    pub draft_answers: Answers,
    /// The clock of an optional clarification.
    pub auto_defer: Option<AutoDefer>,
    /// The Goal revision that was observed.
    pub goal_revision: Option<i64>,
    /// The Plan that is approved.
    pub plan: Option<Value>,
    /// What was decided about it.
    pub decision: Option<Decision>,
    /// What became of that decision.
    pub authorization: Option<Authorization>,
    /// How far the answers have come.
    pub delivery: Delivery,
    /// When it was published.
    pub time_created: Millis,
    /// When it last changed.
    pub time_updated: Millis,
}

impl Question {
    /// Whether a call still waits for the first response.
    pub fn holds_its_call(&self) -> bool {
        self.state == QuestionState::Pending && self.mode == QuestionMode::Blocking
    }

    /// Whether its clock runs.
    pub fn is_armed(&self) -> bool {
        self.state == QuestionState::Pending
            && self.auto_defer.as_ref().is_some_and(|clock| clock.state == AutoDeferState::Armed)
    }
}

/// What a person does with a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Action {
    /// Answers the named items; an empty list clears one.
    Answer {
        /// Values by item id.
        answers: Answers,
    },
    /// Puts the form away without answering.
    Defer {
        /// Drafts to keep.
        #[serde(default)]
        draft_answers: Option<Answers>,
    },
    /// Passes the question over.
    Skip {},
    /// Withdraws it.
    Cancel {},
    /// Decides about a Plan.
    PlanDecision {
        /// The decision.
        decision: Decision,
        /// Why a draft review is acceptable.
        #[serde(default)]
        risk_reason: Option<String>,
    },
    /// Says that a person works on the form: its clock stops.
    Snooze {
        /// Drafts to keep.
        #[serde(default)]
        draft_answers: Option<Answers>,
    },
}

impl Action {
    /// The word that stands in events.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Answer { .. } => "answer",
            Self::Defer { .. } => "defer",
            Self::Skip {} => "skip",
            Self::Cancel {} => "cancel",
            Self::PlanDecision { .. } => "plan_decision",
            Self::Snooze { .. } => "snooze",
        }
    }
}

/// One command of a person, or of a surface on behalf of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Command {
    /// The question.
    pub request_id: QuestionId,
    /// Chosen by the sender; sending it again changes nothing.
    pub command_id: String,
    /// The revision the person saw.
    pub expected_revision: i64,
    /// What is done.
    pub action: Action,
}

/// What became of a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandReceipt {
    /// The question after the command.
    pub question: Question,
    /// The input the command caused.
    pub input_id: Option<InputId>,
    /// The command was known; this is the receipt it got then.
    pub duplicate: bool,
}
