//! The public Rust API: opens the store, wires the rooms, owns the threads.

pub mod hub;
