//! The thread that owns the writing connection, and group commit.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;

use super::exclusive::Exclusive;
use super::leases::Owner;
use super::{Durability, EventSink, StoreError, Tx};
use crate::types::{Clock, Event, IdSource};

/// Decisions that share one commit at most.
const BATCH: usize = 64;

/// What is left to do for a decision once its transaction has ended.
type Answer = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// A decision with its way back to whoever waits.
trait Decision: Send {
    /// Runs it; says whether its changes stay, and how to answer.
    fn run(self: Box<Self>, tx: &mut Tx<'_>) -> (bool, Answer);
    /// Answers without having run.
    fn refuse(self: Box<Self>, error: StoreError);
}

struct Typed<F, A> {
    decision: F,
    answer: A,
}

impl<T, E, F, A> Decision for Typed<F, A>
where
    T: Send + 'static,
    E: From<StoreError> + Send + 'static,
    F: FnOnce(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
    A: FnOnce(Result<T, E>) + Send + 'static,
{
    fn run(self: Box<Self>, tx: &mut Tx<'_>) -> (bool, Answer) {
        let Self { decision, answer } = *self;
        let result =
            catch_unwind(AssertUnwindSafe(|| decision(tx))).unwrap_or_else(|_| Err(StoreError::Panicked.into()));
        let stays = result.is_ok();
        let finish: Answer = Box::new(move |commit| match commit {
            Ok(()) => answer(result),
            // A decision that failed by itself keeps its own error.
            Err(_) if !stays => answer(result),
            Err(error) => answer(Err(error.into())),
        });
        (stays, finish)
    }

    fn refuse(self: Box<Self>, error: StoreError) {
        (self.answer)(Err(error.into()));
    }
}

struct Job {
    durability: Durability,
    decision: Box<dyn Decision>,
}

pub(super) struct Writer {
    queue: Mutex<Option<Sender<Job>>>,
    thread: Mutex<Option<Thread>>,
}

struct Thread {
    handle: JoinHandle<()>,
    // Disconnected once the thread has closed the database.
    ended: Receiver<()>,
}

impl Writer {
    pub(super) fn start(
        connection: Connection,
        exclusive: Option<Exclusive>,
        owner: Owner,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
        sink: Arc<dyn EventSink>,
    ) -> Result<Self, StoreError> {
        let (sender, receiver) = channel();
        let (running, ended) = channel();
        let worker =
            Worker { connection, owner, clock, ids, sink, durability: Durability::Ordered, _exclusive: exclusive };
        let work = move || {
            worker.run(&receiver);
            drop::<Sender<()>>(running);
        };
        let handle = std::thread::Builder::new()
            .name("zuno-store".to_owned())
            .spawn(work)
            .map_err(|error| StoreError::Record(format!("no thread for the store: {error}")))?;
        Ok(Self { queue: Mutex::new(Some(sender)), thread: Mutex::new(Some(Thread { handle, ended })) })
    }

    pub(super) fn enqueue<T, E>(
        &self,
        durability: Durability,
        decision: impl FnOnce(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
        answer: impl FnOnce(Result<T, E>) + Send + 'static,
    ) where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let decision = Box::new(Typed { decision, answer });
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        // A closed queue drops the job and with it the answer's sender: the waiting side reads that as closed.
        if let Some(queue) = queue.as_ref() {
            let _ = queue.send(Job { durability, decision });
        }
    }

    /// Commits what is queued and ends the thread. Waits for that at most as long as given; a thread that needs longer,
    /// because another process holds the database, ends by itself.
    pub(super) fn close(&self, within: Option<Duration>) {
        drop(self.queue.lock().unwrap_or_else(PoisonError::into_inner).take());
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Thread { handle, ended }) = thread else { return };
        // The last handle may be dropped by an answer, that is on the thread itself.
        if handle.thread().id() == std::thread::current().id() {
            return;
        }
        let in_time = within.is_none_or(|within| ended.recv_timeout(within) != Err(RecvTimeoutError::Timeout));
        if in_time {
            let _ = handle.join();
        }
    }
}

struct Worker {
    connection: Connection,
    owner: Owner,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    sink: Arc<dyn EventSink>,
    durability: Durability,
    // Dropped after the connection: only then may another copy of the library open the file.
    _exclusive: Option<Exclusive>,
}

impl Worker {
    fn run(mut self, queue: &Receiver<Job>) {
        while let Ok(first) = queue.recv() {
            let mut jobs = vec![first];
            while jobs.len() < BATCH {
                match queue.try_recv() {
                    Ok(job) => jobs.push(job),
                    Err(_) => break,
                }
            }
            self.commit(jobs);
        }
    }

    fn commit(&mut self, jobs: Vec<Job>) {
        let durability = jobs.iter().map(|job| job.durability).max().unwrap_or(Durability::Ordered);
        let mut jobs: VecDeque<Job> = jobs.into();
        let mut events = Vec::new();
        let mut answers = Vec::with_capacity(jobs.len());
        let outcome = self.transaction(durability, &mut jobs, &mut events, &mut answers);
        match outcome {
            Ok(()) => {
                if !events.is_empty() {
                    // Listeners run host code in the end; its panic must not end the thread that keeps everything.
                    let _ = catch_unwind(AssertUnwindSafe(|| self.sink.committed(events)));
                }
                for answer in answers {
                    answer(Ok(()));
                }
            }
            Err(error) => {
                // Without a transaction there is nothing to roll back, and that is not an error worth telling.
                let _ = self.connection.execute_batch("ROLLBACK");
                for answer in answers {
                    answer(Err(error.repeat()));
                }
                for job in jobs {
                    job.decision.refuse(error.repeat());
                }
            }
        }
    }

    /// Runs the jobs in one transaction. Jobs that have run leave the queue and have an answer.
    fn transaction(
        &mut self,
        durability: Durability,
        jobs: &mut VecDeque<Job>,
        events: &mut Vec<Arc<Event>>,
        answers: &mut Vec<Answer>,
    ) -> Result<(), StoreError> {
        self.set_durability(durability)?;
        self.statement("BEGIN IMMEDIATE")?;
        // A decision that fails takes back its own changes and nobody else's. One that is alone needs no savepoint,
        // which would copy every page it touches.
        let alone = jobs.len() == 1;
        while let Some(job) = jobs.pop_front() {
            if !alone {
                self.statement("SAVEPOINT job")?;
            }
            let before = events.len();
            let mut tx = Tx::new(&self.connection, &self.owner, self.clock.as_ref(), self.ids.as_ref(), events);
            let (stays, answer) = job.decision.run(&mut tx);
            answers.push(answer);
            if !stays {
                events.truncate(before);
                if alone {
                    return self.statement("ROLLBACK");
                }
                self.statement("ROLLBACK TO job")?;
            }
            if !alone {
                self.statement("RELEASE job")?;
            }
        }
        self.statement("COMMIT")
    }

    fn statement(&self, sql: &str) -> Result<(), StoreError> {
        self.connection.prepare_cached(sql)?.execute([])?;
        Ok(())
    }

    fn set_durability(&mut self, wanted: Durability) -> Result<(), StoreError> {
        if self.durability != wanted {
            let sql = match wanted {
                Durability::Ordered => "PRAGMA synchronous = NORMAL",
                Durability::Full => "PRAGMA synchronous = FULL",
            };
            self.connection.execute_batch(sql)?;
            self.durability = wanted;
        }
        Ok(())
    }
}
