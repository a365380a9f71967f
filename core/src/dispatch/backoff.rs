//! The wait before an identical call that failed in a way that may pass is attempted again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::types::{Millis, Replay, ToolError};

const FIRST_MS: i64 = 1_000;
const LONGEST_MS: i64 = 30_000;
const JITTER_PERCENT: i64 = 20;

type Identity = (String, String);

/// Consecutive failures of `Safe` calls of one session, by tool and argument digest.
#[derive(Debug, Default)]
pub struct Failures {
    counts: Mutex<HashMap<Identity, (u32, Millis)>>,
}

impl Failures {
    /// Takes over what the store knows of a session that is opened again.
    pub fn restore(&self, known: Vec<(String, String, u32, Millis)>) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        for (tool, digest, count, at) in known {
            counts.insert((tool, digest), (count, at));
        }
    }

    /// Notes how a call ended.
    pub fn note(&self, tool: &str, digest: &str, replay: Replay, error: Option<&ToolError>, now: Millis) {
        if replay != Replay::Safe {
            return;
        }
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        match error {
            Some(error) if error.may_pass() => {
                let entry = counts.entry((tool.to_owned(), digest.to_owned())).or_insert((0, now));
                *entry = (entry.0.saturating_add(1), now);
            }
            // A refusal says nothing about the cause of the earlier failure.
            Some(error) if error.kind.block_kind().is_some() => {}
            _ => {
                if !counts.is_empty() {
                    counts.remove(&(tool.to_owned(), digest.to_owned()));
                }
            }
        }
    }

    /// Milliseconds until an identical call may run; 0 = now. `chance` is between 0 and 1.
    pub fn hold(&self, tool: &str, digest: &str, now: Millis, chance: f64) -> u64 {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.is_empty() {
            return 0;
        }
        let Some((count, at)) = counts.get(&(tool.to_owned(), digest.to_owned())) else { return 0 };
        let wait = jittered(delay(*count), chance);
        u64::try_from(at + wait - now).unwrap_or(0)
    }
}

fn delay(failures: u32) -> i64 {
    let doublings = failures.saturating_sub(1).min(16);
    (FIRST_MS << doublings).min(LONGEST_MS)
}

fn jittered(delay: i64, chance: f64) -> i64 {
    let spread = delay * JITTER_PERCENT / 100;
    delay - spread + (spread as f64 * 2.0 * chance.clamp(0.0, 1.0)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::ErrorKind;

    fn transient() -> ToolError {
        ToolError::new(ErrorKind::Transient { retry_after_ms: None }, "busy", "busy")
    }

    // spec: REPLAY-08
    #[test]
    fn the_wait_doubles_to_its_cap_and_ends_with_a_success() {
        let failures = Failures::default();
        let mut waits = Vec::new();
        for _ in 0..8 {
            failures.note("read", "d", Replay::Safe, Some(&transient()), 1_000);
            waits.push(failures.hold("read", "d", 1_000, 0.5));
        }
        assert_eq!(waits, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
        assert_eq!(failures.hold("read", "other", 1_000, 0.5), 0);
        assert_eq!(failures.hold("read", "d", 40_000, 0.5), 0);
        failures.note("read", "d", Replay::Safe, None, 41_000);
        assert_eq!(failures.hold("read", "d", 41_000, 0.5), 0);
    }

    // spec: REPLAY-08
    #[test]
    fn jitter_stays_within_a_fifth() {
        let failures = Failures::default();
        failures.note("read", "d", Replay::Safe, Some(&transient()), 0);
        assert_eq!(failures.hold("read", "d", 0, 0.0), 800);
        assert_eq!(failures.hold("read", "d", 0, 1.0), 1_200);
    }

    // spec: REPLAY-01 REPLAY-02
    #[test]
    fn a_call_that_is_not_safe_is_never_held_for_another_attempt() {
        let failures = Failures::default();
        failures.note("shell", "d", Replay::Never, Some(&transient()), 0);
        assert_eq!(failures.hold("shell", "d", 0, 0.5), 0);
    }
}
