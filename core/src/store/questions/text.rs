//! Questions and answers as text.

use std::fmt::Write;

use super::record::Question;

/// Each item with its answer, or `(no answer)`.
pub fn answer_lines(question: &Question) -> String {
    let mut lines = String::new();
    for item in &question.questions {
        let answer = match question.answers.get(&item.id) {
            Some(values) => values.join("; "),
            None => "(no answer)".to_owned(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(lines, "{} {}\n  {answer}", item.id, item.question);
    }
    lines
}

/// What an answer says as an input.
pub(super) fn input_text(question: &Question, outcome: &str) -> String {
    let lead = match outcome {
        "cancelled" => {
            return format!(
                "The question {} was cancelled without an answer. That is no consent. Go on within existing \
                 authorization, and do not ask it again.",
                question.id
            );
        }
        "partial" => "was answered in part; the other items stay open",
        _ => "was answered",
    };
    format!("The question {} {lead}:\n{}", question.id, answer_lines(question))
}
