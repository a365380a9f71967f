//! Time and randomness are injected, so that deadlines and ids can be tested without sleeping.

use std::pin::Pin;
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds since the Unix epoch.
pub type Millis = i64;

/// Where the time comes from.
pub trait Clock: Send + Sync {
    /// Milliseconds since the Unix epoch, now.
    fn now(&self) -> Millis;

    /// Ends when that many milliseconds have passed on this clock.
    fn sleep(&self, millis: u64) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(tokio::time::sleep(Duration::from_millis(millis)))
    }
}

/// Where ids come from. The 26 characters sort by creation time and cannot be guessed.
pub trait IdSource: Send + Sync {
    /// 26 characters of lower-case Crockford base32: 48 bits of milliseconds, then 80 random bits.
    fn next_id(&self) -> String;
}

/// The operating system's clock.
#[derive(Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Millis {
        let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Millis::try_from(elapsed.as_millis()).unwrap_or(Millis::MAX)
    }
}

/// Ids from the system's clock and random source, monotone within one process.
#[derive(Debug, Default)]
pub struct RandomIds {
    last: Mutex<u128>,
}

impl IdSource for RandomIds {
    fn next_id(&self) -> String {
        let millis = SystemClock.now().unsigned_abs() as u128 & ((1 << 48) - 1);
        let mut bytes = [0u8; 16];
        // A machine without a random source cannot make unguessable ids; the counter below still makes them unique.
        let random = match getrandom::fill(&mut bytes) {
            Ok(()) => u128::from_be_bytes(bytes) & ((1 << 80) - 1),
            Err(_) => 0,
        };
        let mut last = self.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let candidate = (millis << 80) | random;
        // Two ids of one millisecond, or a clock that stepped back: count up instead, so that order holds.
        *last = if candidate > *last { candidate } else { *last + 1 + (random & 0xffff_ffff) };
        encode(*last)
    }
}

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

fn encode(value: u128) -> String {
    (0..26)
        .rev()
        .map(|digit| {
            let index = ((value >> (digit * 5)) & 31) as usize;
            char::from(ALPHABET.get(index).copied().unwrap_or(b'0'))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_creation_and_have_26_characters() {
        let ids = RandomIds::default();
        let made: Vec<String> = (0..1000).map(|_| ids.next_id()).collect();
        assert!(made.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(made.iter().all(|id| id.len() == 26 && id.bytes().all(|b| ALPHABET.contains(&b))));
    }

    #[test]
    fn the_time_is_in_front() {
        let id = encode(1 << 80);
        assert_eq!(id, "00000000010000000000000000");
    }
}
