//! The system calls that confined commands do not get. One program per network setting, built once.

use std::collections::BTreeMap;
use std::sync::Arc;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    sock_filter,
};

use crate::config::Network;

/// Refused whatever their arguments are.
const REFUSED: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_reboot,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// `clone` with one of these makes a namespace.
const NAMESPACE_FLAGS: &[i32] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Requests that put words into a terminal.
const TERMINAL_REQUESTS: &[u64] = &[0x5412, 0x541c];

/// What stays of `socket` without a network: a namespace keeps these inside, and nothing keeps vsock and others.
const LOCAL_FAMILIES: &[u32] = &[libc::AF_UNIX as u32, libc::AF_INET as u32, libc::AF_INET6 as u32];

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE: u32 = 0;

/// From here on x86-64 numbers its calls a second time, past every list.
const X32_NUMBERS: u32 = 0x4000_0000;

const OFFSET_NUMBER: u32 = 0;
const OFFSET_ARCHITECTURE: u32 = 4;
const OFFSET_FIRST_ARGUMENT: u32 = 16;

const LOAD: u16 = 0x20;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;
const ALLOW: u32 = 0x7fff_0000;

/// The program (`struct sock_filter[]`) for commands with this network setting.
pub(super) fn program(network: Network) -> Result<Arc<[u8]>, String> {
    let mut program = prelude(network);
    program.extend(list().map_err(|error| format!("the seccomp program could not be built: {error}"))?);
    Ok(program.iter().flat_map(encode).collect())
}

/// What needs an answer of its own: foreign numberings, `clone3` (libraries fall back to `clone`, whose flags can be
/// looked at), and socket families (programs fall back when one is not supported).
fn prelude(network: Network) -> BpfProgram {
    let mut code = vec![
        step(LOAD, OFFSET_ARCHITECTURE),
        jump(JUMP_EQUAL, ARCHITECTURE, 1, 0),
        step(RETURN, errno(libc::EPERM)),
        step(LOAD, OFFSET_NUMBER),
        jump(JUMP_AT_LEAST, X32_NUMBERS, 0, 1),
        step(RETURN, errno(libc::EPERM)),
        jump(JUMP_EQUAL, number(libc::SYS_clone3), 0, 1),
        step(RETURN, errno(libc::ENOSYS)),
    ];
    if network == Network::Deny {
        let families = LOCAL_FAMILIES.len();
        let mut socket = vec![step(LOAD, OFFSET_FIRST_ARGUMENT)];
        for (index, family) in LOCAL_FAMILIES.iter().enumerate() {
            // To the ALLOW behind the refusal.
            socket.push(jump(JUMP_EQUAL, *family, offset(families - index), 0));
        }
        socket.push(step(RETURN, errno(libc::EAFNOSUPPORT)));
        socket.push(step(RETURN, ALLOW));
        code.push(jump(JUMP_EQUAL, number(libc::SYS_socket), 0, offset(socket.len())));
        code.extend(socket);
    }
    code
}

fn list() -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.iter().map(|number| (*number, Vec::new())).collect();
    let clone = NAMESPACE_FLAGS.iter().map(|flag| {
        let flag = u64::from(flag.cast_unsigned());
        argument(0, SeccompCmpOp::MaskedEq(flag), flag)
    });
    rules.insert(libc::SYS_clone, clone.collect::<Result<_, _>>()?);
    let terminal = TERMINAL_REQUESTS.iter().map(|request| argument(1, SeccompCmpOp::Eq, *request));
    rules.insert(libc::SYS_ioctl, terminal.collect::<Result<_, _>>()?);
    let refuse = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, std::env::consts::ARCH.try_into()?)?.try_into()
}

fn argument(index: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(index, SeccompCmpArgLen::Dword, operator, value)?])
}

fn step(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

fn jump(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

fn offset(steps: usize) -> u8 {
    u8::try_from(steps).unwrap_or(u8::MAX)
}

fn number(call: i64) -> u32 {
    u32::try_from(call).unwrap_or(u32::MAX)
}

fn errno(number: i32) -> u32 {
    0x0005_0000 | number.cast_unsigned()
}

fn encode(filter: &sock_filter) -> Vec<u8> {
    [&filter.code.to_ne_bytes()[..], &[filter.jt, filter.jf], &filter.k.to_ne_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_whole_instructions_and_differ_by_network() {
        let deny = program(Network::Deny).unwrap();
        let allow = program(Network::Allow).unwrap();
        assert_eq!((deny.len() % 8, allow.len() % 8), (0, 0));
        assert!(deny.len() > allow.len());
        assert!(deny.len() / 8 < 4096);
    }

    #[test]
    fn every_jump_of_the_prelude_lands_inside() {
        for network in [Network::Deny, Network::Allow] {
            let code = prelude(network);
            for (at, filter) in code.iter().enumerate() {
                if filter.code & 0x07 == 0x05 {
                    // The first instruction behind the prelude is a landing place as well.
                    assert!(at + 1 + usize::from(filter.jt.max(filter.jf)) <= code.len());
                }
            }
        }
    }
}
