//! Phase 1, for all calls of a message in model order: resolve the name, check the arguments, classify. Pure.

use std::sync::Arc;

use serde_json::Value;

use super::pipeline::{CallInput, call_id};
use super::registry::Registered;
use super::surface::{Found, Snapshot};
use crate::store::calls::NewCall;
use crate::text::arguments::Checked;
use crate::text::fingerprint::json_digest;
use crate::types::{CallId, Concurrency, Declarations, Denial, DenialOrigin, ToolError};

/// A call that was read.
pub(super) struct ReadCall {
    pub(super) call_id: CallId,
    pub(super) name: String,
    pub(super) arguments: Value,
    pub(super) digest: String,
    pub(super) intent: Option<String>,
    pub(super) declarations: Declarations,
    pub(super) reading: Reading,
}

/// What reading found.
pub(super) enum Reading {
    /// May go on.
    Ready { known: Arc<Registered>, checked: Checked },
    /// Refused already; nothing will run.
    Refused(ToolError),
}

pub(super) fn read(snapshot: &Snapshot, position: usize, input: CallInput) -> ReadCall {
    let call_id = CallId::from(call_id(position, &input));
    let reading = match snapshot.find(&input.name) {
        Found::Shown(known) => check(known, &input.arguments),
        Found::Denied(known) => Reading::Refused(hidden_by_rule(known.tool.name(), known.tool.permission_key())),
        Found::Unavailable(error) => Reading::Refused(error),
    };
    // What could not be read fails closed: the strict value of each declaration.
    let (declarations, digest, intent) = match &reading {
        Reading::Ready { known, checked } => (
            known.tool.classify(&checked.arguments),
            json_digest(&Value::Object(checked.arguments.clone())),
            checked.intent.clone(),
        ),
        Reading::Refused(_) => (Declarations::STRICT, json_digest(&input.arguments), label(&input.arguments)),
    };
    ReadCall { call_id, name: input.name, arguments: input.arguments, digest, intent, declarations, reading }
}

fn check(known: Arc<Registered>, arguments: &Value) -> Reading {
    match known.schema.check(arguments) {
        Ok(checked) => Reading::Ready { known, checked },
        Err(error) => Reading::Refused(error),
    }
}

fn label(arguments: &Value) -> Option<String> {
    arguments.get("intent").and_then(Value::as_str).filter(|text| text.chars().count() <= 200).map(str::to_owned)
}

fn hidden_by_rule(name: &str, key: &str) -> ToolError {
    let reason =
        format!("A rule denies `{key}` for every resource, so `{name}` is not among the tools of this session.");
    let denial = Denial {
        origin: DenialOrigin::Rule,
        key: key.to_owned(),
        pattern: Some("*".to_owned()),
        rule: None,
        reason: reason.clone(),
    };
    ToolError::denied(denial, reason)
}

impl ReadCall {
    pub(super) fn record(&self) -> NewCall {
        NewCall {
            call_id: self.call_id.clone(),
            tool: self.name.clone(),
            arguments: self.arguments.clone(),
            argument_digest: self.digest.clone(),
            intent: self.intent.clone(),
            declarations: self.declarations,
        }
    }
}

/// An exclusive call is a group of one; consecutive other calls form a group.
pub(super) fn group(calls: Vec<ReadCall>) -> Vec<Vec<ReadCall>> {
    let mut groups: Vec<Vec<ReadCall>> = Vec::new();
    for call in calls {
        let exclusive = is_exclusive(&call);
        match groups.last_mut() {
            Some(last) if !exclusive && last.first().is_some_and(|first| !is_exclusive(first)) => last.push(call),
            _ => groups.push(vec![call]),
        }
    }
    groups
}

pub(super) fn is_exclusive(call: &ReadCall) -> bool {
    call.declarations.concurrency == Concurrency::Exclusive
}
