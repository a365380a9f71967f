//! Sessions as hosts drive them: create, open, dispatch, inspect, close.

mod lifecycle;
mod params;
mod queries;
mod setup;
mod tool_list;

pub use params::{CreateParams, ReconcileParams};
pub use tool_list::{ToolFormat, tools};
