//! Output limits: what is inlined, what is withheld, and what the artifact holds.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use tempfile::TempDir;
use zuno::config::ToolOutputConfig;
use zuno::output::{Artifacts, Presented, Presenter};
use zuno::text::fingerprint::sha256_hex;
use zuno::tools::contract::{Captured, Output};
use zuno::types::{RandomIds, SessionId};

struct Bench {
    worktree: TempDir,
    artifacts: Artifacts,
    session: SessionId,
    limits: ToolOutputConfig,
    accept_large: bool,
}

impl Bench {
    fn new() -> Self {
        let worktree = tempfile::tempdir().unwrap();
        let artifacts = Artifacts::new(worktree.path(), Arc::new(RandomIds::default()));
        let session = SessionId::from("ses_00000000000000000000000000");
        Self { worktree, artifacts, session, limits: ToolOutputConfig::default(), accept_large: false }
    }

    fn present(&self, output: Output) -> Presented {
        self.present_between("", output, "")
    }

    fn present_between(&self, lead: &str, output: Output, trail: &str) -> Presented {
        let (limits, accept_large) = (self.limits, self.accept_large);
        Presenter { limits, artifacts: &self.artifacts, session: &self.session, accept_large }
            .present(lead, output, trail)
    }

    fn text(&self, text: &str) -> Presented {
        self.present(Output::Text(text.to_owned()))
    }

    /// What a command wrote, as the shell hands it over.
    fn captured(&self, bytes: &[u8]) -> Output {
        let file = self.artifacts.create(&self.session).unwrap();
        fs::write(&file.path, bytes).unwrap();
        Output::Captured(Captured { file: Some(file.path), bytes: bytes.len() as u64 })
    }

    fn files(&self) -> Vec<PathBuf> {
        let Ok(folder) = fs::read_dir(self.artifacts.folder()) else { return Vec::new() };
        let paths = folder.map(|entry| entry.unwrap().path());
        paths.filter(|path| !path.ends_with(".gitignore")).collect()
    }
}

fn artifact_of(presented: &Presented) -> Vec<u8> {
    let path = presented.metadata["withheldOutput"]["outputPath"].as_str().unwrap();
    assert_eq!(presented.metadata["outputPaths"], json!([path]));
    assert_eq!(presented.artifacts.len(), 1);
    assert_eq!(presented.artifacts[0].path, path);
    fs::read(path).unwrap()
}

fn assert_inline(presented: &Presented, text: &str) {
    assert_eq!(presented.text, text);
    assert!(presented.metadata.is_empty() && presented.artifacts.is_empty(), "{:?}", presented.metadata);
}

fn lines(count: usize) -> String {
    (1..=count).map(|number| format!("{number}\n")).collect()
}

// spec: OUTPUT-01
// spec: OUTPUT-03
// spec: OUTPUT-04
#[test]
fn bytes_are_inlined_up_to_the_limit_and_saved_whole_beyond() {
    let bench = Bench::new();
    let at_the_limit = "x".repeat(51_200);
    assert_inline(&bench.text(&at_the_limit), &at_the_limit);
    let beyond = "x".repeat(51_201);
    let presented = bench.text(&beyond);
    assert_eq!(artifact_of(&presented), beyond.as_bytes());
    assert_eq!(presented.metadata["withheldOutput"]["limitCrossed"], "bytes");
    assert!(!presented.text.contains("xxxx"));
}

// spec: OUTPUT-02
// case: 56
#[test]
fn lines_are_inlined_up_to_the_limit_and_saved_whole_beyond() {
    let bench = Bench::new();
    for inline in [lines(2_000), lines(1_999) + "no newline", "no newline at exactly the limit".to_owned()] {
        assert_inline(&bench.text(&inline), &inline);
        assert_inline(&bench.present(bench.captured(inline.as_bytes())), &inline);
    }
    assert!(bench.files().is_empty(), "inline output leaves no file");
    for (beyond, measured) in [(lines(2_001), 2_001), (lines(3_000), 3_000), (lines(2_000) + "x", 2_001)] {
        for output in [Output::Text(beyond.clone()), bench.captured(beyond.as_bytes())] {
            let presented = bench.present(output);
            assert_eq!(artifact_of(&presented), beyond.as_bytes());
            let withheld = &presented.metadata["withheldOutput"];
            assert_eq!((&withheld["limitCrossed"], &withheld["measuredLines"]), (&json!("lines"), &json!(measured)));
            assert!(
                presented.text.contains(&format!("{} bytes, {measured} lines", beyond.len())),
                "{}",
                presented.text
            );
            assert!(presented.text.contains("tool_output.max_lines = 2000"));
        }
    }
}

// spec: OUTPUT-07
// spec: OUTPUT-13
#[test]
fn the_notice_names_everything_in_order() {
    let bench = Bench { limits: ToolOutputConfig { max_bytes: 10, max_lines: 2, tail_lines: 0 }, ..Bench::new() };
    let presented = bench.text("one\ntwo\nthree\n");
    let path = presented.metadata["withheldOutput"]["outputPath"].as_str().unwrap().to_owned();
    let read = format!(r#"bg {{"action":"artifact","outputPath":"{path}"}}"#);
    let artifact = format!("{path} (14 bytes)");
    let mut at = 0;
    for part in [
        "14 bytes, 3 lines",
        "tool_output.max_bytes = 10",
        "tool_output.max_lines = 2",
        &artifact,
        &read,
        "accept_large_output: true would run the call again",
    ] {
        let found = presented.text[at..].find(part).unwrap_or_else(|| panic!("{part} in {}", presented.text));
        at += found + part.len();
    }
    assert_eq!(presented.text.matches("accept_large_output").count(), 1);
}

// spec: OUTPUT-09
// spec: OUTPUT-10
#[test]
fn withheld_output_is_typed() {
    let bench = Bench { limits: ToolOutputConfig { max_bytes: 10, max_lines: 2, tail_lines: 0 }, ..Bench::new() };
    let presented = bench.text("é\né\né\néé");
    let path = presented.artifacts[0].path.clone();
    assert_eq!(presented.artifacts[0].bytes, 13);
    assert_eq!(
        presented.metadata["withheldOutput"],
        json!({
            "outputPath": path, "artifactBytes": 13, "artifactLines": 4, "measuredBytes": 13, "measuredLines": 4,
            "limitBytes": 10, "limitLines": 2, "limitCrossed": "both", "estimatedTokens": 4,
            "estimatedBytesPerToken": 4, "retrievalTool": "bg", "retrievalAction": "artifact",
        })
    );
    assert_eq!(presented.metadata.len(), 2);
}

// spec: OUTPUT-04
#[test]
fn an_artifact_is_private_and_named_after_its_session() {
    let bench = Bench { limits: ToolOutputConfig { max_bytes: 1, max_lines: 1, tail_lines: 0 }, ..Bench::new() };
    let path = PathBuf::from(&bench.text("two").artifacts[0].path);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(path.parent().unwrap(), bench.worktree.path().join(".zuno/tool-output"));
    let name = path.file_name().unwrap().to_str().unwrap();
    let id = name.strip_prefix("tool_ses_00000000000000000000000000_").unwrap();
    assert_eq!(id.len(), 26);
    assert_eq!(fs::read_to_string(path.with_file_name(".gitignore")).unwrap(), "*\n");
}

// spec: OUTPUT-06
#[test]
fn a_command_keeps_the_bytes_it_wrote() {
    let bench = Bench { limits: ToolOutputConfig { max_bytes: 40, max_lines: 9, tail_lines: 0 }, ..Bench::new() };
    let raw: Vec<u8> = (0..=255).collect();
    let presented = bench.present(bench.captured(&raw));
    assert_eq!(artifact_of(&presented), raw);
    let withheld = &presented.metadata["withheldOutput"];
    assert_eq!(withheld["artifactBytes"], 256);
    assert_eq!(withheld["measuredBytes"], String::from_utf8_lossy(&raw).len());
    assert_eq!(bench.files().len(), 1, "the capture is the artifact");

    // The decoded text counts: 20 bytes that are 60 when every one is replaced.
    assert!(bench.present(bench.captured(&[0xff; 20])).metadata.contains_key("withheldOutput"));
    assert_inline(&bench.present(bench.captured(b"a\xff\0b")), "a\u{fffd}\0b");
    assert_inline(&bench.present(Output::Captured(Captured { file: None, bytes: 0 })), "");
}

// case: 58
#[test]
fn five_mebibytes_are_kept_to_the_last_byte() {
    let bench = Bench::new();
    let raw: Vec<u8> = (0_u64..).flat_map(|mark| format!("{mark:015}\n").into_bytes()).take(5_242_880).collect();
    let presented = bench.present(bench.captured(&raw));
    assert_eq!(sha256_hex(&artifact_of(&presented)), sha256_hex(&raw));
    assert_eq!(presented.metadata["withheldOutput"]["artifactBytes"], 5_242_880);
    assert!(presented.text.contains("5242880 bytes, 327680 lines"), "{}", presented.text);
}

// spec: OUTPUT-08
#[test]
fn lead_and_trail_stand_around_output_and_notice() {
    let bench = Bench { limits: ToolOutputConfig { max_bytes: 10, max_lines: 9, tail_lines: 0 }, ..Bench::new() };
    let small = bench.present_between("[lead]", Output::Text("body".to_owned()), "[exit 3]");
    assert_eq!(small.text, "[lead]\nbody\n[exit 3]");
    let large = bench.present_between("[lead]", bench.captured(&[b'x'; 11]), "[exit 3]");
    assert!(
        large.text.starts_with("[lead]\n[output withheld]") && large.text.ends_with("\n[exit 3]"),
        "{}",
        large.text
    );
    // What stands around does not count.
    assert_inline(&bench.present_between("", Output::Text("x".repeat(10)), ""), &"x".repeat(10));
}

// spec: OUTPUT-11
#[test]
fn accepted_large_output_is_saved_and_inlined_whole() {
    let bench = Bench { accept_large: true, ..Bench::new() };
    let large = lines(2_001);
    for output in [Output::Text(large.clone()), bench.captured(large.as_bytes())] {
        let presented = bench.present(output);
        assert_eq!(presented.text, large);
        let path = &presented.artifacts[0].path;
        assert_eq!(fs::read_to_string(path).unwrap(), large);
        assert_eq!(json!(presented.metadata), json!({"outputPaths": [path], "largeOutputAccepted": true}));
    }
    assert_inline(&bench.text("small"), "small");
}

#[test]
fn the_last_lines_can_be_shown_below_the_notice() {
    let mut bench = Bench::new();
    bench.limits.tail_lines = 3;
    for output in [Output::Text(lines(3_000)), bench.captured(lines(3_000).as_bytes())] {
        let text = bench.present(output).text;
        let preview = "(preview of the last 3 lines; the output itself is in the artifact)\n2998\n2999\n3000\n";
        assert!(text.ends_with(preview), "{text}");
    }
    let text = bench.text(&"é".repeat(30_000)).text;
    let (_, preview) = text.split_once("artifact)\n").unwrap();
    assert_eq!(preview, "é".repeat(2_048));
}

#[test]
fn when_saving_fails_the_text_says_so_and_shows_both_ends() {
    let bench = Bench::new();
    fs::write(bench.worktree.path().join(".zuno"), "in the way").unwrap();
    let text = format!("BEGIN{}é{}END", "a".repeat(40_000), "b".repeat(40_000));
    let presented = bench.text(&text);
    assert_eq!(json!(presented.metadata), json!({"outputSaveFailed": true}));
    assert!(presented.artifacts.is_empty());
    assert!(presented.text.starts_with(&format!("[output not saved] {} bytes could not be saved: ", text.len())));
    assert!(presented.text.contains("BEGINaaaa") && presented.text.ends_with("bbbbEND"));
    assert!(!presented.text.contains("\"action\""), "no notice as though it were saved");
    assert!(presented.text.len() < 8_192 + 200);

    // What fits into both ends is shown once.
    let mut bench = bench;
    bench.limits.max_lines = 1;
    let short = lines(1_500);
    assert!(bench.text(&short).text.ends_with(&format!(" All of it follows.\n{short}")));
    let accepted = Bench { accept_large: true, ..bench }.text(&text);
    assert_eq!(accepted.text, text);
    assert_eq!(json!(accepted.metadata), json!({"outputSaveFailed": true, "largeOutputAccepted": true}));
}

#[test]
fn a_link_in_the_checkout_leads_nowhere() {
    let elsewhere = tempfile::tempdir().unwrap();
    for (name, parent) in [(".zuno", None), ("tool-output", Some(".zuno"))] {
        let bench = Bench { limits: ToolOutputConfig { max_bytes: 1, max_lines: 1, tail_lines: 0 }, ..Bench::new() };
        let mut place = bench.worktree.path().to_owned();
        if let Some(parent) = parent {
            place.push(parent);
            fs::create_dir(&place).unwrap();
        }
        std::os::unix::fs::symlink(elsewhere.path(), place.join(name)).unwrap();
        assert_eq!(bench.text("two").metadata["outputSaveFailed"], true);
    }
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn a_capture_that_lost_bytes_is_told() {
    let bench = Bench::new();
    let Output::Captured(captured) = bench.captured(b"12345") else { panic!() };
    let presented = bench.present(Output::Captured(Captured { bytes: 9, ..captured }));
    assert_eq!(presented.metadata["outputSaveFailed"], true);
    assert!(presented.text.contains("12345"), "{}", presented.text);
    let gone = Output::Captured(Captured { file: Some(bench.artifacts.folder().join("tool_gone")), bytes: 9 });
    assert!(bench.present(gone).text.contains("9 bytes could not be saved"));
}

// spec: BG-30
#[test]
fn a_window_passes_no_limit() {
    let bench = Bench { limits: ToolOutputConfig { max_bytes: 100, max_lines: 1, tail_lines: 0 }, ..Bench::new() };
    assert_inline(&bench.present(Output::Window(lines(3_000))), &lines(3_000));
    assert!(bench.files().is_empty());
}
