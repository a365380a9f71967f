//! Reading and writing question rows.

use rusqlite::{Connection, OptionalExtension, Row, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::record::{
    AutoDefer, AutoDeferState, Delivery, DeliveryPhase, Origin, Purpose, Question, QuestionMode, QuestionState,
};
use crate::store::calls::{CallKey, document, parse_word, word};
use crate::store::inbox::{self, InputState};
use crate::store::{StoreError, Tx};
use crate::types::{CallId, CycleId, Error, MessageId, Millis, QuestionId, SessionId, TurnId};

const COLUMNS: &str = "id, session_id, message_id, call_id, turn_id, goal_id, revision, mode, purpose, state, questions, \
    answers, draft_answers, auto_defer, countdown_at, deadline_at, goal_revision, plan, decision, authorization, \
    time_created, time_updated";

/// One question.
///
/// # Errors
/// `not_found.object`, or the store's own failure.
pub fn get(connection: &Connection, id: &QuestionId) -> Result<Question, Error> {
    find(connection, "id = ?1", &[id.as_str()])?.ok_or_else(|| Error::not_found("question", id.as_str()))
}

/// The question a call published, if it did.
pub fn of_call(connection: &Connection, call: &CallKey) -> Result<Option<Question>, StoreError> {
    let key = [call.session_id.as_str(), call.message_id.as_str(), call.call_id.as_str()];
    find(connection, "session_id = ?1 AND message_id = ?2 AND call_id = ?3 AND call_id <> ''", &key)
}

/// Questions of one session or of all, in order of creation, in one state.
pub fn list(
    connection: &Connection,
    session: Option<&SessionId>,
    state: QuestionState,
) -> Result<Vec<Question>, StoreError> {
    let sql =
        format!("SELECT {COLUMNS} FROM questions WHERE (?1 = '' OR session_id = ?1) AND state = ?2 ORDER BY ordinal");
    let mut statement = connection.prepare_cached(&sql)?;
    let session = session.map_or("", SessionId::as_str);
    let rows = statement.query_map([session, word(&state)?.as_str()], |row| Ok(from_row(row)))?;
    rows.map(|row| with_delivery(connection, row??)).collect()
}

/// The revision of a question; `None` when there is no such question.
pub fn revision(connection: &Connection, id: &QuestionId) -> Result<Option<i64>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT revision FROM questions WHERE id = ?1")?;
    Ok(statement.query_row([id.as_str()], |row| row.get(0)).optional()?)
}

/// One thing that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Waiting {
    /// `question`, `required_input`, `plan_approval` or `goal_resume`.
    pub kind: String,
    /// The request.
    pub id: QuestionId,
    /// Its session.
    pub session_id: SessionId,
    /// When it was published.
    pub since: Millis,
}

/// Every open question, oldest first, for the one list of everything that waits for a person.
pub fn pending(connection: &Connection) -> Result<Vec<Waiting>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT purpose, id, session_id, time_created FROM questions WHERE state = 'pending'
         ORDER BY time_created, ordinal",
    )?;
    let rows = statement
        .query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get(2)?, row.get(3)?)))?;
    rows.map(|row| {
        let (purpose, id, session, since): (String, String, String, Millis) = row?;
        let kind = match parse_word::<Purpose>(purpose)? {
            Purpose::Clarification => "question",
            Purpose::RequiredInput => "required_input",
            Purpose::PlanAuthorization => "plan_approval",
            Purpose::GoalResume => "goal_resume",
        };
        Ok(Waiting { kind: kind.to_owned(), id: id.into(), session_id: session.into(), since })
    })
    .collect()
}

fn find(connection: &Connection, condition: &str, values: &[&str]) -> Result<Option<Question>, StoreError> {
    let mut statement = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM questions WHERE {condition}"))?;
    let found = statement.query_row(rusqlite::params_from_iter(values), |row| Ok(from_row(row))).optional()?;
    found.map(|question| with_delivery(connection, question?)).transpose()
}

/// The same question with what the inbox says about its answers.
pub(super) fn with_delivery(connection: &Connection, question: Question) -> Result<Question, StoreError> {
    let inputs = inbox::caused_by(connection, &question.origin.session_id, &source(&question.id))?;
    let mut delivery = Delivery::default();
    for (id, state, time) in inputs {
        match state {
            InputState::Consumed => {
                delivery.applied_inputs += 1;
                delivery.applied_at = delivery.applied_at.max(Some(time));
            }
            InputState::Admitting | InputState::Queued | InputState::Steering | InputState::Promoted => {
                delivery.pending_inputs += 1;
            }
            InputState::Cancelled | InputState::Failed | InputState::Superseded => {}
        }
        delivery.last_input_id = Some(id);
        delivery.last_input_state = Some(state);
    }
    delivery.phase = match (delivery.pending_inputs, delivery.applied_inputs) {
        (0, 0) => DeliveryPhase::WaitingAnswer,
        (0, _) => DeliveryPhase::Applied,
        _ => DeliveryPhase::AnsweredPendingDelivery,
    };
    Ok(Question { delivery, ..question })
}

/// What the source keys of a question's inputs start with.
pub(super) fn source(id: &QuestionId) -> String {
    format!("question:{id}")
}

/// The work cycle of the call that asked.
pub(super) fn cycle(tx: &Tx<'_>, id: &QuestionId) -> Result<Option<CycleId>, StoreError> {
    let cycle: String =
        tx.prepare("SELECT cycle_id FROM questions WHERE id = ?1")?.query_row([id.as_str()], |row| row.get(0))?;
    Ok((!cycle.is_empty()).then(|| CycleId::from(cycle)))
}

pub(super) fn insert(
    tx: &Tx<'_>,
    question: &Question,
    cycle: Option<&CycleId>,
    digest: &str,
) -> Result<(), StoreError> {
    let origin = &question.origin;
    let clock = question.auto_defer.as_ref();
    tx.prepare(
        "INSERT INTO questions (id, session_id, message_id, call_id, turn_id, cycle_id, goal_id, revision, mode, purpose,
             state, content_digest, questions, auto_defer, countdown_at, deadline_at, time_created, time_updated)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
    )?
    .execute(params![
        question.id.as_str(),
        origin.session_id.as_str(),
        origin.message_id.as_ref().map_or("", MessageId::as_str),
        origin.call_id.as_ref().map_or("", CallId::as_str),
        origin.turn_id.as_ref().map_or("", TurnId::as_str),
        cycle.map_or("", CycleId::as_str),
        origin.goal_id.as_deref().unwrap_or_default(),
        question.revision,
        word(&question.mode)?,
        word(&question.purpose)?,
        word(&question.state)?,
        digest,
        serde_json::to_string(&question.questions)?,
        clock.map(|clock| word(&clock.state)).transpose()?.unwrap_or_default(),
        clock.map_or(0, |clock| clock.countdown_at),
        clock.map_or(0, |clock| clock.deadline_at),
        question.time_created,
        question.time_updated,
    ])?;
    Ok(())
}

/// Writes what commands and timers may change, if the revision is still the one that was read.
pub(super) fn swap(tx: &Tx<'_>, question: &Question, expected: i64) -> Result<bool, StoreError> {
    let changed = tx
        .prepare(
            "UPDATE questions SET revision = ?3, mode = ?4, state = ?5, answers = ?6, draft_answers = ?7,
                 auto_defer = ?8, time_updated = ?9
             WHERE id = ?1 AND revision = ?2 AND state = 'pending'",
        )?
        .execute(params![
            question.id.as_str(),
            expected,
            question.revision,
            word(&question.mode)?,
            word(&question.state)?,
            serde_json::to_string(&question.answers)?,
            serde_json::to_string(&question.draft_answers)?,
            question.auto_defer.as_ref().map(|clock| word(&clock.state)).transpose()?.unwrap_or_default(),
            question.time_updated,
        ])?;
    Ok(changed > 0)
}

fn from_row(row: &Row<'_>) -> Result<Question, StoreError> {
    let text = |index: usize| row.get::<_, String>(index);
    let optional = |index: usize| -> Result<Option<String>, StoreError> {
        let value = text(index)?;
        Ok((!value.is_empty()).then_some(value))
    };
    let auto_defer = match optional(13)? {
        Some(state) => Some(AutoDefer {
            deadline_at: row.get(15)?,
            countdown_at: row.get(14)?,
            state: parse_word::<AutoDeferState>(state)?,
        }),
        None => None,
    };
    let goal_revision: i64 = row.get(16)?;
    Ok(Question {
        id: text(0)?.into(),
        origin: Origin {
            session_id: text(1)?.into(),
            message_id: optional(2)?.map(MessageId::from),
            call_id: optional(3)?.map(CallId::from),
            turn_id: optional(4)?.map(TurnId::from),
            goal_id: optional(5)?,
        },
        revision: row.get(6)?,
        mode: parse_word::<QuestionMode>(text(7)?)?,
        purpose: parse_word::<Purpose>(text(8)?)?,
        state: parse_word::<QuestionState>(text(9)?)?,
        questions: serde_json::from_str(&text(10)?)?,
        answers: serde_json::from_str(&text(11)?)?,
        draft_answers: serde_json::from_str(&text(12)?)?,
        auto_defer,
        goal_revision: (goal_revision != 0).then_some(goal_revision),
        plan: document(&text(17)?)?,
        decision: optional(18)?.map(parse_word).transpose()?,
        authorization: optional(19)?.map(parse_word).transpose()?,
        delivery: Delivery::default(),
        time_created: row.get(20)?,
        time_updated: row.get(21)?,
    })
}
