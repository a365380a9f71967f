//! Which program runs, when it is looked for, and how it ends.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use super::support::{Bench, in_child, lines_of, rg, shown};
use zuno::types::{ErrorKind, Outcome};

/// A script that notes every start in `log` and is the real `rg` otherwise.
fn recording() -> String {
    format!("echo \"$*\" >> \"$(dirname \"$0\")/log\"; exec {} \"$@\"", rg().display())
}

/// A child process whose `PATH` holds nothing but the folder `bin` below the given one.
fn with_path(test: &str) -> Option<std::path::PathBuf> {
    let folder = tempfile::tempdir().unwrap();
    let child = in_child(test, |mut command| {
        let bin = folder.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        command.env("PATH", &bin);
        command
    });
    child.then(|| std::env::var_os("PATH").unwrap().into())
}

fn bench_on_path() -> Bench {
    let mut bench = Bench::new();
    bench.config.ripgrep_path = None;
    bench.write("a.txt", "needle\n");
    bench
}

fn block_on(work: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work);
}

// spec: SEARCH-01
#[test]
fn the_rg_of_the_path_runs_and_nothing_else_answers() {
    let Some(bin) = with_path("program::the_rg_of_the_path_runs_and_nothing_else_answers") else { return };
    block_on(async {
        let bench = bench_on_path();
        // An rg that finds nothing: what lies in the tree must not come from anywhere else.
        let blind = bench.script(
            "rg",
            "[ \"$1\" = --version ] && echo 'ripgrep 14.1.1' && exit 0\necho \"$*\" >> \"${0%/*}/log\"; exit 1",
        );
        std::fs::rename(blind, bin.join("rg")).unwrap();
        let (glob, grep) = (bench.glob(json!({"pattern": "*"})).await, bench.grep(json!({"pattern": "needle"})).await);
        assert_eq!([shown(&glob.unwrap()), shown(&grep.unwrap())], ["No files found", "No files found"]);
        let log = lines_of(&bin.join("log"));
        assert_eq!(log.len(), 2);
        assert!(log[0].contains("--files") && log[1].contains("--regexp=needle"), "{log:?}");
    });
}

// spec: SEARCH-09 SEARCH-10
#[test]
fn a_missing_rg_fails_both_tools_alone_and_is_looked_for_again() {
    let Some(bin) = with_path("program::a_missing_rg_fails_both_tools_alone_and_is_looked_for_again") else { return };
    block_on(async {
        // Everything the runtime stands on is open, the store included; only the two calls fail.
        let bench = bench_on_path();
        let (glob, grep) = (bench.glob(json!({"pattern": "*"})).await, bench.grep(json!({"pattern": "needle"})).await);
        for error in [glob.unwrap_err(), grep.unwrap_err()] {
            assert_eq!((error.code.as_str(), error.outcome()), ("rg_missing", Outcome::Error));
            for word in ["`rg`", "PATH", "search.ripgrep_path"] {
                assert!(error.message.contains(word), "{error}");
            }
        }
        std::os::unix::fs::symlink(rg(), bin.join("rg")).unwrap();
        assert_eq!(bench.paths(json!({"pattern": "*"})).await, bench.texts(&["a.txt"]));
    });
}

#[tokio::test]
async fn a_configured_path_is_the_only_one_looked_at() {
    let mut bench = Bench::new();
    bench.config.ripgrep_path = Some("/nowhere/rg".into());
    let error = bench.glob(json!({"pattern": "*"})).await.unwrap_err();
    assert_eq!(error.code, "rg_missing");
    assert!(error.message.contains("/nowhere/rg"), "{error}");
}

// spec: SEARCH-07
#[tokio::test]
async fn the_version_is_read_once_when_it_is_good_and_again_when_not() {
    let version = |number: &str| {
        format!(
            "if [ \"$1\" = --version ]; then echo v >> \"${{0%/*}}/log\"; echo 'ripgrep {number}'; exit 0; fi\nexec {} \"$@\"",
            rg().display()
        )
    };
    let bench = Bench::with_script(&version("13.0.0"));
    for _ in 0..2 {
        let error = bench.glob(json!({"pattern": "*"})).await.unwrap_err();
        assert_eq!((error.code.as_str(), error.outcome()), ("rg_too_old", Outcome::Error));
        assert!(error.message.contains("13.0.0") && error.message.contains("14"), "{error}");
    }
    assert_eq!(bench.grep(json!({"pattern": "needle"})).await.unwrap_err().code, "rg_too_old");
    assert_eq!(lines_of(&bench.around().join("log")).len(), 3);

    let bench = Bench::with_script(&version("14.0.0"));
    let (one, two) = tokio::join!(bench.glob(json!({"pattern": "*"})), bench.grep(json!({"pattern": "needle"})));
    assert_eq!((&one.unwrap().metadata["count"], &two.unwrap().metadata["count"]), (&json!(1), &json!(1)));
    assert_eq!(lines_of(&bench.around().join("log")).len(), 1);
}

// spec: SEARCH-08
#[tokio::test]
async fn rg_is_not_touched_before_the_first_search() {
    let bench = Bench::with_script(&recording());
    let log = bench.around().join("log");
    // A call that waits for permission has searched nothing yet, and a refused one never will.
    let waiting = bench.prepare(&zuno::tools::glob::Glob, json!({"pattern": "*"})).await.unwrap();
    assert!(bench.grep(json!({"pattern": "x", "path": "missing"})).await.is_err());
    drop(waiting);
    assert!(!log.exists());
    bench.glob(json!({"pattern": "*"})).await.unwrap();
    assert_eq!(lines_of(&log).len(), 2);
    assert_eq!(lines_of(&log)[0], "--version");
}

// spec: SEARCH-02
#[tokio::test]
async fn text_of_the_model_is_never_a_flag() {
    let bench = Bench::with_script(&recording());
    bench.write("--files", "-v --pre=x $(touch /tmp/never) ; `id`\n");
    let found = bench.grep(json!({"pattern": "-v --pre", "path": "--files"})).await.unwrap();
    assert_eq!(found.metadata["files"], json!([bench.text("--files")]));
    for text in ["--files", "-e", "--pre=/bin/sh", "$(id)", "; id", "`id`", "| id", "--", "\"'"] {
        let all = json!({"pattern": text, "include": text});
        assert_eq!(bench.grep(all).await.unwrap().metadata["dropped"]["limit"], 0, "{text}");
        bench.glob(json!({"pattern": text})).await.unwrap();
    }
    let found = bench.paths(json!({"pattern": "--files"})).await;
    assert_eq!(found, bench.texts(&["--files"]));
    // Every start has the shape of the reference, whatever the text was.
    let root = bench.workspace().display().to_string();
    for line in lines_of(&bench.around().join("log")).iter().skip(1) {
        assert!(line.starts_with("--no-config --no-messages --hidden --no-require-git --"), "{line}");
        assert!(line.contains(" --glob=!.git ") && line.contains(&format!(" -- {root}")), "{line}");
    }
}

#[test]
fn the_environment_is_the_hosts_without_the_private_names() {
    let child = in_child("program::the_environment_is_the_hosts_without_the_private_names", |mut command| {
        command.env("ZUNO_SECRET", "1").env("zuno_secret", "1").env("RIPGREP_CONFIG_PATH", "/x").env("CORP_KEY", "1");
        command.env("ZUNO", "1").env("AGENT", "1").env("API_TOKEN", "1");
        command
    });
    if !child {
        return;
    }
    block_on(async {
        let note = "env > \"${0%/*}/env\"; pwd > \"${0%/*}/pwd\"";
        let mut bench = Bench::with_script(&format!("{note}; exec {} \"$@\"", rg().display()));
        bench.config.withhold_prefixes = vec!["corp_".to_owned()];
        bench.write("sub/b.txt", "x\n");
        bench.glob(json!({"pattern": "*", "path": "sub"})).await.unwrap();
        let seen = lines_of(&bench.around().join("env"));
        let has = |name: &str| seen.iter().any(|line| line.starts_with(&format!("{name}=")));
        assert!(["ZUNO", "AGENT", "API_TOKEN", "PATH"].iter().all(|name| has(name)), "{seen:?}");
        assert!(!seen.iter().any(|line| line.to_uppercase().starts_with("ZUNO_")), "{seen:?}");
        assert!(!has("RIPGREP_CONFIG_PATH") && !has("CORP_KEY"));
        assert_eq!(lines_of(&bench.around().join("pwd")), [bench.text("sub")]);
    });
}

/// A script that tells its process id through a FIFO before it becomes the real `rg`.
fn telling_its_pid() -> (Bench, std::path::PathBuf) {
    let told = format!("[ \"$1\" = --version ] || echo $$ > \"${{0%/*}}/pid\"\nexec {} \"$@\"", rg().display());
    let bench = Bench::with_script(&told);
    let pipe = bench.around().join("pid");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    (bench, pipe)
}

async fn pid_from(pipe: &Path) -> u32 {
    let pipe = pipe.to_owned();
    tokio::task::spawn_blocking(move || std::fs::read_to_string(pipe).unwrap().trim().parse().unwrap()).await.unwrap()
}

// case: 29
// spec: SEARCH-03
#[tokio::test]
async fn cancelling_ends_rg_before_the_call_settles() {
    for tool in ["glob", "grep"] {
        let (bench, pipe) = telling_its_pid();
        // The whole machine: far more than is searched before the cancellation.
        let arguments = json!({"pattern": "no such text anywhere [0-9]{40}", "path": "/"});
        let search = async {
            if tool == "glob" {
                bench.glob(json!({"pattern": "*", "path": "/"})).await
            } else {
                bench.grep(arguments).await
            }
        };
        let cancel = async {
            let pid = pid_from(&pipe).await;
            bench.cancel.cancel();
            pid
        };
        let (settled, pid) = tokio::join!(search, cancel);
        let error = settled.unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Cancelled { started: true }), "{tool}: {error:?}");
        assert!(!Path::new(&format!("/proc/{pid}")).exists(), "{tool}: rg is still there");
    }
}

// spec: SEARCH-03
#[tokio::test]
async fn a_call_that_is_given_up_takes_rg_with_it() {
    let (bench, pipe) = telling_its_pid();
    let search = bench.grep(json!({"pattern": "no such text anywhere [0-9]{40}", "path": "/"}));
    let pid = tokio::select! {
        biased;
        _ = search => panic!("the search cannot be over"),
        pid = pid_from(&pipe) => pid,
    };
    assert_ends(pid);
}

/// Waits for the end of a process that nobody here started, or finds it gone.
fn assert_ends(pid: u32) {
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else { panic!("no pid") };
    if let Ok(handle) = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) {
        let mut ended = [rustix::event::PollFd::new(&handle, rustix::event::PollFlags::IN)];
        let limit = rustix::event::Timespec { tv_sec: 60, tv_nsec: 0 };
        assert_eq!(rustix::event::poll(&mut ended, Some(&limit)).unwrap(), 1, "rg outlives its call");
    }
}

#[tokio::test]
async fn a_call_cancelled_before_it_starts_runs_nothing() {
    let bench = Bench::with_script(&recording());
    bench.cancel.cancel();
    let error = bench.grep(json!({"pattern": "needle"})).await.unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Cancelled { .. }), "{error:?}");
    assert!(!bench.around().join("log").exists());
}

// case: 29
#[test]
fn rg_ends_with_a_host_that_is_killed() {
    const PIPE: &str = "TEST_PID_PIPE";
    if let Some(pipe) = std::env::var_os(PIPE) {
        // The host: searches the whole machine until it is killed.
        let told = format!("[ \"$1\" = --version ] || echo $$ > '{}'\nexec {} \"$@\"", pipe.display(), rg().display());
        let bench = Bench::with_script(&told);
        block_on(async {
            let _ = bench.grep(json!({"pattern": "no such text anywhere [0-9]{40}", "path": "/"})).await;
        });
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pid");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut host = Command::new(std::env::current_exe().unwrap());
    host.args(["program::rg_ends_with_a_host_that_is_killed", "--exact"]).env(PIPE, &pipe).env("TMPDIR", folder.path());
    let mut host = host.stdout(Stdio::null()).spawn().unwrap();
    let pid = std::fs::read_to_string(&pipe).unwrap().trim().parse().unwrap();
    host.kill().unwrap();
    host.wait().unwrap();
    assert_ends(pid);
}
