//! The question port: one store and one set of operations for every surface.
//!
//! Each operation works without the others. What is asked and answered is in the store; the port adds only the
//! waiting and the clock.

mod result;
pub mod timer;

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::store::questions::{
    self, Command, CommandReceipt, Countdown, NewItem, Origin, Publication, Purpose, Question, QuestionMode,
    QuestionState, Waiting,
};
use crate::store::{Durability, Store, StoreError, leases};
use crate::types::{Clock, Error, Millis, QuestionId, Result, SessionId};

pub use result::{released, status};

/// How often a wait looks for changes that other processes made.
const LOOK: Duration = Duration::from_millis(100);

/// `question.publish`
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PublishParams {
    /// The session the question belongs to.
    pub session_id: SessionId,
    /// Whether something waits for the first response; only deferred questions defer themselves.
    pub mode: QuestionMode,
    /// `clarification`: the other purposes belong to their own controls.
    pub purpose: Purpose,
    /// 1 to 8 items.
    pub questions: Vec<NewItem>,
    /// Only labels are accepted as answers.
    #[serde(default)]
    pub closed: bool,
}

/// What a wait ended with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Waited {
    /// The question now.
    pub question: Question,
    /// Its revision is past the one that was waited on; false when time ran out, or nothing can follow.
    pub changed: bool,
}

/// The operations on questions. Clones share it.
#[derive(Clone)]
pub struct QuestionPort {
    store: Store,
    clock: Arc<dyn Clock>,
    // Counts the changes this process made; every waiter looks again when it moves.
    changes: Arc<watch::Sender<u64>>,
}

impl QuestionPort {
    /// The port of a store.
    pub fn new(store: Store, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock, changes: Arc::new(watch::Sender::new(0)) }
    }

    /// Publishes a clarification of the host; durable before it returns, waits for nothing.
    ///
    /// # Errors
    /// `busy.session` without the session's lease, `arguments.invalid`, `not_found.object`, `closed.object`.
    pub async fn publish(&self, params: PublishParams) -> Result<Question> {
        if params.purpose != Purpose::Clarification {
            let message = "Only clarifications are published here; the other purposes have their own controls.";
            return Err(Error::arguments(message).with("field", "purpose"));
        }
        let origin =
            Origin { session_id: params.session_id, message_id: None, call_id: None, turn_id: None, goal_id: None };
        let (mode, closed) = (params.mode, params.closed);
        self.publish_from(Publication { origin, cycle_id: None, mode, questions: params.questions, closed }).await
    }

    /// Publishes a clarification of a call; the same call with equal items gets the question that exists.
    ///
    /// # Errors
    /// As [`QuestionPort::publish`].
    pub async fn publish_from(&self, publication: Publication) -> Result<Question> {
        let owner = self.store.owner().clone();
        let session = publication.origin.session_id.clone();
        let published = self
            .store
            .write(Durability::Full, move |tx| {
                // An unknown session is told apart from one that another runtime owns.
                crate::store::sessions::get(tx.connection(), &session)?
                    .ok_or_else(|| Error::not_found("session", session.as_str()))?;
                leases::fence(tx, &session, &owner)?;
                questions::publish(tx, publication)
            })
            .await?;
        self.changed();
        Ok(published)
    }

    /// Questions of one session or of all, in order of creation; pending ones unless another state is named.
    ///
    /// # Errors
    /// The store's own failure.
    pub fn list(&self, session: Option<SessionId>, state: Option<QuestionState>) -> Result<Vec<Question>> {
        let state = state.unwrap_or(QuestionState::Pending);
        self.store.read(move |connection| Ok(questions::list(connection, session.as_ref(), state)?))
    }

    /// One question.
    ///
    /// # Errors
    /// `not_found.object`.
    pub fn get(&self, id: &QuestionId) -> Result<Question> {
        let id = id.clone();
        self.store.read(move |connection| questions::get(connection, &id))
    }

    /// Everything that waits for a person here, oldest first.
    ///
    /// # Errors
    /// The store's own failure.
    pub fn pending(&self) -> Result<Vec<Waiting>> {
        self.store.read(|connection| Ok(questions::pending(connection)?))
    }

    /// Carries out one command; the lease of the session is not needed.
    ///
    /// # Errors
    /// As [`questions::respond`].
    pub async fn respond(&self, command: Command) -> Result<CommandReceipt> {
        let receipt = self.store.write(Durability::Full, move |tx| questions::respond(tx, &command)).await?;
        if !receipt.duplicate {
            self.changed();
        }
        Ok(receipt)
    }

    /// Returns at the next change after a revision, when time runs out, or at once when nothing can follow. Dropping
    /// the future ends the wait and changes nothing.
    ///
    /// # Errors
    /// `not_found.object`, also when the question goes away meanwhile.
    pub async fn wait(&self, id: &QuestionId, after: i64, timeout_ms: Option<u64>) -> Result<Waited> {
        let until_change = self.next_change(id, after);
        let Some(timeout) = timeout_ms else { return until_change.await };
        tokio::select! {
            waited = until_change => waited,
            () = self.clock.sleep(timeout) => {
                let question = self.get(id)?;
                Ok(Waited { changed: question.revision > after, question })
            }
        }
    }

    async fn next_change(&self, id: &QuestionId, after: i64) -> Result<Waited> {
        let mut changes = self.changes.subscribe();
        let mut seen = None;
        loop {
            let id_read = id.clone();
            let revision = self.store.read(move |connection| questions::revision(connection, &id_read))?;
            if seen.is_none() || revision != seen {
                let question = self.get(id)?;
                let changed = question.revision > after;
                if changed || question.state != QuestionState::Pending {
                    return Ok(Waited { question, changed });
                }
                seen = Some(question.revision);
            }
            tokio::select! {
                // The sender lives as long as `self`.
                _ = changes.changed() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    /// Defers every optional question whose deadline has passed; the clock of [`timer`] calls it, and so does the
    /// recovery of a session.
    ///
    /// # Errors
    /// The store's own failure.
    pub async fn apply_due(&self, now: Millis) -> Result<Vec<Question>> {
        let deferred = self.store.write(Durability::Ordered, move |tx| questions::apply_due(tx, now)).await?;
        if !deferred.is_empty() {
            self.changed();
        }
        Ok(deferred)
    }

    /// The questions whose clock runs, the next deadline first.
    ///
    /// # Errors
    /// The store's own failure.
    pub fn armed(&self) -> Result<Vec<Countdown>, StoreError> {
        self.store.read(questions::armed)
    }

    /// Says that questions, or the clock, have moved: waits and the timer look again.
    pub fn changed(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    fn subscribe(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}
