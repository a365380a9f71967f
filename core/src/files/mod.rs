//! Files reached by object and not by name: authorized paths, read receipts, atomic writes, the mutation lock.
//!
//! A path is resolved once, into open directory handles. Everything that follows — the approval a person gives, the
//! read, the write — goes through these handles, so that what happens on disk in between can make a call fail but
//! never redirect it. This room asks nobody for permission; it only says what has to be asked.

pub mod atomic;
pub mod attributes;
pub mod authorized;
pub mod conflict;
pub mod content;
pub mod diff;
pub mod listing;
pub mod lock;
pub mod path;
pub mod protected;
pub mod reading;
pub mod receipts;
pub mod snapshot;
pub mod whole_file;
pub mod window;

mod descent;
pub(crate) mod errors;
mod temporary;
