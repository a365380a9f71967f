//! Driving ripgrep: `glob` and `grep` are the `rg` executable and nothing else.
//!
//! The room contributes typed arguments (`arguments`), the check of the path (`root`), cancellation (`run`),
//! bounded decoding (`split`, `records`), a stable order (`first`) and the words of the result (`render`).
//! Deliberately absent: a directory walker of its own, knowledge of permission rules (the caller passes a function
//! that says which files may not be named), and the tools themselves.

mod arguments;
mod collect;
mod first;
mod locate;
mod names;
mod records;
mod refusal;
mod render;
mod ripgrep;
mod root;
mod run;
mod split;

pub use arguments::{GlobQuery, GrepQuery};
pub use render::Rendered;
pub use ripgrep::{Denied, Ripgrep, Settings};
pub use root::{Kind, Places, SearchRoot};
