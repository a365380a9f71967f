//! Confinement of commands: from a policy to what the process room enforces, and the facts a result reports.
//!
//! The order is always the same: a [`Policy`] says what one command may do, [`Sandbox::resolve`] says which backend
//! keeps it there (or why none can), [`Sandbox::prepare`] looks at the machine and makes the [`Prepared`] confinement.
//! This version has one confining backend, bubblewrap. Nothing here asks anybody or runs the command.

mod cause;
mod facts;
mod launcher;
mod line;
mod policy;
mod prepare;
mod private_tmp;
mod protected;
mod resolve;
mod running;
mod seccomp;
mod sockets;

pub use cause::{Cause, Unusable};
pub use facts::{Backend, Facts, ResolutionKind};
pub use policy::Policy;
pub use prepare::{Prepared, Scene};
pub use resolve::{Resolution, Sandbox};
