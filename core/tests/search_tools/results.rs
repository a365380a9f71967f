//! Order, bounds and counts.

use serde_json::json;

use super::support::{Bench, shown};

// spec: SEARCH-05
#[tokio::test]
async fn twenty_runs_are_byte_identical() {
    let bench = Bench::new();
    for number in 0..900 {
        bench.write(format!("d{}/e{}/f{number}.txt", number % 7, number % 31), "needle one\nnothing\nneedle two\n");
    }
    let (mut globs, mut greps) = (Vec::new(), Vec::new());
    for _ in 0..20 {
        let (glob, grep) =
            tokio::join!(bench.glob(json!({"pattern": "**/*.txt"})), bench.grep(json!({"pattern": "needle"})));
        globs.push((shown(glob.as_ref().unwrap()).to_owned(), glob.unwrap().metadata));
        greps.push((shown(grep.as_ref().unwrap()).to_owned(), grep.unwrap().metadata));
    }
    assert!(globs.windows(2).all(|pair| pair[0] == pair[1]));
    assert!(greps.windows(2).all(|pair| pair[0] == pair[1]));
    let paths: Vec<&str> = globs[0].1["paths"].as_array().unwrap().iter().map(|path| path.as_str().unwrap()).collect();
    assert_eq!(paths.len(), 100);
    assert!(paths.is_sorted());
    assert_eq!(globs[0].1["dropped"]["limit"], 800);
    assert_eq!(greps[0].1["dropped"]["limit"], 1_700);
}

// spec: SEARCH-25
#[tokio::test]
async fn exactly_the_limit_is_not_truncated() {
    let bench = Bench::new();
    for number in 0..100 {
        bench.write(format!("f{number}"), "needle\n");
    }
    let (glob, grep) = (bench.glob(json!({"pattern": "f*"})).await, bench.grep(json!({"pattern": "needle"})).await);
    for found in [glob.unwrap(), grep.unwrap()] {
        assert_eq!((&found.metadata["count"], &found.metadata["truncated"]), (&json!(100), &json!(false)));
        assert!(!shown(&found).contains("truncated"));
    }
    bench.write("f100", "needle\n");
    let (glob, grep) = (bench.glob(json!({"pattern": "f*"})).await, bench.grep(json!({"pattern": "needle"})).await);
    for found in [glob.unwrap(), grep.unwrap()] {
        assert_eq!((&found.metadata["count"], &found.metadata["truncated"]), (&json!(100), &json!(true)));
        assert!(shown(&found).ends_with("\n(truncated: 1 more were left out; narrow the pattern or path)"));
    }
}

// spec: SEARCH-26
#[tokio::test]
async fn many_matches_of_a_file_name_it_once() {
    let bench = Bench::new();
    bench.write("a.txt", "x\nx\nx x x\n");
    bench.write("b.txt", "\nx\n");
    let found = bench.grep(json!({"pattern": "x"})).await.unwrap();
    assert_eq!(found.metadata["files"], json!(bench.texts(&["a.txt", "b.txt"])));
    let (a, b) = (bench.text("a.txt"), bench.text("b.txt"));
    let text = format!("4 matches in 2 files\n{a}\nLine 1: x\nLine 2: x\nLine 3: x x x\n\n{b}\nLine 2: x");
    assert_eq!(shown(&found), text);
}

// case: 25
// spec: SEARCH-23 SEARCH-24 SEARCH-25
#[tokio::test]
async fn long_lines_are_cut_and_endless_ones_skipped() {
    let bench = Bench::new();
    bench.write("src.ts", "const needle = 1;\n");
    bench.write("mid.js", format!("needle{}\n", "m".repeat(2_994)));
    bench.write("wide.js", format!("needle{}\n", "\u{1F600}".repeat(2_000)));
    bench.write("bundle.js", format!("needle{}\nafter needle\n", "b".repeat(2 << 20)));
    let found = bench.grep(json!({"pattern": "needle"})).await.unwrap();
    let results = found.metadata["results"].as_array().unwrap();
    let lines: Vec<_> =
        results.iter().map(|hit| (hit["path"].as_str().unwrap(), hit["line"].as_u64().unwrap())).collect();
    let [bundle, mid, src, wide] = ["bundle.js", "mid.js", "src.ts", "wide.js"].map(|name| bench.text(name));
    assert_eq!(lines, [(&*bundle, 2), (&*mid, 1), (&*src, 1), (&*wide, 1)]);
    let units = |index: usize| results[index]["text"].as_str().unwrap().encode_utf16().count();
    assert_eq!((units(1), units(3)), (2_000, 2_000));
    assert_eq!([0, 1, 2, 3].map(|index| results[index]["lineCut"].as_bool().unwrap()), [false, true, false, true]);
    assert!(results[3]["text"].as_str().unwrap().ends_with('\u{1F600}'));
    assert_eq!(found.metadata["dropped"]["oversized"], 1);
    assert_eq!(found.metadata["truncated"], true);
    assert!(shown(&found).lines().last().unwrap().starts_with("(truncated: 1 more were left out; "));
}

#[tokio::test]
async fn lines_that_are_not_utf8_are_skipped_and_counted() {
    let bench = Bench::new();
    bench.write("a.txt", b"needle \xff\nneedle two\r\nlast needle");
    let found = bench.grep(json!({"pattern": "needle"})).await.unwrap();
    let texts: Vec<_> = found.metadata["results"].as_array().unwrap().iter().map(|hit| hit["text"].clone()).collect();
    assert_eq!(texts, ["needle two", "last needle"]);
    assert_eq!(found.metadata["dropped"]["undecodable"], 1);
    assert_eq!(found.metadata["truncated"], true);
}

#[tokio::test]
async fn nothing_found_is_a_success() {
    let bench = Bench::new();
    bench.write("a.txt", "x\n");
    let glob = bench.glob(json!({"pattern": "*.none"})).await.unwrap();
    let grep = bench.grep(json!({"pattern": "none"})).await.unwrap();
    let one = bench.grep(json!({"pattern": "none", "path": "a.txt"})).await.unwrap();
    assert_eq!([&glob, &grep, &one].map(shown), ["No files found", "No files found", "No matches found"]);
    assert_eq!(glob.metadata["paths"], json!([]));
    assert_eq!(grep.metadata["results"], json!([]));
    assert_eq!((&one.metadata["count"], &one.metadata["truncated"]), (&json!(0), &json!(false)));
}
