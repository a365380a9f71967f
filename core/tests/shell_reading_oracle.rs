//! What bash really runs is among the constituents.
#![cfg(unix)]
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use zuno::text::shell_reading::{Dialect, read};

fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|directory| directory.join(name)).find(|file| file.is_file());
    found.unwrap_or_else(|| panic!("{name} is not on PATH"))
}

/// Runs a text where `hit` is the only program, and tells whether bash started it.
fn bash_hits(directory: &Path, text: &str) -> bool {
    let log = directory.join("log");
    let _ = std::fs::remove_file(&log);
    let room = directory.join("room");
    let _ = std::fs::remove_dir_all(&room);
    std::fs::create_dir_all(&room).unwrap();
    // `timeout` also ends what a pipeline of the text left waiting.
    let mut bash = Command::new(program("timeout"));
    bash.args(["-s", "KILL", "3"]).arg(program("bash")).args(["--norc", "-c"]).arg(text).current_dir(&room).env_clear();
    bash.env("PATH", directory.join("bin")).env("HOME", &room).env("LOG", &log);
    bash.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    bash.status().is_ok() && log.exists()
}

fn set_up(directory: &Path) {
    let bin = directory.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let hit = bin.join("hit");
    std::fs::write(&hit, "#!/bin/sh\n: > \"$LOG\"\nexit 1\n").unwrap();
    std::fs::set_permissions(&hit, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    assert!(bash_hits(directory, "hit"), "bash does not start the program");
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "hit",
        "hit",
        "hit ",
        "a",
        " ",
        " ",
        " ",
        "\n",
        ";",
        "; ",
        "&",
        "&&",
        "||",
        "|",
        "(",
        ")",
        "{ ",
        "; }",
        "$(",
        ")",
        "`",
        "`",
        "\"",
        "\"",
        "'",
        "'",
        "\\",
        "\\\n",
        "\\ ",
        "$",
        "${",
        "${x:-",
        "}",
        "$((",
        "))",
        "((",
        "<",
        ">",
        "<<E\n",
        "<<'E'\n",
        "<<-E\n",
        "\nE\n",
        "E",
        "<<<",
        "<(",
        "&>",
        "if ",
        "; then ",
        "; fi",
        "for i in ",
        "; do ",
        "; done",
        "case x in ",
        "x) ",
        ";; ",
        "esac",
        "f() { ",
        "f",
        "time ",
        "! ",
        "eval ",
        "command ",
        "exec ",
        "#",
        " # ",
        "*",
        "[",
        "]",
        "[[ ",
        " ]]",
        "[ ",
        " ] ",
        "=",
        "x=",
        "~",
        "$'",
        "$\"",
        "é",
        "\r",
        "\t",
        "\u{b}",
        "\u{a0}",
        "coproc ",
        "{a,b}",
        "-",
        "!(",
        "?(",
        "@(",
        "|&",
        ";&",
        "\\'",
        "\\\"",
        "\\`",
        "$[",
        "{fd}>",
        "2>",
        ">&",
        ">|",
        ",",
        "=~ ",
        "==",
    ]);
    prop::collection::vec(piece, 1..14).prop_map(|pieces| pieces.concat())
}

fn reading_shows(text: &str) -> bool {
    let reading = read(text, Dialect::Bash);
    let shown = |part: &zuno::text::shell_reading::Constituent| part.computed || part.program.as_deref() == Some("hit");
    reading.is_unreadable() || reading.constituents().iter().any(shown)
}

/// A program that bash starts is a constituent, or the text counts as unreadable or holds something computed.
#[test]
fn nothing_runs_that_is_not_shown() {
    let directory = tempfile::tempdir().unwrap();
    set_up(directory.path());
    let cases = std::env::var("ORACLE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(2000);
    let mut runner = TestRunner::new(ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() });
    let outcome = runner.run(&pieces(), |text| {
        prop_assert!(reading_shows(&text) || !bash_hits(directory.path(), &text), "hidden: {:?}", text);
        Ok(())
    });
    outcome.unwrap();
}
