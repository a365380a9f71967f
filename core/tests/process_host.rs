//! What a host can be and do: ignore SIGCHLD, reap everything itself, fork, be killed. Each host here is this test
//! program run again, because all of that concerns a whole process.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::print_stderr)]

mod process_support;

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use process_support::{bash, gone_within, pids, until};
use zuno::process::{CaptureFile, Execution, Exit};

const ROLE: &str = "PROCESS_TEST_HOST";
const SOON: Duration = Duration::from_secs(20);

/// Starts this program as a host in a role, behind `prefix`.
fn host(role: &str, prefix: &[&str]) -> Child {
    let own = std::env::current_exe().unwrap();
    let mut words = prefix.iter().map(std::ffi::OsString::from).collect::<Vec<_>>();
    words.push(own.into());
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(["--exact", "host_process", "--nocapture", "--test-threads=1"]);
    command.env(ROLE, role).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The line a host writes when it is where the test wants it.
fn line_of(child: &mut Child) -> String {
    lines_of(child).next().unwrap()
}

/// Every such line.
fn lines_of(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    lines.filter_map(|line| line.unwrap().strip_prefix("host: ").map(str::to_owned))
}

fn say(text: &str) {
    eprintln!("host: {text}");
}

/// Not a test: what the hosts do.
#[test]
fn host_process() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        match role.as_str() {
            "waits" => wait_for_the_end(false).await,
            "forks" => wait_for_the_end(true).await,
            "ends" => ends_by_itself().await,
            "runs" => runs_commands().await,
            other => panic!("{other}"),
        }
    });
}

async fn wait_for_the_end(fork: bool) {
    let folder = tempfile::tempdir().unwrap();
    let text = "trap '' TERM; sleep 300 & setsid sleep 301 & (setsid sleep 302 &); echo $$; pgrep -P $$; sleep 303";
    let (sink, execution) = start(folder.path(), text).await;
    let all = tree_of(execution.guard_pid());
    if fork {
        let holder = inherit_everything("/bin/sleep", "300");
        say(&holder.to_string());
    }
    say(&all.iter().map(u32::to_string).collect::<Vec<_>>().join(" "));
    drop(sink);
    std::future::pending::<()>().await;
}

async fn ends_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let (_, execution) = start(folder.path(), "sleep 300 & echo $$; sleep 301").await;
    say(&tree_of(execution.guard_pid()).iter().map(u32::to_string).collect::<Vec<_>>().join(" "));
    std::process::exit(3);
}

/// Starts a command and waits for its first line.
async fn start(folder: &std::path::Path, text: &str) -> (zuno::process::CaptureView, Execution) {
    let capture = CaptureFile::new(folder.join("out"));
    let view = capture.view();
    let execution = Execution::start(&bash(text), Box::new(capture), None).unwrap();
    assert!(until(SOON, || view.bytes() > 0));
    (view, execution)
}

/// Starts a program that holds a copy of every descriptor of this process, as a fork of the host would.
fn inherit_everything(program: &str, argument: &str) -> u32 {
    for entry in std::fs::read_dir("/proc/self/fd").unwrap().flatten() {
        let number: i32 = entry.file_name().to_str().unwrap().parse().unwrap();
        if number > 2
            && std::fs::read_link(entry.path()).is_ok_and(|target| target.to_string_lossy().starts_with("socket:"))
        {
            // SAFETY: the descriptor is open; only its flag is changed.
            let socket = unsafe { std::os::fd::BorrowedFd::borrow_raw(number) };
            rustix::io::fcntl_setfd(socket, rustix::io::FdFlags::empty()).unwrap();
        }
    }
    // The host is killed before it could wait.
    #[allow(clippy::zombie_processes)]
    let holder = Command::new(program).arg(argument).stderr(Stdio::null()).spawn().unwrap();
    holder.id()
}

/// A guard and everything below it.
fn tree_of(guard: u32) -> Vec<u32> {
    let mut found = vec![guard];
    let mut next = 0;
    while let Some(pid) = found.get(next).copied() {
        next += 1;
        let output = Command::new("pgrep").args(["-P", &pid.to_string()]).output().unwrap();
        found.extend(pids(&output.stdout));
    }
    assert!(found.len() >= 4, "guard, inner guard, command and a child: {found:?}");
    found
}

async fn runs_commands() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..50 {
        let capture = CaptureFile::new(folder.path().join(format!("{round}")));
        let view = capture.view();
        let mut execution = Execution::start(&bash("echo hi; exit 6"), Box::new(capture), None).unwrap();
        let ending = execution.wait().await;
        assert_eq!((ending.exit, view.window()), (Exit::Code(6), b"hi\n".to_vec()));
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:\t")).unwrap();
    let caught = u64::from_str_radix(caught, 16).unwrap();
    // Bit 16: SIGCHLD.
    assert_eq!(caught & (1 << 16), 0, "a handler for SIGCHLD was installed");
    say(&format!("{} defunct", defunct_children()));
}

/// Without starting a program: std cannot wait for one when SIGCHLD is ignored.
fn defunct_children() -> usize {
    let parent = format!("PPid:\t{}\n", std::process::id());
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let statuses = processes.filter_map(|entry| std::fs::read_to_string(entry.path().join("status")).ok());
    statuses.filter(|status| status.contains(&parent) && status.contains("State:\tZ")).count()
}

#[test]
fn sigkill_of_the_host_ends_every_tree() {
    // case: 94
    // spec: GUARD-01
    let mut host = host("waits", &[]);
    let tree = pids(line_of(&mut host).as_bytes());
    host.kill().unwrap();
    assert_eq!(host.wait().unwrap().signal(), Some(9));
    assert!(gone_within(&tree, SOON), "{tree:?}");
}

#[test]
fn a_copy_of_the_hosts_descriptors_does_not_keep_the_tree() {
    // case: 94
    let mut host = host("forks", &[]);
    let mut lines = lines_of(&mut host);
    let holder = pids(lines.next().unwrap().as_bytes())[0];
    let tree = pids(lines.next().unwrap().as_bytes());
    host.kill().unwrap();
    host.wait().unwrap();
    let gone = gone_within(&tree, SOON);
    let held = process_support::exists(holder);
    Command::new("/bin/kill").arg(holder.to_string()).status().unwrap();
    assert!(gone && held, "{tree:?}");
}

#[test]
fn exit_of_the_host_ends_every_tree() {
    // case: 94
    let mut host = host("ends", &[]);
    let tree = pids(line_of(&mut host).as_bytes());
    assert_eq!(host.wait().unwrap().code(), Some(3));
    assert!(gone_within(&tree, SOON), "{tree:?}");
}

#[test]
fn a_host_that_ignores_sigchld_gets_every_result() {
    // case: 47
    let mut ignoring = host("runs", &["/usr/bin/env", "--ignore-signal=CHLD"]);
    assert_eq!(line_of(&mut ignoring), "0 defunct");
    assert!(ignoring.wait().unwrap().success());
}

#[test]
fn no_signal_handler_and_no_defunct_child_in_an_ordinary_host() {
    // case: 47
    let mut ordinary = host("runs", &[]);
    assert_eq!(line_of(&mut ordinary), "0 defunct");
    assert!(ordinary.wait().unwrap().success());
}
