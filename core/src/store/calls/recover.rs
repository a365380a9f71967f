//! What a crash left behind, settled once when the session is opened again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{COLUMNS, CallKey, Settlement, from_row, settle};
use crate::store::{StoreError, Tx};
use crate::types::{CallId, CallState, Effect, EventDraft, Outcome, Part, SessionId, ToolError};

/// One call that recovery settled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Repaired {
    /// The call.
    pub call_id: CallId,
    /// Its tool.
    pub tool: String,
    /// What it was settled with.
    pub outcome: Outcome,
}

/// Settles every call without a result. One that was stamped and may have had an effect becomes uncertain and is
/// never run again; everything else provably changed nothing.
pub fn recover(tx: &mut Tx<'_>, session: &SessionId) -> Result<Vec<Repaired>, StoreError> {
    let mut repaired = Vec::new();
    for part in open_calls(tx, session)? {
        let settled = recover_call(tx, &part)?;
        repaired.push(Repaired {
            call_id: part.call_id,
            tool: part.tool,
            outcome: settled.outcome.unwrap_or(Outcome::Error),
        });
    }
    if !repaired.is_empty() {
        tx.emit(session, EventDraft::new("history.repaired", json!({ "repaired": repaired })))?;
    }
    Ok(repaired)
}

/// Settles one call without a result; nothing of it may be running.
pub(super) fn recover_call(tx: &mut Tx<'_>, part: &Part) -> Result<Part, StoreError> {
    let error = verdict(part);
    let settlement = Settlement {
        title: part.tool.clone(),
        output: crate::text::result_text::error_text(&error, part.replay),
        error: Some(error),
        ..Settlement::default()
    };
    let key = CallKey {
        session_id: part.session_id.clone(),
        message_id: part.message_id.clone(),
        call_id: part.call_id.clone(),
    };
    settle(tx, &key, &settlement)
}

fn open_calls(tx: &Tx<'_>, session: &SessionId) -> Result<Vec<Part>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM calls WHERE session_id = ?1 AND state <> 'settled' ORDER BY time_created, ordinal"
    );
    let mut statement = tx.prepare(&sql)?;
    let rows = statement.query_map([session.as_str()], |row| Ok(from_row(row)))?;
    let mut parts = Vec::new();
    for row in rows {
        parts.push(row??);
    }
    Ok(parts)
}

fn verdict(part: &Part) -> ToolError {
    match (part.state, part.effect) {
        (CallState::Pending, _) => ToolError::cancelled(
            false,
            "The host ended before this call was started. It never ran; call it again if it is still wanted.",
        ),
        (_, Effect::ReadOnly) => ToolError::cancelled(
            true,
            "The host ended while this call was reading. It changed nothing; call it again if it is still wanted.",
        ),
        _ => ToolError::uncertain(
            "lost_outcome",
            Vec::new(),
            "The host ended, or the database failed, after this call was started and before its result was stored. Whether its effect happened is unknown.",
        ),
    }
}
