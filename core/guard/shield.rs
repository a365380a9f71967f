//! A seccomp program that keeps a command from signalling the host and the guards, for kernels whose Landlock cannot.
//!
//! The host cannot make it: it does not know the guards' process ids. It is loaded beside the host's own program, and of
//! two programs the stricter answer counts.

use std::io;

use crate::sys;

/// The calls that name a process in their first argument, and those that are refused whole because they name a thread
/// or a descriptor, which no filter can look behind.
struct Calls {
    architecture: u32,
    naming: [u32; 6],
    whole: [u32; 2],
}

/// kill, tgkill, rt_sigqueueinfo, rt_tgsigqueueinfo, prlimit64, pidfd_open; tkill, pidfd_send_signal.
#[cfg(target_arch = "x86_64")]
const CALLS: Option<Calls> =
    Some(Calls { architecture: 0xc000_003e, naming: [62, 234, 129, 297, 302, 434], whole: [200, 424] });
#[cfg(target_arch = "aarch64")]
const CALLS: Option<Calls> =
    Some(Calls { architecture: 0xc000_00b7, naming: [129, 131, 138, 240, 261, 434], whole: [130, 424] });
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const CALLS: Option<Calls> = None;

const LOAD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;
const ALLOW: u32 = 0x7fff_0000;
/// EPERM.
const REFUSE: u32 = 0x0005_0001;
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
/// The low half of the first argument, on a little-endian machine; the kernel reads process ids as 32 bits.
const FIRST_ARGUMENT: u32 = 16;

/// The values of a first argument that reach the host or a guard. Call in the guard that starts the command.
pub(crate) fn targets(host: u32) -> Vec<u32> {
    let everybody = 1_u32.wrapping_neg();
    let guards = [std::process::id(), sys::parent()];
    let mut targets: Vec<u32> =
        guards.into_iter().chain([host]).filter(|pid| *pid != 0).flat_map(|pid| [pid, pid.wrapping_neg()]).collect();
    targets.extend(sys::group_of(host).map(u32::wrapping_neg));
    targets.push(everybody);
    targets
}

/// The program, as `struct sock_filter[]`.
pub(crate) fn program(targets: &[u32]) -> io::Result<Vec<u8>> {
    let Some(Calls { architecture, naming, whole }) = CALLS else {
        return Err(io::Error::from_raw_os_error(sys::ENOSYS));
    };
    // Blocks from the last to the first: a jump goes forward, over what stands behind it.
    let mut code = vec![step(RETURN, 0, 0, ALLOW), step(RETURN, 0, 0, REFUSE)];
    // Behind this point: [targets...] ALLOW REFUSE, in reverse order.
    for (index, target) in targets.iter().enumerate() {
        code.insert(0, step(JUMP_IF_EQUAL, jump(index + 1)?, 0, *target));
    }
    code.insert(0, step(LOAD, 0, 0, FIRST_ARGUMENT));
    code.insert(0, step(RETURN, 0, 0, ALLOW));
    let refuse = code.len() - 1;
    for (index, number) in whole.iter().enumerate() {
        code.insert(0, step(JUMP_IF_EQUAL, jump(refuse + index)?, 0, *number));
    }
    for (index, number) in naming.iter().enumerate() {
        // Over the other comparisons and the ALLOW behind them.
        code.insert(0, step(JUMP_IF_EQUAL, jump(index + whole.len() + 1)?, 0, *number));
    }
    code.insert(0, step(LOAD, 0, 0, NUMBER));
    // A foreign architecture is for the host's program to refuse.
    let allow = naming.len() + whole.len() + 1;
    code.insert(0, step(JUMP_IF_EQUAL, 0, jump(allow)?, architecture));
    code.insert(0, step(LOAD, 0, 0, ARCHITECTURE));
    Ok(code.concat())
}

fn step(code: u16, if_true: u8, if_false: u8, value: u32) -> [u8; 8] {
    let ([a, b], [c, d, e, f]) = (code.to_ne_bytes(), value.to_ne_bytes());
    [a, b, if_true, if_false, c, d, e, f]
}

fn jump(over: usize) -> io::Result<u8> {
    u8::try_from(over).map_err(|_| io::Error::from_raw_os_error(sys::ENOSYS))
}
