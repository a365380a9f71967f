//! What a line counts as, one permission pattern per command.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use zuno::text::shell_reading::{Constituent, ConstituentKind, Dialect, always_offers, read};

fn constituents(text: &str) -> Vec<Constituent> {
    let reading = read(text, Dialect::Bash);
    assert!(!reading.is_unreadable(), "unreadable: {text}");
    reading.constituents()
}

fn texts(text: &str) -> Vec<String> {
    constituents(text).into_iter().map(|constituent| constituent.text).collect()
}

/// The texts in any order: substitutions run before the command that holds them.
#[track_caller]
fn holds(text: &str, expected: &[&str]) {
    let mut found = texts(text);
    let mut expected: Vec<String> = expected.iter().map(|text| (*text).to_owned()).collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected, "{text}");
}

/// A deny pattern `prefix*` would match one of the spellings.
fn denied_by(text: &str, prefix: &str) -> bool {
    let found = read(text, Dialect::Bash).constituents();
    found.iter().any(|part| {
        part.text.starts_with(prefix) || part.deny_spellings.iter().any(|spelling| spelling.starts_with(prefix))
    })
}

// case: 64
#[test]
fn every_second_command_is_a_pattern_of_its_own() {
    for (line, parts) in [
        ("git status && touch x", &["git status", "touch x"][..]),
        ("git status; touch x", &["git status", "touch x"]),
        ("git status | tee x", &["git status", "tee x"]),
        ("git status |& tee x", &["git status", "tee x"]),
        ("git status & touch x", &["git status", "touch x"]),
        ("git status\ntouch x", &["git status", "touch x"]),
        ("git status || touch x", &["git status", "touch x"]),
        ("git status $(touch x)", &["git status $(touch x)", "touch x"]),
        ("git status `touch x`", &["git status `touch x`", "touch x"]),
        ("git status \"$(touch x)\"", &["git status \"$(touch x)\"", "touch x"]),
        ("git status <(touch x)", &["git status <(touch x)", "touch x"]),
        ("git status ${a:-$(touch x)}", &["git status ${a:-$(touch x)}", "touch x"]),
        ("git status $(( $(touch x) + 1 ))", &["git status $(( $(touch x) + 1 ))", "touch x"]),
        ("git status > x", &["git status > x", "> x"]),
        ("git status >x", &["git status >x", "> x"]),
        ("git status >> x", &["git status >> x", ">> x"]),
        ("git status &> x", &["git status &> x", "&> x"]),
        ("git status >| x", &["git status >| x", ">| x"]),
        ("git status >& x", &["git status >& x", ">& x"]),
        ("git status 2> x", &["git status 2> x", "> x"]),
        ("git status > $(touch x)", &["git status > $(touch x)", "> $(touch x)", "touch x"]),
        ("git status 2>&1", &["git status 2>&1"]),
        ("git status 2>/dev/null >&2", &["git status 2>/dev/null >&2"]),
        ("git status < x", &["git status < x"]),
        ("git status <<< x", &["git status <<< x"]),
        ("{ git status; } > x", &["git status", "> x"]),
        ("(git status) > x", &["git status", "> x"]),
        ("> x", &["> x"]),
        ("PATH=/x; git status", &["PATH=/x", "git status"]),
        ("PATH=/x git status", &["PATH=/x git status"]),
        ("export PATH=/x; git status", &["export PATH=/x", "git status"]),
    ] {
        holds(line, parts);
    }
}

// case: 65
#[test]
fn equivalent_forms_keep_the_denied_spelling() {
    for line in [
        "git push",
        "git -C . push",
        "git -c a=b --git-dir=x --no-pager push --force",
        "git --git-dir x --work-tree y push",
        "env X=1 git push",
        "env -i -u A X=1 git push",
        "command git push",
        "command -p git push",
        "builtin command git push",
        "nice git push",
        "nice -n 5 git push",
        "nice -5 git push",
        "\"git\" push",
        "'git' \"push\"",
        "g\\it push",
        "g\\\\it push",
        "$'\\x67it' push",
        "git >x push",
        "X=1 git push",
        "/usr/bin/git push",
        "git $EMPTY push",
        "git pu${EMPTY}sh",
        "g$()it \"pu$EMPTY\"sh",
        "$EMPTY git push",
        "git {push,--force}",
        "bash -c 'git push'",
        "bash -lc 'git push'",
        "bash -e -o pipefail -c 'git push' name",
        "bash -c -e 'git push'",
        "bash $OPTIONS 'git push'",
        "/bin/sh -c \"git push $x\"",
        "zsh -c 'git push'",
        "dash -c 'git push'",
        "ksh -c 'git push'",
        "fish -c 'git push'",
        "fish -c 'cd x; git push'",
        "pwsh -Command git push",
        "pwsh -NoProfile -c 'git push'",
        "powershell 'git push'",
        "xargs git push",
        "xargs -n 1 -I {} git push {}",
        "ls | xargs -0 git push",
        "sudo git push",
        "sudo -u root -E git push",
        "sudo --user=root X=1 git push",
        "sudo -Z git push",
        "sudo $X git push",
        "doas -u root git push",
        "ionice -c 3 git push",
        "time git push",
        "time -p git push",
        "/usr/bin/time -f %e git push",
        "timeout 5 git push",
        "timeout -k 3 --signal=KILL 5m git push",
        "nohup git push &",
        "exec git push",
        "exec -a name git push",
        "setsid -w git push",
        "stdbuf -oL -e 0 git push",
        "chroot /x git push",
        "watch -n 1 git push",
        "watch 'git push'",
        "chrt -f 5 git push",
        "taskset -c 1 git push",
        "flock /tmp/l git push",
        "flock -w 3 /tmp/l -c 'git push'",
        "eval git push",
        "eval 'git push'",
        "eval \"git $(echo a)\" '; git push'",
        "su -c 'git push'",
        "su root -c 'git push'",
        "su - root --command='git push'",
        "env -S 'git push'",
        "env -iS 'X=1 git push' now",
        "env --split-string='git push'",
        "find . -exec git push {} \\;",
        "find . -name x -execdir git push {} +",
        "find . -ok git push ';'",
        "coproc git push",
        "! git push",
        "if git push; then a; fi",
        "if a; then git push; fi",
        "if a; then b; elif git push; then c; fi",
        "if a; then b; else git push; fi",
        "while git push; do a; done",
        "until a; do git push; done",
        "for i in a; do git push; done",
        "for i in $(git push); do a; done",
        "for ((i=0; i<1; i++)); do git push; done",
        "select i in a; do git push; done",
        "case x in a) b;; *) git push;; esac",
        "case $(git push) in a) b;; esac",
        "f() { git push; }; f",
        "function f { git push; }",
        "(git push)",
        "{ git push; }",
        "( ( { (git push); } ) )",
        "[ -n \"$(git push)\" ]",
        "[[ -n $(git push) ]]",
        "a=$(git push)",
        "a=(1 $(git push))",
        "a[$(git push)]=1",
        "(( a = $(git push) ))",
        "export A=$(git push)",
        "echo `echo \\`git push\\``",
        "echo \"`git push`\"",
        "echo ${x/$(git push)/y}",
        "cat <<E\n$(git push)\nE",
        "cat <<E\n`git push`\nE",
        "cat <<E\n${a:-$(git push)}\nE",
        "cat <<E | git push\nbody\nE",
        "cat <<E && git push\nbody\nE",
        "cat <<-E || git push\n\tbody\n\tE",
        "cat <<E\nbody\nE\ngit push",
        "time { git push; }",
        "time if git push; then a; fi",
        "sudo bash -c \"bash -c 'bash -c \\\"git push\\\"'\"",
        "cd x && git push",
        "git \\\n push",
    ] {
        assert!(denied_by(line, "git push"), "{line}: {:#?}", read(line, Dialect::Bash).constituents());
    }
}

// case: 65
#[test]
fn a_text_that_is_judged_as_a_whole_still_shows_what_was_found_in_it() {
    for line in [
        "git push; a <> b",
        "sudo git push; ((x) )",
        "bash -c 'git push'; a <> b",
        "echo \\ #\ngit push",
        "echo \\ #; git push",
        "echo \\ #; sudo 'git' push",
    ] {
        assert!(read(line, Dialect::Bash).is_unreadable(), "{line}");
        assert!(denied_by(line, "git push"), "{line}");
        assert_eq!(texts_of(line), [line]);
    }
}

fn texts_of(line: &str) -> Vec<String> {
    read(line, Dialect::Bash).constituents().into_iter().map(|part| part.text).collect()
}

// case: 65
#[test]
fn an_unknown_wrapper_is_a_pattern_of_its_own() {
    holds("mywrap git push", &["mywrap git push"]);
    holds("env git push", &["env git push", "git push"]);
    holds("time git status", &["time git status", "git status"]);
    let found = constituents("bash script.sh");
    assert!(found.iter().all(|part| part.is_wrapper && part.computed));
}

// case: 67
#[test]
fn harmless_substitutions_are_read() {
    holds("echo \"$(date)\"", &["date", "echo \"$(date)\""]);
    holds("diff <(echo a) <(echo b)", &["echo a", "echo b", "diff <(echo a) <(echo b)"]);
    holds("cat <<E\na `date` b\nE", &["date", "cat <<E"]);
    holds("cat <<'E'\na `date` $(date)\nE", &["cat <<'E'"]);
    holds("cat <<E\na \\`date\\` \\$(date)\nE", &["cat <<E"]);
    holds("cat > x <<'E'\nrm -rf / ; `rm`\nE\necho done", &["cat > x <<'E'", "> x", "echo done"]);
}

// case: 68
#[test]
fn a_program_is_known_by_its_file_name() {
    for (line, spelling) in [("yarn", "yarn"), ("yarn test", "yarn test"), ("/usr/bin/yarn test", "yarn test")] {
        let [only] = &constituents(line)[..] else { panic!("{line}") };
        assert!(only.deny_spellings.contains(&spelling.to_owned()), "{line}");
    }
    let [other] = &constituents("yarnx")[..] else { panic!("yarnx") };
    assert_eq!(other.deny_spellings, ["yarnx"]);
}

// spec: EXIT-26
#[test]
fn quoted_text_and_here_documents_are_no_commands() {
    for (line, parts) in [
        ("echo 'git push'", &["echo 'git push'"][..]),
        ("echo \"git push; touch x\"", &["echo \"git push; touch x\""]),
        ("echo '$(git push)'", &["echo '$(git push)'"]),
        ("echo '`git push`'", &["echo '`git push`'"]),
        ("echo \"\\$(git push)\"", &["echo \"\\$(git push)\""]),
        ("echo \\`git push\\`", &["echo \\`git push\\`"]),
        ("echo a\\;git push", &["echo a\\;git push"]),
        ("echo $'a\\'; git push'", &["echo $'a\\'; git push'"]),
        ("echo a # ; git push", &["echo a"]),
        ("# git push", &[]),
        ("echo a#b", &["echo a#b"]),
        ("echo a\r#b; touch x", &["echo a\r#b", "touch x"]),
        ("git\u{a0}push", &["git\u{a0}push"]),
        ("echo \u{b}#b; touch x", &["echo \u{b}#b", "touch x"]),
        ("é=1 git push", &["é=1 git push"]),
        ("cat <<É\ngit push\nÉ", &["cat <<É"]),
        ("cat <<E\ngit push\nE", &["cat <<E"]),
        ("cat <<E >f\ngit push\nE", &["cat <<E >f", "> f"]),
        ("cat <<-E\n\tgit push\n\tE", &["cat <<-E"]),
        ("cat <<\\E\n$(git push)\nE", &["cat <<\\E"]),
        ("grep -e 'a|b' f", &["grep -e 'a|b' f"]),
        ("git commit -m 'rm -rf / && x'", &["git commit -m 'rm -rf / && x'"]),
        ("  git status  ", &["git status"]),
        ("", &[]),
    ] {
        holds(line, parts);
    }
}

#[test]
fn shapes_the_grammar_gets_wrong_are_corrected() {
    for (line, parts) in [
        ("echo >f a b", &["echo >f a b", "> f"][..]),
        ("a <<E | tee x || true\nbody\nE", &["a <<E", "tee x", "true"]),
        ("a && b > f", &["a", "b > f", "> f"]),
        ("a | b > f || c", &["a", "b > f", "> f", "c"]),
        ("time if a; then b; fi", &["a", "b"]),
        ("time (a; b)", &["a", "b"]),
        ("time a | b", &["time a", "a", "b"]),
        ("cat <<E a\nbody\nE", &["cat <<E a"]),
    ] {
        holds(line, parts);
    }
    let [echo, _] = &constituents("echo >f a b")[..] else { panic!("echo") };
    assert_eq!(echo.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>(), ["echo", "a", "b"]);
}

/// Each of these hides a command behind a shape that the grammar reads otherwise than a shell does.
#[test]
fn text_that_could_hide_a_command_is_unreadable() {
    for line in [
        "echo \\ #; touch x",
        "echo a\\\n#; touch x",
        "echo $'a\\\\'; touch x #'",
        "echo ${ touch\n}",
        "echo ${| touch\n}",
        "[ a > x ]",
        "hit ``'\\'",
        "hit `` a",
        "git pu``sh",
        "g\\\nit push",
        "((touch x) )",
        "$((touch x) )",
        "coproc while a; do b; done",
        "coproc { a; }",
        "echo (touch x)",
        "cat <<E\nbody",
        "if a; then b",
        "cat <<É\nÈ\n`x`\nÉ",
        "echo 'a",
        "echo $(a",
        "a\0b",
    ] {
        assert!(read(line, Dialect::Bash).is_unreadable(), "{line:?}");
        assert_eq!(texts_of(line), [line.trim()]);
        assert!(read(line, Dialect::Bash).constituents()[0].kind == ConstituentKind::Opaque);
    }
    assert!(read("echo $'a\\'; touch x; echo '", Dialect::Sh).is_unreadable());
}

#[test]
fn languages_without_a_grammar_are_unreadable() {
    for program in ["pwsh", "fish", "nu", "cmd"] {
        assert!(read("git push", Dialect::of_program(program)).is_unreadable(), "{program}");
    }
    for program in ["/bin/bash", "zsh", "mksh", "sh", "busybox", "dash", "bash.exe"] {
        assert!(!read("git push", Dialect::of_program(program)).is_unreadable(), "{program}");
    }
    let inner = read("fish -c 'a; b'", Dialect::Bash);
    assert!(!inner.is_unreadable() && inner.has_unreadable_script());
}

#[test]
fn pure_directory_changes_raise_no_ask() {
    for line in ["cd x", "cd", "cd x && cd y", "pushd x; popd", "(cd x)", "cd x 2>/dev/null", "cd -- \"a b\"", "cd $X"]
    {
        assert!(read(line, Dialect::Bash).only_directory_changes(), "{line}");
        holds(line, &[]);
    }
    for line in ["cd x && ls", "cd $(touch x)", "cd x > f", "X=1 cd y", "ls", "# c", "", "command cd x", "cd() { a; }"]
    {
        assert!(!read(line, Dialect::Bash).only_directory_changes(), "{line}");
    }
    holds("cd x && ls; pushd y", &["ls"]);
    holds("cd $(touch x)", &["touch x"]);
    holds("cd x > f", &["> f"]);
}

#[test]
fn always_is_offered_where_it_covers_the_command() {
    for (line, offer) in [
        ("git status", Some("git status *")),
        ("git push origin main", Some("git push *")),
        ("cargo test --lib", Some("cargo test *")),
        ("npm run build", Some("npm run *")),
        ("make", Some("make *")),
        ("make all", Some("make all *")),
        ("git -C . status", Some("git *")),
        ("ls -la", Some("ls *")),
        ("ls *.rs", Some("ls *")),
        ("python x.py", Some("python *")),
        ("/usr/bin/git status", Some("/usr/bin/git status *")),
        ("git status > x", Some("git status *")),
        ("sudo ls", None),
        ("xargs ls", None),
        ("bash x.sh", None),
        ("find . -exec ls \\;", None),
        ("find . -name x", Some("find *")),
        ("rm x", None),
        ("/bin/rm x", None),
        ("mkfs.ext4 /dev/x", None),
        ("dd if=a of=b", None),
        ("git log $X", None),
        ("echo $(date)", None),
        ("echo {a,b}", None),
        ("$X a", None),
        ("X=1 git push", None),
        ("\"git\" push", None),
        ("> x", None),
        ("X=1", None),
    ] {
        let found = read(line, Dialect::Bash).constituents();
        let own = found.iter().find(|part| part.text == line).or(found.first()).unwrap();
        assert_eq!(always_offers(own).as_deref(), offer, "{line}");
    }
}

#[test]
fn inline_scripts_are_followed_four_deep() {
    let mut line = "git push".to_owned();
    for depth in 1..=6 {
        line = format!("bash -c {}", quoted(&line));
        let reading = read(&line, Dialect::Bash);
        assert_eq!(reading.is_too_deep(), depth > 4, "{depth}");
        let read =
            reading.constituents().iter().any(|part| part.kind == ConstituentKind::Command && part.text == "git push");
        assert_eq!(read, depth <= 4, "{depth}");
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
