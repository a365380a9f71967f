//! A refused search never looks like an empty one.

use serde_json::{Value, json};

use super::support::{Bench, as_ordinary_user, shown};
use zuno::types::{ErrorKind, Outcome, ToolError};

fn named(error: &ToolError, code: &str, field: &str, quoted: &str) {
    assert_eq!(error.code, code, "{error}");
    assert_eq!(error.outcome(), Outcome::Blocked);
    assert!(matches!(&error.kind, ErrorKind::InvalidArgs { field: Some(named), .. } if named == field), "{error:?}");
    assert!(error.message.contains(&format!("\"{quoted}\"")), "{error}");
}

// case: 23
// spec: SEARCH-11 SEARCH-12 SEARCH-14
#[tokio::test]
async fn a_pattern_that_does_not_parse_is_named() {
    let bench = Bench::new();
    bench.write("a.txt", "x\n");
    for pattern in ["(", "foo(", "[z-a]", "*", "(?<=x)y", "\\1", "a\\nb", "a\nb"] {
        let error = bench.grep(json!({"pattern": pattern})).await.unwrap_err();
        named(&error, "bad_pattern", "pattern", pattern);
    }
    for pattern in ["x{99999}{99999}", "\\w{5000}{5000}"] {
        let error = bench.grep(json!({"pattern": pattern})).await.unwrap_err();
        named(&error, "pattern_too_large", "pattern", pattern);
    }
    for pattern in ["[", "{a", "a}", "[z-a]", "a\\", "it's [", "a\n{b"] {
        let error = bench.glob(json!({"pattern": pattern})).await.unwrap_err();
        named(&error, "bad_pattern", "pattern", pattern);
    }
}

// case: 23
// spec: SEARCH-13
#[tokio::test]
async fn a_bad_include_is_never_blamed_on_the_regex() {
    let bench = Bench::new();
    bench.write("a.txt", "fine\n");
    for include in ["{a", "[", "!{a"] {
        let error = bench.grep(json!({"pattern": "fine", "include": include})).await.unwrap_err();
        named(&error, "bad_include", "include", include);
        assert!(!error.message.contains("fine"), "{error}");
    }
    // Both are wrong: the one rg quotes is named.
    let error = bench.grep(json!({"pattern": "(", "include": "{a"})).await.unwrap_err();
    named(&error, "bad_include", "include", "{a");
    // A regex that talks like a glob error stays a regex.
    let pattern = "error parsing glob '{a': (";
    let error = bench.grep(json!({"pattern": pattern, "include": "*.txt"})).await.unwrap_err();
    named(&error, "bad_pattern", "pattern", pattern);
}

#[tokio::test]
async fn a_glob_that_excludes_is_refused_and_an_include_may() {
    let bench = Bench::new();
    bench.write("a.txt", "x\n");
    bench.write("b.md", "x\n");
    let error = bench.glob(json!({"pattern": "!*.md"})).await.unwrap_err();
    assert_eq!((error.code.as_str(), error.outcome()), ("bad_pattern", Outcome::Blocked));
    assert_eq!(bench.files(json!({"pattern": "x", "include": "!*.md"})).await, bench.texts(&["a.txt"]));
}

// case: 23
// spec: SEARCH-06 SEARCH-11
#[tokio::test]
async fn paths_are_checked_before_rg_is_started() {
    let bench = Bench::with_script("echo started >> \"$(dirname \"$0\")/log\"; exit 2");
    let glob = async |path: Value| bench.glob(json!({"pattern": "*", "path": path})).await.unwrap_err();
    let grep = async |path: Value| bench.grep(json!({"pattern": "x", "path": path})).await.unwrap_err();
    for (path, code) in [
        ("missing", "not_found"),
        ("a.txt/below", "not_found"),
        ("a\0", "malformed_path"),
        ("/dev/zero", "not_regular"),
    ] {
        let (glob, grep) = (glob(json!(path)).await, grep(json!(path)).await);
        assert_eq!((glob.code.as_str(), grep.code.as_str()), (code, code));
        assert_eq!((glob.outcome(), grep.outcome()), (Outcome::Blocked, Outcome::Blocked));
    }
    assert_eq!(glob(json!("a.txt")).await.code, "not_directory");
    assert!(!bench.around().join("log").exists());
}

// spec: SEARCH-06
#[tokio::test]
async fn a_path_outside_asks_first() {
    let bench = Bench::with_script("echo started >> \"$(dirname \"$0\")/log\"; exit 2");
    std::fs::create_dir(bench.around().join("outside")).unwrap();
    std::fs::write(bench.around().join("outside/s.txt"), "needle\n").unwrap();
    std::os::unix::fs::symlink(bench.around().join("outside"), bench.path("link")).unwrap();
    let pattern = format!("{}/outside/*", bench.around().display());
    for path in ["../outside", "link"] {
        let glob = bench.prepare(&zuno::tools::glob::Glob, json!({"pattern": "*", "path": path})).await.unwrap();
        let keys: Vec<_> = glob.asks.iter().map(|ask| (ask.key.as_str(), ask.patterns[0].as_str())).collect();
        assert_eq!(keys, [("external_directory", pattern.as_str()), ("glob", "*")], "{path}");
        assert_eq!(glob.asks[0].access, Some(zuno::types::Access::Read));
    }
    let grep = bench.prepare(&zuno::tools::grep::Grep, json!({"pattern": "x", "path": "link/s.txt"})).await.unwrap();
    let keys: Vec<_> = grep.asks.iter().map(|ask| (ask.key.as_str(), ask.patterns[0].as_str())).collect();
    assert_eq!(keys, [("external_directory", pattern.as_str()), ("grep", "x"), ("read", "link/s.txt")]);
    assert_eq!(grep.asks[2].always, std::slice::from_ref(&pattern));
    assert!(grep.asks[2].deny_only.contains(&format!("{}/outside/s.txt", bench.around().display())));
    assert!(!bench.around().join("log").exists());
}

#[tokio::test]
async fn a_file_inside_is_judged_as_a_read_too() {
    let bench = Bench::new();
    bench.write("sub/a.txt", "x\n");
    let grep = bench.prepare(&zuno::tools::grep::Grep, json!({"pattern": "x", "path": "./sub/a.txt"})).await.unwrap();
    let keys: Vec<_> = grep.asks.iter().map(|ask| (ask.key.as_str(), ask.patterns[0].as_str())).collect();
    assert_eq!(keys, [("grep", "x"), ("read", "sub/a.txt")]);
    let grep = bench.prepare(&zuno::tools::grep::Grep, json!({"pattern": "x", "path": "sub"})).await.unwrap();
    assert_eq!(grep.asks.len(), 1);
}

// case: 31
// spec: SEARCH-11 SEARCH-16
#[test]
fn one_file_that_rg_never_read_is_a_refusal() {
    if !as_ordinary_user("refusals::one_file_that_rg_never_read_is_a_refusal") {
        return;
    }
    block_on(async {
        let bench = Bench::new();
        bench.write("closed.txt", "needle\n");
        bench.write("empty.txt", "");
        bench.chmod("closed.txt", 0o000);
        let error = bench.grep(json!({"pattern": "needle", "path": "closed.txt"})).await.unwrap_err();
        assert_eq!((error.code.as_str(), error.outcome()), ("path_unreadable", Outcome::Error));
        assert!(error.message.contains("closed.txt"));
        bench.chmod("closed.txt", 0o644);
        for (pattern, path) in [("other", "closed.txt"), ("needle", "empty.txt")] {
            let found = bench.grep(json!({"pattern": pattern, "path": path})).await.unwrap();
            assert_eq!(shown(&found), "No matches found");
        }
    });
}

// spec: SEARCH-27 SEARCH-28 SEARCH-29
#[test]
fn a_directory_that_cannot_be_entered_is_like_one_that_is_not_there() {
    if !as_ordinary_user("refusals::a_directory_that_cannot_be_entered_is_like_one_that_is_not_there") {
        return;
    }
    block_on(async {
        let bench = Bench::new();
        bench.write("closed/a.txt", "needle\n");
        bench.write("open/b.txt", "other\n");
        bench.chmod("closed", 0o000);
        // The only candidate lies behind the closed door, which may also be the root itself.
        for path in [".", "closed"] {
            let found = bench.grep(json!({"pattern": "needle", "path": path})).await.unwrap();
            assert_eq!((shown(&found), &found.metadata["truncated"]), ("No files found", &json!(false)), "{path}");
        }
        let unreadable = bench.glob(json!({"pattern": "closed/*"})).await.unwrap();
        let missing = bench.glob(json!({"pattern": "missing/*"})).await.unwrap();
        assert_eq!((shown(&unreadable), &unreadable.metadata), (shown(&missing), &missing.metadata));
        assert_eq!(shown(&missing), "No files found");
        assert_eq!(shown(&bench.glob(json!({"pattern": "*", "path": "closed"})).await.unwrap()), "No files found");
        // What can be read is found beside it.
        assert_eq!(bench.paths(json!({"pattern": "*"})).await, bench.texts(&["open/b.txt"]));
        assert_eq!(bench.files(json!({"pattern": "other"})).await, bench.texts(&["open/b.txt"]));
        bench.chmod("closed", 0o755);
    });
}

// spec: SEARCH-11 SEARCH-15
#[tokio::test]
async fn more_than_64_mib_are_refused_as_a_whole() {
    let bench = Bench::new();
    bench.write("big.txt", "x\n".repeat(420_000));
    let error = bench.grep(json!({"pattern": "x"})).await.unwrap_err();
    assert_eq!((error.code.as_str(), error.outcome()), ("output_too_large", Outcome::Error));
    for word in ["pattern", "path", "include"] {
        assert!(error.message.contains(word), "{error}");
    }
}

#[tokio::test]
async fn odd_ends_of_rg_are_failures_with_its_first_line() {
    let answer = "[ \"$1\" = --version ] && echo 'ripgrep 14.1.0' && exit 0\n";
    for (end, said) in [
        ("echo 'rg: disk on fire' >&2; echo more >&2; exit 2", "rg: disk on fire"),
        ("exit 101", "status 101"),
        ("kill -9 $$", "by a signal"),
        ("printf 'not json\\n{\"type\":\"match\"}\\n'; exit 0", "not its format"),
        ("printf '{\"type\":\"begin\"'; exit 0", "not its format"),
    ] {
        let bench = Bench::with_script(&format!("{answer}{end}"));
        let error = bench.grep(json!({"pattern": "needle"})).await.unwrap_err();
        assert_eq!((error.code.as_str(), error.outcome()), ("rg_failed", Outcome::Error), "{end}");
        assert!(error.message.contains(said) && !error.message.contains("more"), "{error}");
    }
}

fn block_on(work: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work);
}
