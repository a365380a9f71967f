//! The private addon behind the Node package `zuno`.
//!
//! It converts and owns lifetimes, nothing else: texts go in, texts come out, and one wake-up tells the event loop that
//! the queue has items. Everything public is TypeScript on top of it.

mod errors;
pub mod handle;
pub mod opening;
mod wake;
