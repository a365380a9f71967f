//! `glob` and `grep` over real trees, with the real `rg`.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::print_stderr)]

mod names;
mod program;
mod refusals;
mod results;
mod scope;
mod support;
