//! Group commit, durability, and what happens to decisions when something fails beside them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::json;

use super::sessions::{self, SessionMode, SessionRecord, SessionSetup, SessionState};
use super::*;
use crate::types::{EventDraft, RandomIds, SessionId, SystemClock};

#[derive(Default)]
struct Heard(Mutex<Vec<Arc<Event>>>);

impl EventSink for Heard {
    fn committed(&self, events: Vec<Arc<Event>>) {
        self.0.lock().unwrap().extend(events);
    }
}

impl Heard {
    fn numbers(&self) -> Vec<i64> {
        self.0.lock().unwrap().iter().map(|event| event.seq).collect()
    }
}

fn open_with(path: &Path, sink: Arc<dyn EventSink>) -> Store {
    let location = Location::File(path.to_owned());
    Store::open(location, Arc::new(SystemClock), Arc::new(RandomIds::default()), sink).unwrap()
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zuno.db");
    (folder, path)
}

fn session() -> SessionId {
    "ses_a".into()
}

fn create(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let record = SessionRecord {
        id: session(),
        directory: "/ws".into(),
        worktree: "/ws".into(),
        parent_id: None,
        agent: "orchestrator".into(),
        mode: SessionMode::Work,
        title: String::new(),
        state: SessionState::Active,
        time_created: 1,
        time_updated: 1,
    };
    let setup = SessionSetup {
        record,
        root_id: session(),
        work_state: true,
        human_surface: true,
        profile: json!({}),
        config: json!({}),
    };
    sessions::create(tx, &setup)
}

fn note(tx: &mut Tx<'_>, text: &str) -> Result<i64, StoreError> {
    tx.emit(&session(), EventDraft::new("notice", json!({ "detail": text })))
}

/// Keeps the writer busy, so that what is queued meanwhile shares one commit.
fn hold(store: &Store) -> Sender<()> {
    let (release, held) = channel::<()>();
    let (running, runs) = channel();
    store.submit::<StoreError>(Durability::Ordered, move |_| {
        running.send(()).unwrap();
        let _ = held.recv();
        Ok(())
    });
    runs.recv().unwrap();
    release
}

/// Queues a decision from this thread, in order, and hands its answer over later.
fn queue<T: Send + 'static>(
    store: &Store,
    durability: Durability,
    decision: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
) -> Receiver<Result<T, StoreError>> {
    let (sender, receiver) = channel();
    store.enqueue(durability, decision, move |result| drop(sender.send(result)));
    receiver
}

fn details(store: &Store) -> Vec<String> {
    store
        .read::<_, StoreError>(|connection| events::page(connection, &session(), 0, 1_000))
        .unwrap()
        .iter()
        .filter_map(|event| event.data["detail"].as_str().map(str::to_owned))
        .collect()
}

#[test]
fn a_decision_that_fails_or_panics_takes_nobody_with_it() {
    let (_folder, path) = place();
    let heard = Arc::new(Heard::default());
    let store = open_with(&path, Arc::<Heard>::clone(&heard));
    store.write_blocking(Durability::Ordered, create).unwrap();
    let release = hold(&store);
    let first = queue(&store, Durability::Ordered, |tx| note(tx, "first"));
    let failing = queue(&store, Durability::Ordered, |tx| {
        note(tx, "failing")?;
        Err::<(), _>(StoreError::Record("no".into()))
    });
    let second = queue(&store, Durability::Full, |tx| note(tx, "second"));
    let panicking = queue(&store, Durability::Ordered, |tx| -> Result<(), _> {
        note(tx, "panicking")?;
        panic!("a decision panics");
    });
    let broken = queue(&store, Durability::Ordered, |tx| {
        note(tx, "broken")?;
        tx.connection().execute_batch("SELECT nonsense").map_err(StoreError::from)
    });
    let third = queue(&store, Durability::Ordered, |tx| note(tx, "third"));
    drop(release);
    assert_eq!(first.recv().unwrap().unwrap(), 2);
    assert!(matches!(failing.recv().unwrap(), Err(StoreError::Record(text)) if text == "no"));
    assert_eq!(second.recv().unwrap().unwrap(), 3);
    assert!(matches!(panicking.recv().unwrap(), Err(StoreError::Panicked)));
    assert!(matches!(broken.recv().unwrap(), Err(StoreError::Sqlite(_))));
    assert_eq!(third.recv().unwrap().unwrap(), 4);
    assert_eq!(details(&store), ["first", "second", "third"]);
    assert_eq!(heard.numbers(), [1, 2, 3, 4], "listeners hear exactly what is stored");
}

// One decision swallows that its transaction is gone: nobody may be told that theirs was kept.
#[test]
fn a_transaction_that_is_gone_is_told_to_everybody_in_it() {
    let (_folder, path) = place();
    let heard = Arc::new(Heard::default());
    let store = open_with(&path, Arc::<Heard>::clone(&heard));
    store.write_blocking(Durability::Ordered, create).unwrap();
    let release = hold(&store);
    let before = queue(&store, Durability::Ordered, |tx| note(tx, "before"));
    let rude =
        queue(&store, Durability::Ordered, |tx| tx.connection().execute_batch("ROLLBACK").map_err(StoreError::from));
    let after = queue(&store, Durability::Ordered, |tx| note(tx, "after"));
    drop(release);
    for answer in [before.recv().unwrap().map(drop), rude.recv().unwrap(), after.recv().unwrap().map(drop)] {
        assert!(answer.is_err());
    }
    assert_eq!(details(&store), [""; 0]);
    assert_eq!(heard.numbers(), [1]);
    store.write_blocking(Durability::Ordered, |tx| note(tx, "later")).unwrap();
    assert_eq!(details(&store), ["later"]);
}

fn synchronous(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    Ok(tx.connection().query_row("PRAGMA synchronous", [], |row| row.get(0))?)
}

// spec: REPLAY-05
#[test]
fn full_waits_for_the_disk_and_so_does_whoever_shares_its_commit() {
    const NORMAL: i64 = 1;
    const FULL: i64 = 2;
    let (_folder, path) = place();
    let store = open_with(&path, Arc::new(NoEvents));
    assert_eq!(store.write_blocking(Durability::Ordered, synchronous).unwrap(), NORMAL);
    assert_eq!(store.write_blocking(Durability::Full, synchronous).unwrap(), FULL);
    let release = hold(&store);
    let ordered = queue(&store, Durability::Ordered, synchronous);
    let full = queue(&store, Durability::Full, synchronous);
    drop(release);
    assert_eq!((ordered.recv().unwrap().unwrap(), full.recv().unwrap().unwrap()), (FULL, FULL));
    assert_eq!(store.write_blocking(Durability::Ordered, synchronous).unwrap(), NORMAL);
    let mode = |tx: &mut Tx<'_>| -> Result<String, StoreError> {
        Ok(tx.connection().query_row("PRAGMA journal_mode", [], |row| row.get(0))?)
    };
    assert_eq!(store.write_blocking(Durability::Ordered, mode).unwrap(), "wal");
}

#[test]
fn what_is_queued_when_the_store_is_closed_is_kept() {
    let (_folder, path) = place();
    let store = open_with(&path, Arc::new(NoEvents));
    store.write_blocking(Durability::Ordered, create).unwrap();
    let release = hold(&store);
    for number in 0..200 {
        store.submit(Durability::Ordered, move |tx| note(tx, &number.to_string()).map(drop));
    }
    let closing = {
        let store = store.clone();
        std::thread::spawn(move || store.close(Duration::from_secs(30)))
    };
    // Closing has begun when nothing is taken any more.
    while !matches!(store.read::<_, StoreError>(|_| Ok(())), Err(StoreError::Closed)) {
        std::thread::yield_now();
    }
    drop(release);
    closing.join().unwrap();
    let late = store.write_blocking::<(), StoreError>(Durability::Ordered, |_| Ok(()));
    assert!(matches!(late, Err(StoreError::Closed)));
    store.close(Duration::ZERO);
    let again = open_with(&path, Arc::new(NoEvents));
    assert_eq!(details(&again), (0..200).map(|number| number.to_string()).collect::<Vec<_>>());
}

#[test]
fn the_last_handle_may_go_on_the_thread_of_the_store() {
    let (_folder, path) = place();
    let store = open_with(&path, Arc::new(NoEvents));
    store.write_blocking(Durability::Ordered, create).unwrap();
    let (sender, answered) = channel();
    let release = hold(&store);
    let last = store.clone();
    store.enqueue::<i64, StoreError>(
        Durability::Ordered,
        |tx| note(tx, "last"),
        move |result| {
            drop(last);
            sender.send(result).unwrap();
        },
    );
    drop(store);
    drop(release);
    answered.recv().unwrap().unwrap();
    // The lock of the process goes when the thread has ended, so this waits for it if need be.
    let again = open_with(&path, Arc::new(NoEvents));
    assert_eq!(details(&again), ["last"]);
}

#[test]
fn a_listener_that_panics_does_not_end_the_store() {
    struct Panics;
    impl EventSink for Panics {
        fn committed(&self, _: Vec<Arc<Event>>) {
            panic!("a listener panics");
        }
    }
    let (_folder, path) = place();
    let store = open_with(&path, Arc::new(Panics));
    store.write_blocking(Durability::Ordered, create).unwrap();
    store.write_blocking(Durability::Ordered, |tx| note(tx, "kept")).unwrap();
    assert_eq!(details(&store), ["kept"]);
}

#[test]
fn the_statements_of_one_read_see_one_state() {
    let (_folder, path) = place();
    let store = open_with(&path, Arc::new(NoEvents));
    store.write_blocking(Durability::Ordered, create).unwrap();
    let writer = store.clone();
    let (before, after) = store
        .read::<_, StoreError>(move |connection| {
            let before = events::last_seq(connection, &session())?;
            writer.write_blocking(Durability::Ordered, |tx| note(tx, "meanwhile"))?;
            Ok((before, events::last_seq(connection, &session())?))
        })
        .unwrap();
    assert_eq!((before, after), (Some(1), Some(1)));
    let now = store.read::<_, StoreError>(|connection| events::last_seq(connection, &session())).unwrap();
    assert_eq!(now, Some(2));
}

// case: 74
#[test]
fn a_write_waits_for_whoever_holds_the_database() {
    let (_folder, path) = place();
    let store = open_with(&path, Arc::new(NoEvents));
    store.write_blocking(Durability::Ordered, create).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let answer = queue(&store, Durability::Full, |tx| note(tx, "patient"));
    assert!(answer.recv_timeout(Duration::from_millis(300)).is_err(), "it cannot have been committed yet");
    // Readers do not wait for writers.
    assert_eq!(details(&store), [""; 0]);
    other.execute_batch("COMMIT").unwrap();
    answer.recv().unwrap().unwrap();
    assert_eq!(details(&store), ["patient"]);
}

#[test]
fn closing_has_a_deadline_and_what_was_queued_is_kept_all_the_same() {
    let (_folder, path) = place();
    let store = open_with(&path, Arc::new(NoEvents));
    store.write_blocking(Durability::Ordered, create).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let answer = queue(&store, Durability::Full, |tx| note(tx, "late"));
    let begun = Instant::now();
    store.close(Duration::from_millis(100));
    drop(store);
    assert!(begun.elapsed() < Duration::from_secs(20), "closing waited for the other process");
    other.execute_batch("COMMIT").unwrap();
    answer.recv().unwrap().unwrap();
}

#[test]
fn answers_come_in_the_order_of_the_decisions_from_many_threads() {
    let (_folder, path) = place();
    let store = open_with(&path, Arc::new(NoEvents));
    store.write_blocking(Durability::Ordered, create).unwrap();
    let failed = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut last = 0;
                for turn in 0..200 {
                    let durability = if turn % 16 == 0 { Durability::Full } else { Durability::Ordered };
                    let seq = store.write_blocking(durability, |tx| note(tx, "x")).unwrap();
                    failed.fetch_or(seq <= last, Ordering::Relaxed);
                    last = seq;
                }
            });
        }
    });
    assert!(!failed.into_inner());
    let last = store.read::<_, StoreError>(|connection| events::last_seq(connection, &session())).unwrap();
    assert_eq!(last, Some(1 + 8 * 200));
}
