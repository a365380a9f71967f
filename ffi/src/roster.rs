//! Who delivers: one thread reads the queue at a time. A callback that waits for the host lends its turn to another.

use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, ThreadId};

use zuno::types::{Error, Result};

#[derive(Default)]
pub(crate) struct Roster {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The thread whose turn it is.
    reader: Option<ThreadId>,
    /// Threads that wait for a turn.
    resting: usize,
    /// Threads that have not left.
    present: usize,
    ended: bool,
    /// Every thread there ever was; `threads` is emptied by whoever joins them.
    members: Vec<ThreadId>,
    threads: Vec<JoinHandle<()>>,
}

impl Roster {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a thread that waits for its turn.
    pub(crate) fn enlist(&self, start: impl FnOnce() -> io::Result<JoinHandle<()>>) -> Result<()> {
        enlist(&mut self.lock(), start)
    }

    /// Whether the calling thread is one of these.
    pub(crate) fn is_member(&self) -> bool {
        self.lock().members.contains(&thread::current().id())
    }

    /// Waits for the turn; `false` when there is nothing left to read.
    pub(crate) fn take_turn(&self) -> bool {
        let mut state = self.lock();
        while state.reader.is_some() && !state.ended {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.resting -= 1;
        if !state.ended {
            state.reader = Some(thread::current().id());
        }
        !state.ended
    }

    /// Whether it is still the calling thread's turn.
    pub(crate) fn has_turn(&self) -> bool {
        self.lock().reader == Some(thread::current().id())
    }

    /// Waits for a turn again, after it was lent.
    pub(crate) fn rest(&self) {
        self.lock().resting += 1;
    }

    /// Lets another thread read while this one waits inside a callback. Does nothing when it is not its turn.
    pub(crate) fn lend_turn(&self, start: impl FnOnce() -> io::Result<JoinHandle<()>>) -> Result<()> {
        let mut state = self.lock();
        if state.reader != Some(thread::current().id()) {
            return Ok(());
        }
        if state.resting == 0 {
            enlist(&mut state, start)?;
        }
        state.reader = None;
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    /// Nothing follows.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.ended = true;
        state.reader = None;
        drop(state);
        self.changed.notify_all();
    }

    /// The calling thread will call no callback any more; says whether it was the last one.
    pub(crate) fn leave(&self) -> bool {
        let mut state = self.lock();
        state.present -= 1;
        state.present == 0
    }

    /// Waits until every thread has ended.
    pub(crate) fn join(&self) {
        loop {
            // A thread may enlist another one until it ends itself.
            let threads = std::mem::take(&mut self.lock().threads);
            if threads.is_empty() {
                return;
            }
            for thread in threads {
                let _ = thread.join();
            }
        }
    }
}

fn enlist(state: &mut State, start: impl FnOnce() -> io::Result<JoinHandle<()>>) -> Result<()> {
    let thread = start()
        .map_err(|error| Error::new("failed.operation", format!("The dispatcher thread did not start: {error}.")))?;
    state.members.push(thread.thread().id());
    state.threads.push(thread);
    state.resting += 1;
    state.present += 1;
    Ok(())
}
