//! A second guard behind a confining program: exact wait statuses, ends, and failures of the set-up.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::print_stderr)]

mod process_support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use process_support::{bash, gone_within, pids, until};
use zuno::process::{CommandSpec, Ending, Execution, Exit, OutputSink, Stop, Wrapper, spawn_piped};

const SOON: Duration = Duration::from_secs(20);
const ARGS: [&str; 18] = [
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-net",
    "--die-with-parent",
    "--as-pid-1",
    "--cap-drop",
    "ALL",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--remount-ro",
    "/proc",
];

#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl OutputSink for Memory {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(())
    }
}

impl Memory {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

fn wrapped(text: &str) -> CommandSpec {
    let mut spec = bash(text);
    let args = ARGS.iter().map(Into::into).collect();
    spec.confinement.wrapper = Some(Wrapper { program: "/usr/bin/bwrap".into(), args });
    spec
}

async fn run_spec(spec: &CommandSpec) -> (Ending, String) {
    let memory = Memory::default();
    let mut execution = Execution::start(spec, Box::new(memory.clone()), None).unwrap();
    let ending = tokio::time::timeout(SOON, execution.wait()).await.expect("the command did not settle");
    (ending, memory.text())
}

async fn exit_of(text: &str) -> Exit {
    run_spec(&wrapped(text)).await.0.exit
}

#[tokio::test]
async fn the_wait_status_is_exact() {
    // case: 41
    assert_eq!(exit_of("exit 5").await, Exit::Code(5));
    assert_eq!(exit_of("exit 137").await, Exit::Code(137));
    assert_eq!(exit_of("kill -9 $$").await, Exit::Signal(9));
    assert_eq!(exit_of("exit 125").await, Exit::Code(125));
}

#[tokio::test]
async fn the_guard_is_pid_1_and_cannot_be_reached_from_inside() {
    let text = "echo $PPID; kill -9 1; kill -STOP 1; cat /proc/1/environ >/dev/null 2>&1 && echo open; echo out; echo err >&2; \
                for n in {3..40}; do [ -e /proc/$$/fd/$n ] && echo open; done; exit 0";
    let (ending, output) = run_spec(&wrapped(text)).await;
    assert_eq!((ending.exit, output.as_str()), (Exit::Code(0), "1\nout\nerr\n"));
}

#[tokio::test]
async fn what_is_left_inside_is_stopped_and_counted() {
    // case: 34
    let (ending, output) = run_spec(&wrapped("sleep 300 & setsid sleep 300 >/dev/null 2>&1 & echo hi")).await;
    assert_eq!((ending.exit, ending.leftover, output.as_str()), (Exit::Code(0), 2, "hi\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_ends_everything_inside() {
    let memory = Memory::default();
    let text = "trap '' TERM; setsid sleep 300 & (trap '' TERM; sleep 300) & echo ready; sleep 300";
    let mut execution = Execution::start(&wrapped(text), Box::new(memory.clone()), None).unwrap();
    assert!(until(SOON, || memory.text().contains("ready")));
    let tree = below(execution.guard_pid());
    assert!(tree.len() >= 4, "wrapper, inner guard, command, children: {tree:?}");
    execution.control().cancel();
    let ending = execution.wait().await;
    assert_eq!((ending.stop, ending.survivors), (Some(Stop::Cancelled), 0));
    assert!(matches!(ending.exit, Exit::Signal(9 | 15)), "{ending:?}");
    assert!(gone_within(&tree, Duration::ZERO), "{tree:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_guard_takes_the_inside_along() {
    let memory = Memory::default();
    let mut execution = Execution::start(&wrapped("echo ready; sleep 300"), Box::new(memory.clone()), None).unwrap();
    assert!(until(SOON, || memory.text().contains("ready")));
    let tree = below(execution.guard_pid());
    std::process::Command::new("/bin/kill").args(["-9", &execution.guard_pid().to_string()]).status().unwrap();
    assert_eq!(execution.wait().await.exit, Exit::Lost);
    assert!(gone_within(&tree, SOON), "{tree:?}");
}

#[tokio::test]
async fn a_set_up_that_fails_is_the_guards_failure_with_the_reason() {
    // spec: GUARD-02
    let mut spec = wrapped("echo ran");
    let wrapper = spec.confinement.wrapper.as_mut().unwrap();
    wrapper.args.extend(["--ro-bind".into(), "/no/such/path".into(), "/mnt".into()]);
    let (ending, output) = run_spec(&spec).await;
    let Exit::GuardFailed { message } = ending.exit else { panic!("{ending:?}") };
    assert!(message.contains("/no/such/path") && !ending.started, "{message}");
    assert!(output.contains(" failed: the confinement could not be set up: "), "{output}");

    spec.confinement.wrapper = Some(Wrapper { program: "/no/such/bwrap".into(), args: Vec::new() });
    let (ending, _) = run_spec(&spec).await;
    let Exit::GuardFailed { message } = ending.exit else { panic!("{ending:?}") };
    assert!(message.contains("/no/such/bwrap"), "{message}");

    spec.confinement.wrapper = Some(Wrapper { program: "/bin/true".into(), args: Vec::new() });
    assert!(matches!(run_spec(&spec).await.0.exit, Exit::GuardFailed { .. }));
}

#[tokio::test]
async fn programs_that_are_missing_inside_are_told_apart() {
    let mut spec = wrapped("");
    spec.program = "/no/such/program".into();
    let (ending, output) = run_spec(&spec).await;
    assert!(matches!(ending.exit, Exit::NotFound { .. }), "{ending:?}");
    assert!(output.contains(" not-found: /no/such/program"), "{output}");
}

#[test]
fn helpers_can_be_wrapped_and_keep_their_streams_apart() {
    let mut spec = wrapped("echo out; echo err >&2; touch /usr/x 2>/dev/null || exit 3");
    spec.separate_stderr = true;
    let collected = spawn_piped(&spec).unwrap().collect(1000).unwrap();
    assert_eq!(
        (collected.exit, collected.stdout, collected.stderr),
        (Exit::Code(3), b"out\n".to_vec(), b"err\n".to_vec())
    );
}

/// Every process below one.
fn below(root: u32) -> Vec<u32> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(pid) = found.get(next).copied() {
        next += 1;
        let output = std::process::Command::new("pgrep").args(["-P", &pid.to_string()]).output().unwrap();
        found.extend(pids(&output.stdout));
    }
    found.remove(0);
    found
}
