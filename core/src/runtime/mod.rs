//! The kernel under every face: opens the store, wires the rooms, keeps what is open.

mod diagnostics;
mod follow;
pub mod hub;
mod open;
mod waiting;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::config::{Config, Loaded};
use crate::dispatch::{DispatchSession, Dispatcher};
use crate::store::calls::end_turn;
use crate::store::{Durability, StoreError, leases};
use crate::tools::contract::Services;
use crate::types::{Error, Result, SessionId};

pub use open::Options;
pub use waiting::Waiting;

/// An open runtime without threads of its own. Clones share it.
#[derive(Clone)]
pub struct Kernel {
    inner: Arc<Inner>,
}

struct Inner {
    dispatcher: Dispatcher,
    hub: Arc<hub::Hub>,
    loaded: Loaded,
    reads_project: bool,
    home: Option<String>,
    sessions: Mutex<HashMap<SessionId, Arc<DispatchSession>>>,
    lanes: Mutex<HashMap<SessionId, Arc<tokio::sync::Mutex<()>>>>,
    closed: AtomicBool,
    // Ends the tasks that belong to nobody's call.
    stop: CancellationToken,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Kernel {
    /// The dispatcher.
    pub fn dispatcher(&self) -> &Dispatcher {
        &self.inner.dispatcher
    }

    /// The rooms tools stand on.
    pub fn services(&self) -> &Arc<Services> {
        &self.inner.dispatcher.services
    }

    /// The event hub.
    pub fn hub(&self) -> &Arc<hub::Hub> {
        &self.inner.hub
    }

    /// The resolved configuration layers.
    pub fn loaded(&self) -> &Loaded {
        &self.inner.loaded
    }

    /// The effective configuration of the runtime.
    pub fn config(&self) -> &Arc<Config> {
        self.inner.loaded.config()
    }

    pub(crate) fn reads_project(&self) -> bool {
        self.inner.reads_project
    }

    pub(crate) fn home(&self) -> Option<String> {
        self.inner.home.clone()
    }

    pub(crate) fn kept(&self, id: &SessionId) -> Option<Arc<DispatchSession>> {
        self.sessions().get(id).cloned()
    }

    pub(crate) fn keep(&self, id: SessionId, session: DispatchSession) {
        self.sessions().insert(id, Arc::new(session));
    }

    pub(crate) fn forget(&self, id: &SessionId) {
        self.sessions().remove(id);
    }

    /// Opening and closing one session follow each other: what is being opened is not closed, and nothing that runs is
    /// taken for the remains of a crash.
    pub(crate) async fn lane(&self, id: &SessionId) -> tokio::sync::OwnedMutexGuard<()> {
        let lane = {
            let mut lanes = self.inner.lanes.lock().unwrap_or_else(PoisonError::into_inner);
            lanes.retain(|_, lane| Arc::strong_count(lane) > 1);
            Arc::clone(lanes.entry(id.clone()).or_default())
        };
        lane.lock_owned().await
    }

    fn sessions(&self) -> std::sync::MutexGuard<'_, HashMap<SessionId, Arc<DispatchSession>>> {
        self.inner.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses work once the runtime is closed.
    ///
    /// # Errors
    /// `closed.object`.
    pub fn check_open(&self) -> Result<()> {
        if self.inner.closed.load(Ordering::Acquire) {
            return Err(Error::new("closed.object", "The runtime is closed. Open a new one."));
        }
        Ok(())
    }

    /// From now on nothing new starts; everything that runs is interrupted. Says whether it was open.
    pub(crate) fn begin_close(&self) -> bool {
        let was_open = !self.inner.closed.swap(true, Ordering::AcqRel);
        self.inner.stop.cancel();
        for (id, session) in self.sessions().iter() {
            session.close();
            if was_open {
                self.hub().live(id, "runtime.closing", serde_json::json!({ "reason": "close" }));
            }
        }
        was_open
    }

    /// Lets what runs settle within a deadline, and closes the database in any case: a body that does not end in time
    /// stays stamped, and recovery says what is known of it.
    pub(crate) async fn finish_close(&self, deadline: Duration) {
        let _ = tokio::time::timeout(deadline, self.settle_all()).await;
        let store = self.services().store.clone();
        let _ = tokio::task::spawn_blocking(move || store.close(deadline)).await;
    }

    /// Waits until every session is idle, then ends their turns and gives all leases back.
    async fn settle_all(&self) {
        let sessions: Vec<_> = self.sessions().drain().collect();
        let store = &self.services().store;
        for (id, session) in sessions {
            session.close();
            session.idle().await;
            store.submit::<StoreError>(Durability::Ordered, move |tx| {
                let facts = serde_json::json!({ "reason": "shutdown" });
                end_turn(tx, tx.owner(), &id, "turn.interrupted", facts).map(|_| ())
            });
        }
        let write = store.write::<_, StoreError>(Durability::Ordered, |tx| leases::release_all(tx, tx.owner()));
        // A store that fails at this point keeps the leases; the next owner sees that this process is gone.
        let _ = write.await;
    }
}
