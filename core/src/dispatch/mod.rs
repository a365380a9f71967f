//! The one pipeline every call walks.

pub mod registry;
pub mod surface;
