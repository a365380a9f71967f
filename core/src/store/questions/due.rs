//! The clock of optional questions: stored deadlines, applied under the same revision rules as commands.

use rusqlite::{Connection, params};

use super::record::{AutoDeferState, Question};
use super::{respond, rows};
use crate::store::{StoreError, Tx};
use crate::types::{Error, Millis, QuestionId, SessionId};

/// A question whose clock runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Countdown {
    /// Its session.
    pub session_id: SessionId,
    /// The question.
    pub request_id: QuestionId,
    /// From when on a countdown is shown.
    pub countdown_at: Millis,
    /// When it defers itself.
    pub deadline_at: Millis,
}

/// The questions whose clock runs, the next deadline first.
pub fn armed(connection: &Connection) -> Result<Vec<Countdown>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT session_id, id, countdown_at, deadline_at FROM questions
         WHERE state = 'pending' AND auto_defer = 'armed' ORDER BY deadline_at",
    )?;
    let rows = statement.query_map([], |row| {
        Ok(Countdown {
            session_id: row.get::<_, String>(0)?.into(),
            request_id: row.get::<_, String>(1)?.into(),
            countdown_at: row.get(2)?,
            deadline_at: row.get(3)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The next deadline, if a clock runs.
pub fn next_deadline(connection: &Connection) -> Result<Option<Millis>, StoreError> {
    let mut statement = connection
        .prepare_cached("SELECT min(deadline_at) FROM questions WHERE state = 'pending' AND auto_defer = 'armed'")?;
    Ok(statement.query_row([], |row| row.get(0))?)
}

/// Defers every optional question whose deadline has passed: no answer, no choice, no input. Doing it again, or after
/// a command got there first, changes nothing.
///
/// # Errors
/// The store's own failure.
pub fn apply_due(tx: &mut Tx<'_>, now: Millis) -> Result<Vec<Question>, Error> {
    let mut deferred = Vec::new();
    for id in due(tx, now)? {
        let mut question = rows::get(tx.connection(), &id)?;
        let expected = question.revision;
        if let Some(clock) = question.auto_defer.as_mut() {
            clock.state = AutoDeferState::Deferred;
        }
        question.revision += 1;
        question.time_updated = tx.now();
        if rows::swap(tx, &question, expected)? {
            tx.emit(&question.origin.session_id, respond::updated(&question, "auto_defer")?)?;
            deferred.push(question);
        }
    }
    Ok(deferred)
}

fn due(tx: &Tx<'_>, now: Millis) -> Result<Vec<QuestionId>, StoreError> {
    let mut statement = tx.prepare(
        "SELECT id FROM questions WHERE state = 'pending' AND auto_defer = 'armed' AND deadline_at <= ?1
         ORDER BY deadline_at, ordinal",
    )?;
    let rows = statement.query_map(params![now], |row| row.get::<_, String>(0))?;
    Ok(rows.map(|row| row.map(QuestionId::from)).collect::<Result<_, _>>()?)
}
