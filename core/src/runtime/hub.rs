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
    /// Takes an event; never blocks.
    fn deliver(&self, subscription: u64, event: Arc<Event>, bytes: usize);
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
    fn covers(&self, event: &Event) -> bool {
        self.session.as_ref().is_none_or(|session| *session == event.session_id)
            && self.root.as_ref().is_none_or(|root| event.root_session_id.as_ref() == Some(root))
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

/// What a full subscription missed since it was full.
#[derive(Default)]
struct Lag {
    dropped: u64,
    announced: bool,
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
            state.heads.insert(event.session_id.clone(), (event.seq, event.root_session_id.clone()));
            for (id, subscription) in &mut state.subscriptions {
                subscription.offer(*id, &event);
            }
        }
    }
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
        let mut cursors = HashMap::new();
        if let Some(session) = filter.session.clone() {
            let asked = session.clone();
            let last = store
                .read::<_, StoreError>(move |connection| events::last_seq(connection, &asked))?
                .ok_or_else(|| Error::not_found("session", session.as_str()))?;
            if after.is_some_and(|after| after < 0 || after > last) {
                let text = format!("`after` has to be between 0 and {last}, the last event of this session.");
                return Err(Error::arguments(text).with("last", last));
            }
            cursors.insert(session, after.unwrap_or(last));
        } else if after.is_some() {
            return Err(Error::arguments("`after` needs `sessionId`: numbers count per session."));
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut state = self.lock();
        let mut subscription = Subscription {
            filter,
            outlet,
            limit: limit.max(1),
            waiting: 0,
            waiting_bytes: 0,
            cursors,
            // Whoever starts in the past catches up first.
            lagging: after.map(|_| Lag { dropped: 0, announced: true }),
        };
        if after.is_none() {
            for (session, (seq, _)) in &state.heads {
                let cursor = subscription.cursors.entry(session.clone()).or_insert(*seq);
                *cursor = (*cursor).max(*seq);
            }
        }
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
        self.announce_lag(id);
        loop {
            let Some((session, after)) = self.next_gap(id) else { return };
            let asked = session.clone();
            let Ok(page) = store.read::<_, StoreError>(move |connection| events::page(connection, &asked, after, 256))
            else {
                return;
            };
            if page.is_empty() || !self.refill(id, page) {
                return;
            }
        }
    }

    fn announce_lag(&self, id: u64) {
        let mut state = self.lock();
        let State { subscriptions, heads } = &mut *state;
        let Some(subscription) = subscriptions.get_mut(&id) else { return };
        let Some(lag) = subscription.lagging.as_mut().filter(|lag| !lag.announced) else { return };
        lag.announced = true;
        let dropped = std::mem::take(&mut lag.dropped);
        if dropped == 0 {
            return;
        }
        let session = subscription.filter.session.clone().or_else(|| heads.keys().next().cloned());
        let Some(session) = session else { return };
        let cursor = subscription.cursors.get(&session).copied().unwrap_or(0);
        let data = json!({ "dropped": dropped, "resumeAfter": cursor });
        let event = self.unstored(session, subscription.filter.root.clone(), cursor, "stream.lagged", data);
        subscription.push(id, Arc::new(event));
    }

    /// The next session with stored events that were not delivered; ends the lag when there is none.
    fn next_gap(&self, id: u64) -> Option<(SessionId, i64)> {
        let mut state = self.lock();
        let State { subscriptions, heads } = &mut *state;
        let subscription = subscriptions.get_mut(&id)?;
        subscription.lagging.as_ref()?;
        let filter = &subscription.filter;
        for (session, (head, root)) in heads.iter() {
            let covered = filter.session.as_ref().is_none_or(|wanted| wanted == session)
                && filter.root.as_ref().is_none_or(|wanted| root.as_ref() == Some(wanted));
            let cursor = subscription.cursors.get(session).copied().unwrap_or(0);
            if covered && cursor < *head {
                return Some((session.clone(), cursor));
            }
        }
        // A session of another time has no head in this runtime yet: the store is asked until it has no more.
        match &filter.session {
            Some(session) if !heads.contains_key(session) => {
                let cursor = subscription.cursors.get(session).copied().unwrap_or(0);
                Some((session.clone(), cursor)).filter(|_| subscription.probe())
            }
            _ => {
                subscription.lagging = None;
                None
            }
        }
    }

    /// Delivers stored events; answers whether there is room for more.
    fn refill(&self, id: u64, page: Vec<Event>) -> bool {
        let mut state = self.lock();
        let State { subscriptions, heads } = &mut *state;
        let Some(subscription) = subscriptions.get_mut(&id) else { return false };
        for event in page {
            let head = heads.entry(event.session_id.clone()).or_insert((event.seq, event.root_session_id.clone()));
            head.0 = head.0.max(event.seq);
            if !subscription.has_room() {
                return false;
            }
            let cursor = subscription.cursors.entry(event.session_id.clone()).or_insert(0);
            if event.seq <= *cursor {
                continue;
            }
            *cursor = event.seq;
            if subscription.filter.wants(&event) {
                subscription.push(id, Arc::new(event));
            }
        }
        true
    }
}

impl Subscription {
    fn has_room(&self) -> bool {
        self.waiting < self.limit && self.waiting_bytes < BYTES
    }

    fn probe(&mut self) -> bool {
        // One look is enough: what is committed from now on arrives through the hub.
        self.lagging.take().is_some()
    }

    fn offer(&mut self, id: u64, event: &Arc<Event>) {
        if !self.filter.covers(event) {
            return;
        }
        let wanted = self.filter.wants(event);
        match &mut self.lagging {
            None if self.waiting < self.limit && self.waiting_bytes < BYTES => {
                if event.durable {
                    self.cursors.insert(event.session_id.clone(), event.seq);
                }
                if wanted {
                    self.push(id, Arc::clone(event));
                }
            }
            None => self.lagging = Some(Lag { dropped: u64::from(wanted && !event.durable), announced: false }),
            Some(lag) => {
                if wanted && !event.durable {
                    lag.dropped += 1;
                    lag.announced = false;
                }
            }
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
