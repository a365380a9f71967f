//! The time a tree has left.

use std::time::{Duration, Instant};

use crate::frame::KILL_LIMIT_MS;
use crate::sys::SIGKILL;
use crate::tree;

/// Between two rounds of KILL.
const ROUND_MS: u64 = 2;

/// How far stopping the tree has come: not begun, waiting, killing.
#[derive(Default)]
pub(crate) struct Stop {
    kill_at: Option<Instant>,
    give_up_at: Option<Instant>,
}

impl Stop {
    /// Whether the tree is being stopped.
    pub(crate) fn begun(&self) -> bool {
        self.kill_at.is_some()
    }

    /// Kills after this many milliseconds at the latest.
    pub(crate) fn within(&mut self, grace_ms: u64) {
        let kill_at = Instant::now() + Duration::from_millis(grace_ms);
        self.kill_at = Some(self.kill_at.map_or(kill_at, |at| at.min(kill_at)));
    }

    /// Kills when it is time, and again at every call, since a process can fork while the tree is walked. `true` = the
    /// kernel does not let go of something; waiting longer would keep the host's call open without end.
    pub(crate) fn advance(&mut self) -> bool {
        let now = Instant::now();
        if self.kill_at.is_none_or(|at| now < at) {
            return false;
        }
        tree::signal(SIGKILL);
        let give_up_at = *self.give_up_at.get_or_insert(now + Duration::from_millis(KILL_LIMIT_MS));
        now >= give_up_at
    }

    /// How long the next wait may take, in milliseconds; `None` = until something happens.
    pub(crate) fn patience(&self) -> Option<u64> {
        let kill_at = self.kill_at?;
        if self.give_up_at.is_some() {
            return Some(ROUND_MS);
        }
        let left = kill_at.saturating_duration_since(Instant::now());
        // Rounded up: waking a moment early would only turn the loop.
        Some(u64::try_from(left.as_millis()).unwrap_or(u64::MAX).saturating_add(1))
    }
}
