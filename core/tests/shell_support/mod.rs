//! What the tests of `shell` and of the sandbox share: a session in a workspace of its own, and its commands.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Answer, TestHost};

pub(crate) struct Bench {
    pub(crate) host: TestHost,
    pub(crate) session: String,
    pub(crate) workspace: PathBuf,
    _folder: TempDir,
}

impl Bench {
    /// A session whose commands are allowed.
    pub(crate) fn new() -> Self {
        Self::with(json!({}))
    }

    /// The same with further configuration.
    pub(crate) fn with(config: Value) -> Self {
        let folder = TempDir::new().unwrap();
        Self::open(folder, config, |_, _| None, json!([]))
    }

    /// A session in a directory of the target folder, so not below `/tmp`.
    pub(crate) fn outside_tmp(config: Value) -> Self {
        let folder = TempDir::new_in("/var/tmp").unwrap();
        Self::open(folder, config, |_, _| None, json!([]))
    }

    pub(crate) fn open(
        folder: TempDir,
        config: Value,
        handler: impl FnMut(&str, &Value) -> Answer + Send + 'static,
        ports: Value,
    ) -> Self {
        let bwrap = Path::new("/usr/bin/bwrap").exists();
        assert!(bwrap, "these tests run real commands under bubblewrap: install it at /usr/bin/bwrap");
        let mut all = json!({ "permission": { "mode": "allow_all" } });
        all.as_object_mut().unwrap().extend(config.as_object().unwrap().clone());
        let options = json!({ "database": ":memory:", "config": all, "ports": ports });
        let host = TestHost::open(options, handler);
        let workspace = folder.path().canonicalize().unwrap();
        let session = host.session(&workspace);
        Self { host, session, workspace, _folder: folder }
    }

    /// The settled part of one command.
    pub(crate) fn run(&self, command: &str) -> Part {
        self.call(json!({ "command": command }))
    }

    pub(crate) fn call(&self, arguments: Value) -> Part {
        Part(self.host.one(&self.session, "shell", arguments))
    }

    /// A running command that can be interrupted.
    pub(crate) fn interrupted(&self, command: &str, when: impl FnOnce()) -> Part {
        std::thread::scope(|scope| {
            let running = scope.spawn(|| self.run(command));
            when();
            let _ = self.host.call("session.interrupt", json!({ "sessionId": self.session }));
            running.join().unwrap()
        })
    }

    /// Waits until a file exists.
    pub(crate) fn wait_for(&self, name: &str) {
        for _ in 0..3_000 {
            if self.workspace.join(name).exists() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("no {name} within 30 s");
    }
}

/// A settled call.
#[derive(Debug)]
pub(crate) struct Part(pub(crate) Value);

impl Part {
    pub(crate) fn outcome(&self) -> &str {
        self.0["outcome"].as_str().unwrap()
    }

    pub(crate) fn output(&self) -> &str {
        self.0["output"].as_str().unwrap()
    }

    /// What stands in front of the bracket lines.
    pub(crate) fn text(&self) -> &str {
        let output = self.output();
        let end = output.find("[exit ").or(output.find("[killed by")).or(output.find("[verification "));
        &output[..end.unwrap_or(output.len())]
    }

    pub(crate) fn fact(&self, key: &str) -> &Value {
        &self.0["metadata"][key]
    }

    pub(crate) fn receipt(&self, key: &str) -> &Value {
        &self.0["metadata"]["verification"][key]
    }

    pub(crate) fn exit(&self) -> i64 {
        self.fact("exitCode").as_i64().unwrap_or_else(|| panic!("no exit code: {:#}", self.0))
    }

    pub(crate) fn error(&self) -> &Value {
        &self.0["error"]
    }

    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.outcome(), "ok", "{:#}", self.0);
        self
    }
}
