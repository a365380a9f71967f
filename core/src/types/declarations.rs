//! The three independent declarations of a tool. None is derived from another; the strict value is the default.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a call may change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Effect {
    /// Observes state without changing it.
    ReadOnly,
    /// Needs a person by design.
    UserMediated,
    /// Runs child work that carries its own effects.
    Delegating,
    /// Changes state or reaches outside.
    #[default]
    SideEffecting,
}

/// Whether a failed call may be attempted again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Replay {
    /// At most once.
    #[default]
    Never,
    /// May be attempted again after a backoff.
    Safe,
}

/// Whether a call may overlap with others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Concurrency {
    /// A barrier on both sides.
    #[default]
    Exclusive,
    /// May overlap with other calls that are not exclusive.
    ParallelSafe,
    /// May overlap while running outside the foreground path.
    IsolatedBackground,
}

/// The three declarations together; `Default` is the strict value of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Declarations {
    /// What a call may change.
    pub effect: Effect,
    /// Whether it may be attempted again.
    pub replay: Replay,
    /// Whether it may overlap.
    pub concurrency: Concurrency,
}

impl Declarations {
    /// Inspection that may run again and beside others.
    pub const READ: Self =
        Self { effect: Effect::ReadOnly, replay: Replay::Safe, concurrency: Concurrency::ParallelSafe };
    /// The strict value of each: what an undeclared tool gets.
    pub const STRICT: Self =
        Self { effect: Effect::SideEffecting, replay: Replay::Never, concurrency: Concurrency::Exclusive };
}
