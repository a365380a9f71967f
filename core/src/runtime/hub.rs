//! The event hub: committed and live events to subscribers that may be slow. The runtime never waits for a reader.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::store::{EventSink, Store, StoreError, events};
use crate::types::{Clock, Error, Event, EventId, IdSource, SessionId};

/// Bytes of events that may wait for one subscriber.
const BYTES: usize = 8 << 20;

/// Where the events of a subscription go.
pub trait Outlet: Send + Sync {
    /// Takes an event. Called while the hub is locked: never blocks and never calls back.
    fn deliver(&self, subscription: u64, event: Arc<Event>, bytes: usize);
    /// Follows deliveries, without any lock held: the reader may be told.
    fn wake(&self) {}
}

/// What a subscription wants to see.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// One session.
    pub session: Option<SessionId>,
    /// A tree of sessions.
    pub root: Option<SessionId>,
    /// Only these types; empty = all.
    pub types: Vec<String>,
    /// Live events too.
    pub live: bool,
}

impl Filter {
    fn covers(&self, session: &SessionId, root: Option<&SessionId>) -> bool {
        self.session.as_ref().is_none_or(|wanted| wanted == session)
            && self.root.as_ref().is_none_or(|wanted| root == Some(wanted))
    }

    /// Whether the filter names this session or its tree, instead of taking whatever the runtime drives.
    fn names(&self, session: &SessionId, root: &SessionId) -> bool {
        (self.session.is_some() || self.root.is_some()) && self.covers(session, Some(root))
    }

    fn wants(&self, event: &Event) -> bool {
        (event.durable || self.live)
            && (self.types.is_empty() || self.types.contains(&event.kind) || event.kind == "stream.lagged")
    }
}

struct Subscription {
    filter: Filter,
    outlet: Arc<dyn Outlet>,
    limit: usize,
    // Events that the outlet holds and nobody has read.
    waiting: usize,
    waiting_bytes: usize,
    // The number up to which each session has been delivered.
    cursors: HashMap<SessionId, i64>,
    lagging: Option<Lag>,
}

/// What a subscription that is behind has missed. Durable events wait in the store; live ones are only counted.
#[derive(Default)]
struct Lag {
    dropped: u64,
    // Where the first of them was dropped.
    session: Option<SessionId>,
}

#[derive(Default)]
struct State {
    heads: HashMap<SessionId, (i64, Option<SessionId>)>,
    subscriptions: HashMap<u64, Subscription>,
}

/// The hub of one runtime.
pub struct Hub {
    state: Mutex<State>,
    next: AtomicU64,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
}

impl EventSink for Hub {
    fn committed(&self, events: Vec<Arc<Event>>) {
        let mut state = self.lock();
        for event in events {
            state.raise_head(&event.session_id, event.seq, event.root_session_id.clone());
            for (id, subscription) in &mut state.subscriptions {
                subscription.offer(*id, &event);
            }
        }
        let outlets = state.outlets();
        drop(state);
        wake(&outlets);
    }
}

impl State {
    fn raise_head(&mut self, session: &SessionId, seq: i64, root: Option<SessionId>) {
        let head = self.heads.entry(session.clone()).or_insert((seq, root));
        head.0 = head.0.max(seq);
    }

    fn outlets(&self) -> Vec<Arc<dyn Outlet>> {
        self.subscriptions.values().map(|subscription| Arc::clone(&subscription.outlet)).collect()
    }
}

fn wake(outlets: &[Arc<dyn Outlet>]) {
    outlets.iter().for_each(|outlet| outlet.wake());
}

impl Hub {
    /// A hub without subscribers.
    pub fn new(clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>) -> Self {
        Self { state: Mutex::new(State::default()), next: AtomicU64::new(1), clock, ids }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends an event that is not stored.
    pub fn live(&self, session: &SessionId, kind: &str, data: Value) {
        let mut state = self.lock();
        if state.subscriptions.values().all(|subscription| !subscription.filter.live) {
            return;
        }
        let (seq, root) = state.heads.get(session).cloned().unwrap_or((0, None));
        let event = Arc::new(self.unstored(session.clone(), root, seq, kind, data));
        for (id, subscription) in &mut state.subscriptions {
            subscription.offer(*id, &event);
        }
        let outlets = state.outlets();
        drop(state);
        wake(&outlets);
    }

    fn unstored(&self, session: SessionId, root: Option<SessionId>, seq: i64, kind: &str, data: Value) -> Event {
        Event {
            id: EventId::generate(self.ids.as_ref()),
            kind: kind.to_owned(),
            session_id: session,
            seq,
            durable: false,
            time: self.clock.now(),
            turn_id: None,
            cycle_id: None,
            root_session_id: root,
            data,
        }
    }

    /// Adds a subscriber. With `after` it first gets the stored events with a higher number, then live ones, without
    /// gap and without repetition.
    ///
    /// # Errors
    /// `not_found.object` for an unknown session, `arguments.invalid` for a number beyond the end.
    pub fn subscribe(
        &self,
        store: &Store,
        filter: Filter,
        after: Option<i64>,
        limit: usize,
        outlet: Arc<dyn Outlet>,
    ) -> Result<u64, Error> {
        let head = match filter.session.as_ref().or(filter.root.as_ref()) {
            Some(session) => Some(stored_head(store, session)?),
            None => None,
        };
        match (&filter.session, after, &head) {
            (None, Some(_), _) => {
                return Err(Error::arguments("`after` needs `sessionId`: numbers count per session."));
            }
            (_, Some(after), Some((last, _))) if after < 0 || after > *last => {
                let text = format!("`after` has to be between 0 and {last}, the last event of this session.");
                return Err(Error::arguments(text).with("last", *last));
            }
            _ => {}
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut state = self.lock();
        // A session of another time or process has no head here yet.
        if let (Some(session), Some((last, root))) = (&filter.session, head) {
            state.raise_head(session, last, Some(root));
        }
        let now = state.heads.iter().map(|(session, (seq, _))| (session.clone(), *seq)).collect();
        let cursors = match (filter.session.clone(), after) {
            (Some(session), Some(after)) => HashMap::from([(session, after)]),
            _ => now,
        };
        let subscription = Subscription {
            filter,
            outlet,
            limit: limit.max(1),
            waiting: 0,
            waiting_bytes: 0,
            cursors,
            // Whoever starts in the past catches up first.
            lagging: after.map(|_| Lag::default()),
        };
        state.subscriptions.insert(id, subscription);
        drop(state);
        self.catch_up(store, id);
        Ok(id)
    }

    /// Removes a subscriber; says whether it was there.
    pub fn unsubscribe(&self, id: u64) -> bool {
        self.lock().subscriptions.remove(&id).is_some()
    }

    /// The outlet gave an event to its reader. Answers whether the subscription has room again and something to catch
    /// up with; then [`Hub::catch_up`] has to be called, from a thread that may read the store.
    pub fn taken(&self, id: u64, bytes: usize) -> bool {
        let mut state = self.lock();
        let Some(subscription) = state.subscriptions.get_mut(&id) else { return false };
        subscription.waiting = subscription.waiting.saturating_sub(1);
        subscription.waiting_bytes = subscription.waiting_bytes.saturating_sub(bytes);
        subscription.lagging.is_some() && subscription.waiting == 0
    }

    /// Brings a lagging subscription up to date from the store, as far as there is room.
    pub fn catch_up(&self, store: &Store, id: u64) {
        if let Some(outlet) = self.fill(store, id) {
            outlet.wake();
        }
    }

    /// The sessions and roots that subscribers name.
    pub fn followed(&self) -> Vec<SessionId> {
        let state = self.lock();
        let filters = state.subscriptions.values().map(|subscription| &subscription.filter);
        let mut named: Vec<_> = filters.filter_map(|filter| filter.session.as_ref().or(filter.root.as_ref())).collect();
        named.sort_unstable();
        named.dedup();
        named.into_iter().cloned().collect()
    }

    /// The store holds events of a session up to a number; another process may have written them. From a thread that
    /// may read the store.
    pub fn observed(&self, store: &Store, session: &SessionId, seq: i64, root: &SessionId) {
        let mut state = self.lock();
        state.raise_head(session, seq, Some(root.clone()));
        let mut behind = Vec::new();
        for (id, subscription) in &mut state.subscriptions {
            // Children of a followed root begin with their first event.
            let cursor = subscription.cursors.get(session).copied().unwrap_or(0);
            if cursor < seq && subscription.filter.names(session, root) {
                subscription.cursors.insert(session.clone(), cursor);
                subscription.lagging.get_or_insert_default();
                behind.push(*id);
            }
        }
        drop(state);
        behind.into_iter().for_each(|id| self.catch_up(store, id));
    }

    fn fill(&self, store: &Store, id: u64) -> Option<Arc<dyn Outlet>> {
        let outlet = Arc::clone(&self.lock().subscriptions.get(&id)?.outlet);
        self.announce_lag(id);
        while let Some((session, after, head)) = self.next_gap(id) {
            let asked = session.clone();
            let page = store.read::<_, StoreError>(move |connection| events::page(connection, &asked, after, 256));
            // The runtime is closing, or the store is broken and everybody is told by their own operation.
            let Ok(page) = page else { break };
            if page.is_empty() {
                // The session was deleted with its events: there is nothing left to wait for.
                self.skip(id, &session, head);
            } else if !self.refill(id, page) {
                break;
            }
        }
        Some(outlet)
    }

    /// Says what was dropped, at the place where it was.
    fn announce_lag(&self, id: u64) {
        let mut state = self.lock();
        let Some(subscription) = state.subscriptions.get_mut(&id) else { return };
        self.tell_dropped(id, subscription);
    }

    fn tell_dropped(&self, id: u64, subscription: &mut Subscription) {
        let Some(lag) = subscription.lagging.as_mut().filter(|lag| lag.dropped > 0) else { return };
        let Lag { dropped, session: Some(session) } = std::mem::take(lag) else { return };
        let cursor = subscription.cursors.get(&session).copied().unwrap_or(0);
        let data = json!({ "dropped": dropped, "resumeAfter": cursor });
        let event = self.unstored(session, subscription.filter.root.clone(), cursor, "stream.lagged", data);
        subscription.push(id, Arc::new(event));
    }

    /// The next session with stored events that were not delivered: from where, and up to where at least. Ends the lag
    /// when there is none.
    fn next_gap(&self, id: u64) -> Option<(SessionId, i64, i64)> {
        let mut state = self.lock();
        let State { subscriptions, heads } = &mut *state;
        let subscription = subscriptions.get_mut(&id)?;
        subscription.lagging.as_ref()?;
        for (session, (head, root)) in heads.iter() {
            let cursor = subscription.cursors.get(session).copied().unwrap_or(*head);
            if cursor < *head && subscription.filter.covers(session, root.as_ref()) {
                return Some((session.clone(), cursor, *head));
            }
        }
        self.tell_dropped(id, subscription);
        subscription.lagging = None;
        None
    }

    fn skip(&self, id: u64, session: &SessionId, head: i64) {
        if let Some(subscription) = self.lock().subscriptions.get_mut(&id) {
            subscription.advance(session, head);
        }
    }

    /// Delivers stored events; answers whether there is room for more.
    fn refill(&self, id: u64, page: Vec<Event>) -> bool {
        let mut state = self.lock();
        for event in page {
            state.raise_head(&event.session_id, event.seq, event.root_session_id.clone());
            let Some(subscription) = state.subscriptions.get_mut(&id) else { return false };
            if !subscription.has_room() {
                return false;
            }
            if subscription.advance(&event.session_id, event.seq) && subscription.filter.wants(&event) {
                subscription.push(id, Arc::new(event));
            }
        }
        true
    }
}

fn stored_head(store: &Store, session: &SessionId) -> Result<(i64, SessionId), Error> {
    let asked = session.clone();
    let found = store.read::<_, StoreError>(move |connection| events::head(connection, &asked))?;
    found.ok_or_else(|| Error::not_found("session", session.as_str()))
}

impl Subscription {
    fn has_room(&self) -> bool {
        self.waiting < self.limit && self.waiting_bytes < BYTES
    }

    /// Moves the cursor of a session forward; false when it has been there. An event comes by twice when the store
    /// shows it before its commit has been told here.
    fn advance(&mut self, session: &SessionId, seq: i64) -> bool {
        let cursor = self.cursors.entry(session.clone()).or_insert(seq - 1);
        let forward = seq > *cursor;
        *cursor = (*cursor).max(seq);
        forward
    }

    fn offer(&mut self, id: u64, event: &Arc<Event>) {
        if !self.filter.covers(&event.session_id, event.root_session_id.as_ref()) {
            return;
        }
        let wanted = self.filter.wants(event);
        let room = self.lagging.is_none() && (self.has_room() || !wanted);
        if event.durable {
            // A session that is new to this subscription begins with this event, also when it has to wait.
            self.cursors.entry(event.session_id.clone()).or_insert(event.seq - 1);
            if room && !self.advance(&event.session_id, event.seq) {
                return;
            }
        }
        if room {
            if wanted {
                self.push(id, Arc::clone(event));
            }
            return;
        }
        let lag = self.lagging.get_or_insert_default();
        if wanted && !event.durable {
            lag.dropped += 1;
            lag.session.get_or_insert_with(|| event.session_id.clone());
        }
    }

    fn push(&mut self, id: u64, event: Arc<Event>) {
        let bytes = 256 + weight(&event.data);
        self.waiting += 1;
        self.waiting_bytes += bytes;
        self.outlet.deliver(id, event, bytes);
    }
}

/// About how much memory a document takes.
fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 24,
        Value::Array(items) => items.iter().map(weight).sum::<usize>() + 24,
        Value::Object(map) => map.iter().map(|(key, value)| key.len() + weight(value)).sum::<usize>() + 24,
        _ => 16,
    }
}
