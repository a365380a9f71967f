//! A runtime belongs to the process that opened it. A forked child has its memory but none of its threads, and SQLite's
//! record of file locks in that memory is wrong there, so nothing of it may be used or closed.

use std::process;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use zuno::types::{Error, Result};

static OPEN: AtomicUsize = AtomicUsize::new(0);
static OWNER: AtomicU32 = AtomicU32::new(0);

/// The process that opened a runtime.
pub(crate) struct Owner {
    pid: u32,
}

impl Owner {
    /// Records that this process opens a runtime.
    ///
    /// # Errors
    /// `closed.forked` in a child that was forked while a runtime was open.
    pub(crate) fn claim() -> Result<Self> {
        let pid = process::id();
        if OPEN.load(Ordering::SeqCst) > 0 && OWNER.load(Ordering::SeqCst) != pid {
            return Err(Error::new(
                "closed.forked",
                "This process was forked while a zuno runtime was open, so it cannot open one. Open the runtime after \
                 the fork, or start the process by spawn (multiprocessing.set_start_method(\"spawn\")).",
            ));
        }
        OWNER.store(pid, Ordering::SeqCst);
        OPEN.fetch_add(1, Ordering::SeqCst);
        Ok(Self { pid })
    }

    /// Whether this is a forked child.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.pid != process::id()
    }

    /// # Errors
    /// `closed.forked` in a forked child.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_elsewhere() {
            return Err(Error::new(
                "closed.forked",
                "This runtime belongs to the process that forked this one. Open a runtime of its own in a process that \
                 was started by spawn, or open it after the fork.",
            ));
        }
        Ok(())
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if !self.is_elsewhere() {
            OPEN.fetch_sub(1, Ordering::SeqCst);
        }
    }
}
