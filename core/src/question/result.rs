//! What a call reads when its wait was released.

use crate::store::questions::{Question, QuestionState, answer_lines};

/// The word for how the first response left a question.
pub fn status(question: &Question) -> &'static str {
    match question.state {
        QuestionState::Answered => "answered",
        QuestionState::Skipped => "skipped",
        QuestionState::Cancelled | QuestionState::Failed => "cancelled",
        QuestionState::Pending if question.answers.is_empty() => "deferred",
        QuestionState::Pending => "partly answered",
    }
}

/// The result of a released wait: the status, then each item with its answer.
pub fn released(question: &Question) -> String {
    let advice = match question.state {
        QuestionState::Answered => "",
        QuestionState::Skipped => "No consent was given. Go on with what you know and do not ask again.\n",
        QuestionState::Cancelled | QuestionState::Failed => {
            "No consent was given. Go on within existing authorization.\n"
        }
        QuestionState::Pending => {
            "What is open is no consent; its answer may still come, as an input. Go on within existing authorization.\n"
        }
    };
    format!("{}\n{}{advice}", status(question), answer_lines(question))
}
