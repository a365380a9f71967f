//! The guard: a small supervisor between a host and one command.
//!
//! It exists so that a command's whole process tree ends when the host ends, even by SIGKILL; so that spawning stays
//! cheap in a host with gigabytes of memory; and so that nobody else has to touch signals or reap children. It is
//! compiled by `build.rs`, embedded in the library, and run from a sealed memory file. `frame.rs` is its protocol.
//!
//! Descriptor 0 is the control socket in every role. A guard that is told to join or wrap starts a second one and only
//! relays; the second one supervises the command.

mod command;
mod frame;
mod relay;
mod shield;
mod stop;
mod supervise;
mod sys;
mod talk;
mod tree;

use frame::Chain;
use talk::Control;

fn main() {
    sys::reset_signal_actions();
    sys::block_signals();
    sys::close_inherited();
    // Opened before the process becomes undumpable, and only needed to start a wrapped guard.
    let image = std::fs::File::open("/proc/self/exe");
    sys::become_guard();
    sys::new_session();
    // A guard must not keep a file system busy.
    let _ = std::env::set_current_dir("/");

    let socket = sys::control();
    // Nothing has been started before the frame is whole, so a host that sees no report knows that nothing ran.
    let Some((start, descriptors)) = talk::receive_start(&socket) else { return };
    let control = Control::new(socket, start.secret);
    match start.chain.clone() {
        Chain::Direct => supervise::run(control, start, descriptors),
        Chain::Joined => relay::join(control, start, descriptors),
        Chain::Wrapped { program, args } => relay::wrap(control, start, descriptors, &program, &args, image),
    }
}
