//! No text overflows a stack, panics, or slips past the limits.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use proptest::prelude::*;
use zuno::text::shell_reading::{ConstituentKind, Dialect, Reading, read};

/// Reads on a stack of 2 MiB, the size a host's thread has.
fn on_a_small_stack(text: String) -> Reading {
    let work = move || read(&text, Dialect::Bash);
    std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().unwrap()
}

fn ask_everything(reading: &Reading) {
    for constituent in reading.constituents() {
        let _ = zuno::text::shell_reading::always_offers(&constituent);
    }
    let _ = (reading.only_directory_changes(), reading.named_paths(), reading.candidate_words());
}

#[test]
fn a_long_list_does_not_overflow_and_counts_as_one_command() {
    for join in [" && ", " || ", " | ", "; ", "\n"] {
        let text = vec!["a"; 30_000].join(join);
        let reading = on_a_small_stack(text.clone());
        assert!(reading.is_too_large(), "{join}");
        let [only] = &reading.constituents()[..] else { panic!("{join}") };
        assert_eq!((only.kind, only.text.as_str()), (ConstituentKind::Opaque, text.as_str()));
        assert!(only.deny_spellings.contains(&"a".to_owned()));
    }
}

#[test]
fn deep_nesting_does_not_overflow() {
    for (open, inner, close) in [
        ("echo $(", "a", ")"),
        ("( ", "a", ")"),
        ("{ ", "a;", " };"),
        ("echo \"$(", "a", ")\""),
        ("cat <(", "a", ")"),
        ("if ", "a", "; then b; fi"),
        ("echo ${x:-", "a", "}"),
        ("echo $((", "1", "))"),
        ("f() { ", "a;", " };"),
        ("while a; do ", "a;", " done;"),
        ("! ", "a", ""),
        ("sudo ", "a", ""),
        ("time ", "a", ""),
        ("[[ ( ", "a", " ) ]]"),
        ("case x in x) ", "a", ";; esac"),
        ("a=(", "1", ")"),
        ("((", "1", "))"),
        ("`", "a", "`"),
        ("bash -c '", "a", "'"),
        ("eval ", "a", ""),
        ("{", "a", ""),
        ("\"", "a", ""),
    ] {
        let text = open.repeat(5_000) + inner + &close.repeat(5_000);
        let reading = on_a_small_stack(text);
        ask_everything(&reading);
        let found = reading.constituents();
        let judged = reading.is_unreadable() || reading.is_too_large() || reading.is_too_deep();
        assert!(judged || found.len() < 10, "{open}: {}", found.len());
    }
}

/// The scanner of the grammar would end the process at the first of these.
#[test]
fn the_grammar_does_not_crash() {
    let nested = "cat <<E $(".repeat(400) + &")".repeat(400);
    let long = format!("cat <<{0}\nx\n{0}\n", "a".repeat(3_000));
    let many = "cat <<E\n".repeat(400);
    for text in ["{\u{7029e}", "{\u{10ffff}..3}", &nested, &long, &many, "<<\0", "\0", "<<"] {
        ask_everything(&on_a_small_stack(text.to_owned()));
    }
}

/// Behind a syntax error the parser's effort has no bound of its own.
#[test]
fn a_text_the_parser_gives_up_on_is_judged_as_a_whole() {
    let reading = on_a_small_stack("a=(".repeat(43_000) + "\ngit push");
    assert!(reading.is_unreadable());
    let [only] = &reading.constituents()[..] else { panic!("one") };
    assert!(only.deny_spellings.contains(&"git push".to_owned()));
}

#[test]
fn moderate_nesting_is_read() {
    let text = "echo $(".repeat(20) + "git push" + &")".repeat(20);
    let reading = on_a_small_stack(text);
    assert!(!reading.is_too_deep() && !reading.is_unreadable());
    assert!(reading.constituents().iter().any(|part| part.text == "git push"));
    let deep = on_a_small_stack("echo $(".repeat(60) + "git push" + &")".repeat(60));
    assert!(deep.is_too_deep());
    assert_eq!(deep.constituents().len(), 1);
    assert!(deep.constituents()[0].deny_spellings.contains(&"git push".to_owned()));
}

#[test]
fn the_word_limit_counts_inline_scripts() {
    let words = |count: usize| vec!["w"; count].join(" ");
    assert!(!read(&format!("echo {}", words(4095)), Dialect::Bash).is_too_large());
    assert!(read(&format!("echo {}", words(4096)), Dialect::Bash).is_too_large());
    let inner = read(&format!("bash -c 'echo {}'", words(4096)), Dialect::Bash);
    assert!(inner.is_too_large());
    assert_eq!(inner.constituents().len(), 1);
}

/// Pieces that shells give a meaning to, so that random text gets into the corners of the grammar.
fn bash_like() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a",
        "git push",
        "cd x",
        " ",
        " ",
        "\n",
        ";",
        "&",
        "&&",
        "||",
        "|",
        "(",
        ")",
        "{ ",
        "; }",
        "$(",
        "`",
        "\"",
        "'",
        "\\",
        "$",
        "${",
        "}",
        "$((",
        "))",
        "((",
        "<",
        ">",
        ">>",
        "<<E\n",
        "<<'E'\n",
        "\nE\n",
        "<<<",
        "<(",
        "&>",
        "2>&1",
        "if ",
        "; then ",
        "; fi",
        "for i in ",
        "; do ",
        "; done",
        "while ",
        "case x in ",
        "x) ",
        ";; ",
        "esac",
        "f() { ",
        "time ",
        "! ",
        "sudo ",
        "bash -c ",
        "eval ",
        "xargs ",
        "env -S ",
        "find . -exec ",
        "\\;",
        "#",
        "*",
        "[",
        "]",
        "[[ ",
        " ]]",
        "=",
        "x=",
        "~",
        "$'",
        "é",
        "\r",
        "\t",
        "coproc ",
        "-c ",
        "--",
        "{a,b}",
        "$HOME/x",
        "pushd ",
        "popd",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn check(text: &str) {
    for dialect in [Dialect::Bash, Dialect::Zsh, Dialect::Sh, Dialect::PowerShell] {
        let reading = read(text, dialect);
        ask_everything(&reading);
        for part in reading.constituents() {
            let found = match part.kind {
                ConstituentKind::Redirect => part.words.iter().all(|word| text.contains(&word.text)),
                _ => text.contains(&part.text),
            };
            assert!(found || part.from_wrapper, "{part:?}");
            // Blanks of the shell only: to it a vertical tab is a letter, and an escaped blank belongs to its word.
            let blank = [' ', '\t', '\n'];
            let ends = part.text.strip_suffix(blank).is_some_and(|before| !before.ends_with('\\'));
            assert!(!part.text.starts_with(blank) && !ends, "{part:?}");
        }
        if reading.is_unreadable() || reading.is_too_large() {
            assert_eq!(reading.constituents().len(), 1);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bash_like_text_never_panics(text in bash_like()) {
        check(&text);
    }

    #[test]
    fn unicode_text_never_panics(text in "\\PC{0,80}") {
        check(&text);
    }

    #[test]
    fn any_characters_never_panic(text in prop::collection::vec(any::<char>(), 0..60)) {
        check(&text.into_iter().collect::<String>());
    }

    /// A command after any quoted argument is seen.
    #[test]
    fn a_quoted_argument_hides_nothing(argument in "[^\\x00]{0,40}") {
        let text = format!("echo '{}'; touch x", argument.replace('\'', "'\\''"));
        let reading = read(&text, Dialect::Bash);
        let found = reading.constituents();
        prop_assert!(reading.is_unreadable() || found.iter().any(|part| part.text == "touch x"), "{:?}", found);
    }
}
