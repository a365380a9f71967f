//! Sessions that another process drives: their events reach subscribers here through the store.

use std::sync::{Arc, Weak};

use super::{Inner, Kernel};
use crate::store::{Store, StoreError, sessions};
use crate::types::SessionId;

/// How often the store is asked for what others wrote, in milliseconds. Nothing is asked while nobody subscribes to a
/// session of another process.
const EVERY: u64 = 200;

impl Kernel {
    /// Looks after the followed sessions until the runtime is gone.
    pub(super) fn follow(&self) {
        let weak = Arc::downgrade(&self.inner);
        let clock = Arc::clone(&self.services().clock);
        tokio::spawn(async move {
            loop {
                clock.sleep(EVERY).await;
                let Some(foreign) = foreign(&weak) else { return };
                if !foreign.is_empty() {
                    let weak = Weak::clone(&weak);
                    let _ = tokio::task::spawn_blocking(move || look(&weak, foreign)).await;
                }
            }
        });
    }
}

/// Followed sessions that are not driven here; `None` once the runtime is gone.
fn foreign(runtime: &Weak<Inner>) -> Option<Vec<SessionId>> {
    let runtime = Kernel { inner: runtime.upgrade()? };
    let mut followed = runtime.hub().followed();
    followed.retain(|session| runtime.kept(session).is_none());
    Some(followed)
}

fn look(runtime: &Weak<Inner>, foreign: Vec<SessionId>) {
    let Some(runtime) = runtime.upgrade().map(|inner| Kernel { inner }) else { return };
    let store: &Store = &runtime.services().store;
    for named in foreign {
        let read = move |connection: &rusqlite::Connection| sessions::heads(connection, &named);
        // A store that cannot be read tells everybody by their own operations.
        let Ok(heads) = store.read::<_, StoreError>(read) else { return };
        for (session, seq, root) in heads {
            runtime.hub().observed(store, &session, seq, &root);
        }
    }
}
