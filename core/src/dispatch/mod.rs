//! The one pipeline every call walks: read, hooks, permission, stamp, execute, settle. It knows no tool by name.

mod backoff;
mod execute;
mod group;
mod hooks;
mod pipeline;
mod prepare;
mod read;
pub mod registry;
mod settling;
pub mod surface;

pub use backoff::Failures;
pub use hooks::{HookKind, HookSpec, Hooks};
pub use pipeline::{CallInput, DispatchResult, DispatchSession, Dispatcher};
