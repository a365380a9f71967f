//! Recording the calls of a message before anything is decided about them.

use rusqlite::{OptionalExtension, params};
use serde_json::{Value, json};

use super::recover::recover_call;
use super::{CallKey, query, word};
use crate::store::leases::{self, Owner};
use crate::store::{StoreError, Tx};
use crate::types::{CallId, CallState, CycleId, Declarations, Error, EventDraft, MessageId, Part, SessionId, TurnId};

/// A call as it was read from the message.
#[derive(Clone, Debug)]
pub struct NewCall {
    /// Its id inside the message.
    pub call_id: CallId,
    /// The tool's name as called.
    pub tool: String,
    /// The arguments exactly as sent.
    pub arguments: Value,
    /// Digest of the arguments without the common ones.
    pub argument_digest: String,
    /// Label for the user interface.
    pub intent: Option<String>,
    /// What applies to it.
    pub declarations: Declarations,
}

/// The turn a message belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The turn.
    pub turn_id: TurnId,
    /// The cycle.
    pub cycle_id: CycleId,
    /// The step, from 1.
    pub step: u32,
}

/// What became of one call of the message.
#[derive(Clone, Debug)]
pub enum Admitted {
    /// Recorded now.
    New,
    /// Recorded by an earlier dispatch of the same message; this is what is stored.
    Known(Box<Part>),
}

/// What became of the message.
#[derive(Clone, Debug)]
pub struct Admission {
    /// Where the new calls belong.
    pub turn: Turn,
    /// One entry per call, in order.
    pub calls: Vec<Admitted>,
}

/// Records the calls of a message. The message id is the idempotency key: a call that is known is handed back as
/// stored, one that is known with another tool or other arguments refuses the whole dispatch.
///
/// Only one dispatch of a message is under way at a time. So a known call without a result was left behind by one that
/// failed, for instance because the database was locked: if it was never stamped it runs now, else it is settled like
/// one that a crash left behind.
///
/// # Errors
/// `conflict.call_changed`, `busy.session`, or the store's own failure.
pub fn admit(
    tx: &mut Tx<'_>,
    owner: &Owner,
    session: &SessionId,
    message: &MessageId,
    calls: &[NewCall],
) -> Result<Admission, Error> {
    leases::fence(tx, session, owner)?;
    let mut known = Vec::with_capacity(calls.len());
    for call in calls {
        known.push(find_known(tx, session, message, call)?);
    }
    for part in known.iter_mut().flatten() {
        if part.state == CallState::Dispatched {
            *part = recover_call(tx, part)?;
        }
    }
    let turn = if known.iter().all(Option::is_some) && !known.is_empty() {
        stored_turn(tx, session, message)?
    } else {
        open_turn(tx, session, message)?
    };
    let mut ordinal = count_calls(tx, session, message)?;
    let mut admitted = Vec::with_capacity(calls.len());
    for (call, known) in calls.iter().zip(known) {
        admitted.push(match known {
            Some(part) if part.state == CallState::Pending => Admitted::New,
            Some(part) => Admitted::Known(Box::new(part)),
            None => {
                insert(tx, session, message, &turn, ordinal, call)?;
                ordinal += 1;
                Admitted::New
            }
        });
    }
    Ok(Admission { turn, calls: admitted })
}

fn find_known(tx: &Tx<'_>, session: &SessionId, message: &MessageId, call: &NewCall) -> Result<Option<Part>, Error> {
    let key = CallKey { session_id: session.clone(), message_id: message.clone(), call_id: call.call_id.clone() };
    let Some(part) = query::part(tx.connection(), &key)? else { return Ok(None) };
    if part.tool == call.tool && part.arguments == call.arguments {
        return Ok(Some(part));
    }
    let text = format!(
        "The call {} of message {} was dispatched before with another tool or other arguments. Give new calls a new \
         message id.",
        call.call_id, message
    );
    Err(Error::new("conflict.call_changed", text).with("callId", call.call_id.as_str()))
}

fn stored_turn(tx: &Tx<'_>, session: &SessionId, message: &MessageId) -> Result<Turn, StoreError> {
    let mut statement = tx.prepare("SELECT turn_id, cycle_id, step FROM messages WHERE session_id = ?1 AND id = ?2")?;
    let turn = statement.query_row([session.as_str(), message.as_str()], |row| {
        Ok(Turn {
            turn_id: TurnId::from(row.get::<_, String>(0)?),
            cycle_id: CycleId::from(row.get::<_, String>(1)?),
            step: row.get(2)?,
        })
    })?;
    Ok(turn)
}

/// Continues the open turn of the session by a step, or opens one with a new cycle.
fn open_turn(tx: &mut Tx<'_>, session: &SessionId, message: &MessageId) -> Result<Turn, StoreError> {
    let now = tx.now();
    let known: Option<String> = tx
        .prepare("SELECT turn_id FROM messages WHERE session_id = ?1 AND id = ?2")?
        .query_row([session.as_str(), message.as_str()], |row| row.get(0))
        .optional()?;
    if known.is_some() {
        return stored_turn(tx, session, message);
    }
    let (turn, cycle, step, agent): (String, String, u32, String) = tx
        .prepare("SELECT turn_id, cycle_id, step, agent FROM sessions WHERE id = ?1")?
        .query_row([session.as_str()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    let opens = turn.is_empty();
    let turn = if opens {
        Turn { turn_id: TurnId::generate(tx.ids()), cycle_id: CycleId::generate(tx.ids()), step: 1 }
    } else {
        Turn { turn_id: TurnId::from(turn), cycle_id: CycleId::from(cycle), step: step + 1 }
    };
    tx.prepare("UPDATE sessions SET turn_id = ?2, cycle_id = ?3, step = ?4, time_updated = ?5 WHERE id = ?1")?
        .execute(params![session.as_str(), turn.turn_id.as_str(), turn.cycle_id.as_str(), turn.step, now])?;
    tx.prepare(
        "INSERT INTO messages (session_id, id, ordinal, turn_id, cycle_id, step, time_created)
         VALUES (?1, ?2, (SELECT coalesce(max(ordinal), 0) + 1 FROM messages WHERE session_id = ?1), ?3, ?4, ?5, ?6)",
    )?
    .execute(params![
        session.as_str(),
        message.as_str(),
        turn.turn_id.as_str(),
        turn.cycle_id.as_str(),
        turn.step,
        now
    ])?;
    if opens {
        let started = json!({ "cycleId": turn.cycle_id, "anchorMessageId": message, "planId": null, "goalId": null, "stop": null });
        tx.emit(session, EventDraft::new("cycle.started", started).in_turn(&turn.turn_id, &turn.cycle_id))?;
        let data = json!({
            "startKind": "user", "completionKind": null, "anchorMessageId": message, "agent": agent, "model": null,
        });
        tx.emit(session, EventDraft::new("turn.started", data).in_turn(&turn.turn_id, &turn.cycle_id))?;
    }
    Ok(turn)
}

fn count_calls(tx: &Tx<'_>, session: &SessionId, message: &MessageId) -> Result<i64, StoreError> {
    let mut statement = tx.prepare("SELECT count(*) FROM calls WHERE session_id = ?1 AND message_id = ?2")?;
    Ok(statement.query_row([session.as_str(), message.as_str()], |row| row.get(0))?)
}

fn insert(
    tx: &mut Tx<'_>,
    session: &SessionId,
    message: &MessageId,
    turn: &Turn,
    ordinal: i64,
    call: &NewCall,
) -> Result<(), StoreError> {
    let now = tx.now();
    tx.prepare(
        "INSERT INTO calls (session_id, message_id, call_id, ordinal, turn_id, cycle_id, step, tool, arguments,
             argument_digest, intent, effect, replay, concurrency, time_created)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
    )?
    .execute(params![
        session.as_str(),
        message.as_str(),
        call.call_id.as_str(),
        ordinal,
        turn.turn_id.as_str(),
        turn.cycle_id.as_str(),
        turn.step,
        call.tool,
        call.arguments.to_string(),
        call.argument_digest,
        call.intent.as_deref().unwrap_or_default(),
        word(&call.declarations.effect)?,
        word(&call.declarations.replay)?,
        word(&call.declarations.concurrency)?,
        now,
    ])?;
    let data = json!({
        "step": turn.step, "messageId": message, "callId": call.call_id, "tool": call.tool,
        "arguments": call.arguments, "intent": call.intent, "uiIntent": "generic",
    });
    tx.emit(session, EventDraft::new("tool.call.started", data).in_turn(&turn.turn_id, &turn.cycle_id))?;
    Ok(())
}

/// Ends the open turn of a session, if there is one, and says which.
pub fn end_turn(
    tx: &mut Tx<'_>,
    owner: &Owner,
    session: &SessionId,
    kind: &'static str,
    facts: Value,
) -> Result<Option<Turn>, StoreError> {
    leases::fence(tx, session, owner)?;
    let (turn, cycle, step): (String, String, u32) = tx
        .prepare("SELECT turn_id, cycle_id, step FROM sessions WHERE id = ?1")?
        .query_row([session.as_str()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    if turn.is_empty() {
        return Ok(None);
    }
    tx.prepare("UPDATE sessions SET turn_id = '', cycle_id = '', step = 0 WHERE id = ?1")?
        .execute([session.as_str()])?;
    let ended = Turn { turn_id: TurnId::from(turn), cycle_id: CycleId::from(cycle), step };
    let last: Option<String> = tx
        .prepare("SELECT id FROM messages WHERE session_id = ?1 ORDER BY ordinal DESC LIMIT 1")?
        .query_row([session.as_str()], |row| row.get(0))
        .optional()?;
    let mut data = json!({ "assistantMessageId": last, "steps": step });
    if let (Value::Object(data), Value::Object(facts)) = (&mut data, facts) {
        data.extend(facts);
    }
    tx.emit(session, EventDraft::new(kind, data).in_turn(&ended.turn_id, &ended.cycle_id))?;
    Ok(Some(ended))
}
