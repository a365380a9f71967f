//! The paths a line names, and the directories they are seen from.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use zuno::text::shell_reading::{Base, Dialect, Location, PathRole, read};

/// `role path` with `?` for an unknown directory and `~/` for the home directory.
fn paths(text: &str) -> Vec<String> {
    let reading = read(text, Dialect::Bash);
    assert!(!reading.is_unreadable(), "{text}");
    let mut found: Vec<String> = reading
        .named_paths()
        .iter()
        .map(|named| {
            let role = match named.role {
                PathRole::ReadArgument => "r",
                PathRole::WriteArgument => "w",
                PathRole::RedirectRead => "<",
                PathRole::RedirectWrite => ">",
                PathRole::DirectoryChange => "cd",
            };
            format!("{role} {}", shown(named.location(), &named.path))
        })
        .collect();
    found.sort();
    found
}

fn shown(location: Option<Location>, path: &str) -> String {
    match location {
        Some(Location { base: Base::Start, path }) => path,
        Some(Location { base: Base::Home, path }) => format!("~/{path}"),
        Some(Location { base: Base::Root, path }) => format!("/{path}"),
        None => format!("?/{path}"),
    }
}

#[track_caller]
fn names(text: &str, expected: &[&str]) {
    let mut expected: Vec<&str> = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(paths(text), expected, "{text}");
}

#[test]
fn redirects_changes_and_file_arguments_are_named() {
    for (line, expected) in [
        ("cat a b", &["r a", "r b"][..]),
        ("cat 'a b' \"c\"", &["r a b", "r c"]),
        ("cat -n -- -x", &["r -x"]),
        ("head -n 5 a", &["r a"]),
        ("tail -n +5 /x/a", &["r /x/a"]),
        ("grep x /etc/passwd", &[]),
        ("echo x > /out", &["> /out"]),
        ("echo x >> a 2> b < c", &["> a", "> b", "< c"]),
        ("echo x 2>&1 > /dev/null", &["> /dev/null"]),
        ("cp a /x/b", &["w a", "w /x/b"]),
        ("cp -t /x a", &["w /x", "w a"]),
        ("cp --target-directory=/x a", &["w /x", "w a"]),
        ("mv a b; ln -s /x y; mkdir -p -m 755 d", &["w a", "w b", "w /x", "w y", "w d"]),
        ("touch -d '1 day ago' f", &["w f"]),
        ("install -m 755 -o root a b", &["w a", "w b"]),
        ("sed 's/a/b/' /x/f", &["r /x/f"]),
        ("sed '/foo/d' g", &["r g"]),
        ("sed -n -e '/foo/p' g", &["r g"]),
        ("sed -i '/foo/d' g", &["w g"]),
        ("sed -i.bak -e '/foo/d' g", &["w g"]),
        ("sed -ni '/foo/d' g", &["w g"]),
        ("sed -f /s g", &["r /s", "r g"]),
        ("dd if=/a of=/b bs=1", &["r /a", "r /b"]),
        ("chmod 755 /x", &["r /x"]),
        ("chown root:root /x", &["r /x"]),
        ("chmod --reference=/a /x", &["r /a", "r /x"]),
        ("rm -rf /x", &["r /x"]),
        ("truncate -s 0 /x", &["r /x"]),
        ("find /a /b -name '/c' -newer /d", &["r /a", "r /b"]),
        ("find -L /a \\( -name x \\)", &["r /a"]),
        ("sort -k 1 -o /out a", &["r /out", "r a"]),
        ("tar czf /o.tgz -C /d x", &["w /o.tgz", "w /d", "w x"]),
        ("tar --file=/o.tar -x", &["w /o.tar"]),
        ("tar -xf/o.tar", &["w /o.tar"]),
        ("unzip a.zip -d /x", &["w a.zip", "w /x"]),
        ("diff /a <(cat /b)", &["r /a", "r /b"]),
        ("cat ~/.ssh/id", &["r ~/.ssh/id"]),
        ("cat $HOME/x \"${HOME}/y\"", &["r ~/x", "r ~/y"]),
        ("cat '~/x'", &["r ~/x"]),
        ("cat ~bob/x $X *.rs {a,b}", &[]),
        ("/bin/cat /x", &["r /x"]),
        ("sudo cat /x", &["r /x"]),
        ("bash -c 'cat /x > /y'", &["r /x", "> /y"]),
        ("find /a -exec rm {} \\;", &["r /a", "r {}"]),
        ("echo $(< /x)", &["< /x"]),
        ("cat <<E > /x\nE", &["> /x"]),
        ("while read l; do echo; done < /x", &["< /x"]),
    ] {
        if line == "cat '~/x'" {
            let named = &read(line, Dialect::Bash).named_paths()[0];
            assert!(!named.in_home && named.path == "~/x");
            continue;
        }
        names(line, expected);
    }
}

#[test]
fn directory_changes_are_followed_in_order() {
    for (line, expected) in [
        ("cd a && cat f", &["cd a", "r a/f"][..]),
        ("cd a; cat f", &["cd a", "r a/f"]),
        ("cd a\ncd b\ncat f", &["cd a", "cd a/b", "r a/b/f"]),
        ("cd /x && cat ../f", &["cd /x", "r /x/../f"]),
        ("cd; cat f", &["cd ~/", "r ~/f"]),
        ("cd ~/d; cat f", &["cd ~/d", "r ~/d/f"]),
        ("cd a; cd -; cat f", &["cd a", "r f"]),
        ("cd $X; cat f", &["r ?/f"]),
        ("cd $X; cat /f", &["r /f"]),
        ("cd $X; cd /y; cat f", &["cd /y", "r /y/f"]),
        ("pushd a; cat f; popd; cat g", &["cd a", "r a/f", "r g"]),
        ("(cd a; cat f); cat g", &["cd a", "r a/f", "r g"]),
        ("{ cd a; }; cat g", &["cd a", "r a/g"]),
        ("cd a | cat f; cat g", &["cd a", "r f", "r g"]),
        ("cd a & cat g", &["cd a", "r g"]),
        ("x=$(cd a; cat f); cat g", &["cd a", "r a/f", "r g"]),
        ("make && cd a; cat g", &["cd a", "r a/g", "r g"]),
        ("cd a && make; cat g", &["cd a", "r a/g"]),
        ("cd a || exit 1; cat g", &["cd a", "r a/g"]),
        ("cd a || cd b; cat g", &["cd a", "cd a/b", "cd b", "r a/g", "r a/b/g", "r b/g"]),
        ("if cd a; then cat f; fi", &["cd a", "r a/f"]),
        ("if x; then cd a; else cd b; fi; cat f", &["cd a", "cd b", "r a/f", "r b/f", "r f"]),
        ("for i in 1 2; do cat f; done", &["r f"]),
        ("while x; do cd ..; done; cat f", &["cd ..", "cd ?/..", "r ../f", "r ?/f", "r f"]),
        ("case x in a) cd a;; esac; cat f", &["cd a", "r a/f", "r f"]),
        ("f() { cd a; }; f; cat g", &["cd a", "cd ?/a", "r ?/g"]),
        ("eval 'cd a'; cat g", &["cd a", "r a/g"]),
        ("command cd a; cat g", &["cd a", "r a/g"]),
        ("bash -c 'cd a; cat f'; cat g", &["cd a", "r a/f", "r g"]),
        ("env -C /x cat f", &["r /x/f"]),
        ("chroot /x cat f", &["r ?/f"]),
        ("CDPATH=/x cd a; cat g", &["cd a", "r ?/g"]),
        ("cd a; echo > f", &["cd a", "> a/f"]),
        ("{ cd a; echo; } > f", &["cd a", "> f"]),
    ] {
        names(line, expected);
    }
}

// spec: WRITTEN-08
#[test]
fn candidates_are_static_words_and_no_redirect_targets() {
    for (line, expected) in [
        ("sed -i 's/a/b/' src/lib.rs", &["sed", "-i", "s/a/b/", "src/lib.rs"][..]),
        ("cp a b", &["cp", "a", "b"]),
        ("cc --output=x -o y of=z", &["cc", "--output=x", "x", "-o", "y", "of=z", "z"]),
        ("gen $OUT *.rs {a,b} `x` > f", &["x", "gen"]),
        ("gen ~bob/x <<E > f\nword\nE", &["gen"]),
        ("cd d && gen x", &["cd", "d", "d/gen", "d/x"]),
        ("gen \"$(ls)\" 2> f 'a b'", &["ls", "gen", "a b"]),
        ("bash -c 'gen x'", &["bash", "-c", "gen x", "gen", "x"]),
    ] {
        let found: Vec<String> = read(line, Dialect::Bash)
            .candidate_words()
            .into_iter()
            .map(|word| shown(word.directory.map(|directory| directory.join(&word.path)), &word.path))
            .collect();
        assert_eq!(found, expected, "{line}");
    }
}
