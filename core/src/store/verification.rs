//! Verification receipts: what the exit status of a command proves, one per call.

use rusqlite::{Connection, OptionalExtension, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{StoreError, Tx};
use crate::text::shell_reading::Limitation;
use crate::types::{CallId, CycleId, EventDraft, MessageId, Millis, ReceiptId, SessionId, TurnId};

pub(super) const SCHEMA: &str = "
CREATE TABLE verification_receipts (
    id           TEXT    NOT NULL PRIMARY KEY,
    session_id   TEXT    NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    message_id   TEXT    NOT NULL,
    call_id      TEXT    NOT NULL,
    receipt      TEXT    NOT NULL,
    time_created INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX verification_receipts_of_call ON verification_receipts (session_id, message_id, call_id);
";

/// What a command decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "VerificationOutcome")]
pub enum Verdict {
    /// It exited with 0.
    Passed,
    /// It exited with something else.
    Failed,
    /// It decided nothing.
    Unknown,
}

/// How far an exit code reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExitAuthority {
    /// The code is the verdict of the whole command.
    Authoritative,
    /// There is a code, and something limits it.
    Derived,
    /// There is no verdict.
    Absent,
}

/// A verification receipt. Absent values are `null` and never left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerificationReceipt {
    /// Its id.
    pub id: ReceiptId,
    /// The session it belongs to.
    pub session_id: SessionId,
    /// The turn.
    pub turn_id: Option<TurnId>,
    /// The call.
    pub call_id: CallId,
    /// The tool as called.
    pub tool: String,
    /// What ran, folded to one line.
    pub summary: String,
    /// Where it ran.
    pub workdir: String,
    /// What ran it.
    pub interpreter: String,
    /// How failures inside of it counted.
    pub exit_policy: String,
    /// What it decided.
    pub outcome: Verdict,
    /// The exit code.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<String>,
    /// How far the code reaches.
    pub exit_authority: ExitAuthority,
    /// Why it does not reach further.
    pub limitation: Option<Limitation>,
    /// Why there is no verdict.
    pub detail: Option<String>,
    /// HEAD, when the call resolved it.
    pub git_head: Option<String>,
    /// SHA-256 of the bytes the command wrote.
    pub output_digest: String,
    /// When it was recorded.
    pub time_created: Millis,
}

/// Records the receipt of a call and emits `receipt.recorded`. A call that has one keeps it.
pub fn record(
    tx: &mut Tx<'_>,
    message: &MessageId,
    cycle: &CycleId,
    receipt: &VerificationReceipt,
) -> Result<(), StoreError> {
    let document = serde_json::to_value(receipt)?;
    let new = tx
        .prepare(
            "INSERT INTO verification_receipts (id, session_id, message_id, call_id, receipt, time_created)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (session_id, message_id, call_id) DO NOTHING",
        )?
        .execute(params![
            receipt.id.as_str(),
            receipt.session_id.as_str(),
            message.as_str(),
            receipt.call_id.as_str(),
            document.to_string(),
            receipt.time_created
        ])?;
    if new > 0 {
        let mut draft = EventDraft::new("receipt.recorded", document);
        draft.turn_id = receipt.turn_id.clone();
        draft.cycle_id = Some(cycle.clone());
        tx.emit(&receipt.session_id, draft)?;
    }
    Ok(())
}

/// A receipt of a session. One that is stored and cannot be read is an error, never absent.
pub fn find(
    connection: &Connection,
    session: &SessionId,
    id: &ReceiptId,
) -> Result<Option<VerificationReceipt>, StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT receipt FROM verification_receipts WHERE id = ?1 AND session_id = ?2")?;
    let document: Option<String> =
        statement.query_row(params![id.as_str(), session.as_str()], |row| row.get(0)).optional()?;
    Ok(document.map(|document| serde_json::from_str(&document)).transpose()?)
}
