//! The kernel, as far as the guard needs it: safe functions over the C library that std links anyway.
//!
//! Every `unsafe` of the guard is in this file. The guard has one thread, so nothing here can race with itself.

use std::ffi::{CString, c_char, c_int, c_long, c_short, c_uint, c_ulong, c_void};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use crate::frame::DESCRIPTOR_LIMIT;

pub(crate) const SIGKILL: c_int = 9;
pub(crate) const SIGTERM: c_int = 15;
pub(crate) const SIGCONT: c_int = 18;
const SIGCHLD: c_int = 17;
const SIGNALS: std::ops::RangeInclusive<c_int> = 1..=64;

pub(crate) const ENOSYS: i32 = 38;
const ENOENT: i32 = 2;
const ECHILD: i32 = 10;

const F_SETFD: c_int = 2;
const FD_CLOEXEC: c_int = 1;
const O_CLOEXEC: c_int = 0o2_000_000;
const O_NONBLOCK: c_int = 0o4_000;
const POLLIN: c_short = 1;
const WNOHANG: c_int = 1;
const SIG_SETMASK: c_int = 2;

const PR_SET_DUMPABLE: c_int = 4;
const PR_SET_NAME: c_int = 15;
const PR_SET_SECCOMP: c_int = 22;
const PR_CAPBSET_DROP: c_int = 24;
const PR_SET_CHILD_SUBREAPER: c_int = 36;
const PR_SET_NO_NEW_PRIVS: c_int = 38;
const PR_CAP_AMBIENT: c_int = 47;
const PR_CAP_AMBIENT_CLEAR_ALL: c_ulong = 4;
const SECCOMP_MODE_FILTER: c_ulong = 2;

const SOL_SOCKET: c_int = 1;
const SCM_RIGHTS: c_int = 1;
const MSG_NOSIGNAL: c_int = 0x4000;
const MSG_CMSG_CLOEXEC: c_int = 0x4000_0000;

// Numbers above 423 are the same on every architecture.
const SYS_PIDFD_OPEN: c_long = 434;
const SYS_CLOSE_RANGE: c_long = 436;
const SYS_LANDLOCK_RESTRICT_SELF: c_long = 446;

#[repr(C)]
struct SignalSet([u64; 16]);

#[repr(C)]
struct PollEntry {
    fd: c_int,
    events: c_short,
    revents: c_short,
}

#[repr(C)]
struct IoVector {
    base: *mut c_void,
    length: usize,
}

/// `struct msghdr`. Where a C library declares a narrower length followed by padding, the low half is at the same place
/// on the little-endian machines this is built for.
#[repr(C)]
struct MessageHeader {
    name: *mut c_void,
    name_length: u32,
    vectors: *mut IoVector,
    vector_count: usize,
    control: *mut c_void,
    control_length: usize,
    flags: c_int,
}

/// One `SCM_RIGHTS` control message with room for every descriptor a frame can name.
#[repr(C)]
struct Rights {
    length: usize,
    level: c_int,
    kind: c_int,
    descriptors: [c_int; DESCRIPTOR_LIMIT],
}

#[repr(C)]
struct FilterProgram {
    count: u16,
    filter: *const c_void,
}

#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: c_int,
}

unsafe extern "C" {
    fn _exit(status: c_int) -> !;
    fn capset(header: *mut CapabilityHeader, data: *const [u32; 6]) -> c_int;
    fn dup2(old: c_int, new: c_int) -> c_int;
    fn execve(path: *const c_char, argv: *const *const c_char, envp: *const *const c_char) -> c_int;
    fn fcntl(fd: c_int, command: c_int, ...) -> c_int;
    fn fork() -> c_int;
    fn getpgid(pid: c_int) -> c_int;
    fn getppid() -> c_int;
    fn kill(pid: c_int, signal: c_int) -> c_int;
    fn pipe2(fds: *mut c_int, flags: c_int) -> c_int;
    fn poll(entries: *mut PollEntry, count: c_ulong, timeout: c_int) -> c_int;
    fn prctl(option: c_int, ...) -> c_int;
    fn recvmsg(fd: c_int, message: *mut MessageHeader, flags: c_int) -> isize;
    fn sendmsg(fd: c_int, message: *const MessageHeader, flags: c_int) -> isize;
    fn setsid() -> c_int;
    fn sigaddset(set: *mut SignalSet, signal: c_int) -> c_int;
    fn sigemptyset(set: *mut SignalSet) -> c_int;
    fn sigfillset(set: *mut SignalSet) -> c_int;
    fn signal(signal: c_int, handler: usize) -> usize;
    fn signalfd(fd: c_int, set: *const SignalSet, flags: c_int) -> c_int;
    fn sigprocmask(how: c_int, set: *const SignalSet, old: *mut SignalSet) -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
}

fn checked(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn owned(fd: c_int) -> OwnedFd {
    // SAFETY: every caller passes a descriptor the kernel has just made for it and that nothing else owns.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// Gives every signal its default action. Hosts hand down ignored ones, and an ignored SIGCHLD would lose the status.
pub(crate) fn reset_signal_actions() {
    for number in SIGNALS {
        // SAFETY: the default action (0) installs no handler; KILL and STOP fail without effect.
        unsafe { signal(number, 0) };
    }
}

/// Blocks every signal, so that only KILL ends a guard and SIGCHLD is read from a descriptor.
pub(crate) fn block_signals() {
    let mut set = SignalSet([0; 16]);
    // SAFETY: the set is as large as the C library's (128 bytes) and outlives both calls.
    unsafe {
        sigfillset(&raw mut set);
        sigprocmask(SIG_SETMASK, &raw const set, std::ptr::null_mut());
    }
}

/// Blocks no signal, as a program expects it at its start.
pub(crate) fn unblock_signals() {
    let mut set = SignalSet([0; 16]);
    // SAFETY: as in `block_signals`.
    unsafe {
        sigemptyset(&raw mut set);
        sigprocmask(SIG_SETMASK, &raw const set, std::ptr::null_mut());
    }
}

/// A descriptor that is readable when a child has ended.
pub(crate) fn child_signals() -> io::Result<File> {
    let mut set = SignalSet([0; 16]);
    // SAFETY: the set lives for the calls; -1 asks for a new descriptor.
    let fd = unsafe {
        sigemptyset(&raw mut set);
        sigaddset(&raw mut set, SIGCHLD);
        signalfd(-1, &raw const set, O_CLOEXEC | O_NONBLOCK)
    };
    checked(fd).map(owned).map(File::from)
}

/// Takes over the control socket on descriptor 0 and keeps it from every program started later.
pub(crate) fn control() -> UnixStream {
    // SAFETY: descriptor 0 is open and nothing else in this process uses it; F_SETFD takes an int.
    unsafe {
        fcntl(0, F_SETFD, FD_CLOEXEC);
        UnixStream::from_raw_fd(0)
    }
}

/// Closes every descriptor from 3 up: hosts leak theirs.
pub(crate) fn close_inherited() {
    // SAFETY: runs before this program has opened anything.
    let result = unsafe { syscall(SYS_CLOSE_RANGE, 3 as c_uint, c_uint::MAX, 0 as c_uint) };
    if result < 0 {
        // A kernel before 5.9. The listing's own descriptor is among the numbers and fails harmlessly.
        let open: Vec<RawFd> = std::fs::read_dir("/proc/self/fd")
            .map(|entries| entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
            .unwrap_or_default();
        for fd in open.into_iter().filter(|fd| *fd > 2) {
            // SAFETY: as above; `fcntl` keeps the listing's closed number from being closed twice.
            if unsafe { fcntl(fd, 1) } >= 0 {
                drop(owned(fd));
            }
        }
    }
}

/// Makes `number` another name of `fd`, inherited by programs started later.
pub(crate) fn place(fd: &impl AsRawFd, number: RawFd) -> io::Result<()> {
    if fd.as_raw_fd() == number {
        // SAFETY: F_SETFD takes an int.
        return checked(unsafe { fcntl(number, F_SETFD, 0) }).map(drop);
    }
    // SAFETY: `fd` is open; what `number` named before belongs to nobody that still uses it.
    checked(unsafe { dup2(fd.as_raw_fd(), number) }).map(drop)
}

/// A pipe that no program started later inherits.
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    // SAFETY: the array has room for the two descriptors.
    checked(unsafe { pipe2(fds.as_mut_ptr(), O_CLOEXEC) })?;
    Ok((owned(fds[0]), owned(fds[1])))
}

/// Waits until one of `fds` can be read or has ended, at most `timeout` milliseconds (`None` = without limit).
pub(crate) fn wait_readable(fds: &[Option<BorrowedFd<'_>>], timeout: Option<u64>) -> Vec<bool> {
    let mut entries: Vec<PollEntry> = fds
        .iter()
        .map(|fd| PollEntry { fd: fd.map_or(-1, |fd| fd.as_raw_fd()), events: POLLIN, revents: 0 })
        .collect();
    let timeout = timeout.map_or(-1, |ms| c_int::try_from(ms).unwrap_or(c_int::MAX));
    // SAFETY: pointer and count describe `entries`; negative descriptors are skipped by the kernel.
    let ready = unsafe { poll(entries.as_mut_ptr(), entries.len() as c_ulong, timeout) };
    entries.iter().map(|entry| ready > 0 && entry.revents != 0).collect()
}

/// Splits the process: the child's id in the parent, `None` in the child.
pub(crate) fn split() -> io::Result<Option<i32>> {
    // SAFETY: the guard has one thread, so the child may go on with everything.
    let pid = checked(unsafe { fork() })?;
    Ok((pid != 0).then_some(pid))
}

/// Leaves without running anything of this process's parent copy.
pub(crate) fn leave(code: i32) -> ! {
    // SAFETY: `_exit` never returns and touches nothing.
    unsafe { _exit(code) }
}

/// Becomes leader of a new session, away from every terminal. Fails harmlessly for one that leads a group already.
pub(crate) fn new_session() {
    // SAFETY: no arguments.
    unsafe { setsid() };
}

/// The parent's process id.
pub(crate) fn parent() -> u32 {
    // SAFETY: no arguments, cannot fail.
    unsafe { getppid() }.cast_unsigned()
}

/// The process group of a process.
pub(crate) fn group_of(pid: u32) -> Option<u32> {
    // SAFETY: an integer.
    checked(unsafe { getpgid(pid.cast_signed()) }).ok().map(c_int::cast_unsigned)
}

/// A descriptor that is readable once the process has ended.
pub(crate) fn watch_process(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: two integers.
    let fd = unsafe { syscall(SYS_PIDFD_OPEN, pid as c_int, 0 as c_uint) };
    checked(fd as c_int).map(owned)
}

/// Sends a signal; a process that has ended or is out of reach is no error.
pub(crate) fn send_signal(pid: i32, number: c_int) {
    // SAFETY: two integers.
    unsafe { kill(pid, number) };
}

/// What `reap` found.
pub(crate) enum Reaped {
    /// A child ended with this status.
    Child(i32, i32),
    /// Children live, none has ended.
    Pending,
    /// There are no children.
    None,
}

/// Collects one child that has ended.
pub(crate) fn reap() -> Reaped {
    let mut status = 0;
    // SAFETY: `status` outlives the call.
    match checked(unsafe { waitpid(-1, &raw mut status, WNOHANG) }) {
        Ok(0) => Reaped::Pending,
        Ok(pid) => Reaped::Child(pid, status),
        Err(error) if error.raw_os_error() == Some(ECHILD) => Reaped::None,
        Err(_) => Reaped::Pending,
    }
}

/// Names the process, adopts orphaned descendants, and closes memory and descriptors to processes of the same user.
pub(crate) fn become_guard() {
    // SAFETY: the name is a C string that outlives the call; the others take integers.
    unsafe {
        prctl(PR_SET_NAME, c"zuno-guard".as_ptr());
        prctl(PR_SET_CHILD_SUBREAPER, 1 as c_ulong);
        prctl(PR_SET_DUMPABLE, 0 as c_ulong);
    }
}

/// Gives up the way back to privileges; required by Landlock and seccomp.
pub(crate) fn refuse_new_privileges() -> io::Result<()> {
    // SAFETY: integers.
    checked(unsafe { prctl(PR_SET_NO_NEW_PRIVS, 1 as c_ulong, 0 as c_ulong, 0 as c_ulong, 0 as c_ulong) }).map(drop)
}

/// Drops every capability from every set.
pub(crate) fn drop_capabilities() -> io::Result<()> {
    const VERSION_3: u32 = 0x2008_0522;
    for capability in 0..64 as c_ulong {
        // SAFETY: integers. Fails for numbers past the kernel's last one and without CAP_SETPCAP, where there is nothing
        // to gain back either: no-new-privileges is set beside it.
        unsafe { prctl(PR_CAPBSET_DROP, capability) };
    }
    let mut header = CapabilityHeader { version: VERSION_3, pid: 0 };
    let none = [0; 6];
    // SAFETY: integers; the header and the three zeroed pairs of version 3 outlive the call.
    unsafe {
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0 as c_ulong, 0 as c_ulong, 0 as c_ulong);
        checked(capset(&raw mut header, &raw const none)).map(drop)
    }
}

/// Enters a Landlock domain.
pub(crate) fn enter_ruleset(ruleset: &OwnedFd) -> io::Result<()> {
    // SAFETY: an open descriptor and flags 0.
    let result = unsafe { syscall(SYS_LANDLOCK_RESTRICT_SELF, ruleset.as_raw_fd(), 0 as c_uint) };
    checked(result as c_int).map(drop)
}

/// Loads a seccomp program given as `struct sock_filter[]`.
pub(crate) fn load_filter(program: &[u8]) -> io::Result<()> {
    const FILTER_SIZE: usize = 8;
    // The kernel wants them aligned; a byte buffer need not be.
    let words: Vec<[u32; 2]> = program
        .chunks_exact(FILTER_SIZE)
        .map(|filter| {
            let word = |at| u32::from_ne_bytes([filter[at], filter[at + 1], filter[at + 2], filter[at + 3]]);
            [word(0), word(4)]
        })
        .collect();
    let count = u16::try_from(words.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let filter = FilterProgram { count, filter: words.as_ptr().cast() };
    // SAFETY: count and pointer describe `words`, which outlives the call; the kernel copies and checks the program.
    checked(unsafe { prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &raw const filter) }).map(drop)
}

/// Replaces this process by a program. Returns only the error.
pub(crate) fn execute(program: &CString, args: &[CString], env: &[CString]) -> io::Error {
    let pointers = |list: &[CString]| -> Vec<*const c_char> {
        list.iter().map(|item| item.as_ptr()).chain([std::ptr::null()]).collect()
    };
    let (argv, envp) = (pointers(args), pointers(env));
    // SAFETY: both arrays end with a null pointer; they and the strings they name outlive the call.
    unsafe { execve(program.as_ptr(), argv.as_ptr(), envp.as_ptr()) };
    io::Error::last_os_error()
}

/// Whether an error says that there is no such program.
pub(crate) fn is_missing(errno: i32) -> bool {
    errno == ENOENT
}

/// Receives bytes and the descriptors attached to them.
pub(crate) fn receive(socket: &UnixStream, bytes: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut rights = Rights { length: 0, level: 0, kind: 0, descriptors: [-1; DESCRIPTOR_LIMIT] };
    let mut vector = IoVector { base: bytes.as_mut_ptr().cast(), length: bytes.len() };
    let mut message = header(&mut vector, &mut rights, size_of::<Rights>());
    // SAFETY: the header describes `bytes` and `rights`, which outlive the call.
    let read = unsafe { recvmsg(socket.as_raw_fd(), &raw mut message, MSG_CMSG_CLOEXEC) };
    let read = usize::try_from(read).map_err(|_| io::Error::last_os_error())?;
    let passed = if message.control_length > 0 && rights.level == SOL_SOCKET && rights.kind == SCM_RIGHTS {
        rights.length.saturating_sub(std::mem::offset_of!(Rights, descriptors)) / size_of::<c_int>()
    } else {
        0
    };
    Ok((read, rights.descriptors.iter().take(passed).map(|fd| owned(*fd)).collect()))
}

/// Sends bytes with descriptors attached to the first of them; returns how many bytes went out.
pub(crate) fn send(socket: &UnixStream, bytes: &[u8], passed: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let payload = size_of::<c_int>() * passed.len().min(DESCRIPTOR_LIMIT);
    let length = std::mem::offset_of!(Rights, descriptors) + payload;
    let mut rights = Rights { length, level: SOL_SOCKET, kind: SCM_RIGHTS, descriptors: [-1; DESCRIPTOR_LIMIT] };
    rights.descriptors.iter_mut().zip(passed).for_each(|(slot, fd)| *slot = fd.as_raw_fd());
    let mut vector = IoVector { base: bytes.as_ptr().cast_mut().cast(), length: bytes.len() };
    let message = header(&mut vector, &mut rights, length.next_multiple_of(align_of::<Rights>()));
    // SAFETY: the header describes `bytes`, which is only read, and `rights`; both outlive the call.
    let sent = unsafe { sendmsg(socket.as_raw_fd(), &raw const message, MSG_NOSIGNAL) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

fn header(vector: &mut IoVector, rights: &mut Rights, control_length: usize) -> MessageHeader {
    MessageHeader {
        name: std::ptr::null_mut(),
        name_length: 0,
        vectors: vector,
        vector_count: 1,
        control: (&raw mut *rights).cast(),
        control_length,
        flags: 0,
    }
}
