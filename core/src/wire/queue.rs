//! The one ordered queue from the library to its host.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::runtime::hub::Outlet;
use crate::types::{Error, Event};

/// One thing the host is told.
pub(super) enum Item {
    Event { subscription: u64, event: Arc<Event>, bytes: usize },
    Request { id: String, kind: &'static str, payload: Value },
    Cancelled { request: String },
    Op { id: u64, outcome: Result<String, Error> },
    Closed,
}

impl Item {
    /// The item as the document every face shows.
    pub(super) fn to_json(&self) -> String {
        match self {
            Self::Event { subscription, event, .. } => {
                json!({ "type": "event", "subscriptionId": subscription, "event": event.as_ref() }).to_string()
            }
            Self::Request { id, kind, payload } => {
                json!({ "type": "request", "id": id, "kind": kind, "payload": payload }).to_string()
            }
            Self::Cancelled { request } => json!({ "type": "cancelled", "requestId": request }).to_string(),
            // The result is a document already; it is put in place without being read again.
            Self::Op { id, outcome: Ok(result) } => {
                format!(r#"{{"type":"op","id":{id},"result":{result},"error":null}}"#)
            }
            Self::Op { id, outcome: Err(error) } => {
                json!({ "type": "op", "id": id, "result": null, "error": error.to_json() }).to_string()
            }
            Self::Closed => r#"{"type":"closed"}"#.to_owned(),
        }
    }
}

/// Called when an empty queue gets its first item.
pub(super) type Waker = Box<dyn Fn() + Send + Sync>;

#[derive(Default)]
struct State {
    items: VecDeque<Item>,
    ended: bool,
    // The queue was empty and has got an item; nobody has been woken for it yet.
    unannounced: bool,
}

/// Items in the order in which they were made.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    arrived: Condvar,
    waker: Mutex<Option<Arc<Waker>>>,
}

impl Queue {
    pub(super) fn set_waker(&self, waker: Option<Waker>) {
        *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = waker.map(Arc::new);
        // Items that came before the waker was set are announced too.
        if !self.lock().items.is_empty() {
            self.ring();
        }
    }

    pub(super) fn push(&self, item: Item) {
        self.put(item);
        self.announce();
    }

    /// Takes an item without calling the host's waker; [`Queue::announce`] has to follow, with no lock held.
    pub(super) fn put(&self, item: Item) {
        let mut state = self.lock();
        if state.ended {
            return;
        }
        state.ended = matches!(item, Item::Closed);
        state.unannounced |= state.items.is_empty();
        state.items.push_back(item);
        if state.ended {
            // Whoever else waits has nothing to wait for.
            self.arrived.notify_all();
        } else {
            self.arrived.notify_one();
        }
    }

    pub(super) fn announce(&self) {
        if std::mem::take(&mut self.lock().unannounced) {
            self.ring();
        }
    }

    fn ring(&self) {
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(waker) = waker {
            // Host code on a thread of the library: its panic ends here.
            let _ = catch_unwind(AssertUnwindSafe(|| waker()));
        }
    }

    /// The next item; waits for one until the deadline.
    pub(super) fn next(&self, timeout: Option<Duration>) -> Option<Item> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut state = self.lock();
        loop {
            if let Some(item) = state.items.pop_front() {
                return Some(item);
            }
            if state.ended {
                return None;
            }
            state = match deadline {
                None => self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
                    self.arrived.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Items that are there.
    pub(super) fn drain(&self, max: usize) -> Vec<Item> {
        let mut state = self.lock();
        let count = state.items.len().min(max);
        let items = state.items.drain(..count).collect();
        let more = !state.items.is_empty();
        drop(state);
        if more {
            // Whoever drains in portions is woken again: the queue did not become empty.
            self.ring();
        }
        items
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Outlet for Queue {
    fn deliver(&self, subscription: u64, event: Arc<Event>, bytes: usize) {
        self.put(Item::Event { subscription, event, bytes });
    }

    fn wake(&self) {
        self.announce();
    }
}
