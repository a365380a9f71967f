//! What a confined command can and cannot reach, with real commands under bubblewrap.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, missing_docs)]

mod shell_support;
mod support;

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

use serde_json::json;
use shell_support::Bench;

/// A folder that no sandbox hides: `/tmp` and `/run` are private to a command, and a checkout may lie there.
fn visible_folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/var/tmp").unwrap()
}

/// The command fails and the path does not exist afterwards. A path that stands in the text would be asked for, and
/// allowed; one that only the run knows is not.
#[track_caller]
fn cannot_make(bench: &Bench, path: &Path) {
    let part = bench.run(&format!("p='{0}'; touch \"$p\" || mkdir -p \"$p\"", path.display()));
    assert_ne!(part.fact("exitCode"), 0, "{:#}", part.0);
    assert!(!path.exists());
}

#[test]
fn the_workspace_is_writable_and_nothing_else() {
    for bench in [Bench::new(), Bench::outside_tmp(json!({}))] {
        assert_eq!(bench.run("echo x > made && mkdir -p a/b && touch a/b/c && rm -r a").ok().exit(), 0);
        assert_eq!(fs::read(bench.workspace.join("made")).unwrap(), b"x\n");
        let outside = visible_folder();
        cannot_make(&bench, &outside.path().join("x"));
        let file = outside.path().join("file");
        fs::write(&file, "old").unwrap();
        let text = format!("f='{}'; echo new > $f; chmod 777 $f; touch $f; rm $f; ln $f here", file.display());
        let mode = fs::metadata(&file).unwrap().mode();
        assert_ne!(bench.run(&text).ok().exit(), 0);
        assert_eq!((fs::read(&file).unwrap(), fs::metadata(&file).unwrap().mode()), (b"old".to_vec(), mode));
        cannot_make(&bench, Path::new("/usr/zuno-test"));
    }
}

#[test]
fn temporary_files_are_private_and_removed() {
    let bench = Bench::new();
    let before: Vec<_> = private_folders();
    let mark = bench.workspace.file_name().unwrap().to_string_lossy().into_owned();
    let part = bench.run(&format!("echo $TMPDIR; echo secret > /tmp/{mark}-x; cat /tmp/{mark}-x; mktemp")).ok();
    assert!(part.text().starts_with("/tmp\nsecret\n/tmp/tmp."), "{}", part.output());
    assert!(!Path::new("/tmp").join(format!("{mark}-x")).exists());
    assert_eq!(bench.run(&format!("cat /tmp/{mark}-x")).ok().exit(), 1);
    let mine = |path: &String| !before.contains(path) && Path::new(path).join(format!("{mark}-x")).exists();
    assert!(!private_folders().iter().any(mine));
}

fn private_folders() -> Vec<String> {
    let entries = fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    let names = entries.map(|entry| entry.path().to_string_lossy().into_owned());
    names.filter(|name| name.contains("zuno-tmp-")).collect()
}

#[test]
fn protected_paths_stay_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    for name in [".git", ".agents", "vendor/lib/.git", "config"] {
        fs::create_dir_all(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("file"), "old").unwrap();
    }
    let protected = folder.path().canonicalize().unwrap().join("config");
    let config = json!({ "sandbox": { "protectedPaths": [protected] } });
    let bench = Bench::open(folder, config, |_, _| None, json!([]));
    for name in [".git", ".agents", "vendor/lib/.git", "config", ".zuno"] {
        let text =
            format!("echo new > {name}/file; touch {name}/made; mv {name} moved; rm -rf {name}; chmod 777 {name}");
        assert_ne!(bench.run(&text).ok().exit(), 0, "{name}");
        let path = bench.workspace.join(name);
        assert!(!path.join("made").exists() && !bench.workspace.join("moved").exists(), "{name}");
        if name != ".zuno" {
            assert_eq!(fs::read(path.join("file")).unwrap(), b"old", "{name}");
        }
    }
    let read = bench.run("cat .git/file config/file; git status --short >/dev/null 2>&1; true").ok();
    assert_eq!(read.text(), "oldold\n");
}

#[test]
fn git_works_without_writing_its_metadata() {
    let folder = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let status = std::process::Command::new("git").args(arguments).current_dir(folder.path()).output().unwrap();
        assert!(status.status.success(), "{status:?}");
    };
    git(&["init", "-q"]);
    fs::write(folder.path().join("a"), "a").unwrap();
    let bench = Bench::open(folder, json!({}), |_, _| None, json!([]));
    assert_eq!(bench.run("git status --short").ok().text(), "?? a\n");
    assert_ne!(bench.run("git add a").ok().exit(), 0);

    let allowed = tempfile::tempdir().unwrap();
    std::process::Command::new("git").args(["init", "-q"]).current_dir(allowed.path()).output().unwrap();
    let config = json!({ "sandbox": { "git_metadata": "writable" } });
    let bench = Bench::open(allowed, config, |_, _| None, json!([]));
    assert_eq!(bench.run("echo x > a && git add a && git status --short").ok().text(), "A  a\n");
}

#[test]
fn a_missing_protected_folder_cannot_be_made_and_leaves_nothing() {
    let bench = Bench::new();
    let part = bench.run("touch .agents/x; rmdir .agents; mkdir .agents; mv .agents y; ls -d .agents").ok();
    assert!(part.text().ends_with(".agents\n"), "{}", part.output());
    assert!(!bench.workspace.join(".agents").exists());
    assert!(!bench.workspace.join("y").exists());
    assert!(bench.workspace.join(".zuno").is_dir());
}

#[test]
fn a_link_in_place_of_a_protected_path_refuses_the_call() {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/etc", folder.path().join(".agents")).unwrap();
    let bench = Bench::open(folder, json!({}), |_, _| None, json!([]));
    let part = bench.run("touch ran");
    assert_eq!((part.outcome(), &part.error()["code"]), ("blocked", &json!("policy_invalid")));
    assert!(!bench.workspace.join("ran").exists());
}

#[test]
fn kernel_settings_are_read_only() {
    let bench = Bench::new();
    let text = "find /proc/sys -type f -perm /222 2>/dev/null | head -400 | \
        while read -r f; do [ -w \"$f\" ] && echo \"$f\"; done; echo x > /proc/sys/kernel/hostname; echo $?";
    let part = bench.run(text).ok();
    assert!(!part.text().contains("\n/proc") && !part.text().starts_with("/proc"), "{}", part.output());
    assert_ne!(bench.run("echo 0 > /proc/sys/kernel/core_pattern").ok().exit(), 0);
}

#[test]
fn the_network_is_not_reachable() {
    let bench = Bench::new();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    tcp.set_nonblocking(true).unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.set_nonblocking(true).unwrap();
    let (tcp_port, udp_port) = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
    let part = bench.run(&format!("echo x > /dev/tcp/127.0.0.1/{tcp_port}")).ok();
    assert_ne!(part.exit(), 0);
    bench.run(&format!("echo x > /dev/udp/127.0.0.1/{udp_port}; true")).ok();
    assert!(tcp.accept().is_err());
    assert!(udp.recv_from(&mut [0; 8]).is_err());

    let families = "import socket\n\
        for family, kind in ((16, 3), (17, 3), (40, 1), (31, 1), (38, 5)):\n    \
            try: socket.socket(family, kind); print('open', family)\n    \
            except OSError as e: print(e.errno)\n";
    fs::write(bench.workspace.join("families.py"), families).unwrap();
    assert_eq!(bench.run("python3 families.py").ok().text(), "97\n97\n97\n97\n97\n");
    let own = "import socket, threading\n\
        server = socket.create_server(('127.0.0.1', 0))\n\
        client = socket.create_connection(server.getsockname())\n\
        server.accept()[0].sendall(b'ok'); print(client.recv(2).decode())\n\
        pair = socket.socketpair(); pair[0].sendall(b'ok'); print(pair[1].recv(2).decode())\n";
    fs::write(bench.workspace.join("own.py"), own).unwrap();
    assert_eq!(bench.run("python3 own.py").ok().text(), "ok\nok\n");
}

#[test]
fn an_open_network_is_told_and_reachable() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let bench = Bench::with(json!({ "sandbox": { "network": "allow" } }));
    let part = bench.run(&format!("echo x > /dev/tcp/127.0.0.1/{port}")).ok();
    assert_eq!((part.exit(), part.fact("sandboxNetwork")), (0, &json!("allow")));
    assert!(tcp.accept().is_ok());
    cannot_make(&bench, &visible_folder().path().join("x"));
}

#[test]
fn sockets_of_the_host_are_covered() {
    let connect = "import socket, sys\n\
        s = socket.socket(socket.AF_UNIX)\n\
        try: s.connect(sys.argv[1]); print('open')\n\
        except OSError as e: print(type(e).__name__)\n";
    let bench = Bench::new();
    fs::write(bench.workspace.join("connect.py"), connect).unwrap();
    let outside = visible_folder();
    for path in [outside.path().join("s"), bench.workspace.join("s"), std::env::temp_dir().join(socket_name())] {
        let listener = UnixListener::bind(&path).unwrap();
        listener.set_nonblocking(true).unwrap();
        let part = bench.run(&format!("python3 connect.py {}", path.display())).ok();
        assert!(["ConnectionRefusedError\n", "FileNotFoundError\n"].contains(&part.text()), "{}", part.output());
        assert!(listener.accept().is_err());
        fs::remove_file(path).unwrap();
    }
}

fn socket_name() -> String {
    format!("zuno-test-{}.sock", std::process::id())
}

#[test]
fn processes_outside_are_out_of_reach() {
    let bench = Bench::new();
    let pid = std::process::id();
    let part = bench.run(&format!("kill -0 {pid}; cat /proc/{pid}/environ; ls /proc | grep -c '^[0-9]'")).ok();
    let seen: usize = part.text().lines().last().unwrap().parse().unwrap();
    assert!(seen < 12, "{}", part.output());
    let refused = [
        ("python3 -c 'import ctypes; print(ctypes.CDLL(None).ptrace(0, 0, 0, 0))'", "-1\n"),
        ("unshare -U true 2>/dev/null; echo $?", "1\n"),
        ("mount -t tmpfs x /mnt 2>/dev/null && echo open; true", ""),
        ("grep -E 'CapEff|NoNewPrivs|Seccomp:' /proc/self/status | tr -s '\\t' ' '", ""),
    ];
    for (command, text) in refused.iter().take(3) {
        let found = bench.run(command).ok();
        let expected = if text.is_empty() { "(no output)\n" } else { *text };
        assert_eq!(found.text(), expected, "{command}");
    }
    let status = bench.run(refused[3].0).ok();
    assert_eq!(status.text(), "CapEff: 0000000000000000\nNoNewPrivs: 1\nSeccomp: 2\n");
}

#[test]
fn commands_of_a_planning_or_read_only_session_write_nothing() {
    let bench = Bench::with(json!({ "sandbox": { "mode": "read-only" } }));
    cannot_make(&bench, &bench.workspace.join("x"));
    let part = bench.run("echo private > /tmp/x && cat /tmp/x; echo > /dev/null; echo y > /dev/shm/y; pwd").ok();
    assert_eq!(part.text(), format!("private\n{}\n", bench.workspace.display()));
    assert_eq!(part.fact("sandboxMode"), "read-only");
    assert!(!bench.workspace.join(".agents").exists());
}

#[test]
fn writable_roots_are_writable() {
    let root = visible_folder();
    let bench = Bench::with(json!({ "sandbox": { "writableRoots": [root.path()] } }));
    let file = root.path().join("x");
    assert_eq!(bench.run(&format!("echo y > {}", file.display())).ok().exit(), 0);
    assert_eq!(fs::read(file).unwrap(), b"y\n");
}

#[test]
fn full_access_and_native_are_not_confined_and_say_so() {
    let outside = visible_folder();
    for (sandbox, backend, kind) in [
        (json!({ "mode": "danger-full-access", "network": "allow" }), "none", "full_access"),
        (json!({ "backend": "native" }), "native", "trusted_native"),
    ] {
        let bench = Bench::with(json!({ "sandbox": sandbox }));
        let file = outside.path().join(kind);
        let part = bench.run(&format!("echo x > {} && echo $TMPDIR", file.display())).ok();
        assert_eq!(part.exit(), 0, "{:#}", part.0);
        assert!(file.exists());
        assert_eq!((part.fact("sandboxBackend"), part.fact("sandboxMode")), (&json!(backend), &json!("unconfined")));
        assert_eq!((part.fact("sandboxNetwork"), part.fact("sandboxResolutionKind")), (&json!("host"), &json!(kind)));
    }
}

#[test]
fn without_confinement_the_tool_is_not_there() {
    let bench = Bench::with(json!({ "sandbox": { "bubblewrap_path": "/nonexistent/bwrap" } }));
    let part = bench.run("touch ran");
    assert_eq!((part.outcome(), &part.0["blockKind"]), ("blocked", &json!("unavailable")));
    assert!(part.output().contains("bubblewrap: ") && part.output().contains("landlock: "), "{}", part.output());
    let shown = bench.host.call("session.tools", json!({ "sessionId": bench.session })).unwrap();
    assert!(!shown.to_string().contains("\"shell\""));

    let sandbox = json!({ "bubblewrap_path": "/nonexistent/bwrap", "onUnavailable": "run-unconfined" });
    let bench = Bench::with(json!({ "sandbox": sandbox }));
    let part = bench.run("touch ran").ok();
    assert_eq!(
        (part.fact("sandboxFallback"), part.fact("sandboxFallbackReason")),
        (&json!(true), &json!("no_launcher"))
    );
    assert!(bench.workspace.join("ran").exists());
}

#[test]
fn path_directories_in_hidden_places_are_visible() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("zuno-test-program");
    fs::write(&program, "#!/bin/sh\necho found\n").unwrap();
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let handler = move |kind: &str, _: &serde_json::Value| {
        (kind == "environment").then(|| Ok(json!({ "set": { "PATH": path } })))
    };
    let bench = Bench::open(tempfile::tempdir().unwrap(), json!({}), handler, json!(["environment"]));
    assert_eq!(bench.run("zuno-test-program").ok().text(), "found\n");
    assert_ne!(bench.run(&format!("touch {}/x", folder.path().display())).ok().exit(), 0);
}

#[test]
fn two_commands_of_one_worktree_share_their_mount_points() {
    let bench = Bench::new();
    let second = bench.host.session(&bench.workspace);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| bench.run("touch ready; while [ ! -e go ]; do sleep 0.02; done; touch .agents/x"));
        bench.wait_for("ready");
        let other = bench.host.one(&second, "shell", json!({ "command": "touch .agents/x; true" }));
        assert_eq!(other["outcome"], "ok");
        assert!(bench.workspace.join(".agents").is_dir(), "the first command still has its mount");
        fs::write(bench.workspace.join("go"), "").unwrap();
        assert_ne!(first.join().unwrap().exit(), 0);
    });
    assert!(!bench.workspace.join(".agents").exists());
}

#[test]
fn a_grant_of_the_root_keeps_what_is_the_commands_own() {
    let bench = Bench::new();
    // Naming the path asks for `/*`, which this session allows.
    let name = format!("/zuno-test-{}", std::process::id());
    let part = bench.run(&format!(
        "touch {name} && rm {name} && pwd && s=/sys/kernel/zuno; touch $s; k=/proc/sys/kernel/core_pattern; echo x > $k"
    ));
    assert_eq!(part.text().lines().next(), bench.workspace.to_str(), "{}", part.output());
    assert_eq!(part.text().matches("Read-only file system").count(), 2, "{}", part.output());
}

#[test]
fn a_granted_directory_opens_for_its_call_alone() {
    let bench = Bench::new();
    let outside = visible_folder();
    let file = outside.path().join("x");
    assert_eq!(bench.run(&format!("touch {}", file.display())).ok().exit(), 0);
    assert!(file.exists());
    cannot_make(&bench, &outside.path().join("y"));
    // Reading opens nothing for writing.
    let text = format!("cat {} && p={}; touch $p", file.display(), outside.path().join("z").display());
    assert_ne!(bench.run(&text).ok().exit(), 0);
    assert!(!outside.path().join("z").exists());
    // Devices are the command's own whatever is named.
    assert_eq!(bench.run("touch /dev/shm/zuno-test; echo > /dev/null").ok().exit(), 0);
    assert!(!Path::new("/dev/shm/zuno-test").exists());
}

/// A root host has no more rights to files of others inside a user namespace than anybody else.
#[test]
fn a_workspace_of_another_account_is_told() {
    let folder = tempfile::tempdir().unwrap();
    if std::os::unix::fs::chown(folder.path(), Some(12_345), None).is_err() {
        eprintln!("skipped: only root can give a folder away");
        return;
    }
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let bench = Bench::open(folder, json!({}), |_, _| None, json!([]));
    let part = bench.run("touch x").ok();
    assert_ne!(part.exit(), 0);
    assert_eq!(part.fact("sandboxLimits"), &json!(["foreign_owner"]));
    assert!(part.output().contains("belongs to another account"), "{}", part.output());
}
