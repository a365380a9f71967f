//! `write`: create a file, or intentionally replace one whole.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Value, json};

use super::contract::{Body, CallContext, Prepared, Tool, ToolOutput};
use super::file_call;
use crate::files::authorized::{Authorized, Kind, authorize};
use crate::files::conflict::{Conflict, ConflictKind};
use crate::files::diff::{self, DIFF_INPUT, Diff, FileDiff};
use crate::files::receipts::{self, Receipt};
use crate::files::snapshot::INLINE_LIMIT;
use crate::files::whole_file::{self, Done, Found, Plan, Verdict, with_mark};
use crate::files::{errors, lock};
use crate::host::BoxFuture;
use crate::text::fingerprint::{json_digest, sha256_hex};
use crate::types::{Declarations, ErrorKind, JsonMap, ToolError};

const DESCRIPTION: &str = "Create a file, or intentionally replace one whole. The content is written exactly as given; \
    missing directories are created. A file that exists must have been read in this session first and must not have \
    changed since. For a change of some lines use `apply_patch`.";

/// Largest content.
const CONTENT_LIMIT: usize = 16 * 1024 * 1024;

static SCHEMA: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("schemas/write.json")).unwrap_or_default());

/// The tool.
#[derive(Debug, Default)]
pub struct Write;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    file_path: String,
    content: String,
}

impl Tool for Write {
    fn name(&self) -> &str {
        "write"
    }

    fn description(&self) -> &str {
        DESCRIPTION
    }

    fn input_schema(&self) -> &Value {
        &SCHEMA
    }

    fn declarations(&self) -> Declarations {
        Declarations::STRICT
    }

    fn prepare(&self, call: CallContext, arguments: JsonMap) -> BoxFuture<'static, Result<Prepared, ToolError>> {
        Box::pin(prepare(call, arguments))
    }
}

async fn prepare(call: CallContext, arguments: JsonMap) -> Result<Prepared, ToolError> {
    let value = Value::Object(arguments);
    let operation = json_digest(&value);
    let Value::Object(arguments) = value else { return Err(ToolError::invalid("schema", "Send an object.")) };
    let Arguments { file_path, content } = file_call::arguments(arguments)?;
    if content.len() > CONTENT_LIMIT {
        let message =
            format!("The content has {} bytes; at most {CONTENT_LIMIT} are written by one call.", content.len());
        return Err(ToolError::invalid_field("too_large", "content", None, message));
    }
    let target = authorize(&file_call::roots(&call.session), &file_path)?;
    file_call::refuse_protected(&call.session, &target.resolved)?;
    let forbidden = call.services.store.file_identities();
    let (target, found) = look(&call, target, forbidden, file_path.ends_with('/')).await?;
    let conflict = found.as_ref().and_then(|found| {
        let receipt = receipts::get(&call.services.store, &call.session.id, &target.resolved.path);
        receipt.map(|known| whole_file::judge("", "", &found.content.sha256, known.as_ref())).transpose()
    });
    let conflict = conflict.transpose()?.is_some();
    let mut asks = file_call::edit_asks(&call.session, &target.resolved);
    if conflict {
        // Nobody is asked about a call that cannot go through; deny rules still come first.
        asks = asks.into_iter().map(crate::types::Ask::implicit).collect();
    }
    let facts = file_call::facts(&target.resolved);
    let preview = preview(target.resolved.destination.clone(), &content, found.as_ref());
    let planned_on = found.map(|found| found.content.sha256);
    let plan = Plan { operation, content, planned_on };
    let body = Body::run(move || write(call, target, plan, conflict));
    Ok(Prepared { asks, preview: Some(preview), facts, body })
}

/// Looks at what is to be replaced, before anybody is asked.
async fn look(
    call: &CallContext,
    target: Authorized,
    forbidden: Vec<(u64, u64)>,
    names_directory: bool,
) -> Result<(Authorized, Option<Found>), ToolError> {
    let name = &target.resolved.relative;
    let Some(object) = target.object() else {
        return if names_directory { Err(whole_file::is_directory(name)) } else { Ok((target, None)) };
    };
    if object.facts.kind == Kind::Directory {
        return Err(whole_file::is_directory(name));
    }
    target.check_writable()?;
    let large = object.facts.size > INLINE_LIMIT;
    let cancel = call.cancel.clone();
    let work = move || {
        let object = target.object().ok_or_else(|| errors::path_gone(&target.resolved.relative))?;
        let found = whole_file::examine(&target, object, target.parent(), &forbidden, &cancel)?;
        Ok((target, Some(found)))
    };
    if large { file_call::blocking(work).await } else { work() }
}

/// The diff a person is shown. Made only when a person is asked.
fn preview(relative: String, content: &str, found: Option<&Found>) -> Box<dyn FnOnce() -> Value + Send> {
    let old = found.map(|found| (found.content.text.clone(), found.content.bytes));
    let new = with_mark(content.to_owned(), found);
    Box::new(move || {
        let (old_text, old_bytes) = old.map_or((None, None), |(text, bytes)| (text, Some(bytes)));
        Value::String(compare(&relative, old_text.as_deref(), old_bytes, &new).text)
    })
}

fn compare(relative: &str, old_text: Option<&str>, old_bytes: Option<u64>, new: &str) -> Diff {
    let old_is_shown = old_text.is_some() == old_bytes.is_some();
    if old_is_shown && new.len() as u64 <= DIFF_INPUT {
        return diff::unified(relative, old_text, new);
    }
    let text = diff::too_large(relative, old_bytes, new.len() as u64);
    Diff { text, ..Diff::default() }
}

async fn write(call: CallContext, target: Authorized, plan: Plan, judge_only: bool) -> Result<ToolOutput, ToolError> {
    let store = &call.services.store;
    let session = &call.session;
    let folder = receipts::lock_folder(store);
    let guard = lock::acquire(&session.worktree, folder.as_deref(), &call.cancel).await?;
    let receipt = receipts::get(store, &session.id, &target.resolved.path)?;
    let resolved = target.resolved.clone();
    let cancel = call.cancel.clone();
    let forbidden = store.file_identities();
    // The guard travels with the work: a caller that no longer waits must not free the lock under it.
    let (guard, verdict) = file_call::blocking(move || {
        let verdict = if judge_only {
            judge(&target, &plan, receipt.as_ref(), &forbidden, &cancel)?
        } else {
            whole_file::replace(&target, plan, receipt.as_ref(), &forbidden, &cancel)?
        };
        Ok((guard, verdict))
    })
    .await?;
    let done = match verdict {
        Verdict::Conflict(conflict) => return Err(refusal(&conflict)),
        Verdict::Done(done) => done,
    };
    let sha256 = sha256_hex(done.new_text.as_bytes());
    let receipt = receipts::record(store, &session.id, &resolved.path, sha256).await;
    drop(guard);
    Ok(Report::new(&resolved.relative, &resolved.destination, &resolved.path.to_string_lossy(), &done)
        .with_receipt(receipt.map_err(ToolError::from))
        .with_interruption(done.written && call.cancel.is_cancelled())
        .into_output())
}

/// Judges a call again that met a conflict before permission was asked. It is never carried out: nobody allowed it.
fn judge(
    target: &Authorized,
    plan: &Plan,
    receipt: Option<&Receipt>,
    forbidden: &[(u64, u64)],
    cancel: &tokio_util::sync::CancellationToken,
) -> Result<Verdict, ToolError> {
    let name = &target.resolved.relative;
    let Some(object) = target.look(target.parent())? else {
        let conflict = Conflict::stale(name, &plan.operation, None, receipt);
        return Ok(Verdict::Conflict(Box::new(conflict)));
    };
    let found = whole_file::examine(target, &object, target.parent(), forbidden, cancel)?;
    match whole_file::judge(name, &plan.operation, &found.content.sha256, receipt) {
        Some(conflict) => Ok(Verdict::Conflict(Box::new(conflict))),
        None => Err(ToolError::new(
            ErrorKind::Transient { retry_after_ms: None },
            "conflict_gone",
            format!("{name} did not fit this call when it was checked and does now; nothing was written. Call again."),
        )),
    }
}

fn refusal(conflict: &Conflict) -> ToolError {
    let name = &conflict.resource;
    conflict.to_error(match conflict.kind {
        ConflictKind::ReadRequired => format!("{name} exists and this session has not read it; nothing was written."),
        _ => format!("{name} is not as this session knows it; nothing was written."),
    })
}

/// The result of a write.
struct Report<'a> {
    relative: &'a str,
    path: &'a str,
    done: &'a Done,
    diff: Diff,
    receipt: Option<Receipt>,
    warnings: Vec<String>,
}

impl<'a> Report<'a> {
    fn new(relative: &'a str, destination: &str, path: &'a str, done: &'a Done) -> Self {
        let diff = if done.written {
            compare(destination, done.old_text.as_deref(), done.old_bytes, &done.new_text)
        } else {
            Diff::default()
        };
        let mut warnings = Vec::new();
        if done.written && done.other_names > 0 {
            warnings.push(format!("{} other names of the old file keep the old content.", done.other_names));
        }
        Self { relative, path, done, diff, receipt: None, warnings }
    }

    fn with_receipt(mut self, receipt: Result<Receipt, ToolError>) -> Self {
        match receipt {
            Ok(receipt) => self.receipt = Some(receipt),
            Err(error) => self.warnings.push(format!(
                "The file is written, but what this session knows of it could not be stored ({error}). Read it before \
                 the next change."
            )),
        }
        self
    }

    fn with_interruption(mut self, interrupted: bool) -> Self {
        if interrupted {
            self.warnings
                .push("The call was interrupted after the file was written; formatting was skipped.".to_owned());
        }
        self
    }

    fn headline(&self) -> String {
        let lines = self.done.new_text.lines().count();
        let relative = self.relative;
        match (self.done.written, self.done.existed) {
            (false, _) => format!("{relative} already has this content ({lines} lines); nothing was written."),
            (true, false) => format!("Created {relative} ({lines} lines)."),
            (true, true) => {
                let Diff { added, removed, .. } = self.diff;
                format!("Replaced {relative} ({lines} lines, +{added} -{removed}).")
            }
        }
    }

    fn file_diffs(&self) -> Vec<FileDiff> {
        let Done { written, old_text, old_bytes, new_text, .. } = self.done;
        let shown = *written && old_text.is_some() == old_bytes.is_some() && new_text.len() as u64 <= DIFF_INPUT;
        let diff = || FileDiff { path: self.path.to_owned(), old_text: old_text.clone(), new_text: new_text.clone() };
        shown.then(diff).into_iter().collect()
    }

    fn into_output(self) -> ToolOutput {
        let mut text = self.headline();
        for warning in &self.warnings {
            text.push_str("\nWarning: ");
            text.push_str(warning);
        }
        let written: Vec<&str> = if self.done.written { vec![self.path] } else { Vec::new() };
        let mut output = ToolOutput::text(self.relative, text)
            .with("filepath", self.path)
            .with("exists", self.done.existed)
            .with("formatted", false)
            .with("writtenPaths", json!(written))
            .with("diff", self.diff.text.clone())
            .with("fileDiffs", json!(self.file_diffs()))
            .with("readReceipt", json!(self.receipt));
        if !self.warnings.is_empty() {
            output = output.with("postWriteWarnings", json!(self.warnings));
        }
        output
    }
}
