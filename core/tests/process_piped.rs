//! Helper programs behind a guard: streams, exits, ends.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::print_stderr)]

mod process_support;

use std::time::Duration;

use process_support::{bash, gone_within, pids_in};
use zuno::process::{Exit, spawn_piped};

const LIMIT: usize = 1 << 20;

#[test]
fn streams_and_exit_come_back() {
    let mut spec = bash("echo out; echo err >&2; exit 3");
    spec.separate_stderr = true;
    let collected = spawn_piped(&spec).unwrap().collect(LIMIT).unwrap();
    assert_eq!(collected.exit, Exit::Code(3));
    assert_eq!(collected.stdout, b"out\n");
    assert_eq!(collected.stderr, b"err\n");
}

#[test]
fn standard_error_shares_the_output_in_order() {
    let collected = spawn_piped(&bash("echo a; echo b >&2; echo c")).unwrap().collect(LIMIT).unwrap();
    assert_eq!(collected.stdout, b"a\nb\nc\n");
}

#[test]
fn output_beyond_the_limit_is_dropped_and_the_program_ends() {
    let collected = spawn_piped(&bash("head -c 3000000 /dev/zero")).unwrap().collect(1000).unwrap();
    assert_eq!((collected.stdout.len(), collected.truncated), (1000, true));
    assert_eq!(collected.exit, Exit::Code(0));
}

#[test]
fn cancel_ends_the_tree() {
    let mut piped = spawn_piped(&bash("sleep 300 & sleep 300 & echo $! $$; wait")).unwrap();
    let control = piped.control();
    let pids = pids_in(&mut piped.stdout);
    control.cancel();
    assert_eq!(piped.wait(), Exit::Signal(15));
    assert!(gone_within(&pids, Duration::from_secs(5)));
}

#[test]
fn dropping_ends_the_tree() {
    let mut piped = spawn_piped(&bash("sleep 300 & echo $! $$; wait")).unwrap();
    let _control = piped.control();
    let pids = pids_in(&mut piped.stdout);
    drop(piped);
    assert!(gone_within(&pids, Duration::from_secs(5)));
}

#[test]
fn what_a_helper_leaves_running_is_stopped() {
    let mut piped = spawn_piped(&bash("sleep 300 >/dev/null & echo $!")).unwrap();
    let pids = pids_in(&mut piped.stdout);
    assert_eq!(piped.wait(), Exit::Code(0));
    assert!(gone_within(&pids, Duration::from_secs(5)));
}

#[test]
fn a_missing_program_is_told_apart_from_code_127() {
    let mut spec = bash("exit 127");
    assert_eq!(spawn_piped(&spec).unwrap().collect(LIMIT).unwrap().exit, Exit::Code(127));
    spec.program = "/nonexistent/program".into();
    let collected = spawn_piped(&spec).unwrap().collect(LIMIT).unwrap();
    assert!(matches!(collected.exit, Exit::NotFound { .. }), "{:?}", collected.exit);
}
