//! Interrupting a command.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, missing_docs)]

mod shell_support;
mod support;

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use shell_support::Bench;

const FIRST_LINE: &str = "[uncertain: cancelled] No verdict: the command was stopped before it decided anything, and \
    this result cannot show what it had already changed.";

fn gone(bench: &Bench, name: &str) -> bool {
    let pids = std::fs::read_to_string(bench.workspace.join(name)).unwrap();
    let exists = |pid: &str| Path::new("/proc").join(pid).exists();
    (0..500).any(|_| {
        let alive = pids.split_whitespace().any(exists);
        if alive {
            std::thread::sleep(Duration::from_millis(10));
        }
        !alive
    })
}

// spec: CANCEL-01 CANCEL-02 CANCEL-03 CANCEL-05 CANCEL-07 CANCEL-09 CANCEL-10
#[test]
fn an_interrupt_stops_the_command_and_keeps_its_output() {
    let bench = Bench::with(json!({ "sandbox": { "backend": "native" } }));
    let part =
        bench.interrupted("echo written; sleep 600 & setsid sleep 600 & echo $! $$ > pids; touch ready; wait", || {
            bench.wait_for("ready");
        });
    assert_eq!(part.outcome(), "uncertain", "{:#}", part.0);
    let lines: Vec<&str> = part.output().lines().collect();
    assert_eq!(lines[0], FIRST_LINE);
    assert!(lines[1].starts_with("Inspect the authoritative state the command would have changed"));
    assert!(lines.contains(&"written"), "{}", part.output());
    assert!(part.output().contains("[verification rcp_"));
    let cancellation = part.fact("cancellation");
    assert_eq!((&cancellation["cancelled"], &cancellation["authoritative"]), (&json!(true), &json!(false)));
    assert_eq!((&cancellation["uncertain"], &cancellation["detail"]), (&json!(true), &json!("killed")));
    assert_eq!((part.receipt("outcome"), part.receipt("exitAuthority")), (&json!("unknown"), &json!("absent")));
    assert_eq!(part.receipt("exitCode"), &json!(null));
    assert!(gone(&bench, "pids"));
}

// spec: CANCEL-19
#[test]
fn a_command_without_output_says_so() {
    let bench = Bench::new();
    let part = bench.interrupted("touch ready; sleep 600", || bench.wait_for("ready"));
    assert_eq!(part.outcome(), "uncertain");
    assert!(part.output().contains("\n(no output)\n"), "{}", part.output());
}

// spec: CANCEL-12 CANCEL-13
#[test]
fn a_number_from_a_stopped_command_is_shown_and_decides_nothing() {
    let bench = Bench::new();
    let part = bench.interrupted("trap 'exit 0' TERM; touch ready; while :; do sleep 0.05; done", || {
        bench.wait_for("ready");
    });
    assert_eq!(part.outcome(), "uncertain", "{:#}", part.0);
    assert_eq!((part.fact("exitCode"), part.receipt("exitCode")), (&json!(0), &json!(null)));
    assert_eq!(part.fact("cancellation")["exitCode"], 0);
    assert!(part.output().contains("exit code 0: "), "{}", part.output());
}

// spec: CANCEL-03 CANCEL-17 CANCEL-18
// case: 59
#[test]
fn large_output_of_a_stopped_command_is_saved_whole() {
    let bench = Bench::new();
    let part = bench.interrupted("head -c 1048576 /dev/zero; touch ready; sleep 600", || bench.wait_for("ready"));
    assert_eq!(part.outcome(), "uncertain");
    assert!(part.output().starts_with(FIRST_LINE));
    assert!(part.output().contains("\"action\":\"artifact\""), "{}", part.output());
    let path = part.fact("outputPaths")[0].as_str().unwrap();
    assert_eq!(std::fs::read(path).unwrap(), vec![0; 1 << 20]);
    assert_eq!(part.fact("withheldOutput")["artifactBytes"], 1 << 20);
}

#[test]
fn a_command_that_ignores_everything_ends() {
    let bench = Bench::new();
    let part = bench.interrupted("trap '' TERM INT HUP; touch ready; while :; do sleep 1; done", || {
        bench.wait_for("ready");
    });
    assert_eq!((part.outcome(), &part.fact("cancellation")["detail"]), ("uncertain", &json!("killed")));
    assert!(part.output().contains("[verification rcp_"));
}

// case: 47
#[test]
fn no_zombie_is_left() {
    let bench = Bench::with(json!({ "shell": { "hard_ceiling_ms": 1_000 } }));
    for _ in 0..40 {
        bench.run("true & false").ok();
    }
    bench.interrupted("touch ready; sleep 600", || bench.wait_for("ready"));
    bench.run("sleep 600");
    let me = std::process::id();
    let zombies = || {
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let stats = entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
        let fields = stats.filter_map(|stat| {
            let rest = stat.rsplit_once(") ")?.1.to_owned();
            let mut fields = rest.split(' ').map(str::to_owned);
            Some((fields.next()?, fields.next()?))
        });
        fields.filter(|(state, parent)| state == "Z" && *parent == me.to_string()).count()
    };
    assert!((0..300).any(|_| zombies() == 0 || {
        std::thread::sleep(Duration::from_millis(10));
        false
    }));
}
