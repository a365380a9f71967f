//! A path is an identifier: each file comes back under its own name, once, or not at all.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::json;

use super::support::{Bench, shown};

const ODD: [&str; 10] = [
    " lead.txt",
    "-v.txt",
    "a\nb.txt",
    "c\\d.txt",
    "d:1:x.txt",
    "quote\"'.txt",
    "tab\t.txt",
    "trail ",
    "uml\u{e4}ut \u{1F600}.txt",
    "x\u{2028}y.txt",
];

// case: 28
// spec: SEARCH-17 SEARCH-20 SEARCH-22 SEARCH-26
#[tokio::test]
async fn odd_names_come_back_verbatim_and_once() {
    let bench = Bench::new();
    for name in ODD {
        bench.write(name, format!("needle in {name:?}\nneedle again\n"));
    }
    let mut expected = bench.texts(&ODD);
    expected.sort();
    let found = bench.glob(json!({"pattern": "*"})).await.unwrap();
    assert_eq!(found.metadata["paths"], json!(expected));
    assert_eq!(shown(&found).lines().count(), ODD.len());
    assert!(shown(&found).contains(&format!("\"{}/a\\nb.txt\"", bench.workspace().display())));
    assert!(shown(&found).lines().any(|line| line == bench.text("c\\d.txt")));

    let found = bench.grep(json!({"pattern": "needle"})).await.unwrap();
    assert_eq!(found.metadata["files"], json!(expected));
    assert_eq!(found.metadata["count"], 2 * ODD.len());
    for path in expected {
        assert!(std::fs::read_to_string(&path).unwrap().starts_with("needle"), "{path:?} names no file");
    }
}

// spec: SEARCH-18 SEARCH-19 SEARCH-25
#[tokio::test]
async fn a_name_that_is_not_utf8_is_left_out_and_counted() {
    let bench = Bench::new();
    bench.write("plain.txt", "needle\n");
    bench.write(OsStr::from_bytes(b"legacy-\xff.txt"), "needle\nneedle\n");

    let found = bench.glob(json!({"pattern": "*"})).await.unwrap();
    assert_eq!(found.metadata["paths"], json!([bench.text("plain.txt")]));
    assert_eq!(found.metadata["dropped"], json!({"limit": 0, "unnameable": 1, "denied": 0}));
    assert_eq!(found.metadata["truncated"], true);
    assert!(!shown(&found).contains('\u{FFFD}'));
    assert!(shown(&found).lines().last().unwrap().starts_with("(truncated: 1 more were left out; "));

    let found = bench.grep(json!({"pattern": "needle"})).await.unwrap();
    assert_eq!(found.metadata["files"], json!([bench.text("plain.txt")]));
    assert_eq!(found.metadata["dropped"]["unnameable"], 2);
    assert!(shown(&found).lines().last().unwrap().starts_with("(truncated: 2 more were left out; "));

    std::fs::remove_file(bench.path("plain.txt")).unwrap();
    for found in [bench.glob(json!({"pattern": "*"})).await, bench.grep(json!({"pattern": "needle"})).await] {
        let found = found.unwrap();
        assert!(shown(&found).starts_with("Matches exist, but none can be shown: "), "{}", shown(&found));
        assert_eq!((&found.metadata["count"], &found.metadata["truncated"]), (&json!(0), &json!(true)));
    }
}
