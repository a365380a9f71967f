//! What the process tests share: commands, and waiting for processes to be gone without fixed sleeps.
#![allow(dead_code)]

use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use zuno::process::CommandSpec;

/// `bash -c text` in `/`, with only `PATH`.
pub(crate) fn bash(text: &str) -> CommandSpec {
    let mut spec = CommandSpec::new("/bin/bash", "/");
    spec.args = vec!["-c".into(), text.into()];
    spec.env = vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
    spec
}

/// The process ids a command wrote on its first line.
pub(crate) fn pids_in(stream: &mut impl Read) -> Vec<u32> {
    let mut line = Vec::new();
    let mut byte = [0];
    while stream.read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    pids(&line)
}

/// The numbers in a text.
pub(crate) fn pids(text: &[u8]) -> Vec<u32> {
    String::from_utf8_lossy(text).split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

/// Whether a process exists, zombies included.
pub(crate) fn exists(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// Polls until every process is gone or the time is over.
pub(crate) fn gone_within(pids: &[u32], limit: Duration) -> bool {
    assert!(!pids.is_empty());
    until(limit, || !pids.iter().any(|pid| exists(*pid)))
}

/// Polls until a condition holds or the time is over.
pub(crate) fn until(limit: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    while !condition() {
        if Instant::now() > end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}
