//! One transaction as the aggregates see it.

use std::sync::Arc;

use rusqlite::{CachedStatement, Connection};

use super::StoreError;
use super::leases::Owner;
use crate::types::{Clock, Event, EventDraft, EventId, IdSource, Millis, SessionId};

/// A running transaction. What it emits becomes visible when it is committed.
pub struct Tx<'a> {
    connection: &'a Connection,
    owner: &'a Owner,
    clock: &'a dyn Clock,
    ids: &'a dyn IdSource,
    events: &'a mut Vec<Arc<Event>>,
}

impl<'a> Tx<'a> {
    pub(super) fn new(
        connection: &'a Connection,
        owner: &'a Owner,
        clock: &'a dyn Clock,
        ids: &'a dyn IdSource,
        events: &'a mut Vec<Arc<Event>>,
    ) -> Self {
        Self { connection, owner, clock, ids, events }
    }

    /// The connection, for statements of the aggregates.
    pub(crate) fn connection(&self) -> &'a Connection {
        self.connection
    }

    /// A statement that is prepared once per connection.
    pub(crate) fn prepare(&self, sql: &str) -> Result<CachedStatement<'a>, StoreError> {
        Ok(self.connection.prepare_cached(sql)?)
    }

    /// Who writes.
    pub fn owner(&self) -> &'a Owner {
        self.owner
    }

    /// The time.
    pub fn now(&self) -> Millis {
        self.clock.now()
    }

    /// The id source.
    pub fn ids(&self) -> &'a dyn IdSource {
        self.ids
    }

    /// Stores a durable event of a session under its next number.
    pub(crate) fn emit(&mut self, session: &SessionId, draft: EventDraft) -> Result<i64, StoreError> {
        let mut advance =
            self.prepare("UPDATE sessions SET last_seq = last_seq + 1 WHERE id = ?1 RETURNING last_seq, root_id")?;
        let (seq, root): (i64, String) = advance.query_row([session.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let event = Event {
            id: EventId::generate(self.ids),
            kind: draft.kind.to_owned(),
            session_id: session.clone(),
            seq,
            durable: true,
            time: self.now(),
            turn_id: draft.turn_id,
            cycle_id: draft.cycle_id,
            root_session_id: Some(SessionId::from(root)),
            data: draft.data,
        };
        super::events::insert(self, &event)?;
        self.events.push(Arc::new(event));
        Ok(seq)
    }
}
