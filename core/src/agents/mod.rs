//! Agents: what each may use. Delegation, jobs and reports are built on these contracts.

mod roster;

pub use roster::{Agent, resolve};
