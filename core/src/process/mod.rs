//! Running programs: each behind its own guard, so that its process tree ends when it should and never outlives the
//! host. Nothing here touches the host's signals, and nothing waits for a child by tokio: see `guard.rs`.
//!
//! * [`Execution`] runs a command whose output is captured as it comes, with cancellation and a ceiling.
//! * [`spawn_piped`] runs a helper program (ripgrep, git) whose streams the caller reads itself, without a runtime.
//!
//! This room knows no tools and no policy: what a [`Confinement`] holds is decided elsewhere.

mod capture;
pub mod environment;
mod error;
mod execution;
mod exit;
// Host and guard use a half each.
#[allow(dead_code)]
#[path = "../../guard/frame.rs"]
mod frame;
mod guard;
mod image;
mod lookup;
mod piped;
mod spec;

pub use capture::{CaptureFile, CaptureView, Maker, Observer, WINDOW};
pub use error::StartError;
pub use execution::{Control, Execution, OutputSink};
pub use exit::{Ending, Exit, Stop, signal_name};
pub use lookup::find_program;
pub use piped::{Collected, Piped, PipedControl, spawn_piped};
pub use spec::{CommandSpec, Confinement, MAX_ARGUMENT, Wrapper};
