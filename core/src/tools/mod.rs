//! Model-visible tools: one file each, a thin body over the services. A new tool is a new file and a line in the
//! registry. Tools hold no state.

pub mod bg;
pub mod contract;
pub mod glob;
pub mod grep;
pub mod host_tool;

mod searching;
