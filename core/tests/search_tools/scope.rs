//! Which files are searched.

use serde_json::json;

use super::support::{Bench, shown};

// case: 26
#[tokio::test]
async fn hidden_files_are_found_and_git_is_not() {
    let bench = Bench::new();
    for name in [".github/workflows/ci.yml", ".eslintrc.json", ".git/config", "sub/.git/config", "src/a.rs"] {
        bench.write(name, "needle\n");
    }
    let hidden = bench.texts(&[".eslintrc.json", ".github/workflows/ci.yml", "src/a.rs"]);
    assert_eq!(
        bench.paths(json!({"pattern": ".github/workflows/*.yml"})).await,
        [bench.text(".github/workflows/ci.yml")]
    );
    assert_eq!(bench.paths(json!({"pattern": ".eslintrc.json"})).await, [bench.text(".eslintrc.json")]);
    assert_eq!(bench.paths(json!({"pattern": "**/*"})).await, hidden);
    assert_eq!(bench.files(json!({"pattern": "needle"})).await, hidden);
    // No glob brings `.git` back.
    for pattern in [".git/**", ".git", "**/.git/config"] {
        assert!(bench.paths(json!({"pattern": pattern})).await.is_empty(), "{pattern}");
        assert!(bench.files(json!({"pattern": "needle", "include": pattern})).await.is_empty(), "{pattern}");
    }
}

#[tokio::test]
async fn ignore_files_are_honoured_outside_a_work_tree() {
    let bench = Bench::new();
    bench.write(".gitignore", "*.log\nbuild/\n");
    bench.write(".ignore", "*.tmp\n");
    for name in ["a.txt", "a.log", "a.tmp", "build/b.txt", "build/b.log"] {
        bench.write(name, "needle\n");
    }
    assert_eq!(bench.files(json!({"pattern": "needle"})).await, bench.texts(&["a.txt"]));
    for everything in ["*", "**", "**/*"] {
        let found = bench.paths(json!({"pattern": everything})).await;
        assert_eq!(found, bench.texts(&[".gitignore", ".ignore", "a.txt"]), "{everything}");
        assert_eq!(bench.files(json!({"pattern": "needle", "include": everything})).await, bench.texts(&["a.txt"]));
    }
    // An explicit glob overrides for files and does not enter ignored directories.
    assert_eq!(bench.paths(json!({"pattern": "*.log"})).await, bench.texts(&["a.log"]));
    assert_eq!(bench.files(json!({"pattern": "needle", "include": "*.log"})).await, bench.texts(&["a.log"]));
}

// case: 31
#[tokio::test]
async fn what_is_named_is_searched() {
    let bench = Bench::new();
    bench.write(".gitignore", "ignored.txt\nbuild/\n");
    for name in [".conf/app/x.ini", "ignored.txt", "build/out.txt", ".git/config"] {
        bench.write(name, "needle\n");
    }
    for (path, file) in [
        (".conf/app", ".conf/app/x.ini"),
        (".conf/app/x.ini", ".conf/app/x.ini"),
        ("ignored.txt", "ignored.txt"),
        ("build", "build/out.txt"),
        (".git", ".git/config"),
        (".git/config", ".git/config"),
    ] {
        assert_eq!(bench.files(json!({"pattern": "needle", "path": path})).await, bench.texts(&[file]), "{path}");
    }
    // An include has no effect on a single file.
    let found = bench.files(json!({"pattern": "needle", "path": "ignored.txt", "include": "*.rs"})).await;
    assert_eq!(found, bench.texts(&["ignored.txt"]));
}

#[tokio::test]
async fn one_file_is_searched_without_its_neighbours() {
    let bench = Bench::new();
    bench.write("a.txt", "needle\n");
    bench.write("b.txt", "needle\n");
    let found = bench.grep(json!({"pattern": "needle", "path": "a.txt"})).await.unwrap();
    assert_eq!(shown(&found), format!("1 matches in 1 files\n{}\nLine 1: needle", bench.text("a.txt")));
    assert_eq!((found.title.as_str(), &found.metadata["root"]), ("a.txt", &json!(bench.text("a.txt"))));
}

// case: 29
// spec: SEARCH-26
#[tokio::test]
async fn symbolic_links_are_not_followed_except_the_root() {
    let bench = Bench::new();
    bench.write("d/a.txt", "needle\n");
    let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, bench.path(name)).unwrap();
    link("..", "d/loop");
    link("../d", "d/self");
    link("a.txt", "d/twin");
    assert_eq!(bench.paths(json!({"pattern": "**/*"})).await, bench.texts(&["d/a.txt"]));
    assert_eq!(bench.files(json!({"pattern": "needle"})).await, bench.texts(&["d/a.txt"]));
    for path in ["d/self", "d/loop/d/self/self"] {
        assert_eq!(bench.paths(json!({"pattern": "*.txt", "path": path})).await, bench.texts(&["d/a.txt"]), "{path}");
    }
    assert_eq!(bench.files(json!({"pattern": "needle", "path": "d/twin"})).await, bench.texts(&["d/a.txt"]));
}

#[tokio::test]
async fn globs_are_relative_to_the_search_root() {
    let bench = Bench::new();
    for name in ["src/a.rs", "src/sub/b.rs", "other/a.rs"] {
        bench.write(name, "x\n");
    }
    assert_eq!(bench.paths(json!({"pattern": "src/**/*.rs"})).await, bench.texts(&["src/a.rs", "src/sub/b.rs"]));
    assert_eq!(bench.paths(json!({"pattern": "/*.rs", "path": "src"})).await, bench.texts(&["src/a.rs"]));
    let found = bench.glob(json!({"pattern": "sub/*.rs", "path": "src"})).await.unwrap();
    assert_eq!(shown(&found), bench.text("src/sub/b.rs"));
    assert_eq!((found.title.as_str(), &found.metadata["root"]), ("src", &json!(bench.text("src"))));
}

#[tokio::test]
async fn files_a_rule_denies_to_read_are_left_out_and_counted() {
    use zuno::text::rules::{Action, Rule};
    let mut bench = Bench::new();
    bench.config.permission.rules = vec![Rule::new("read", "secret/*", Action::Deny, "test")];
    for name in ["secret/a.txt", "secret/deep/b.txt", "plain.txt"] {
        bench.write(name, "needle\nneedle\n");
    }
    let found = bench.glob(json!({"pattern": "**/*.txt"})).await.unwrap();
    assert_eq!(found.metadata["paths"], json!([bench.text("plain.txt")]));
    assert_eq!(found.metadata["dropped"]["denied"], 2);
    let found = bench.grep(json!({"pattern": "needle"})).await.unwrap();
    assert_eq!(found.metadata["files"], json!([bench.text("plain.txt")]));
    assert_eq!(found.metadata["dropped"]["denied"], 4);
    assert!(!shown(&found).contains("secret/"));
    let found = bench.grep(json!({"pattern": "needle", "path": "secret"})).await.unwrap();
    assert!(shown(&found).starts_with("Matches exist, but none can be shown: "), "{}", shown(&found));
    // A rule beside it that is no deny of reading hides nothing.
    bench.config.permission.rules = vec![Rule::new("edit", "*", Action::Deny, "test")];
    assert_eq!(bench.paths(json!({"pattern": "*.txt"})).await.len(), 3);
}

#[tokio::test]
async fn a_root_that_was_replaced_after_approval_is_not_searched() {
    use zuno::tools::contract::Body;
    let bench = Bench::new();
    bench.write("sub/a.txt", "x\n");
    std::fs::create_dir(bench.around().join("elsewhere")).unwrap();
    std::fs::write(bench.around().join("elsewhere/s.txt"), "x\n").unwrap();
    let prepared = bench.prepare(&zuno::tools::grep::Grep, json!({"pattern": "x", "path": "sub"})).await.unwrap();
    std::fs::rename(bench.path("sub"), bench.path("moved")).unwrap();
    std::os::unix::fs::symlink(bench.around().join("elsewhere"), bench.path("sub")).unwrap();
    let Body::Run(body) = prepared.body else { panic!("a search runs") };
    assert_eq!(body().await.unwrap_err().code, "path_gone");
}
