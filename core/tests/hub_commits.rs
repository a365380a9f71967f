//! The moment between a commit and its telling: the store shows an event that the hub has not been given yet.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use serde_json::json;
use zuno::runtime::hub::{Filter, Hub, Outlet};
use zuno::store::sessions::{self, SessionMode, SessionRecord, SessionSetup, SessionState};
use zuno::store::{Durability, EventSink, Location, Store, StoreError};
use zuno::types::{Event, RandomIds, SessionId, SystemClock};

/// Tells the hub of a commit when the test says so.
struct Late {
    hub: Arc<Hub>,
    committed: Sender<()>,
    go_on: Mutex<Receiver<()>>,
}

impl EventSink for Late {
    fn committed(&self, events: Vec<Arc<Event>>) {
        self.committed.send(()).unwrap();
        let _ = self.go_on.lock().unwrap().recv();
        self.hub.committed(events);
    }
}

#[derive(Default)]
struct Heard(Mutex<Vec<(i64, bool)>>);

impl Outlet for Heard {
    fn deliver(&self, _: u64, event: Arc<Event>, _: usize) {
        self.0.lock().unwrap().push((event.seq, event.durable));
    }
}

fn id() -> SessionId {
    "ses_a".into()
}

fn setup() -> SessionSetup {
    let record = SessionRecord {
        id: id(),
        directory: "/".into(),
        worktree: "/".into(),
        parent_id: None,
        agent: "orchestrator".into(),
        mode: SessionMode::Work,
        title: String::new(),
        state: SessionState::Active,
        time_created: 1,
        time_updated: 1,
    };
    SessionSetup { record, root_id: id(), work_state: true, human_surface: true, profile: json!({}), config: json!({}) }
}

#[test]
fn an_event_read_from_the_store_before_its_commit_was_told_comes_once() {
    let folder = tempfile::tempdir().unwrap();
    let (clock, ids) = (Arc::new(SystemClock), Arc::new(RandomIds::default()));
    let hub = Arc::new(Hub::new(Arc::clone(&clock) as _, Arc::clone(&ids) as _));
    let (committed, commits) = channel();
    let (go_on, waits) = channel();
    let sink = Late { hub: Arc::clone(&hub), committed, go_on: Mutex::new(waits) };
    let location = Location::File(folder.path().join("zuno.db"));
    let store = Store::open(location, clock, ids, Arc::new(sink)).unwrap();
    store.submit::<StoreError>(Durability::Ordered, |tx| sessions::create(tx, &setup()));
    commits.recv().unwrap();
    // Stored, not told. A stream from the beginning reads it; one of everything does not know it yet.
    let [past, all] = [(); 2].map(|()| Arc::new(Heard::default()));
    let of_session = Filter { session: Some(id()), live: true, ..Filter::default() };
    hub.subscribe(&store, of_session, Some(0), 64, Arc::clone(&past) as _).unwrap();
    let of_all = Filter { live: true, ..Filter::default() };
    hub.subscribe(&store, of_all, None, 64, Arc::clone(&all) as _).unwrap();
    assert_eq!(*past.0.lock().unwrap(), [(1, true)]);
    go_on.send(()).unwrap();
    // The next one is told in the ordinary way, and a live one carries its number.
    store.submit::<StoreError>(Durability::Ordered, |tx| sessions::set_state(tx, &id(), SessionState::Closed));
    commits.recv().unwrap();
    go_on.send(()).unwrap();
    store.flush();
    hub.live(&id(), "tool.progress", json!({}));
    assert_eq!(*past.0.lock().unwrap(), [(1, true), (2, true), (2, false)]);
    let everything = all.0.lock().unwrap().clone();
    assert_eq!(everything.last(), Some(&(2, false)));
    assert!(everything.windows(2).all(|pair| pair[0] < pair[1] || !pair[1].1), "{everything:?}");
    assert_eq!(everything.iter().filter(|(_, durable)| *durable).count(), everything.len() - 1);
}
