//! `read` without the dispatcher.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, missing_docs)]

mod files_support;

use std::os::unix::ffi::OsStrExt;

use files_support::{Bench, code, run, sha, text};
use serde_json::{Value, json};
use zuno::tools::contract::Tool;
use zuno::tools::read::Read;
use zuno::types::Access;

#[tokio::test]
async fn a_file_is_shown_in_its_envelope() {
    let bench = Bench::new();
    let path = bench.put("src/a.txt", "one\r\ntwo\n");
    let output = bench.read("src/a.txt").await.unwrap();
    assert_eq!(
        text(&output),
        "<path>src/a.txt</path>\n<type>file</type>\n<content>\n1: one\n2: two\n(end of file, 2 lines)\n</content>"
    );
    assert_eq!(
        Value::Object(output.metadata),
        json!({
            "preview": "one\ntwo", "truncated": false,
            "display": {"type": "file", "path": path, "text": "one\ntwo", "lineStart": 1, "lineEnd": 2,
                        "totalLines": 2, "truncated": false},
            "readReceipt": {"path": path, "sha256": sha("one\r\ntwo\n"), "generation": 1},
        })
    );
}

#[tokio::test]
async fn the_published_schema_is_the_documented_one() {
    let schema = Read.input_schema();
    assert_eq!(schema["properties"]["limit"]["maximum"], 2000);
    assert_eq!(schema["additionalProperties"], false);
}

// spec: BG-20
#[tokio::test]
async fn both_bounds_of_the_window_hold_and_the_offset_goes_on() {
    let bench = Bench::new();
    bench.put("many.txt", "x\n".repeat(5_000));
    bench.put("wide.txt", format!("{}\n", "y".repeat(1_000)).repeat(200));
    for (name, total) in [("many.txt", 5_000), ("wide.txt", 200)] {
        let (mut offset, mut seen) = (1, 0);
        loop {
            let output = bench.read_with(json!({"filePath": name, "offset": offset})).await.unwrap();
            assert!(text(&output).len() <= 51_200, "{name}");
            assert!(text(&output).lines().count() <= 2_000, "{name}");
            let display = &output.metadata["display"];
            seen += display["lineEnd"].as_u64().unwrap() + 1 - display["lineStart"].as_u64().unwrap();
            if output.metadata["truncated"] == false {
                break;
            }
            let next = display["lineEnd"].as_u64().unwrap() + 1;
            assert!(text(&output).contains(&format!("continue with offset {next})")), "{name}");
            offset = next;
        }
        assert_eq!(seen, total, "{name}");
    }
}

// case: 32
#[tokio::test]
async fn every_byte_of_a_long_line_stays_reachable() {
    let bench = Bench::new();
    let line: String = (0..10_000).map(|n| char::from(b'a' + (n % 26) as u8)).collect();
    bench.put("long.txt", format!("short\n{line}\n"));
    let output = bench.read("long.txt").await.unwrap();
    let shown = text(&output).lines().find(|line| line.starts_with("2: ")).unwrap();
    assert_eq!(shown, format!("2: {} [line has 10000 characters]", &line[..2_000]));
    assert!(text(&output).contains("sed -n 2p FILE | tail -c +2001 | head -c 16384"));
    let rest = std::process::Command::new("sh")
        .args(["-c", "sed -n 2p long.txt | tail -c +2001 | head -c 16384"])
        .current_dir(&bench.ws)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(rest.stdout).unwrap().trim_end(), &line[2_000..]);
}

// case: 2
#[tokio::test]
async fn a_byte_order_mark_is_not_shown_and_counts_in_the_digest() {
    let bench = Bench::new();
    bench.put("bom.txt", "\u{feff}v = 1\r\n");
    let output = bench.read("bom.txt").await.unwrap();
    assert!(text(&output).contains("\n1: v = 1\n"));
    assert_eq!(output.metadata["readReceipt"]["sha256"], sha("\u{feff}v = 1\r\n"));
}

#[tokio::test]
async fn offsets_and_empty_files() {
    let bench = Bench::new();
    bench.put("empty", "");
    bench.put("three", "a\nb\nc");
    assert!(text(&bench.read("empty").await.unwrap()).contains("<content>\n(end of file, 0 lines)\n</content>"));
    assert_eq!(code(bench.read_with(json!({"filePath": "empty", "offset": 2})).await), "offset_past_end");
    assert_eq!(code(bench.read_with(json!({"filePath": "three", "offset": 4})).await), "offset_past_end");
    let output = bench.read_with(json!({"filePath": "three", "offset": 2, "limit": 1})).await.unwrap();
    assert!(text(&output).contains("\n2: b\n(lines 2-2 of 3; continue with offset 3)\n"));
    let whole = bench.read_with(json!({"filePath": "three", "offset": 2, "limit": 1})).await.unwrap();
    assert_eq!(whole.metadata["readReceipt"]["sha256"], sha("a\nb\nc"), "any window records the whole file");
}

#[tokio::test]
async fn directories_are_listed_without_a_receipt() {
    let bench = Bench::new();
    for name in ["d/b", "d/a/x", "d/-v", "d/c"] {
        bench.put(name, "");
    }
    let output = bench.read("d").await.unwrap();
    assert_eq!(
        text(&output),
        "<path>d</path>\n<type>directory</type>\n<content>\n-v\na/\nb\nc\n(4 entries)\n</content>"
    );
    assert_eq!(output.metadata["readReceipt"], Value::Null);
    let output = bench.read_with(json!({"filePath": "d", "offset": 2, "limit": 2})).await.unwrap();
    assert!(text(&output).contains("\na/\nb\n(entries 2-3 of 4; continue with offset 4)\n"));
    assert_eq!(
        output.metadata["display"],
        json!({"type": "directory", "path": bench.path("d"), "entries": ["a/", "b"], "offset": 2, "totalEntries": 4,
               "truncated": true})
    );
    assert_eq!(code(bench.read_with(json!({"filePath": "d", "offset": 5})).await), "offset_past_end");
    assert!(text(&bench.read(".").await.unwrap()).starts_with("<path>.</path>"));
}

#[tokio::test]
async fn images_and_pdf_come_as_attachments_and_record_a_receipt() {
    let bench = Bench::new();
    let png = b"\x89PNG\r\n\x1a\n\0\0rest";
    bench.put("pic/logo.dat", png);
    let output = bench.read("pic/logo.dat").await.unwrap();
    let attachment = &output.attachments[0];
    assert_eq!((attachment.mime.as_str(), attachment.filename.as_deref()), ("image/png", Some("logo.dat")));
    assert_eq!(attachment.url, "data:image/png;base64,iVBORw0KGgoAAHJlc3Q=");
    assert_eq!(output.metadata["readReceipt"]["sha256"], sha(png));
    let mut large = b"%PDF-1.7".to_vec();
    large.resize(10 * 1024 * 1024, b' ');
    bench.put("fits.pdf", &large);
    assert_eq!(bench.read("fits.pdf").await.unwrap().attachments[0].mime, "application/pdf");
    large.push(b' ');
    bench.put("large.pdf", &large);
    assert_eq!(code(bench.read("large.pdf").await), "attachment_too_large");
}

#[tokio::test]
async fn bytes_that_are_no_text_are_refused_by_what_they_are() {
    let bench = Bench::new();
    bench.put("nul", b"a\0b");
    bench.put("x.zip", "text");
    bench.put("latin", b"caf\xe9\n");
    bench.put("utf16", b"\xff\xfea\0\n\0");
    assert_eq!(code(bench.read("nul").await), "binary");
    assert_eq!(code(bench.read("x.zip").await), "binary");
    let error = bench.read("latin").await.unwrap_err();
    assert_eq!((error.code.as_str(), error.kind.name()), ("encoding", "Failed"));
    assert!(error.message.contains("offset 3"));
    assert!(bench.read("utf16").await.unwrap_err().message.contains("UTF-16LE"));
    assert_eq!(bench.write("latin", "x").await.unwrap_err().code, "encoding", "no receipt and no overwriting");
    assert_eq!(bench.bytes("latin"), b"caf\xe9\n");
}

#[tokio::test]
async fn a_missing_file_is_answered_with_similar_names() {
    let bench = Bench::new();
    for name in ["main.rs", "mian.rs", "other"] {
        bench.put(name, "");
    }
    let error = bench.read("maim.rs").await.unwrap_err();
    let json = serde_json::to_value(&error).unwrap();
    assert_eq!((json["code"].as_str(), json["suggestion"].as_str()), (Some("not_found"), Some("main.rs")));
    assert!(error.message.contains("main.rs, mian.rs"));
    assert_eq!(code(bench.read("none/x").await), "not_found");
    assert_eq!(code(bench.read("main.rs/x").await), "not_found");
    std::fs::write(bench.top.join("secret-name"), "").unwrap();
    let error = bench.read("../secret-nam").await.unwrap_err();
    assert!(!error.message.contains("secret-name"), "names outside are not told before they are allowed");
}

#[tokio::test]
async fn malformed_paths() {
    let bench = Bench::new();
    assert_eq!(code(bench.read("a\0b").await), "malformed_path");
    assert_eq!(code(bench.read("").await), "malformed_path");
    assert_eq!(code(bench.read(&"n".repeat(300)).await), "malformed_path");
}

// case: 28
#[tokio::test]
async fn odd_names_are_plain_names() {
    let bench = Bench::new();
    for name in ["d:1:x.txt", "a\nb.txt", "c\\d.txt", "-v.txt", " lead.txt", "$HOME", "~", "*"] {
        bench.put(name, format!("in {name}"));
        let output = bench.read(name).await.unwrap();
        assert!(text(&output).contains("in "), "{name:?}");
        assert_eq!(output.metadata["readReceipt"]["path"], json!(bench.path(name)));
    }
    bench.put("wor\nking/f", "x\n".repeat(3_000));
    assert!(text(&bench.read("wor\nking/f").await.unwrap()).lines().count() <= 2_000);
}

#[tokio::test]
async fn special_files_are_refused_and_never_opened() {
    let bench = Bench::new();
    rustix_fifo(&bench.path("fifo"));
    let _socket = std::os::unix::net::UnixListener::bind(bench.path("socket")).unwrap();
    for name in ["fifo", "socket", "/dev/null", "/dev/zero"] {
        assert_eq!(code(bench.read(name).await), "not_regular", "{name}");
        assert_eq!(code(bench.write(name, "x").await), "not_regular", "{name}");
    }
    std::os::unix::fs::symlink("fifo", bench.path("to-fifo")).unwrap();
    assert_eq!(code(bench.read("to-fifo").await), "not_regular");
}

fn rustix_fifo(path: &std::path::Path) {
    let status = std::process::Command::new("mkfifo").arg(path).status().unwrap();
    assert!(status.success());
}

#[tokio::test]
async fn a_file_that_becomes_a_fifo_after_approval_blocks_nobody() {
    let bench = Bench::new();
    let path = bench.put("f", "x");
    let prepared = bench.prepare(&Read, json!({"filePath": "f"})).await.unwrap();
    std::fs::remove_file(&path).unwrap();
    rustix_fifo(&path);
    assert_eq!(code(run(prepared).await), "not_regular");
}

#[tokio::test]
async fn the_store_is_refused_before_it_is_opened() {
    let bench = Bench::on_disk();
    bench.put("x", "x");
    bench.read("x").await.unwrap();
    std::os::unix::fs::symlink("zuno.db", bench.path("link")).unwrap();
    std::fs::hard_link(bench.path("zuno.db"), bench.path("second-name")).unwrap();
    for name in ["zuno.db", "zuno.db-wal", "zuno.db-shm", "link", "second-name"] {
        assert_eq!(code(bench.read(name).await), "store_file", "{name}");
        assert_eq!(code(bench.write(name, "x").await), "store_file", "{name}");
    }
    let prepared = bench.prepare(&Read, json!({"filePath": "x"})).await.unwrap();
    std::fs::remove_file(bench.path("x")).unwrap();
    std::fs::hard_link(bench.path("zuno.db"), bench.path("x")).unwrap();
    assert_eq!(code(run(prepared).await), "store_file");
}

// case: 71
#[tokio::test]
async fn a_workspace_given_through_a_link_has_one_receipt_per_file() {
    let bench = Bench::through_alias();
    let real = bench.put("a", "text");
    let alias = bench.top.join("alias/a");
    for (generation, spelling) in [&real.to_string_lossy(), &alias.to_string_lossy(), "./a"].iter().enumerate() {
        let prepared = bench.prepare(&Read, json!({"filePath": spelling})).await.unwrap();
        assert_eq!(prepared.asks.len(), 1, "{spelling} is inside");
        assert_eq!(prepared.asks[0].patterns, ["a"]);
        let output = bench.settled(prepared).await.unwrap();
        assert_eq!(output.metadata["readReceipt"]["path"], json!(real));
        assert_eq!(output.metadata["readReceipt"]["generation"], json!(generation + 1));
    }
    bench.write(&alias.to_string_lossy(), "changed").await.unwrap();
    assert_eq!(bench.bytes("a"), b"changed");
}

// case: 20, 70
#[tokio::test]
async fn links_that_lead_outside_are_asked_as_outside() {
    let bench = Bench::new();
    let outside = bench.top.join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("z"), "outside").unwrap();
    std::os::unix::fs::symlink(&outside, bench.path("box")).unwrap();
    std::os::unix::fs::symlink(outside.join("z"), bench.path("zlink")).unwrap();
    std::os::unix::fs::symlink(outside.join("none"), bench.path("dangling")).unwrap();
    let pattern = format!("{}/*", outside.display());
    for name in ["box/z", "zlink", "box", outside.join("z").to_str().unwrap(), "../outside/z"] {
        let prepared = bench.prepare(&Read, json!({"filePath": name})).await.unwrap();
        let ask = &prepared.asks[0];
        assert_eq!((ask.key.as_str(), ask.patterns.clone()), ("external_directory", vec![pattern.clone()]), "{name}");
        assert_eq!(ask.access, Some(Access::Read));
        assert_eq!((prepared.asks[1].key.as_str(), &prepared.asks[1].always), ("read", &vec![pattern.clone()]));
        assert!(prepared.asks[1].deny_only.iter().chain(&prepared.asks[1].patterns).any(|spelling| {
            spelling == outside.join("z").to_str().unwrap() || spelling == outside.to_str().unwrap()
        }));
    }
    for name in ["dangling", "dangling/x"] {
        assert_eq!(code(bench.read(name).await), "dangling_link", "{name}");
        assert_eq!(code(bench.write(name, "x").await), "dangling_link", "{name}");
    }
    std::os::unix::fs::symlink("loop", bench.path("loop")).unwrap();
    assert_eq!(code(bench.read("loop").await), "dangling_link");
}

#[tokio::test]
async fn a_directory_that_counts_as_inside_is_not_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().canonicalize().unwrap();
    std::fs::write(data.join("f"), "x").unwrap();
    let mut config = zuno::config::Config::default();
    config.sandbox.writable_roots = vec![data.clone()];
    let bench = Bench::with_config(config);
    let prepared = bench.prepare(&Read, json!({"filePath": data.join("f")})).await.unwrap();
    assert_eq!(prepared.asks.iter().map(|ask| ask.key.as_str()).collect::<Vec<_>>(), ["read"]);
}

#[tokio::test]
async fn deny_rules_see_the_place_a_link_leads_to() {
    let bench = Bench::new();
    bench.put("secret/key", "x");
    std::os::unix::fs::symlink("secret", bench.path("open")).unwrap();
    std::os::unix::fs::symlink("secret/key", bench.path("final")).unwrap();
    for (name, patterns) in [("open/key", vec!["open/key"]), ("final", vec!["final", "secret/key"])] {
        let prepared = bench.prepare(&Read, json!({"filePath": name})).await.unwrap();
        assert_eq!(prepared.asks[0].patterns, patterns);
        assert!(prepared.asks[0].deny_only.contains(&"secret/key".to_owned()));
    }
}

#[tokio::test]
async fn renamed_ancestors_are_still_reached_and_deleted_ones_are_gone() {
    let bench = Bench::new();
    bench.put("d/f", "approved");
    let prepared = bench.prepare(&Read, json!({"filePath": "d/f"})).await.unwrap();
    std::fs::rename(bench.path("d"), bench.path("moved")).unwrap();
    bench.put("d/f", "another");
    assert!(text(&run(prepared).await.unwrap()).contains("approved"));
    let prepared = bench.prepare(&Read, json!({"filePath": "d/f"})).await.unwrap();
    std::fs::remove_dir_all(bench.path("d")).unwrap();
    assert_eq!(code(run(prepared).await), "path_gone");
}

#[tokio::test]
async fn a_file_saved_anew_while_it_waits_is_read_as_it_is() {
    let bench = Bench::new();
    bench.put("f", "old");
    let prepared = bench.prepare(&Read, json!({"filePath": "f"})).await.unwrap();
    bench.put("new", "new text");
    std::fs::rename(bench.path("new"), bench.path("f")).unwrap();
    let output = bench.settled(prepared).await.unwrap();
    assert!(text(&output).contains("new text"));
    assert_eq!(output.metadata["readReceipt"]["sha256"], sha("new text"));
}

#[tokio::test]
async fn a_huge_file_is_readable_without_a_receipt() {
    let bench = Bench::new();
    let file = std::fs::File::create(bench.path("huge")).unwrap();
    use std::os::unix::fs::FileExt;
    let line = "0123456789abcde\n".repeat(64 * 1024);
    for piece in 0..257_u64 {
        file.write_at(line.as_bytes(), piece * line.len() as u64).unwrap();
    }
    drop(file);
    let output = bench.read_with(json!({"filePath": "huge", "offset": 16_000_000, "limit": 1})).await.unwrap();
    assert!(text(&output).contains("16000000: 0123456789abcde\n(lines 16000000-16000000 of 16842752;"));
    assert_eq!(output.metadata["readReceipt"], Value::Null);
    assert_eq!(code(bench.write("huge", "x").await), "too_large");
}

#[tokio::test]
async fn names_that_are_not_utf8_are_left_out_of_listings() {
    let bench = Bench::new();
    std::fs::write(bench.ws.join(std::ffi::OsStr::from_bytes(b"bad\xff")), "").unwrap();
    bench.put("good", "");
    let output = bench.read(".").await.unwrap();
    assert!(text(&output).contains("\ngood\n(1 entries)\n"));
    assert!(text(&output).contains("1 names are not valid UTF-8"));
}

#[tokio::test]
async fn reading_can_be_interrupted() {
    let bench = Bench::new();
    bench.put("large", "x\n".repeat(1_000_000));
    let prepared = bench.prepare(&Read, json!({"filePath": "large"})).await.unwrap();
    bench.cancel.cancel();
    assert_eq!(run(prepared).await.unwrap_err().kind.name(), "Cancelled");
}
