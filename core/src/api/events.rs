//! Events as a stream.

use std::sync::Arc;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::Runtime;
use crate::runtime::hub::{Filter, Outlet};
use crate::types::{Event, Result, SessionId};

/// Which events.
#[derive(Clone, Debug, Default)]
pub struct EventsOf {
    filter: Filter,
    after: Option<i64>,
}

impl EventsOf {
    /// All sessions of the runtime.
    pub fn all() -> Self {
        Self { filter: Filter { live: true, ..Filter::default() }, after: None }
    }

    /// One session.
    pub fn session(id: &SessionId) -> Self {
        let mut of = Self::all();
        of.filter.session = Some(id.clone());
        of
    }

    /// The tree below a root session.
    pub fn tree(root: &SessionId) -> Self {
        let mut of = Self::all();
        of.filter.root = Some(root.clone());
        of
    }

    /// First the stored events after this number; only with one session.
    #[must_use]
    pub fn after(mut self, seq: i64) -> Self {
        self.after = Some(seq);
        self
    }

    /// Only these types.
    #[must_use]
    pub fn types(mut self, types: &[&str]) -> Self {
        self.filter.types = types.iter().map(|kind| (*kind).to_owned()).collect();
        self
    }

    /// Stored events only.
    #[must_use]
    pub fn durable_only(mut self) -> Self {
        self.filter.live = false;
        self
    }
}

struct Channel(UnboundedSender<(Arc<Event>, usize)>);

impl Outlet for Channel {
    // The hub counts what waits here and stops delivering when the subscription is full.
    fn deliver(&self, _: u64, event: Arc<Event>, bytes: usize) {
        let _ = self.0.send((event, bytes));
    }
}

/// A subscription. Dropping it ends it; a slow reader loses live events, which a `stream.lagged` counts.
pub struct EventStream {
    runtime: Runtime,
    id: u64,
    receiver: UnboundedReceiver<(Arc<Event>, usize)>,
}

impl EventStream {
    pub(super) fn open(runtime: &Runtime, of: EventsOf) -> Result<Self> {
        let (sender, receiver) = unbounded_channel();
        let kernel = runtime.kernel();
        let (store, limit) = (&kernel.services().store, kernel.config().events_queue);
        let id = kernel.hub().subscribe(store, of.filter, of.after, limit, Arc::new(Channel(sender)))?;
        Ok(Self { runtime: runtime.clone(), id, receiver })
    }

    /// The next event; waits for it.
    pub async fn next(&mut self) -> Option<Arc<Event>> {
        let (event, bytes) = self.receiver.recv().await?;
        self.took(bytes);
        Some(event)
    }

    /// The next event that is there.
    pub fn try_next(&mut self) -> Option<Arc<Event>> {
        let (event, bytes) = self.receiver.try_recv().ok()?;
        self.took(bytes);
        Some(event)
    }

    fn took(&self, bytes: usize) {
        let kernel = self.runtime.kernel();
        if kernel.hub().taken(self.id, bytes) {
            kernel.hub().catch_up(&kernel.services().store, self.id);
        }
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        self.runtime.kernel().hub().unsubscribe(self.id);
    }
}
