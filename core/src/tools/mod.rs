//! Model-visible tools: one file each, a thin body over the services. A new tool is a new file and a line in the
//! registry. Tools hold no state.

pub mod bg;
pub mod contract;
pub mod glob;
pub mod grep;
pub mod host_tool;
pub mod question;
pub mod read;
pub mod shell;
pub mod write;

mod file_call;
mod searching;

use std::sync::Arc;

use contract::Tool;

/// The tools of the library.
pub fn builtin() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(read::Read),
        Arc::new(glob::Glob),
        Arc::new(grep::Grep),
        Arc::new(write::Write),
        Arc::new(shell::Shell),
        Arc::new(bg::Bg),
        Arc::new(question::QuestionTool::question()),
        Arc::new(question::QuestionTool::question_async()),
    ]
}
