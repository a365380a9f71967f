//! Uncertain calls until somebody has looked.

use rusqlite::{Connection, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{COLUMNS, CallKey, from_row, query};
use crate::store::leases::{self, Owner};
use crate::store::{StoreError, Tx};
use crate::types::{CallId, Error, EventDraft, MessageId, Part, SessionId};

/// What a look at the authoritative state showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ReconcileVerdict")]
pub enum Verdict {
    /// The effect happened.
    Happened,
    /// It did not.
    DidNotHappen,
    /// Some of it did.
    Partly,
}

/// The uncertain calls of a session that nobody has reconciled, oldest first.
pub fn unsettled(connection: &Connection, session: &SessionId) -> Result<Vec<Part>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM calls WHERE session_id = ?1 AND outcome = 'uncertain' ORDER BY time_completed, ordinal"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map([session.as_str()], |row| Ok(from_row(row)))?;
    let mut parts = Vec::new();
    for row in rows {
        let part = row??;
        if part.uncertain.as_ref().is_none_or(|uncertain| uncertain.reconciled_at.is_none()) {
            parts.push(part);
        }
    }
    Ok(parts)
}

/// Records once what became of an uncertain call. Its outcome stays `uncertain`.
///
/// # Errors
/// `not_found.object`, `conflict.already_reconciled`, `arguments.invalid` when several messages hold that call id.
pub fn reconcile(
    tx: &mut Tx<'_>,
    owner: &Owner,
    session: &SessionId,
    message: Option<&MessageId>,
    call: &CallId,
    verdict: Verdict,
    evidence: &str,
) -> Result<Part, Error> {
    leases::fence(tx, session, owner)?;
    let key = CallKey {
        session_id: session.clone(),
        message_id: find_message(tx, session, message, call)?,
        call_id: call.clone(),
    };
    let part = query::part(tx.connection(), &key)?.ok_or_else(|| Error::not_found("call", call.as_str()))?;
    let Some(mut uncertain) = part.uncertain.clone() else {
        return Err(Error::arguments(format!("The call {call} is not uncertain; there is nothing to reconcile.")));
    };
    if uncertain.reconciled_at.is_some() {
        let text = format!("The call {call} has been reconciled. Its verdict stands.");
        return Err(Error::new("conflict.already_reconciled", text));
    }
    uncertain.reconciled_at = Some(tx.now());
    let [session_text, message_text, call_text] = key.params();
    let stored = serde_json::to_string(&uncertain).map_err(StoreError::from)?;
    tx.prepare("UPDATE calls SET uncertain = ?4 WHERE session_id = ?1 AND message_id = ?2 AND call_id = ?3")?
        .execute(params![session_text, message_text, call_text, stored])
        .map_err(StoreError::from)?;
    let data = json!({ "callId": call, "verdict": verdict, "evidence": evidence });
    tx.emit(session, EventDraft::new("tool.reconciled", data))?;
    Ok(Part { uncertain: Some(uncertain), ..part })
}

fn find_message(
    tx: &Tx<'_>,
    session: &SessionId,
    message: Option<&MessageId>,
    call: &CallId,
) -> Result<MessageId, Error> {
    if let Some(message) = message {
        return Ok(message.clone());
    }
    let found: Vec<MessageId> = unsettled(tx.connection(), session)?
        .into_iter()
        .filter(|part| part.call_id == *call)
        .map(|part| part.message_id)
        .collect();
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => last_message(tx, session, call)?.ok_or_else(|| Error::not_found("call", call.as_str())),
        _ => Err(Error::arguments(format!("Several messages hold an open call {call}. Name one with `messageId`."))),
    }
}

fn last_message(tx: &Tx<'_>, session: &SessionId, call: &CallId) -> Result<Option<MessageId>, StoreError> {
    let mut statement = tx.prepare(
        "SELECT message_id FROM calls WHERE session_id = ?1 AND call_id = ?2 ORDER BY time_created DESC LIMIT 1",
    )?;
    let mut rows = statement.query([session.as_str(), call.as_str()])?;
    Ok(rows.next()?.map(|row| row.get::<_, String>(0)).transpose()?.map(MessageId::from))
}
