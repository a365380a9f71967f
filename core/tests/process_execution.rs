//! Commands: when they settle, how they end, and that nothing of them is left.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::print_stderr)]

mod process_support;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use process_support::{bash, gone_within, pids, until};
use zuno::process::{CaptureFile, CommandSpec, Control, Ending, Execution, Exit, OutputSink, StartError, Stop};
use zuno::types::ToolError;

/// Far above what any of these needs, far below what a command that is not stopped would take.
const SOON: Duration = Duration::from_secs(20);

#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl OutputSink for Memory {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(())
    }
}

impl Memory {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }

    /// Waits for the command's first line.
    async fn first_line(&self) -> String {
        let end = Instant::now() + SOON;
        loop {
            if let Some((line, _)) = self.text().split_once('\n') {
                return line.to_owned();
            }
            assert!(Instant::now() < end, "the command wrote no line");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn run_spec(spec: &CommandSpec, ceiling: Option<Duration>) -> (Ending, String) {
    let memory = Memory::default();
    let mut execution = Execution::start(spec, Box::new(memory.clone()), ceiling).unwrap();
    let ending = tokio::time::timeout(SOON, execution.wait()).await.expect("the command did not settle");
    (ending, memory.text())
}

async fn run(text: &str) -> (Ending, String) {
    run_spec(&bash(text), None).await
}

/// Runs a command, cancels it after its first line, and returns that line.
async fn cancelled(text: &str) -> (Ending, String) {
    let memory = Memory::default();
    let mut execution = Execution::start(&bash(text), Box::new(memory.clone()), None).unwrap();
    let line = memory.first_line().await;
    execution.control().cancel();
    let ending = tokio::time::timeout(SOON, execution.wait()).await.expect("the command did not settle");
    (ending, line)
}

fn plain(code: i32) -> Ending {
    Ending {
        exit: Exit::Code(code),
        started: true,
        leftover: 0,
        survivors: 0,
        stop: None,
        exited_before_stop: true,
        capture_error: None,
    }
}

#[tokio::test]
async fn output_and_exit_code_come_back() {
    let (ending, output) = run("echo out; echo err >&2; pwd; exit 7").await;
    assert_eq!((ending, output.as_str()), (plain(7), "out\nerr\n/\n"));
}

#[tokio::test]
async fn standard_input_is_at_its_end_and_there_is_no_terminal() {
    // case: 50
    let (ending, output) = run("cat; bash -i -c 'echo in' 2>/dev/null; (: </dev/tty) 2>/dev/null || echo none").await;
    assert_eq!((ending.exit, output.as_str()), (Exit::Code(0), "in\nnone\n"));
}

#[tokio::test]
async fn a_command_has_a_session_of_its_own_and_default_signals() {
    // case: 50
    let (_, output) = run("cut -d' ' -f6 /proc/$$/stat; echo $$; grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status").await;
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines[0], lines[1]);
    assert_eq!(lines[2], "SigBlk:\t0000000000000000");
    // The C library ignores its own 32 and 33 in everything it spawns, and lets nobody change that.
    let ignored = u64::from_str_radix(lines[3].trim_start_matches("SigIgn:\t"), 16).unwrap();
    assert_eq!(ignored & !(0b11 << 31), 0, "{output}");
}

#[tokio::test]
async fn only_the_standard_streams_are_open() {
    let (_, output) = run("for n in {0..40}; do [ -e /proc/$$/fd/$n ] && echo $n; done").await;
    assert_eq!(output, "0\n1\n2\n");
}

#[tokio::test]
async fn settles_on_exit_while_a_child_holds_the_streams() {
    // case: 34
    for text in [
        "sleep 300 & echo $!; echo hi",
        "setsid sleep 300 & echo $!; echo hi",
        "sleep 300 2>&1 >/dev/null & echo $!; echo hi",
        "(trap '' TERM; exec sleep 300) & echo $!; echo hi",
        "sleep 300 & kill -STOP $!; echo $!; echo hi",
    ] {
        let (ending, output) = run(text).await;
        assert!(output.ends_with("\nhi\n"), "{text}: {output}");
        assert_eq!(ending, Ending { leftover: 1, ..plain(0) }, "{text}");
        assert!(gone_within(&pids(output.lines().next().unwrap().as_bytes()), SOON), "{text}");
    }
}

#[tokio::test]
async fn daemons_are_stopped_and_counted() {
    let text = "(setsid bash -c '(sleep 300 & echo $! >&2; exec 1>&- 2>&-; exec sleep 301) &' ) ; sleep 0.2; echo hi";
    let (ending, output) = run(text).await;
    assert_eq!((ending.exit, ending.leftover), (Exit::Code(0), 2));
    assert!(gone_within(&pids(output.lines().next().unwrap().as_bytes()), SOON));
}

#[tokio::test]
async fn process_substitution_settles_with_its_output() {
    // case: 35
    let folder = tempfile::tempdir().unwrap();
    let mut spec = bash("exec > >(tee log.txt) 2>&1; echo done; exit 0");
    spec.cwd = folder.path().to_owned();
    let (ending, output) = run_spec(&spec, None).await;
    assert_eq!((ending, output.as_str()), (plain(0), "done\n"));
    assert_eq!(std::fs::read(folder.path().join("log.txt")).unwrap(), b"done\n");
}

#[tokio::test]
async fn cancel_reaches_every_kind_of_descendant() {
    let tree = "sleep 300 & a=$!; setsid sleep 300 & b=$!; (trap '' TERM; exec sleep 300) & c=$!; \
                (exec 0>&- 1>&- 2>&-; exec sleep 300) & d=$!; sleep 300 & e=$!; kill -STOP $e; ";
    for end in ["echo $$ $a $b $c $d $e; wait", "trap '' TERM; echo $$ $a $b $c $d $e; wait; wait; sleep 300"] {
        let (ending, line) = cancelled(&format!("{tree}{end}")).await;
        assert!(matches!(ending.exit, Exit::Signal(15 | 9)), "{ending:?}");
        assert_eq!((ending.stop, ending.exited_before_stop), (Some(Stop::Cancelled), false));
        assert_eq!(ending.survivors, 0);
        assert!(gone_within(&pids(line.as_bytes()), Duration::ZERO), "{end}");
    }
}

#[tokio::test]
async fn a_tree_that_forks_without_pause_is_ended() {
    // Every process starts its successor and ends: whoever looks sees another one.
    let chains = "chain() { (chain &) ; }; trap '' TERM; for i in {1..20}; do chain & done; echo ready; sleep 300";
    let (ending, _) = cancelled(chains).await;
    assert_eq!((ending.stop, ending.survivors), (Some(Stop::Cancelled), 0), "{ending:?}");
}

#[tokio::test]
async fn the_ceiling_ends_a_busy_a_stopped_and_a_deaf_command() {
    // case: 37 case: 38
    for text in ["while :; do :; done", "kill -STOP $$", "trap '' TERM; while :; do :; done", "setsid -w sleep 300"] {
        let start = Instant::now();
        let (ending, _) = run_spec(&bash(text), Some(Duration::from_millis(200))).await;
        assert!(matches!(ending.exit, Exit::Signal(15 | 9)), "{text}: {ending:?}");
        assert_eq!((ending.stop, ending.exited_before_stop), (Some(Stop::Ceiling), false));
        assert!(start.elapsed() < SOON);
    }
}

#[tokio::test]
async fn a_cancel_after_the_exit_leaves_the_exit_its_own() {
    // The command has ended, but its child holds the output, so that the drain is still on.
    let memory = Memory::default();
    let text = "sleep 300 & echo $$; exit 4";
    let mut execution = Execution::start(&bash(text), Box::new(memory.clone()), None).unwrap();
    let command = pids(memory.first_line().await.as_bytes());
    assert!(until(SOON, || command.iter().all(|pid| !process_support::exists(*pid))));
    execution.control().cancel();
    let ending = execution.wait().await;
    assert_eq!((ending.exit, ending.exited_before_stop), (Exit::Code(4), true));
    assert_eq!(ending.stop, Some(Stop::Cancelled));
}

#[tokio::test]
async fn a_command_may_end_itself_when_asked_to() {
    let (ending, _) = cancelled("trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done").await;
    assert_eq!((ending.exit, ending.exited_before_stop), (Exit::Code(9), false));
}

#[tokio::test]
async fn signals_are_not_codes() {
    // case: 41
    // spec: GUARD-13
    assert_eq!(run("kill -9 $$").await.0.exit, Exit::Signal(9));
    assert_eq!(run("kill -TERM $$").await.0.exit, Exit::Signal(15));
    assert_eq!(run("bash -c 'kill -9 $$'; exit $?").await.0.exit, Exit::Code(137));
}

#[tokio::test]
async fn reserved_codes_of_a_command_are_its_own() {
    // spec: GUARD-09 GUARD-11 GUARD-12
    for code in [125, 126, 127] {
        let fake = format!("echo 'zuno-guard 00000000000000000000000000000000 failed: no'; exit {code}");
        assert_eq!(run(&fake).await.0, plain(code));
    }
    assert_eq!(run("no-such-program-at-all").await.0, plain(127));
}

#[tokio::test]
async fn programs_that_cannot_start_are_the_guards_codes_with_its_line() {
    // spec: GUARD-03 GUARD-04 GUARD-10
    let folder = tempfile::tempdir().unwrap();
    let plain_file = folder.path().join("plain");
    std::fs::write(&plain_file, "echo no").unwrap();

    let mut spec = CommandSpec::new("/no/such/program", "/");
    let (ending, output) = run_spec(&spec, None).await;
    assert_eq!((ending.exit.code(), ending.started), (Some(127), false));
    assert!(matches!(ending.exit, Exit::NotFound { .. }));
    assert!(output.starts_with("zuno-guard ") && output.contains(" not-found: /no/such/program: "), "{output}");

    spec.program = plain_file;
    let (ending, output) = run_spec(&spec, None).await;
    assert_eq!((ending.exit.code(), ending.started), (Some(126), false));
    assert!(matches!(ending.exit, Exit::NotExecutable { .. }));
    assert!(output.contains(" not-executable: "), "{output}");
}

#[tokio::test]
async fn what_cannot_be_confined_is_not_run() {
    // spec: GUARD-02
    let mut spec = bash("echo ran");
    // Not a program the kernel accepts: its only instruction has an unknown code.
    spec.confinement.seccomp = vec![0xff; 8].into();
    let (ending, output) = run_spec(&spec, None).await;
    assert_eq!((ending.exit.code(), ending.started), (Some(125), false));
    assert!(!output.contains("ran\n") && output.contains(" failed: cannot confine the command: "), "{output}");
}

#[tokio::test]
async fn a_command_is_confined_before_it_starts() {
    let mut spec = bash("grep -E '^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp):' /proc/self/status");
    // BPF_RET | BPF_K, SECCOMP_RET_ALLOW.
    let allow: [u8; 8] = [0x06, 0, 0, 0, 0, 0, 0xff, 0x7f];
    spec.confinement.seccomp = allow.into();
    spec.confinement.drop_capabilities = true;
    let (ending, output) = run_spec(&spec, None).await;
    assert_eq!(ending, plain(0));
    let value = |name: &str| output.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned();
    // Only somebody with capabilities can bound them, and only somebody with capabilities needs to.
    let bounded = rustix::process::geteuid().is_root().then_some("CapBnd:");
    for set in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"].into_iter().chain(bounded) {
        assert_eq!(value(set), "0000000000000000", "{set}");
    }
    assert_eq!((value("NoNewPrivs:").as_str(), value("Seccomp:").as_str()), ("1", "2"));
}

#[tokio::test]
async fn what_cannot_be_run_as_written_is_refused() {
    let start = |spec: &CommandSpec| Execution::start(spec, Box::new(Memory::default()), None).map(drop).unwrap_err();
    let long = bash(&"x".repeat(131_072));
    assert!(matches!(start(&long), StartError::ArgumentTooLong { bytes: 131_072 }));
    assert!(matches!(start(&bash("a\0b")), StartError::NulByte));
    assert!(matches!(start(&CommandSpec::new("bash", "/")), StartError::NotAbsolute { .. }));
    let missing = CommandSpec::new("/bin/bash", "/no/such/directory");
    assert!(matches!(start(&missing), StartError::MissingDirectory { .. }));
    assert_eq!(ToolError::from(start(&missing)).kind.name(), "InvalidArgs");

    let longest = format!(": {}", "x".repeat(131_069));
    assert_eq!(run(&longest).await.0, plain(0));
}

#[tokio::test]
async fn a_hundred_megabytes_are_exact_and_do_not_stay_in_memory() {
    // case: 44
    const SIZE: u64 = 100_000_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let capture = CaptureFile::new(&path);
    let view = capture.view();
    let before = resident();
    let text = format!("yes 0123456789abcde | head -c {SIZE}");
    let mut execution = Execution::start(&bash(&text), Box::new(capture), None).unwrap();
    let ending = execution.wait().await;
    assert_eq!(ending, plain(0));
    assert_eq!((view.bytes(), std::fs::metadata(&path).unwrap().len()), (SIZE, SIZE));
    assert_eq!(view.window().len(), 2 << 20);
    assert_eq!(sha256_of(&path), view.digest());
    // Other tests of this process run beside it.
    assert!(resident() < before + (64 << 20), "{} MiB", (resident() - before) >> 20);
}

fn sha256_of(path: &std::path::Path) -> String {
    let output = std::process::Command::new("sha256sum").arg(path).output().unwrap();
    String::from_utf8(output.stdout).unwrap().split_whitespace().next().unwrap().to_owned()
}

fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[tokio::test]
async fn a_capture_that_fails_harms_no_command() {
    let folder = tempfile::tempdir().unwrap();
    let capture = CaptureFile::new(folder.path().join("missing/out"));
    let view = capture.view();
    let mut spec = bash("head -c 300000 /dev/zero; echo ok > here");
    spec.cwd = folder.path().to_owned();
    let mut execution = Execution::start(&spec, Box::new(capture), None).unwrap();
    let ending = execution.wait().await;
    assert_eq!(ending.exit, Exit::Code(0));
    assert!(ending.capture_error.is_some());
    assert_eq!(view.window().len(), 300_000);
    assert!(folder.path().join("here").exists());
}

#[tokio::test]
async fn a_sink_that_panics_ends_the_command() {
    struct Broken(std::sync::mpsc::Sender<Vec<u8>>);
    impl OutputSink for Broken {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
            self.0.send(bytes.to_vec()).unwrap();
            panic!("a defect of the listener");
        }
    }
    let (sender, receiver) = std::sync::mpsc::channel();
    let mut execution = Execution::start(&bash("echo $$; sleep 300"), Box::new(Broken(sender)), None).unwrap();
    let ending = execution.wait().await;
    assert_eq!(ending.exit, Exit::Lost);
    assert!(gone_within(&pids(&receiver.recv().unwrap()), SOON));
}

#[tokio::test]
async fn dropping_an_execution_ends_its_tree() {
    let memory = Memory::default();
    let execution = Execution::start(&bash("sleep 300 & echo $! $$; wait"), Box::new(memory.clone()), None).unwrap();
    let mut pids = pids(memory.first_line().await.as_bytes());
    pids.push(execution.guard_pid());
    drop(execution);
    let gone = tokio::task::spawn_blocking(move || gone_within(&pids, SOON)).await.unwrap();
    assert!(gone);
}

#[test]
fn a_runtime_that_stops_takes_its_commands_along() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let memory = Memory::default();
    let line = runtime.block_on(async {
        let text = "sleep 300 & echo $! $$; wait";
        let execution = Execution::start(&bash(text), Box::new(memory.clone()), None).unwrap();
        let line = memory.first_line().await;
        std::mem::forget(execution);
        line
    });
    drop(runtime);
    assert!(gone_within(&pids(line.as_bytes()), SOON));
}

#[tokio::test]
async fn a_command_that_kills_its_guard_does_not_outlive_it() {
    // The inner guard is the command's parent, the outer one that one's.
    let outer = "p=$(cut -d' ' -f4 /proc/$PPID/stat)";
    for kill in ["kill -9 $PPID", &format!("{outer}; kill -9 $p")] {
        let (ending, output) = run(&format!("sleep 300 & echo $! $$; {kill}; sleep 300")).await;
        assert_eq!(ending.exit, Exit::Lost, "{kill}");
        assert!(gone_within(&pids(output.as_bytes()), SOON), "{kill}");
    }
}

#[tokio::test]
async fn a_shielded_command_cannot_reach_its_guards_or_the_host() {
    let host = std::process::id();
    let text = format!(
        "outer=$(cut -d' ' -f4 /proc/$PPID/stat); for pid in $PPID $outer {host}; do \
         kill -0 $pid && echo one; kill -0 -- -$pid && echo group; prlimit --pid $pid --nofile && echo limit; \
         done 2>/dev/null; \
         {{ kill -0 -1 && echo all; sleep 300 & kill -9 $! && wait $!; }} 2>/dev/null; echo $?; kill -9 $$"
    );
    let mut spec = bash(&text);
    spec.confinement.shield = true;
    let (ending, output) = run_spec(&spec, None).await;
    assert_eq!((ending.exit, output.as_str()), (Exit::Signal(9), "137\n"));
    assert_eq!(ending.leftover, 0);
}

#[tokio::test]
async fn a_guard_that_was_stopped_does_not_hold_up_a_cancel() {
    // case: 38
    for stop in ["kill -STOP $PPID", "p=$(cut -d' ' -f4 /proc/$PPID/stat); kill -STOP $p"] {
        let (ending, line) = cancelled(&format!("sleep 300 & {stop}; echo $! $$; sleep 300")).await;
        assert_eq!((ending.exit, ending.stop), (Exit::Lost, Some(Stop::Cancelled)), "{stop}");
        assert!(gone_within(&pids(line.as_bytes()), SOON), "{stop}");
    }
}

#[tokio::test]
async fn a_guard_ignores_polite_signals() {
    let (ending, _) = run("kill -TERM $PPID; kill -INT $PPID; exit 5").await;
    assert_eq!(ending, plain(5));
}

#[tokio::test]
async fn many_short_commands_leave_nothing_behind() {
    // case: 47
    let mut guards = Vec::new();
    for _ in 0..300 {
        let mut execution = Execution::start(&bash("exit 0"), Box::new(Memory::default()), None).unwrap();
        guards.push(execution.guard_pid());
        assert_eq!(execution.wait().await, plain(0));
    }
    // Reaped before the wait returned, not some time later.
    assert!(guards.iter().all(|pid| !is_our_zombie(*pid)));
}

fn is_our_zombie(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.contains("State:\tZ") && status.contains(&format!("PPid:\t{}\n", std::process::id()))
}

#[tokio::test]
async fn commands_overlap_and_are_cancelled_apart() {
    // case: 47
    let mut running: Vec<(Execution, Control)> = (0..20)
        .map(|_| {
            let execution = Execution::start(&bash("sleep 300"), Box::new(Memory::default()), None).unwrap();
            let control = execution.control();
            (execution, control)
        })
        .collect();
    for (_, control) in running.iter().step_by(2) {
        control.cancel();
    }
    for (execution, _) in running.iter_mut().step_by(2) {
        assert_eq!(execution.wait().await.stop, Some(Stop::Cancelled));
    }
    for (execution, control) in running.iter_mut().skip(1).step_by(2) {
        assert!(process_support::exists(execution.guard_pid()));
        control.cancel();
        assert_eq!(execution.wait().await.exit, Exit::Signal(15));
    }
}

#[tokio::test]
async fn names_and_values_that_are_no_text_arrive_as_bytes() {
    use std::os::unix::ffi::OsStringExt;
    let mut spec = bash("env -0 | grep -az ^ODD; printf '%s' \"$1\"");
    spec.args.extend([std::ffi::OsString::from("bash"), std::ffi::OsString::from_vec(b"\xff\n".to_vec())]);
    spec.env.push(("ODD".into(), std::ffi::OsString::from_vec(b"\xfe".to_vec())));
    let memory = Memory::default();
    Execution::start(&spec, Box::new(memory.clone()), None).unwrap().wait().await;
    assert_eq!(memory.bytes(), b"ODD=\xfe\0\xff\n");
}
