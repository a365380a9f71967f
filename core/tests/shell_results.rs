//! What a command's result says: output, codes, signals, receipts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, missing_docs)]

mod shell_support;
mod support;

use serde_json::json;
use sha2::{Digest, Sha256};
use shell_support::Bench;

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

// spec: SURFACE-10 EXIT-10 EXIT-27 OUTPUT-08
#[test]
fn a_completed_command_tells_everything() {
    let bench = Bench::new();
    let part = bench.run("echo out; echo err >&2; exit 3").ok();
    assert!(part.output().starts_with("out\nerr\n[exit 3]\n[limitation "), "{}", part.output());
    assert_eq!(part.exit(), 3);
    assert_eq!(part.fact("outputBytes"), 8);
    assert_eq!(part.fact("background"), false);
    assert_eq!(part.fact("timeoutMs"), 120_000);
    assert_eq!(part.fact("leftoverProcesses"), 0);
    assert_eq!(part.fact("workdir"), &json!(bench.workspace));
    assert_eq!(part.fact("interpreter"), part.receipt("interpreter"));
    assert_eq!(part.fact("sandboxBackend"), "bubblewrap");
    assert_eq!(part.fact("sandboxMode"), "workspace-write");
    assert_eq!(part.fact("sandboxNetwork"), "deny");
    assert_eq!(part.fact("sandboxResolutionKind"), "confined");
    assert_eq!(part.fact("sandboxFallback"), false);
    assert_eq!(part.fact("sandboxLimits"), &json!([]));
    assert_eq!(part.fact("protectedPathsRestored"), &json!([]));
    assert_eq!(part.receipt("outcome"), "failed");
    assert_eq!(part.receipt("outputDigest"), &json!(hex(b"out\nerr\n")));
    assert_eq!(part.receipt("exitPolicy"), "pipefail");
    let id = part.receipt("id").as_str().unwrap();
    assert!(part.output().ends_with(&format!("[verification {id}]")));
    let events = bench.host.event_types(&bench.session);
    assert_eq!(events.iter().filter(|kind| *kind == "receipt.recorded").count(), 1);
    let position = |kind: &str| events.iter().position(|known| known == kind).unwrap();
    assert!(position("receipt.recorded") < position("tool.dispatch.completed"));
}

#[test]
fn a_command_without_output_says_so() {
    let part = Bench::new().run("true").ok();
    assert!(part.output().starts_with("(no output)\n[exit 0]\n[verification rcp_"), "{}", part.output());
    assert_eq!(part.receipt("exitAuthority"), "authoritative");
    assert_eq!(part.fact("outputBytes"), 0);
}

// spec: EXIT-01 EXIT-02 EXIT-03 EXIT-05 EXIT-07 EXIT-08 EXIT-16 EXIT-23 EXIT-24
#[test]
fn exit_policies_decide_which_failures_count() {
    let bench = Bench::new();
    let run = |command: &str, policy: &str| bench.call(json!({ "command": command, "exitPolicy": policy })).ok();
    assert_eq!(bench.run("set -o | grep pipefail").ok().text().split_whitespace().last(), Some("on"));
    assert_eq!(bench.run("false | cat | tail -5").ok().exit(), 1);
    assert_eq!(run("false | true", "pipefail").exit(), 1);
    assert_eq!(run("false; true", "pipefail").exit(), 0);
    let all = run("false; echo x", "all");
    assert_eq!((all.exit(), all.text()), (1, "(no output)\n"));
    assert_eq!(run("false | true", "all").exit(), 1);
    assert_eq!(run("true | false", "last").exit(), 1);
    let last = run("false | true", "last");
    assert_eq!((last.exit(), last.receipt("exitAuthority").as_str()), (0, Some("derived")));
    assert_eq!(last.receipt("limitation")["code"], "exit_policy_last");

    let masked = bench.run("false || echo ok").ok();
    assert_eq!((masked.exit(), masked.text()), (0, "ok\n"));
    assert_eq!(masked.receipt("exitAuthority"), "derived");
    assert!(masked.output().contains("[limitation masking_fallback: "), "{}", masked.output());

    let refused = bench.call(json!({ "command": "touch ran", "exitPolicy": "some" }));
    assert_eq!((refused.outcome(), &refused.0["blockKind"]), ("blocked", &json!("invalid_arguments")));
    assert!(!bench.workspace.join("ran").exists());
}

// spec: EXIT-12 EXIT-13
#[test]
fn an_interpreter_that_is_not_known_to_be_capable_is_named() {
    let bench = Bench::with(json!({ "shell": "sh" }));
    let part = bench.run("false | true").ok();
    assert_eq!((part.exit(), part.receipt("exitAuthority").as_str()), (0, Some("derived")));
    assert_eq!(part.receipt("limitation")["code"], "unknown_interpreter");
    assert_eq!(part.receipt("limitation")["construct"], "sh");
}

// spec: GUARD-13 GUARD-14
// case: 41
#[test]
fn signals_are_not_codes() {
    let bench = Bench::new();
    for (command, name) in [("kill -9 $$", "SIGKILL"), ("kill -TERM $$", "SIGTERM")] {
        let part = bench.run(command).ok();
        assert!(part.output().contains(&format!("[killed by signal {name}]")), "{}", part.output());
        assert!(part.fact("exitCode").is_null());
        assert_eq!(part.fact("signal"), name);
        assert_eq!((part.receipt("outcome"), part.receipt("exitAuthority")), (&json!("unknown"), &json!("absent")));
        assert_eq!((part.receipt("exitCode"), part.receipt("signal")), (&json!(null), &json!(name)));
    }
    // With nothing behind it bash would put the inner one in its own place, and the signal would be its own end.
    let nested = bench.run("bash -c 'kill -9 $$' && true").ok();
    assert_eq!(nested.exit(), 137);
    let own = bench.run("exit 137").ok();
    assert_eq!((own.exit(), own.receipt("exitAuthority").as_str()), (137, Some("authoritative")));
}

// spec: GUARD-04 GUARD-09 GUARD-11 GUARD-12
#[test]
fn reserved_codes_are_the_commands_own() {
    let bench = Bench::new();
    for code in [125, 126, 127] {
        let part = bench.run(&format!("echo 'zuno-guard 0000 failed: x'; exit {code}")).ok();
        assert_eq!((part.exit(), part.receipt("outcome").as_str()), (code, Some("failed")));
    }
    let missing = bench.run("no_such_program_anywhere").ok();
    assert_eq!((missing.exit(), missing.receipt("exitAuthority").as_str()), (127, Some("authoritative")));
}

// spec: GUARD-03 GUARD-04 GUARD-08
#[test]
fn an_interpreter_that_cannot_start_is_the_guards_code() {
    let bench = Bench::with(json!({ "shell": "/nonexistent/bash" }));
    let part = bench.run("echo x");
    assert_eq!((part.outcome(), part.exit()), ("error", 127));
    assert_eq!((&part.error()["kind"], &part.error()["code"]), (&json!("Failed"), &json!("program_not_found")));
    assert_eq!((part.receipt("outcome"), part.receipt("exitAuthority")), (&json!("failed"), &json!("absent")));
    assert_eq!(part.receipt("exitCode"), 127);

    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let program = folder.path().join("bash");
    std::fs::write(&program, "no program").unwrap();
    let bench = Bench::with(json!({ "shell": program }));
    let part = bench.run("echo x");
    assert_eq!((part.outcome(), part.exit(), &part.error()["code"]), ("error", 126, &json!("not_executable")));
}

// spec: OUTPUT-04 OUTPUT-06 OUTPUT-07 OUTPUT-08 OUTPUT-09 OUTPUT-10
// case: 58
#[test]
fn five_mebibytes_are_all_there() {
    let bench = Bench::new();
    let script = "import sys\n\
        for n in range(163840):\n    \
            out = sys.stderr if n % 7 == 0 else sys.stdout\n    \
            out.write('%031d\\n' % n); out.flush() if n % 997 == 0 else None\n";
    // One stream after the other keeps the order known; the flush mixes sizes.
    let ordered = script.replace("sys.stderr if n % 7 == 0 else sys.stdout", "sys.stderr if n % 2 else sys.stderr");
    std::fs::write(bench.workspace.join("gen.py"), ordered).unwrap();
    let part = bench.run("python3 gen.py").ok();
    let expected: String = (0..163_840).map(|n| format!("{n:031}\n")).collect();
    assert_eq!(expected.len(), 5_242_880);
    assert_eq!(part.fact("outputBytes"), 5_242_880);
    let path = part.fact("outputPaths")[0].as_str().unwrap();
    let name = path.rsplit('/').next().unwrap();
    assert!(name.starts_with(&format!("tool_{}_", bench.session)), "{path}");
    assert_eq!(name.len(), "tool_".len() + bench.session.len() + 1 + 26);
    let saved = std::fs::read(path).unwrap();
    assert_eq!(hex(&saved), hex(expected.as_bytes()));
    assert_eq!(part.receipt("outputDigest"), &json!(hex(expected.as_bytes())));
    assert_eq!(part.fact("withheldOutput")["artifactBytes"], 5_242_880);
    assert_eq!(part.exit(), 0);
    assert!(part.output().contains("[exit 0]\n[verification rcp_"));
}

#[test]
fn both_streams_keep_the_order_they_were_written_in() {
    let bench = Bench::new();
    let part = bench.run("for i in 1 2 3 4 5 6 7 8 9; do echo o$i; echo e$i >&2; done").ok();
    let expected: String = (1..10).map(|n| format!("o{n}\ne{n}\n")).collect();
    assert_eq!(part.text(), expected);
}

// spec: OUTPUT-06 OUTPUT-08 OUTPUT-09 OUTPUT-10
// case: 59
#[test]
fn failing_commands_keep_their_artifact() {
    let bench = Bench::with(json!({ "shell": { "hard_ceiling_ms": 2_000 } }));
    let write = "head -c 60000 /dev/zero";
    for (command, outcome) in [
        (format!("{write}; exit 3"), "ok"),
        (format!("{write}; kill -9 $$"), "ok"),
        (format!("{write}; sleep 60"), "uncertain"),
    ] {
        let part = bench.run(&command);
        assert_eq!(part.outcome(), outcome, "{:#}", part.0);
        let path = part.fact("outputPaths")[0].as_str().unwrap();
        assert_eq!(std::fs::read(path).unwrap(), vec![0; 60_000]);
        assert_eq!(part.fact("withheldOutput")["artifactBytes"], 60_000);
        assert!(part.receipt("id").is_string());
    }
}

// case: 34
#[test]
fn what_holds_the_output_is_not_waited_for() {
    let bench = Bench::new();
    for command in ["sleep 300 & echo hi", "setsid sleep 300 & echo hi", "sleep 300 2>&1 >/dev/null & echo hi"] {
        let part = bench.run(command).ok();
        assert_eq!((part.exit(), part.text()), (0, "hi\n"), "{command}");
        assert_eq!(part.fact("leftoverProcesses"), 1, "{command}");
        assert!(part.output().contains("[leftover processes stopped: 1]"));
    }
}

// case: 35
#[test]
fn process_substitution_settles() {
    let bench = Bench::new();
    let part = bench.run("exec > >(tee log.txt) 2>&1; echo done; exit 0").ok();
    assert!(part.text().contains("done"), "{}", part.output());
    assert_eq!(part.exit(), 0);
}

// case: 37
// case: 38
#[test]
fn the_hard_ceiling_ends_every_command() {
    let bench = Bench::with(json!({ "shell": { "hard_ceiling_ms": 1_000 } }));
    for command in ["while :; do :; done", "echo kept; kill -STOP $$", "trap '' TERM; setsid sleep 300; sleep 300"] {
        let part = bench.run(command);
        assert_eq!((part.outcome(), &part.error()["cause"]), ("uncertain", &json!("hard_ceiling")), "{command}");
        assert!(part.output().contains("hard ceiling of 1000 ms"), "{}", part.output());
        assert_eq!((part.receipt("outcome"), part.receipt("exitCode")), (&json!("unknown"), &json!(null)));
    }
}

#[test]
fn standard_input_is_at_its_end_and_there_is_no_terminal() {
    let bench = Bench::new();
    assert_eq!(bench.run("cat; echo $?").ok().text(), "0\n");
    assert_eq!(bench.run("read x; echo $?").ok().text(), "1\n");
    let part = bench.run("read -p 'pw? ' x </dev/tty; tty; echo $?").ok();
    assert!(part.text().ends_with("not a tty\n1\n"), "{}", part.output());
}

#[test]
fn arguments_are_refused_before_anything_runs() {
    let bench = Bench::new();
    let refused = |arguments: serde_json::Value| {
        let part = bench.call(arguments);
        assert_eq!((part.outcome(), &part.0["blockKind"]), ("blocked", &json!("invalid_arguments")), "{:#}", part.0);
        part.error()["code"].as_str().unwrap().to_owned()
    };
    assert_eq!(refused(json!({ "command": "touch x; echo a\u{0}b" })), "nul_byte");
    assert_eq!(refused(json!({ "command": " \n " })), "blank_command");
    assert_eq!(refused(json!({ "command": format!("touch x #{}", "x".repeat(131_072)) })), "command_too_long");
    assert_eq!(refused(json!({ "command": "touch x", "workdir": "missing" })), "missing_directory");
    std::fs::write(bench.workspace.join("file"), "").unwrap();
    assert_eq!(refused(json!({ "command": "touch x", "workdir": "file" })), "missing_directory");
    refused(json!({ "command": "touch x", "background": true, "timeout": 5 }));
    refused(json!({ "command": "touch x", "backgroundPurpose": "other" }));
    let background = bench.call(json!({ "command": "touch x", "background": true }));
    assert_eq!((background.outcome(), &background.0["blockKind"]), ("blocked", &json!("unavailable")));
    assert!(!bench.workspace.join("x").exists());
}

#[test]
fn the_longest_text_runs() {
    let bench = Bench::new();
    let command = format!("echo ok #{}", "x".repeat(131_071 - "set -o pipefail\n".len() - "echo ok #".len()));
    assert_eq!(bench.run(&command).ok().text(), "ok\n");
}

// case: 49
#[test]
fn text_runs_as_it_is_written() {
    let bench = Bench::new();
    for (command, text, code) in [
        ("cat <<E\na\nE", "a\n", 0),
        ("echo a # comment", "a\n", 0),
        ("echo a; exit 4; echo b", "a\n", 4),
        ("printf 'a b\\n' \\\n", "a b\n", 0),
    ] {
        let part = bench.run(command).ok();
        assert_eq!((part.text(), part.exit()), (text, code), "{command}");
    }
    assert_ne!(bench.run("echo 'a").ok().exit(), 0);
}

#[test]
fn nothing_carries_over_between_calls() {
    let bench = Bench::new();
    std::fs::create_dir(bench.workspace.join("sub")).unwrap();
    bench.run("cd sub && export X=1 && echo > made").ok();
    assert_eq!(bench.run("echo $X; pwd; ls").ok().text(), format!("\n{}\nsub\n", bench.workspace.display()));
    let part = bench.call(json!({ "command": "pwd; ls", "workdir": "sub" })).ok();
    assert_eq!(part.text(), format!("{}/sub\nmade\n", bench.workspace.display()));
}

// spec: EXIT-27
#[test]
fn a_receipt_is_found_by_its_id_after_a_restart_and_only_in_its_session() {
    let folder = tempfile::tempdir().unwrap();
    let options =
        json!({ "database": folder.path().join("store.db"), "config": { "permission": { "mode": "allow_all" } } });
    let workspace = folder.path().join("w");
    std::fs::create_dir(&workspace).unwrap();
    let host = support::TestHost::open(options.clone(), |_, _| None);
    let (session, other) = (host.session(&workspace), host.session(&workspace));
    let part = host.one(&session, "shell", json!({ "command": "exit 3" }));
    let text = part["output"].as_str().unwrap();
    let id = text.split_once("[verification ").unwrap().1.trim_end_matches(']').to_owned();
    drop(host);

    let host = support::TestHost::open(options, |_, _| None);
    let found = host.call("receipt.get", json!({ "sessionId": session, "receiptId": id })).unwrap();
    assert_eq!(found, part["metadata"]["verification"]);
    assert_eq!((&found["exitCode"], &found["exitAuthority"]), (&json!(3), &json!("authoritative")));
    assert!(host.call("receipt.get", json!({ "sessionId": other, "receiptId": id })).is_err());
}

// spec: GUARD-05 GUARD-07
#[test]
fn a_guard_that_is_lost_leaves_no_verdict() {
    let bench = Bench::with(json!({ "sandbox": { "backend": "native" } }));
    let part = bench.run("echo before; touch ran; kill -9 $PPID; sleep 60");
    assert_eq!((part.outcome(), &part.error()["cause"]), ("uncertain", &json!("process_lost")), "{:#}", part.0);
    assert!(part.output().contains("Inspect the authoritative state"), "{}", part.output());
    assert!(part.output().contains("before\n"));
    assert_eq!((part.receipt("outcome"), part.receipt("exitCode")), (&json!("unknown"), &json!(null)));
    assert!(bench.workspace.join("ran").exists());
}
