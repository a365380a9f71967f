//! One command: checked in a fixed order, applied once, remembered under its id.

use rusqlite::{OptionalExtension, params};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::record::{Action, Command, CommandReceipt, Question, QuestionState};
use super::{rows, rules, text};
use crate::store::inbox::{self, InputKind, NewInput};
use crate::store::{StoreError, Tx};
use crate::text::fingerprint::json_digest;
use crate::types::{Error, EventDraft, InputId, QuestionId};

/// Carries out a command. Whoever may read the store may respond: no lease is asked for.
///
/// # Errors
/// In this order: `arguments.invalid` for the shape, `not_found.object`, `conflict.command_conflict`,
/// `conflict.stale_revision`, `closed.object`, `arguments.*` for what the action may not do.
pub fn respond(tx: &mut Tx<'_>, command: &Command) -> Result<CommandReceipt, Error> {
    rules::check_shape(command)?;
    let mut question = rows::get(tx.connection(), &command.request_id)?;
    let digest = json_digest(&serde_json::to_value(&command.action).map_err(StoreError::from)?);
    if let Some(receipt) = repeated(tx, command, &digest)? {
        return Ok(receipt);
    }
    if question.revision != command.expected_revision {
        return Err(stale(command.expected_revision, question.revision));
    }
    if question.state != QuestionState::Pending {
        let message = format!("The question {} has ended; it takes no more commands.", question.id);
        return Err(Error::new("closed.object", message).with("id", question.id.as_str()));
    }
    let accepted = rules::apply(&mut question, command)?;
    question.time_updated = tx.now();
    if !rows::swap(tx, &question, command.expected_revision)? {
        let actual = rows::revision(tx.connection(), &question.id)?.unwrap_or(question.revision);
        return Err(stale(command.expected_revision, actual));
    }
    let input_id = match accepted.outcome {
        Some(outcome) => Some(deliver(tx, &question, command, outcome)?),
        None => None,
    };
    let question = rows::with_delivery(tx.connection(), question)?;
    announce(tx, &question, &command.action)?;
    let receipt = CommandReceipt { question, input_id, duplicate: false };
    remember(tx, command, &digest, &receipt)?;
    Ok(receipt)
}

/// The id of the input that the command of a revision caused: derived, so that whoever knows question and revision
/// knows which input carries that answer.
pub fn input_id(question: &QuestionId, revision: i64) -> InputId {
    const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let digest = Sha256::digest(format!("{question}:{revision}").as_bytes());
    let prefix = QuestionId::PREFIX;
    // The first ten characters are the question's time.
    let time: String = question.as_str().strip_prefix(prefix).unwrap_or(question.as_str()).chars().take(10).collect();
    let bits = digest.iter().take(10).fold(0u128, |bits, byte| bits << 8 | u128::from(*byte));
    let rest: String = (0..16)
        .rev()
        .map(|digit| {
            let index = ((bits >> (digit * 5)) & 31) as usize;
            char::from(ALPHABET.get(index).copied().unwrap_or(b'0'))
        })
        .collect();
    InputId::from(format!("{}{time}{rest}", InputId::PREFIX))
}

fn stale(expected: i64, actual: i64) -> Error {
    let message = format!(
        "The question is at revision {actual}, not {expected}. Read it again and decide about what it says now."
    );
    Error::new("conflict.stale_revision", message).with("expected", expected).with("actual", actual)
}

fn repeated(tx: &Tx<'_>, command: &Command, digest: &str) -> Result<Option<CommandReceipt>, Error> {
    let known: Option<(String, String)> = tx
        .prepare("SELECT body_digest, receipt FROM question_commands WHERE request_id = ?1 AND command_id = ?2")?
        .query_row([command.request_id.as_str(), command.command_id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
        .map_err(StoreError::from)?;
    let Some((body, receipt)) = known else { return Ok(None) };
    if body != digest {
        let message = "This `commandId` was used before with another action. The first one stands; use a new id.";
        return Err(Error::new("conflict.command_conflict", message).with("commandId", command.command_id.as_str()));
    }
    let receipt: CommandReceipt = serde_json::from_str(&receipt).map_err(StoreError::from)?;
    Ok(Some(CommandReceipt { duplicate: true, ..receipt }))
}

fn remember(tx: &Tx<'_>, command: &Command, digest: &str, receipt: &CommandReceipt) -> Result<(), StoreError> {
    tx.prepare(
        "INSERT INTO question_commands (request_id, command_id, body_digest, receipt, time) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![
        command.request_id.as_str(),
        command.command_id,
        digest,
        serde_json::to_string(receipt)?,
        tx.now()
    ])?;
    Ok(())
}

fn deliver(tx: &mut Tx<'_>, question: &Question, command: &Command, outcome: &str) -> Result<InputId, StoreError> {
    let response = match &command.action {
        Action::Answer { answers } => json!({ "commandId": command.command_id, "answers": answers }),
        _ => json!({ "commandId": command.command_id, "answers": {} }),
    };
    let prompt = json!({
        "requestId": question.id,
        "requestRevision": question.revision,
        "questionPurpose": question.purpose,
        "outcome": outcome,
        "text": text::input_text(question, outcome),
        "request": { "origin": question.origin, "questions": question.questions },
        "response": response,
    });
    let input = NewInput {
        id: input_id(&question.id, question.revision),
        session_id: question.origin.session_id.clone(),
        kind: InputKind::HumanRequestAnswer,
        prompt,
        source_key: Some(format!("{}:{}", rows::source(&question.id), command.command_id)),
        cycle_id: rows::cycle(tx, &question.id)?,
    };
    inbox::admit(tx, &input)
}

fn announce(tx: &mut Tx<'_>, question: &Question, action: &Action) -> Result<(), StoreError> {
    let draft = if question.state == QuestionState::Cancelled {
        EventDraft::new("question.cancelled", serde_json::to_value(question)?)
    } else {
        updated(question, action.word())?
    };
    tx.emit(&question.origin.session_id, draft)?;
    Ok(())
}

/// The event of a change: the view with what changed it.
pub(super) fn updated(question: &Question, command: &str) -> Result<EventDraft, StoreError> {
    let mut data = serde_json::to_value(question)?;
    if let Value::Object(map) = &mut data {
        map.insert("commandType".to_owned(), command.into());
        map.insert("duplicate".to_owned(), false.into());
    }
    Ok(EventDraft::new("question.updated", data))
}
