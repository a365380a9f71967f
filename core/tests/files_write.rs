//! `write` without the dispatcher.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, missing_docs)]

mod files_support;

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::Arc;

use files_support::{Bench, code, conflict, run, sha, text};
use serde_json::{Value, json};
use zuno::text::fingerprint::json_digest;
use zuno::types::{Access, DenialOrigin, ErrorKind, Outcome};

// spec: SURFACE-07, WRITTEN-01
#[tokio::test]
async fn a_new_file_is_created_with_its_directories() {
    let bench = Bench::new();
    let output = bench.write("a/b/c.txt", "one\ntwo\n").await.unwrap();
    let path = bench.path("a/b/c.txt");
    assert_eq!(bench.bytes("a/b/c.txt"), b"one\ntwo\n");
    assert_eq!(text(&output), "Created a/b/c.txt (2 lines).");
    assert_eq!(
        Value::Object(output.metadata),
        json!({
            "filepath": path, "exists": false, "formatted": false, "writtenPaths": [path],
            "diff": "--- /dev/null\n+++ a/b/c.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n",
            "fileDiffs": [{"path": path, "oldText": null, "newText": "one\ntwo\n"}],
            "readReceipt": {"path": path, "sha256": sha("one\ntwo\n"), "generation": 1},
        })
    );
    assert_eq!(bench.names(&bench.path("a/b")), ["c.txt"]);
    let mode = std::fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode, 0o666 & !umask());
}

fn umask() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:")).unwrap();
    u32::from_str_radix(line.trim(), 8).unwrap()
}

// spec: SURFACE-07, PATCH-06
#[tokio::test]
async fn an_existing_file_is_replaced_once_it_was_read() {
    let bench = Bench::new();
    bench.put("f", "old\nkept\n");
    let arguments = json!({"filePath": "f", "content": "new\nkept\n"});
    let record = conflict(bench.write("f", "new\nkept\n").await);
    assert_eq!(
        record,
        json!({
            "kind": "ReadRequired", "resource": "f", "operationDigest": json_digest(&arguments),
            "currentDigest": sha("old\nkept\n"), "requiredActionKind": "read",
            "requiredAction": "Read f, then construct the mutation from what was read.",
        })
    );
    assert_eq!(bench.bytes("f"), b"old\nkept\n");
    bench.read("f").await.unwrap();
    let output = bench.write("f", "new\nkept\n").await.unwrap();
    assert_eq!(text(&output), "Replaced f (2 lines, +1 -1).");
    assert_eq!(output.metadata["exists"], true);
    assert_eq!(output.metadata["diff"], "--- f\n+++ f\n@@ -1,2 +1,2 @@\n-old\n+new\n kept\n");
    assert_eq!(output.metadata["fileDiffs"][0]["oldText"], "old\nkept\n");
    assert_eq!(bench.bytes("f"), b"new\nkept\n");
    bench.write("f", "again").await.unwrap();
    assert_eq!(bench.bytes("f"), b"again", "a write records what it left");
}

#[tokio::test]
async fn sessions_do_not_share_what_they_know() {
    let bench = Bench::new();
    bench.put("f", "x");
    bench.read("f").await.unwrap();
    let mut other = bench.context();
    other.session = Arc::new(bench.other_session());
    let arguments = files_support::object(json!({"filePath": "f", "content": "y"}));
    let prepared = zuno::tools::contract::Tool::prepare(&zuno::tools::write::Write, other, arguments).await.unwrap();
    assert_eq!(conflict(run(prepared).await)["kind"], "ReadRequired");
}

// case: 17
#[tokio::test]
async fn only_content_makes_a_read_stale() {
    let bench = Bench::new();
    let path = bench.put("f", "same");
    bench.read("f").await.unwrap();
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    bench.write("f", "first").await.unwrap();
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "first").unwrap();
    bench.write("f", "second").await.unwrap();
    std::fs::write(&path, "external").unwrap();
    let record = conflict(bench.write("f", "third").await);
    assert_eq!((record["kind"].as_str(), record["requiredActionKind"].as_str()), (Some("StaleRead"), Some("reread")));
    assert_eq!((&record["currentDigest"], &record["receiptDigest"]), (&json!(sha("external")), &json!(sha("second"))));
    assert_eq!(record["receiptGeneration"], 3);
    assert_eq!(bench.bytes("f"), b"external");
    bench.read("f").await.unwrap();
    bench.write("f", "third").await.unwrap();
    assert_eq!(bench.bytes("f"), b"third");
}

// case: 7
#[tokio::test]
async fn what_appears_vanishes_or_changes_after_approval_is_stale() {
    let bench = Bench::new();
    let prepared = bench.prepare_write("new", "mine").await.unwrap();
    bench.put("new", "theirs");
    let record = conflict(run(prepared).await);
    assert_eq!((record["kind"].as_str(), &record["currentDigest"]), (Some("StaleRead"), &json!(sha("theirs"))));
    assert_eq!(bench.bytes("new"), b"theirs");

    bench.put("old", "read");
    bench.read("old").await.unwrap();
    let prepared = bench.prepare_write("old", "mine").await.unwrap();
    std::fs::remove_file(bench.path("old")).unwrap();
    let record = conflict(run(prepared).await);
    assert_eq!((record["kind"].as_str(), &record["currentDigest"]), (Some("StaleRead"), &Value::Null));
    assert!(!bench.path("old").exists());

    bench.put("changed", "read");
    bench.read("changed").await.unwrap();
    let prepared = bench.prepare_write("changed", "mine").await.unwrap();
    bench.put("changed", "other");
    bench.read("changed").await.unwrap();
    let record = conflict(run(prepared).await);
    assert_eq!(record["kind"], "StaleRead", "the person approved another diff");
    assert_eq!(bench.bytes("changed"), b"other");
}

// case: 22
#[tokio::test]
async fn bytes_are_written_exactly() {
    let bench = Bench::new();
    for content in [
        r#"char *s = "\n \0 \' \u2260 \\";"#,
        "cr\r\nlf\nlone\rend",
        "nul \0 and \u{7f} and \u{1b}[0m",
        "é e\u{301} ﬁ 漢 😀 \u{200b}",
        "",
        "no final newline",
    ] {
        bench.write("exact", content).await.unwrap();
        assert_eq!(bench.bytes("exact"), content.as_bytes());
        if !content.contains('\0') {
            assert_eq!(bench.read("exact").await.unwrap().metadata["readReceipt"]["sha256"], sha(content));
        }
    }
}

#[tokio::test]
async fn a_byte_order_mark_is_kept() {
    let bench = Bench::new();
    bench.put("f", "\u{feff}a\n");
    bench.read("f").await.unwrap();
    bench.write("f", "b\n").await.unwrap();
    assert_eq!(bench.bytes("f"), "\u{feff}b\n".as_bytes());
    bench.write("f", "\u{feff}c\n").await.unwrap();
    assert_eq!(bench.bytes("f"), "\u{feff}c\n".as_bytes());
    bench.write("g", "\u{feff}new").await.unwrap();
    assert_eq!(bench.bytes("g"), "\u{feff}new".as_bytes());
    let output = bench.write("f", "c\n").await.unwrap();
    assert_eq!(output.metadata["writtenPaths"], json!([]), "the mark is the file's, not the content's");
}

#[tokio::test]
async fn equal_content_writes_nothing() {
    let bench = Bench::new();
    let path = bench.put("f", "same\n");
    bench.read("f").await.unwrap();
    let before = std::fs::metadata(&path).unwrap();
    let output = bench.write("f", "same\n").await.unwrap();
    let after = std::fs::metadata(&path).unwrap();
    assert_eq!((before.ino(), before.mtime_nsec()), (after.ino(), after.mtime_nsec()));
    assert_eq!(output.metadata["writtenPaths"], json!([]));
    assert_eq!(output.metadata["diff"], "");
    assert!(text(&output).contains("nothing was written"));
}

#[tokio::test]
async fn mode_owner_and_attributes_are_kept() {
    let bench = Bench::new();
    let path = bench.put("run.sh", "#!/bin/sh\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
    let attribute = rustix::fs::setxattr(&path, "user.note", b"kept", rustix::fs::XattrFlags::empty());
    bench.read("run.sh").await.unwrap();
    bench.write("run.sh", "#!/bin/sh\ntrue\n").await.unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o7777, 0o750);
    if attribute.is_ok() {
        let mut value = [0_u8; 16];
        let length = rustix::fs::getxattr(&path, "user.note", &mut value).unwrap();
        assert_eq!(&value[..length], b"kept");
    }
    assert_eq!(bench.names(&bench.ws), ["run.sh"], "nothing is left beside it");
}

#[tokio::test]
async fn other_names_of_a_file_are_warned_about() {
    let bench = Bench::new();
    bench.put("f", "x");
    std::fs::hard_link(bench.path("f"), bench.path("g")).unwrap();
    bench.read("f").await.unwrap();
    let output = bench.write("f", "y").await.unwrap();
    assert_eq!(output.metadata["postWriteWarnings"].as_array().unwrap().len(), 1);
    assert_eq!((bench.bytes("f"), bench.bytes("g")), (b"y".to_vec(), b"x".to_vec()));
}

#[tokio::test]
async fn a_final_link_survives_and_its_file_is_approved_and_written() {
    let bench = Bench::new();
    bench.put("real/f", "old");
    std::os::unix::fs::symlink("real/f", bench.path("link")).unwrap();
    bench.read("link").await.unwrap();
    let prepared = bench.prepare_write("link", "new").await.unwrap();
    assert_eq!(prepared.asks[0].patterns, ["link", "real/f"]);
    assert_eq!(prepared.asks[0].always, ["*", "real/*"]);
    assert_eq!(prepared.facts["filepath"], json!(bench.path("real/f")));
    assert_eq!(prepared.facts["parentDir"], json!(bench.path("real")));
    let preview = prepared.preview.unwrap()();
    assert!(preview.as_str().unwrap().starts_with("--- real/f\n+++ real/f\n"));
    bench.write("link", "new").await.unwrap();
    assert!(bench.path("link").is_symlink());
    assert_eq!(bench.bytes("real/f"), b"new");
}

#[tokio::test]
async fn directories_and_large_contents_are_refused() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("d")).unwrap();
    for name in ["d", "d/", ".", "new/"] {
        assert_eq!(code(bench.write(name, "x").await), "is_directory", "{name}");
    }
    bench.put("file", "x");
    assert_eq!(code(bench.write("file/below", "x").await), "not_found");
    assert_eq!(code(bench.write("big", &"x".repeat(16 * 1024 * 1024 + 1)).await), "too_large");
    bench.write("big", &"x".repeat(16 * 1024 * 1024)).await.unwrap();
    assert_eq!(code(bench.write("a\0b", "x").await), "malformed_path");
}

// case: 20
#[tokio::test]
async fn a_link_that_leads_outside_is_asked_for_writing() {
    let bench = Bench::new();
    let outside = bench.top.join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, bench.path("box")).unwrap();
    for (name, directory) in [("box/x.txt", outside.clone()), ("box/sub/deep/x.txt", outside.join("sub/deep"))] {
        let prepared = bench.prepare_write(name, "x").await.unwrap();
        assert_eq!(prepared.asks[0].key, "external_directory");
        assert_eq!(prepared.asks[0].patterns, [format!("{}/*", directory.display())]);
        assert_eq!(prepared.asks[0].access, Some(Access::Write));
        assert_eq!(prepared.asks[1].key, "edit");
    }
    assert_eq!(bench.names(&outside), Vec::<String>::new());
}

#[tokio::test]
async fn the_runtime_folder_is_refused_and_git_metadata_is_asked_for() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.path(".git")).unwrap();
    std::os::unix::fs::symlink(".git", bench.path("innocent")).unwrap();
    std::os::unix::fs::symlink(".", bench.path("here")).unwrap();
    for name in [".zuno/x", "sub/.zuno/x", "here/.zuno/reports/x", ".zuno"] {
        let error = bench.write(name, "x").await.unwrap_err();
        let ErrorKind::Denied { denial } = &error.kind else { panic!("{name}: {error:?}") };
        assert_eq!(denial.origin, DenialOrigin::ProtectedPath, "{name}");
        assert_eq!(error.outcome(), Outcome::Blocked);
    }
    assert!(!bench.path(".zuno").exists());
    for name in [".git/hooks/pre-commit", "innocent/config"] {
        let prepared = bench.prepare_write(name, "x").await.unwrap();
        let ask = prepared.asks.last().unwrap();
        assert_eq!((ask.key.as_str(), ask.always.len()), ("git_metadata", 0), "{name}");
        assert_eq!(ask.patterns, [format!("{}/*", bench.path(".git").display())], "{name}");
    }
    assert_eq!(bench.prepare_write("plain", "x").await.unwrap().asks.len(), 1);
}

#[tokio::test]
async fn a_call_that_cannot_go_through_asks_nobody_and_does_nothing() {
    let bench = Bench::new();
    bench.put("f", "x");
    let prepared = bench.prepare_write("f", "y").await.unwrap();
    assert!(prepared.asks.iter().all(|ask| ask.implicit));
    bench.read("f").await.unwrap();
    let error = run(prepared).await.unwrap_err();
    assert_eq!((error.code.as_str(), error.kind.name()), ("conflict_gone", "Transient"));
    assert_eq!(bench.bytes("f"), b"x", "what nobody was asked for is not written");
}

#[tokio::test]
async fn an_interrupted_call_changes_nothing() {
    let bench = Bench::new();
    let prepared = bench.prepare_write("new/f", "x").await.unwrap();
    bench.cancel.cancel();
    assert_eq!(run(prepared).await.unwrap_err().kind.name(), "Cancelled");
    assert!(!bench.path("new").exists());
}

#[tokio::test]
async fn ancestors_renamed_replaced_or_deleted_after_approval() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("d")).unwrap();
    let outside = bench.top.join("outside");
    std::fs::create_dir(&outside).unwrap();

    let prepared = bench.prepare_write("d/x", "approved").await.unwrap();
    std::fs::rename(bench.path("d"), bench.path("moved")).unwrap();
    std::os::unix::fs::symlink(&outside, bench.path("d")).unwrap();
    run(prepared).await.unwrap();
    assert_eq!(bench.bytes("moved/x"), b"approved");
    assert_eq!(bench.names(&outside), Vec::<String>::new());

    let prepared = bench.prepare_write("moved/y", "x").await.unwrap();
    std::fs::remove_dir_all(bench.path("moved")).unwrap();
    assert_eq!(code(run(prepared).await), "path_gone");

    let prepared = bench.prepare_write("n/m/x", "x").await.unwrap();
    std::os::unix::fs::symlink(&outside, bench.path("n")).unwrap();
    assert_eq!(code(run(prepared).await), "path_gone");
    assert_eq!(bench.names(&outside), Vec::<String>::new());
}

#[tokio::test]
async fn a_file_replaced_by_a_link_after_approval_is_not_followed() {
    let bench = Bench::new();
    let outside = bench.top.join("victim");
    std::fs::write(&outside, "read").unwrap();
    bench.put("f", "read");
    bench.read("f").await.unwrap();
    let prepared = bench.prepare_write("f", "mine").await.unwrap();
    std::fs::remove_file(bench.path("f")).unwrap();
    std::os::unix::fs::symlink(&outside, bench.path("f")).unwrap();
    assert_eq!(code(run(prepared).await), "path_gone");
    assert_eq!(std::fs::read(&outside).unwrap(), b"read");
}
