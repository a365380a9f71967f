//! Real processes for the tests of durability: the test binary runs itself again as a child host.

#![allow(dead_code, unreachable_pub)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const ROLE: &str = "ZUNO_TEST_ROLE";
const INPUT: &str = "ZUNO_TEST_INPUT";

/// The arguments of this process when it runs as the child `role`. A test that is a child's body begins with this and
/// ends at once when it is run as a test.
pub fn role(role: &str) -> Option<Value> {
    (std::env::var(ROLE).ok()? == role).then(|| serde_json::from_str(&std::env::var(INPUT).unwrap()).unwrap())
}

/// Says a line to the parent.
pub fn say(line: &str) {
    use std::io::Write;
    // Past the capture of the test harness, in one write.
    let mut out = std::fs::File::options().write(true).open("/proc/self/fd/1").unwrap();
    out.write_all(format!("\n@{line}\n").as_bytes()).unwrap();
}

/// A child host; killed when it goes out of scope.
pub struct ChildHost {
    pub child: Child,
    lines: BufReader<ChildStdout>,
}

impl ChildHost {
    /// Runs the test `name` of this binary as the child of that role.
    pub fn start(name: &str, input: Value) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", name, "--nocapture", "--test-threads=1"]);
        Self::start_command(command, name, input)
    }

    pub fn start_command(mut command: Command, name: &str, input: Value) -> Self {
        let mut child = command
            .env(ROLE, name)
            .env(INPUT, input.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// The next line the child said; `None` when it has ended.
    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        loop {
            line.clear();
            match self.lines.read_line(&mut line) {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
            if let Some(said) = line.trim_end().strip_prefix('@') {
                return Some(said.to_owned());
            }
        }
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Everything it says until its end, which has to be a good one.
    pub fn finish(mut self) -> Vec<String> {
        let said = std::iter::from_fn(|| self.line()).collect();
        assert!(self.child.wait().unwrap().success());
        said
    }
}

impl Drop for ChildHost {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Ends this process at once, without any clean-up.
pub fn die() -> ! {
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
    std::process::abort()
}

/// Name, size and digest of every file of a folder.
pub fn fingerprint(folder: &Path) -> BTreeMap<PathBuf, (usize, String)> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            let bytes = std::fs::read(entry.path()).unwrap();
            found.insert(entry.path(), (bytes.len(), format!("{:x?}", Sha256::digest(&bytes))));
        }
    }
    found
}

/// Adds a line and waits until it is on the disk.
pub fn append(log: &Path, line: &str) {
    use std::io::Write;
    let mut file = std::fs::File::options().create(true).append(true).open(log).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
    file.sync_all().unwrap();
}

pub fn lines(log: &Path) -> Vec<String> {
    std::fs::read_to_string(log).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// Options of a host that allows everything and plays its own tools.
pub fn options(database: &Path) -> Value {
    json!({ "database": database, "ports": ["hostTool"], "config": { "permission": { "mode": "allow_all" } } })
}

/// Numbers that differ from run to run; the seed is printed so that a run can be repeated.
pub struct Dice(u64);

impl Dice {
    pub fn new() -> Self {
        use std::hash::{BuildHasher, Hasher};
        let seed = std::collections::hash_map::RandomState::new().build_hasher().finish();
        eprintln!("seed {seed}");
        Self(seed | 1)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}
