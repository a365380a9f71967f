//! The private addon behind the Node package `zuno`.
//!
//! It converts and owns lifetimes, nothing else: texts go in, texts come out, and one wake-up tells the event loop that
//! the queue has items. Everything public is TypeScript on top of it.

// What is exported is reached through the addon's registration, not through this crate.
#![allow(unreachable_pub)]

mod errors;
mod handle;
mod opening;
mod wake;
