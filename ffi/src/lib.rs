//! The C face: `libzuno.so`, described by `include/zuno.h`, which is generated from this crate.
//!
//! It converts and owns lifetimes; every decision is made by the core, behind [`zuno::wire::Wire`]. Each exported body
//! runs inside [`contain`], so that no panic reaches the program.

// The names are the ones C programs see; what a caller has to keep is said in the words of the header.
#![allow(non_camel_case_types, clippy::missing_safety_doc)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing))]

mod contain;
mod deliver;
mod pointers;
mod roster;
mod shared;

// The header is in this order.
pub mod version;

pub mod status;

pub mod text;

pub mod buf;

pub mod error;

pub mod host;

pub mod runtime;

pub mod request;

pub mod session;

pub mod question;

pub mod json;
