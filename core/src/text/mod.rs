//! Pure logic: functions from values to values, each fuzzable alone. No I/O, no sessions.

pub mod arguments;
pub mod fingerprint;
pub mod nearest;
pub mod result_text;
pub mod rules;
pub mod shell_reading;
pub mod windows;
