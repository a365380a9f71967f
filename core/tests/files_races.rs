//! File tools while somebody else works on the same tree.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, missing_docs)]

mod files_support;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use files_support::{Bench, run};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;
use zuno::tools::read::Read;

/// Runs `step` over and over on a thread of its own until it is dropped.
struct Disturber {
    stop: Arc<AtomicBool>,
    rounds: Arc<AtomicUsize>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Disturber {
    fn start(mut step: impl FnMut() + Send + 'static) -> Self {
        let (stop, rounds) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (stopped, counted) = (stop.clone(), rounds.clone());
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                step();
                counted.fetch_add(1, Ordering::Relaxed);
            }
        });
        Self { stop, rounds, thread: Some(thread) }
    }

    fn rounds(&self) -> usize {
        self.rounds.load(Ordering::Relaxed)
    }
}

impl Drop for Disturber {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

fn exchange(a: &Path, b: &Path) {
    renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).unwrap();
}

// case: 70
#[tokio::test]
async fn an_ancestor_that_flips_between_directory_and_link_never_leads_outside() {
    let bench = Bench::new();
    let outside = bench.top.join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("secret"), "secret").unwrap();
    bench.put("d/secret", "public");
    std::os::unix::fs::symlink(&outside, bench.path("link")).unwrap();
    let (directory, link) = (bench.path("d"), bench.path("link"));
    let flipping = Disturber::start(move || exchange(&directory, &link));
    let (mut written, mut refused, mut round) = (0, 0, 0);
    // Both kinds of outcome have to be seen; the bound only ends a run on a machine that never flips in time.
    while flipping.rounds() < 4_000 || (written == 0 && round < 100_000) {
        round += 1;
        let name = format!("d/{}", round % 50);
        if let Ok(prepared) = bench.prepare_write(&name, &round.to_string()).await {
            // Nobody grants the outside directory.
            if prepared.asks.iter().all(|ask| ask.key != "external_directory") {
                match run(prepared).await {
                    Ok(_) => written += 1,
                    Err(_) => refused += 1,
                }
            }
        }
        if let Ok(prepared) = bench.prepare(&Read, json!({"filePath": "d/secret"})).await
            && prepared.asks.iter().all(|ask| ask.key != "external_directory")
            && let Ok(output) = run(prepared).await
        {
            assert!(!files_support::text(&output).contains("1: secret"), "read through the link");
        }
    }
    drop(flipping);
    assert_eq!(bench.names(&outside), ["secret"], "{written} written, {refused} refused");
    assert!(written > 0);
}

#[tokio::test]
async fn another_writer_never_loses_a_file_it_put_there() {
    let bench = Bench::new();
    let path = bench.put("f", "theirs 0");
    let (aside, target) = (bench.path("aside"), path.clone());
    let mut number = 0;
    // Their own file comes and goes under another inode each time.
    let writing = Disturber::start(move || {
        number += 1;
        std::fs::write(&aside, format!("theirs {number}")).unwrap();
        std::fs::rename(&aside, &target).unwrap();
    });
    let (mut round, mut won) = (0, 0);
    while writing.rounds() < 1_500 {
        round += 1;
        if bench.read("f").await.is_ok() && bench.write("f", &format!("ours {round}")).await.is_ok() {
            won += 1;
        }
        let now = std::fs::read_to_string(&path).unwrap();
        assert!(now.starts_with("theirs") || now.starts_with("ours"), "never half a file");
    }
    let rounds = writing.rounds.clone();
    drop(writing);
    let (end, last) = (std::fs::read_to_string(&path).unwrap(), rounds.load(Ordering::Relaxed));
    assert!(end == format!("theirs {last}") || (won > 0 && end.starts_with("ours")), "{end} after {last}, {won} won");
    assert_eq!(bench.names(&bench.ws), ["f"]);
}

// spec: PATCH-04
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_writes_of_one_file_never_both_win() {
    let bench = Arc::new(Bench::new());
    for round in 0..50 {
        let start = format!("start {round}");
        bench.put("f", &start);
        bench.read("f").await.unwrap();
        let first = bench.prepare_write("f", "first").await.unwrap();
        let second = bench.prepare_write("f", "second").await.unwrap();
        let (first, second) = tokio::join!(tokio::spawn(run(first)), tokio::spawn(run(second)));
        let outcomes = [first.unwrap(), second.unwrap()];
        let won = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        assert_eq!(won, 1, "the other one approved a diff against another content");
    }
}
