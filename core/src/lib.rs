//! `zuno`: the tool runtime that applications embed.
//!
//! A host brings the user interface, the environment, the approvals and the model. This library brings tool
//! *semantics*: what a call may do, whether it may run again, whether it may overlap, what its result proves; and it
//! keeps all of it in SQLite.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::print_stderr))]

pub mod types;

mod api;

pub mod agents;
pub mod config;
pub mod dispatch;
pub mod files;
pub mod host;
pub mod output;
pub mod permission;
pub mod process;
pub mod question;
pub mod runtime;
pub mod sandbox;
pub mod search;
pub mod session;
pub mod store;
pub mod text;
pub mod tools;
pub mod wire;

pub use api::{
    Approval, Builder, Call, CommandEnvironment, EnvironmentChange, EventStream, EventsOf, HostAnswer, HostCall,
    HostFailure, Outcome, Receipt, Runtime, Session, SessionBuilder,
};
