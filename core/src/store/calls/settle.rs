//! The stamp and the settlement: the two commits that make "at most once" true.

use rusqlite::{OptionalExtension, params};
use serde_json::{Value, json};

use super::{CallKey, query, word};
use crate::store::{StoreError, Tx, inbox};
use crate::types::{
    Attachment, BlockKind, CallState, Continuation, ErrorKind, EventDraft, InputId, JsonMap, Millis, Outcome, Part,
    ToolError, Uncertainty,
};

/// How a call ended.
#[derive(Clone, Debug, Default)]
pub struct Settlement {
    /// One line for a transcript.
    pub title: String,
    /// What the model reads.
    pub output: String,
    /// Typed facts.
    pub metadata: JsonMap,
    /// Files that accompany the result.
    pub attachments: Vec<Attachment>,
    /// What the engine does next.
    pub continuation: Continuation,
    /// Inbox rows whose content this result is. They leave the queue with it, unless the call did not end well.
    pub claims: Vec<InputId>,
    /// `None` = ok; the outcome follows from the kind.
    pub error: Option<ToolError>,
    /// When the body started.
    pub time_started: Option<Millis>,
}

impl Settlement {
    /// The outcome that is stored.
    pub fn outcome(&self) -> Outcome {
        self.error.as_ref().map_or(Outcome::Ok, ToolError::outcome)
    }

    fn block_kind(&self) -> Option<BlockKind> {
        self.error.as_ref().and_then(|error| error.kind.block_kind())
    }
}

/// Stores arguments that a hook rewrote, with what they classify as.
pub fn rewrite(
    tx: &mut Tx<'_>,
    key: &CallKey,
    arguments: &Value,
    declarations: crate::types::Declarations,
) -> Result<(), StoreError> {
    let [session, message, call] = key.params();
    tx.prepare(
        "UPDATE calls SET effective_arguments = ?4, effect = ?5, replay = ?6, concurrency = ?7
         WHERE session_id = ?1 AND message_id = ?2 AND call_id = ?3 AND state = 'pending'",
    )?
    .execute(params![
        session,
        message,
        call,
        arguments.to_string(),
        word(&declarations.effect)?,
        word(&declarations.replay)?,
        word(&declarations.concurrency)?
    ])?;
    Ok(())
}

/// Stamps a call: from now on its body may have started. Only a pending call can be stamped, so a body can never be
/// started twice.
pub fn stamp(tx: &mut Tx<'_>, key: &CallKey) -> Result<Millis, StoreError> {
    let now = tx.now();
    let [session, message, call] = key.params();
    let row = tx
        .prepare(
            "UPDATE calls SET state = 'dispatched', dispatched_at = ?4
             WHERE session_id = ?1 AND message_id = ?2 AND call_id = ?3 AND state = 'pending'
             RETURNING turn_id, cycle_id, step, tool, effect, replay, concurrency",
        )?
        .query_row(params![session, message, call, now], |row| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, String>(1)?,
                row.get::<_, u32>(2)?,
                row.get::<_, String>(3)?,
                row.get::<_, String>(4)?,
                row.get::<_, String>(5)?,
                row.get::<_, String>(6)?,
            ))
        })
        .optional()?;
    let Some((turn, cycle, step, tool, effect, replay, concurrency)) = row else {
        return Err(StoreError::Record(format!("call {call} is not pending and cannot be dispatched")));
    };
    let data = json!({
        "step": step, "callId": key.call_id, "tool": tool, "effect": effect, "replay": replay,
        "concurrency": concurrency, "dispatchedAt": now,
    });
    let draft = EventDraft::new("tool.dispatch.started", data).in_turn(&turn.into(), &cycle.into());
    tx.emit(&key.session_id, draft)?;
    Ok(now)
}

/// Settles a call. A call that is settled keeps what it has.
pub fn settle(tx: &mut Tx<'_>, key: &CallKey, settlement: &Settlement) -> Result<Part, StoreError> {
    let [session, message, call] = key.params();
    let Some(before) = query::part(tx.connection(), key)? else {
        return Err(StoreError::Record(format!("call {call} is not recorded")));
    };
    if before.state == CallState::Settled {
        return Ok(before);
    }
    let now = tx.now();
    let outcome = settlement.outcome();
    let uncertain = uncertainty(&before, settlement.error.as_ref(), now);
    tx.prepare(
        "UPDATE calls SET state = 'settled', outcome = ?4, block_kind = ?5, title = ?6, output = ?7, metadata = ?8,
             attachments = ?9, error = ?10, uncertain = ?11, continuation = ?12, time_started = ?13, time_completed = ?14
         WHERE session_id = ?1 AND message_id = ?2 AND call_id = ?3",
    )?
    .execute(params![
        session,
        message,
        call,
        word(&outcome)?,
        settlement.block_kind().map(|kind| word(&kind)).transpose()?.unwrap_or_default(),
        settlement.title,
        settlement.output,
        serde_json::to_string(&settlement.metadata)?,
        serde_json::to_string(&settlement.attachments)?,
        settlement.error.as_ref().map(serde_json::to_string).transpose()?.unwrap_or_default(),
        uncertain.as_ref().map(serde_json::to_string).transpose()?.unwrap_or_default(),
        word(&settlement.continuation)?,
        settlement.time_started.unwrap_or(0),
        now,
    ])?;
    let part = Part {
        state: CallState::Settled,
        outcome: Some(outcome),
        block_kind: settlement.block_kind(),
        title: settlement.title.clone(),
        output: settlement.output.clone(),
        metadata: settlement.metadata.clone(),
        attachments: settlement.attachments.clone(),
        error: settlement.error.clone(),
        uncertain,
        continuation: settlement.continuation,
        time_started: settlement.time_started,
        time_completed: Some(now),
        ..before
    };
    announce(tx, &part)?;
    if outcome == Outcome::Ok {
        inbox::consume(tx, &key.session_id, &settlement.claims)?;
    }
    Ok(part)
}

fn uncertainty(part: &Part, error: Option<&ToolError>, now: Millis) -> Option<Uncertainty> {
    match error.map(|error| &error.kind) {
        Some(ErrorKind::Uncertain { applied_paths, cause }) => Some(Uncertainty {
            tool: part.tool.clone(),
            call_id: part.call_id.clone(),
            applied_paths: applied_paths.clone(),
            cause: cause.clone(),
            observed_at: now,
            reconciled_at: None,
        }),
        _ => None,
    }
}

/// Metadata keys that events carry; everything else is in the stored part.
const EVENT_METADATA: &[&str] = &[
    "writtenPaths",
    "outputPaths",
    "withheldOutput",
    "verification",
    "cancellation",
    "protectedPathsRestored",
    "fileDiffs",
    "diff",
    "postWriteWarnings",
    "reportArtifact",
    "conflict",
    "progressFingerprint",
    "contextRefresh",
    "subagent",
    "requestId",
    "effective",
    "afterHookError",
    "readReceipt",
    "exitCode",
    "signal",
];

fn event_metadata(metadata: &JsonMap) -> JsonMap {
    metadata
        .iter()
        .filter(|(key, _)| key.starts_with("sandbox") || EVENT_METADATA.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// The events of a settlement, in their fixed order: the refusal first, the appended result last.
fn announce(tx: &mut Tx<'_>, part: &Part) -> Result<(), StoreError> {
    let turn = (&part.turn_id, &part.cycle_id);
    if let (Some(kind), Some(error)) = (part.block_kind, &part.error) {
        let denial = match &error.kind {
            ErrorKind::Denied { denial } => serde_json::to_value(denial)?,
            _ => Value::Null,
        };
        let data = json!({
            "step": part.step, "callId": part.call_id, "tool": part.tool, "kind": kind, "message": error.message,
            "denial": denial,
        });
        tx.emit(&part.session_id, EventDraft::new("dispatch-blocked", data).in_turn(turn.0, turn.1))?;
    }
    let data = json!({
        "step": part.step, "callId": part.call_id, "tool": part.tool, "title": part.title, "outcome": part.outcome,
        "error": part.error, "metadata": event_metadata(&part.metadata),
    });
    tx.emit(&part.session_id, EventDraft::new("tool.dispatch.completed", data).in_turn(turn.0, turn.1))?;
    let data = json!({
        "step": part.step, "callId": part.call_id, "outcome": part.outcome, "blockKind": part.block_kind,
    });
    tx.emit(&part.session_id, EventDraft::new("tool.result.appended", data).in_turn(turn.0, turn.1))?;
    Ok(())
}
