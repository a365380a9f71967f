//! A host for tests: a runtime behind the wire, with scripted answers on a thread of its own.

#![allow(dead_code, unreachable_pub)]

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use zuno::types::Error;
use zuno::wire::Wire;

/// Answers a request: `Ok` responds, `Err` fails with (code, message), `None` never answers.
pub type Answer = Option<Result<Value, (String, String)>>;
type Handler = dyn FnMut(&str, &Value) -> Answer + Send;

pub struct TestHost {
    pub wire: Arc<Wire>,
    seen: Arc<Mutex<Vec<Value>>>,
    watchers: Arc<Mutex<Vec<Sender<Value>>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl TestHost {
    pub fn open(options: Value, handler: impl FnMut(&str, &Value) -> Answer + Send + 'static) -> Self {
        Self::try_open(options, Box::new(handler)).unwrap()
    }

    pub fn try_open(options: Value, mut handler: Box<Handler>) -> Result<Self, Error> {
        let wire = Wire::open(&with_ripgrep(options).to_string())?;
        let (seen, stop) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let watchers: Arc<Mutex<Vec<Sender<Value>>>> = Arc::default();
        let thread = {
            let (wire, seen, stop) = (Arc::clone(&wire), Arc::clone(&seen), Arc::clone(&stop));
            let watchers = Arc::clone(&watchers);
            std::thread::spawn(move || {
                while !stop.load(Ordering::Acquire) {
                    let Some(item) = wire.next(Some(Duration::from_millis(20))) else { continue };
                    let item: Value = serde_json::from_str(&item).unwrap();
                    seen.lock().unwrap().push(item.clone());
                    watchers.lock().unwrap().retain(|watcher| watcher.send(item.clone()).is_ok());
                    if item["type"] == "request" {
                        let id = item["id"].as_str().unwrap();
                        match handler(item["kind"].as_str().unwrap(), &item["payload"]) {
                            Some(Ok(answer)) => drop(wire.respond(id, &answer.to_string())),
                            Some(Err((code, message))) => drop(wire.fail(id, &code, &message)),
                            None => {}
                        }
                    }
                    if item["type"] == "closed" {
                        return;
                    }
                }
            })
        };
        Ok(Self { wire, seen, watchers, stop, thread: Some(thread) })
    }

    /// A host that allows everything, with a store in memory.
    pub fn allowing() -> Self {
        let options = json!({ "database": ":memory:", "config": { "permission": { "mode": "allow_all" } } });
        Self::open(options, |_, _| None)
    }

    pub fn call(&self, method: &str, params: Value) -> Result<Value, Error> {
        let text = self.wire.call(method, &params.to_string())?;
        Ok(serde_json::from_str(&text).unwrap())
    }

    pub fn session(&self, directory: &Path) -> String {
        let record = self.call("session.create", json!({ "directory": directory })).unwrap();
        record["id"].as_str().unwrap().to_owned()
    }

    pub fn dispatch(&self, session: &str, calls: Value) -> Vec<Value> {
        let result = self.call("session.dispatch", json!({ "sessionId": session, "calls": calls })).unwrap();
        result["results"].as_array().unwrap().clone()
    }

    /// One call; its part.
    pub fn one(&self, session: &str, name: &str, arguments: Value) -> Value {
        self.dispatch(session, json!([{ "name": name, "arguments": arguments }])).remove(0)
    }

    /// The stored events of a session.
    pub fn events(&self, session: &str) -> Vec<Value> {
        let page = self.call("event.read", json!({ "sessionId": session, "after": 0 })).unwrap();
        page["events"].as_array().unwrap().clone()
    }

    pub fn event_types(&self, session: &str) -> Vec<String> {
        self.events(session).iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
    }

    /// Items the host has been given so far.
    pub fn seen(&self) -> Vec<Value> {
        self.seen.lock().unwrap().clone()
    }

    /// Every item from now on.
    pub fn watch(&self) -> Receiver<Value> {
        let (sender, receiver) = channel();
        self.watchers.lock().unwrap().push(sender);
        receiver
    }

    /// Waits until the host was given an item that fits.
    pub fn wait_for(&self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..3_000 {
            if let Some(item) = self.seen().into_iter().find(|item| fits(item)) {
                return item;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("no {what} within 30 s: {:?}", self.seen());
    }
}

/// Searches use the `rg` that the set-up brought.
fn with_ripgrep(mut options: Value) -> Value {
    let Some(path) = std::env::var_os("ZUNO_TEST_RG") else { return options };
    if options["config"].is_null() {
        options["config"] = json!({});
    }
    if options["config"]["search"].is_null() {
        options["config"]["search"] = json!({ "ripgrep_path": path.to_str().unwrap() });
    }
    options
}

impl Drop for TestHost {
    fn drop(&mut self) {
        self.wire.close(Duration::from_secs(5));
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Registers a host tool with the given declarations.
pub fn register(host: &TestHost, name: &str, declarations: Value) {
    let mut spec = json!({
        "name": name, "description": "A tool of the test.",
        "inputSchema": { "type": "object", "properties": { "text": { "type": "string" }, "op": { "type": "string" } } },
    });
    spec.as_object_mut().unwrap().extend(declarations.as_object().unwrap().clone());
    host.call("tool.register", spec).unwrap();
}
