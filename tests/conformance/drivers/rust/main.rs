//! Runs one plan through the wire of the crate: `conformance FOLDER`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, missing_docs)]

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use zuno::types::Error;
use zuno::wire::Wire;

const WAIT: Duration = Duration::from_secs(30);

struct Driver {
    plan: Value,
    out: File,
    wire: Arc<Wire>,
    // How often each answer may still be used; below zero: always.
    left: Vec<i64>,
    saved: BTreeMap<String, String>,
    ops: HashMap<String, u64>,
    ended: HashMap<u64, Value>,
    step: i64,
}

/// No item came.
struct OutOfTime;

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn matches(item: &Value, pairs: &Value) -> bool {
    pairs.as_array().unwrap().iter().all(|pair| item.pointer(text(&pair[0])).is_some_and(|found| *found == pair[1]))
}

fn told(error: &Error) -> Value {
    serde_json::to_value(error.to_json()).unwrap()
}

fn record(out: &mut File, step: i64, end: bool, name: &str, value: &Value) {
    writeln!(out, "{}", json!({ "step": step, "end": end, name: value })).unwrap();
}

impl Driver {
    fn note(&mut self, end: bool, name: &str, value: &Value) {
        record(&mut self.out, self.step, end, name, value);
    }

    fn filled(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in &self.saved {
            text = text.replace(&format!("{{{{{name}}}}}"), value);
        }
        text
    }

    fn keep(&mut self, document: &Value, save: &Value) {
        for pair in save.as_array().unwrap() {
            let found = document.pointer(text(&pair[1])).cloned().unwrap_or_default();
            let found = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
            self.saved.insert(text(&pair[0]).to_owned(), found);
        }
    }

    fn answer(&mut self, item: &Value) {
        let rules = self.plan["answers"].as_array().unwrap().clone();
        let found = rules.iter().enumerate().find(|(at, rule)| self.left[*at] != 0 && matches(item, &rule["when"]));
        let Some((at, rule)) = found else { return };
        self.left[at] -= 1;
        match text(&rule["do"]) {
            "respond" => drop(self.wire.respond(text(&item["id"]), &self.filled(text(&rule["answer"])))),
            "fail" => drop(self.wire.fail(text(&item["id"]), text(&rule["code"]), text(&rule["message"]))),
            _ => {}
        }
    }

    fn pump(&mut self) -> Result<Value, OutOfTime> {
        let item = parsed(&self.wire.next(Some(WAIT)).ok_or(OutOfTime)?);
        match text(&item["type"]) {
            "op" => drop(self.ended.insert(item["id"].as_u64().unwrap(), item.clone())),
            kind => {
                self.note(false, "item", &item);
                if kind == "request" {
                    self.answer(&item);
                }
            }
        }
        Ok(item)
    }

    fn finish(&mut self, op: u64, save: &Value) -> Result<(), OutOfTime> {
        while !self.ended.contains_key(&op) {
            self.pump()?;
        }
        let item = self.ended[&op].clone();
        let name = if item["error"].is_null() { "result" } else { "error" };
        self.note(true, name, &item[name]);
        self.keep(&item["result"], save);
        Ok(())
    }

    fn end<T>(&mut self, outcome: Result<T, Error>, name: &str, value: impl FnOnce(T) -> Value) -> Option<Value> {
        match outcome {
            Ok(found) => {
                let found = value(found);
                self.note(true, name, &found);
                Some(found)
            }
            Err(error) => {
                self.note(true, "error", &told(&error));
                None
            }
        }
    }

    fn run(&mut self, step: &Value) -> Result<(), OutOfTime> {
        let (kind, save) = (text(&step["do"]), &step["save"]);
        let method = step["method"].as_str().unwrap_or_default();
        let params = self.filled(step["params"].as_str().unwrap_or_default());
        let op = step["as"].as_str().unwrap_or_default();
        let request = self.filled(step["request"].as_str().unwrap_or_default());
        match kind {
            "sync" => {
                let outcome = self.wire.call(method, &params);
                if let Some(result) = self.end(outcome, "result", |text| parsed(&text)) {
                    self.keep(&result, save);
                }
            }
            "call" | "start" => match self.wire.start(method, &params) {
                Err(error) => self.note(true, "error", &told(&error)),
                Ok(started) => {
                    self.ops.insert(op.to_owned(), started);
                    if kind == "call" {
                        self.finish(started, save)?;
                    }
                }
            },
            "await" => self.finish(self.ops[op], save)?,
            "until" => {
                let mut item = self.pump()?;
                while !matches(&item, &step["when"]) {
                    item = self.pump()?;
                }
                self.note(true, "item", &item);
                self.keep(&item, save);
            }
            "cancel" => {
                let flag = self.wire.cancel(self.ops[op]);
                self.note(true, "flag", &json!(flag));
            }
            "respond" => {
                let outcome = self.wire.respond(&request, &self.filled(text(&step["answer"])));
                self.end(outcome, "flag", |flag| json!(flag));
            }
            "fail" => {
                let flag = self.wire.fail(&request, text(&step["code"]), text(&step["message"]));
                self.note(true, "flag", &json!(flag));
            }
            "close" => self.wire.close(WAIT),
            _ => {
                self.close()?;
                self.ended.clear();
                self.wire = Wire::open(&self.plan["open"].to_string()).unwrap();
            }
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), OutOfTime> {
        self.wire.close(WAIT);
        while self.pump()?["type"] != "closed" {}
        Ok(())
    }

    fn main(&mut self) -> Result<(), OutOfTime> {
        let steps = self.plan["steps"].as_array().unwrap().clone();
        for step in &steps {
            self.step += 1;
            self.run(step)?;
        }
        self.step += 1;
        self.close()
    }
}

fn main() {
    let folder = std::env::args().nth(1).expect("a folder");
    let folder = Path::new(&folder);
    let plan = parsed(&fs::read_to_string(folder.join("plan.json")).unwrap());
    let mut out = File::create(folder.join("transcript")).unwrap();
    let wire = match Wire::open(&plan["open"].to_string()) {
        Ok(wire) => wire,
        Err(error) => return record(&mut out, -1, true, "error", &told(&error)),
    };
    let left = plan["answers"].as_array().unwrap().iter().map(|rule| rule["times"].as_i64().unwrap()).collect();
    let (saved, ops, ended) = (BTreeMap::new(), HashMap::new(), HashMap::new());
    let mut driver = Driver { plan, out, wire, left, saved, ops, ended, step: -1 };
    if driver.main().is_err() {
        driver.note(false, "timeout", &json!(true));
    }
}
