//! What may be published and what a command does to a question. Values in, values out.

use std::collections::HashSet;

use super::record::{
    Action, Answers, AutoDeferState, Command, Item, NewItem, Purpose, Question, QuestionMode, QuestionState,
};
use crate::types::Error;

/// Items of one question at most.
const MAX_ITEMS: usize = 8;
/// Choices of one item at most.
const MAX_OPTIONS: usize = 12;
/// Bytes of one value at most.
const MAX_VALUE: usize = 8 << 10;
/// Bytes of one command at most.
const MAX_COMMAND: usize = 64 << 10;
/// Bytes of a command id at most.
const MAX_COMMAND_ID: usize = 256;

/// An item that cannot be published.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ItemFault {
    /// Where, as `questions[0].options`.
    pub field: String,
    /// What to do about it.
    pub message: String,
}

/// Checks items before they are published: counts, lengths in characters, labels.
///
/// # Errors
/// The first field at fault.
pub fn check_items(items: &[NewItem], closed: bool) -> Result<(), ItemFault> {
    if items.is_empty() || items.len() > MAX_ITEMS {
        let message = format!("A question has 1 to {MAX_ITEMS} items, not {}.", items.len());
        return Err(ItemFault { field: "questions".to_owned(), message });
    }
    for (index, item) in items.iter().enumerate() {
        let field = |name: &str| format!("questions[{index}].{name}");
        check_length(&item.question, 1, 4_096, field("question"))?;
        check_length(&item.header, 1, 60, field("header"))?;
        if item.options.len() > MAX_OPTIONS {
            let message = format!("An item has at most {MAX_OPTIONS} options, not {}.", item.options.len());
            return Err(ItemFault { field: field("options"), message });
        }
        if closed && item.options.is_empty() {
            let message = "A closed question needs at least one option.".to_owned();
            return Err(ItemFault { field: field("options"), message });
        }
        let mut labels = HashSet::new();
        for option in &item.options {
            check_length(&option.label, 1, 200, field("options"))?;
            check_length(&option.description, 0, 1_000, field("options"))?;
            if option.label.trim().is_empty() || !labels.insert(option.label.as_str()) {
                let message =
                    format!("The label {:?} is blank or used twice. Give every option its own.", option.label);
                return Err(ItemFault { field: field("options"), message });
            }
        }
    }
    Ok(())
}

fn check_length(text: &str, least: usize, most: usize, field: String) -> Result<(), ItemFault> {
    let length = text.chars().count();
    if (least..=most).contains(&length) {
        return Ok(());
    }
    let message = format!("`{field}` has {length} characters; {least} to {most} are allowed.");
    Err(ItemFault { field, message })
}

/// Gives items their ids.
pub(super) fn number(items: Vec<NewItem>, closed: bool) -> Vec<Item> {
    items
        .into_iter()
        .enumerate()
        .map(|(index, item)| Item {
            id: format!("q{}", index + 1),
            question: item.question,
            header: item.header,
            options: item.options,
            multiple: item.multiple,
            custom: !closed,
        })
        .collect()
}

/// The shape of a command, whatever it is for.
pub(super) fn check_shape(command: &Command) -> Result<(), Error> {
    let id = &command.command_id;
    if id.trim().is_empty() || id.len() > MAX_COMMAND_ID {
        let message = format!("`commandId` must have 1 to {MAX_COMMAND_ID} bytes and not be blank.");
        return Err(Error::arguments(message).with("field", "commandId"));
    }
    if command.expected_revision < 1 {
        let message = "`expectedRevision` must be the revision that was shown, 1 or more.";
        return Err(Error::arguments(message).with("field", "expectedRevision"));
    }
    Ok(())
}

/// What an accepted command means outside its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accepted {
    /// The outcome an inbox row tells; `None` = no row.
    pub(super) outcome: Option<&'static str>,
}

/// Does to a pending question what a command says; an error leaves nothing to store.
pub(super) fn apply(question: &mut Question, command: &Command) -> Result<Accepted, Error> {
    let size = serde_json::to_vec(&command.action).map_or(usize::MAX, |bytes| bytes.len());
    if size > MAX_COMMAND {
        return Err(Error::arguments(format!("The command has {size} bytes; {MAX_COMMAND} are allowed.")));
    }
    check_purpose(question.purpose, &command.action)?;
    let outcome = match &command.action {
        Action::Answer { answers } => answer(question, answers)?,
        Action::Defer { draft_answers } => {
            merge_drafts(question, draft_answers.as_ref())?;
            if let Some(clock) = question.auto_defer.as_mut() {
                // The form is deferred: there is nothing left for its clock to do.
                clock.state = AutoDeferState::Deferred;
            }
            None
        }
        Action::Skip {} => {
            question.state = QuestionState::Skipped;
            None
        }
        Action::Cancel {} => {
            question.state = QuestionState::Cancelled;
            (question.purpose == Purpose::Clarification).then_some("cancelled")
        }
        Action::PlanDecision { .. } => {
            let message = "This question approves no Plan. Answer it, defer it, skip it or cancel it.";
            return Err(Error::new("arguments.not_a_plan", message));
        }
        Action::Snooze { draft_answers } => {
            snooze(question, draft_answers.as_ref())?;
            return Ok(Accepted { outcome: None });
        }
    };
    question.mode = QuestionMode::Deferred;
    question.revision += 1;
    Ok(Accepted { outcome })
}

fn check_purpose(purpose: Purpose, action: &Action) -> Result<(), Error> {
    match (purpose, action) {
        (Purpose::PlanAuthorization, Action::Answer { .. } | Action::Skip {}) => {
            let message = "A Plan is approved or declined with `plan_decision`, not answered or skipped.";
            Err(Error::new("arguments.plan_decision_only", message))
        }
        (Purpose::RequiredInput, Action::Skip {}) => {
            let message = "The Goal cannot go on without this input. Answer it, defer it or cancel it.";
            Err(Error::new("arguments.required_input", message))
        }
        _ => Ok(()),
    }
}

fn answer(question: &mut Question, answers: &Answers) -> Result<Option<&'static str>, Error> {
    if answers.is_empty() {
        return Err(Error::arguments("`answers` names no item.").with("field", "answers"));
    }
    for (id, values) in answers {
        let item = find_item(&question.questions, id)?;
        check_values(item, values)?;
    }
    for (id, values) in answers {
        question.draft_answers.remove(id);
        if values.is_empty() {
            question.answers.remove(id);
        } else {
            question.answers.insert(id.clone(), values.clone());
        }
    }
    let complete = question.questions.iter().all(|item| question.answers.contains_key(&item.id));
    if question.purpose == Purpose::RequiredInput && !complete {
        let message = "Required input takes the answers of all items at once.";
        return Err(Error::arguments(message).with("field", "answers"));
    }
    if complete {
        question.state = QuestionState::Answered;
    }
    let gives = answers.values().any(|values| !values.is_empty()) && question.purpose != Purpose::GoalResume;
    Ok(gives.then_some(if complete { "answered" } else { "partial" }))
}

fn find_item<'a>(items: &'a [Item], id: &str) -> Result<&'a Item, Error> {
    items.iter().find(|item| item.id == id).ok_or_else(|| {
        let known: Vec<&str> = items.iter().map(|item| item.id.as_str()).collect();
        let message = format!("This question has no item {id:?}; it has {}.", known.join(", "));
        Error::arguments(message).with("field", id)
    })
}

fn check_values(item: &Item, values: &[String]) -> Result<(), Error> {
    let refuse = |message: String| Err(Error::arguments(message).with("field", item.id.as_str()));
    if values.len() > 1 && !item.multiple {
        return refuse(format!("The item {} takes one value, not {}.", item.id, values.len()));
    }
    let mut seen = HashSet::new();
    for value in values {
        if value.trim().is_empty() {
            return refuse(format!("A value of {} is blank. Send an empty list to clear the item.", item.id));
        }
        if value.len() > MAX_VALUE {
            return refuse(format!("A value of {} has {} bytes; {MAX_VALUE} are allowed.", item.id, value.len()));
        }
        if !seen.insert(value.as_str()) {
            return refuse(format!("The item {} has the value {value:?} twice.", item.id));
        }
        if !item.custom && !item.options.iter().any(|option| option.label == *value) {
            return refuse(format!("The item {} takes one of its labels, not {value:?}.", item.id));
        }
    }
    Ok(())
}

fn merge_drafts(question: &mut Question, drafts: Option<&Answers>) -> Result<(), Error> {
    let Some(drafts) = drafts else { return Ok(()) };
    for (id, values) in drafts {
        find_item(&question.questions, id)?;
        if values.iter().any(|value| value.len() > MAX_VALUE) {
            let message = format!("A draft of {id} has more than {MAX_VALUE} bytes.");
            return Err(Error::arguments(message).with("field", id.as_str()));
        }
    }
    // A blank draft is kept as what it is: the person emptied that field.
    question.draft_answers.extend(drafts.clone());
    Ok(())
}

fn snooze(question: &mut Question, drafts: Option<&Answers>) -> Result<(), Error> {
    match question.auto_defer.as_mut() {
        Some(clock) if clock.state == AutoDeferState::Armed => clock.state = AutoDeferState::Snoozed,
        _ => {
            let message = "This question has no running clock. Keep drafts with `defer`.";
            return Err(Error::new("arguments.question_timer_unavailable", message));
        }
    }
    merge_drafts(question, drafts)
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
