//! Publishing a question.

use rusqlite::OptionalExtension;
use serde_json::json;

use super::record::{
    AutoDefer, AutoDeferState, Delivery, NewItem, Origin, Purpose, Question, QuestionMode, QuestionState,
};
use super::{rows, rules};
use crate::store::calls::CallKey;
use crate::store::sessions::{self, SessionState};
use crate::store::{StoreError, Tx};
use crate::text::fingerprint::json_digest;
use crate::types::{CycleId, Error, EventDraft, Millis, QuestionId};

/// An optional question shows no clock for this long.
const GRACE: Millis = 60_000;
/// And then counts down for this long.
const COUNTDOWN: Millis = 60_000;

/// A clarification to publish.
#[derive(Clone, Debug)]
pub struct Publication {
    /// Where it comes from. Message and call together are its identity: publishing again is publishing once.
    pub origin: Origin,
    /// The work cycle of the call.
    pub cycle_id: Option<CycleId>,
    /// Whether a call waits.
    pub mode: QuestionMode,
    /// The items.
    pub questions: Vec<NewItem>,
    /// Only labels are accepted as answers.
    pub closed: bool,
}

/// Publishes a clarification. The same call with equal items gets the question that exists.
///
/// # Errors
/// `arguments.invalid` for items that cannot be published, or for a call that published others; `not_found.object`
/// and `closed.object` for the session.
pub fn publish(tx: &mut Tx<'_>, publication: Publication) -> Result<Question, Error> {
    rules::check_items(&publication.questions, publication.closed)
        .map_err(|fault| Error::arguments(fault.message).with("field", fault.field))?;
    let digest = json_digest(&json!({
        "purpose": Purpose::Clarification, "questions": publication.questions, "closed": publication.closed,
    }));
    if let Some(known) = published(tx, &publication.origin, &digest)? {
        return Ok(known);
    }
    let session = &publication.origin.session_id;
    let setup =
        sessions::get(tx.connection(), session)?.ok_or_else(|| Error::not_found("session", session.as_str()))?;
    if setup.record.state != SessionState::Active {
        let message = format!("The session {session} is closed or archived. Open it before asking in it.");
        return Err(Error::new("closed.object", message).with("id", session.as_str()));
    }
    let now = tx.now();
    let question = Question {
        id: QuestionId::generate(tx.ids()),
        origin: publication.origin,
        revision: 1,
        mode: publication.mode,
        purpose: Purpose::Clarification,
        state: QuestionState::Pending,
        questions: rules::number(publication.questions, publication.closed),
        answers: Default::default(),
        draft_answers: Default::default(),
        auto_defer: (publication.mode == QuestionMode::Deferred).then(|| armed_at(now)),
        goal_revision: None,
        plan: None,
        decision: None,
        authorization: None,
        delivery: Delivery::default(),
        time_created: now,
        time_updated: now,
    };
    rows::insert(tx, &question, publication.cycle_id.as_ref(), &digest)?;
    let mut draft = EventDraft::new("question.opened", serde_json::to_value(&question).map_err(StoreError::from)?);
    draft.turn_id = question.origin.turn_id.clone();
    draft.cycle_id = publication.cycle_id;
    tx.emit(&question.origin.session_id, draft)?;
    Ok(question)
}

fn armed_at(now: Millis) -> AutoDefer {
    let countdown_at = now + GRACE;
    AutoDefer { deadline_at: countdown_at + COUNTDOWN, countdown_at, state: AutoDeferState::Armed }
}

fn published(tx: &Tx<'_>, origin: &Origin, digest: &str) -> Result<Option<Question>, Error> {
    let (Some(message), Some(call)) = (&origin.message_id, &origin.call_id) else { return Ok(None) };
    let key = CallKey { session_id: origin.session_id.clone(), message_id: message.clone(), call_id: call.clone() };
    let Some(known) = rows::of_call(tx.connection(), &key)? else { return Ok(None) };
    let stored: Option<String> = tx
        .prepare("SELECT content_digest FROM questions WHERE id = ?1")?
        .query_row([known.id.as_str()], |row| row.get(0))
        .optional()
        .map_err(StoreError::from)?;
    if stored.as_deref() == Some(digest) {
        return Ok(Some(known));
    }
    let message = format!("The call {call} published the question {} with other items. Use a new call.", known.id);
    Err(Error::arguments(message).with("id", known.id.as_str()))
}
