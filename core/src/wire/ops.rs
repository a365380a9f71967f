//! Operations under way: each gets exactly one terminal item.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::queue::{Item, Queue};
use crate::types::{Error, Result};

pub(super) struct Ops {
    queue: Arc<Queue>,
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    next: u64,
    running: HashMap<u64, CancellationToken>,
    closed: bool,
}

impl Ops {
    pub(super) fn new(queue: Arc<Queue>) -> Self {
        Self { queue, state: Mutex::new(State::default()), ended: Condvar::new() }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&self) -> Result<(u64, CancellationToken)> {
        let mut state = self.lock();
        if state.closed {
            return Err(super::closed());
        }
        state.next += 1;
        let (op, cancel) = (state.next, CancellationToken::new());
        state.running.insert(op, cancel.clone());
        Ok((op, cancel))
    }

    /// Gives the operation its item, unless it has one.
    pub(super) fn end(&self, op: u64, outcome: Result<String>) {
        let mut state = self.lock();
        if state.running.remove(&op).is_some() {
            // Before the lock goes: an operation that is not running any more has its item, so that `closed` is last.
            self.queue.put(Item::Op { id: op, outcome });
            drop(state);
            self.ended.notify_all();
            self.queue.announce();
        }
    }

    pub(super) fn cancel(&self, op: u64) -> bool {
        let token = self.lock().running.get(&op).cloned();
        token.inspect(CancellationToken::cancel).is_some()
    }

    pub(super) fn cancel_all(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.running.values().for_each(CancellationToken::cancel);
    }

    pub(super) fn wait_until_idle(&self, until: Instant) {
        let mut state = self.lock();
        while !state.running.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.ended.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Gives every operation that is left its item.
    pub(super) fn end_all(&self, error: &Error) {
        let mut left: Vec<u64> = self.lock().running.keys().copied().collect();
        left.sort_unstable();
        for op in left {
            self.end(op, Err(error.clone()));
        }
    }
}
