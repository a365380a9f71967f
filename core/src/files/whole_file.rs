//! Replacing a file whole: what may be replaced, whether the session knows it, and the replacement.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use tokio_util::sync::CancellationToken;

use super::atomic::{self, Expected, Publication};
use super::authorized::{Authorized, Facts, Kind, Object, Target};
use super::conflict::Conflict;
use super::diff::DIFF_INPUT;
use super::errors;
use super::receipts::{RECEIPT_LIMIT, Receipt};
use super::snapshot::{BYTE_ORDER_MARK, Snapshot, snapshot};
use crate::types::ToolError;

/// An existing file that may be replaced.
#[derive(Debug)]
pub struct Found {
    /// The file, open for reading.
    pub file: File,
    /// What it is.
    pub facts: Facts,
    /// What it holds.
    pub content: Snapshot,
}

/// Looks at a file that is to be replaced. Refuses directories, special files, the store, files above 256 MiB and
/// files that are not UTF-8.
pub fn examine(
    target: &Authorized,
    object: &Object,
    parent: &OwnedFd,
    forbidden: &[(u64, u64)],
    cancel: &CancellationToken,
) -> Result<Found, ToolError> {
    let name = &target.resolved.relative;
    if object.facts.kind == Kind::Directory {
        return Err(is_directory(name));
    }
    let (file, facts) = target.open_object(object, parent, forbidden)?;
    if facts.size > RECEIPT_LIMIT {
        return Err(too_large(name));
    }
    let content = snapshot(&file, facts.size, DIFF_INPUT, cancel)
        .map_err(|error| failed("read", name, &error, cancel))?
        .ok_or_else(|| too_large(name))?;
    match content.bad_byte {
        Some(offset) => Err(errors::encoding(name, offset, None)),
        None => Ok(Found { file, facts, content }),
    }
}

/// A file tool was pointed at a directory.
pub fn is_directory(name: &str) -> ToolError {
    ToolError::invalid_field("is_directory", "filePath", None, format!("{name} is a directory. Name a file in it."))
}

fn too_large(name: &str) -> ToolError {
    ToolError::invalid("too_large", format!("{name} is larger than 256 MiB. Change it with `shell`."))
}

fn failed(verb: &str, name: &str, error: &io::Error, cancel: &CancellationToken) -> ToolError {
    if cancel.is_cancelled() {
        return ToolError::cancelled(true, format!("The call was interrupted; {name} was not changed."));
    }
    errors::through_handles(verb, name, error)
}

/// Whether the session knows the file as it is.
pub fn judge(resource: &str, operation: &str, current: &str, receipt: Option<&Receipt>) -> Option<Conflict> {
    let current_digest = Some(current.to_owned());
    match receipt {
        None => Some(Conflict::read_required(resource, operation, current_digest)),
        Some(known) if known.sha256 != current => Some(Conflict::stale(resource, operation, current_digest, receipt)),
        Some(_) => None,
    }
}

/// What a replacement was planned on.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Digest of the operation, for conflicts.
    pub operation: String,
    /// The content to leave, without the byte order mark the old file may have.
    pub content: String,
    /// SHA-256 of the file when permission was asked; `None` = there was none.
    pub planned_on: Option<String>,
}

/// What a replacement left.
#[derive(Debug)]
pub struct Done {
    /// The file existed before.
    pub existed: bool,
    /// Bytes were written.
    pub written: bool,
    /// The old content, when it is small enough to be shown.
    pub old_text: Option<String>,
    /// The size of the old file.
    pub old_bytes: Option<u64>,
    /// What is on disk now.
    pub new_text: String,
    /// Other names of the old file, which keep the old content.
    pub other_names: u64,
}

impl Done {
    fn new(found: Option<&Found>, new_text: String, written: bool) -> Self {
        Self {
            existed: found.is_some(),
            written,
            old_text: found.and_then(|found| found.content.text.clone()),
            old_bytes: found.map(|found| found.content.bytes),
            other_names: found.map_or(0, |found| found.facts.links.saturating_sub(1)),
            new_text,
        }
    }
}

/// A replacement that did not take place because the file is not what was planned on, or one that did.
#[derive(Debug)]
pub enum Verdict {
    /// It took place.
    Done(Box<Done>),
    /// Nothing was changed.
    Conflict(Box<Conflict>),
}

/// Replaces or creates a file. To be called with the mutation lock held, on a thread that may block.
pub fn replace(
    target: &Authorized,
    plan: Plan,
    receipt: Option<&Receipt>,
    forbidden: &[(u64, u64)],
    cancel: &CancellationToken,
) -> Result<Verdict, ToolError> {
    let name = &target.resolved.relative;
    let place = target.target()?;
    let object = target.look(&place.directory)?;
    let found = object.map(|object| examine(target, &object, &place.directory, forbidden, cancel)).transpose()?;
    if let Some(conflict) = check(target, &plan, found.as_ref(), receipt) {
        return Ok(Verdict::Conflict(Box::new(conflict)));
    }
    let new_text = with_mark(plan.content, found.as_ref());
    if found.as_ref().is_some_and(|found| holds(found, &new_text)) {
        return Ok(Verdict::Done(Box::new(Done::new(found.as_ref(), new_text, false))));
    }
    if cancel.is_cancelled() {
        return Err(ToolError::cancelled(true, format!("The call was interrupted; {name} was not changed.")));
    }
    match publish(&place, &new_text, found.as_ref()).map_err(|error| failed("write", name, &error, cancel))? {
        Publication::Created | Publication::Replaced => {
            place.keep().map_err(|error| lost(target, &error))?;
            Ok(Verdict::Done(Box::new(Done::new(found.as_ref(), new_text, true))))
        }
        Publication::Stale => {
            let now = current_digest(target, &place.directory, forbidden, cancel);
            Ok(Verdict::Conflict(Box::new(Conflict::stale(name, &plan.operation, now, receipt))))
        }
        Publication::Lost(error) => {
            // What was created on the way may hold the file.
            let _ = place.keep();
            Err(lost(target, &error))
        }
    }
}

fn publish(place: &Target<'_>, text: &str, found: Option<&Found>) -> io::Result<Publication> {
    let expected = found.map_or(Expected::Missing, |found| Expected::File {
        file: &found.file,
        facts: found.facts,
        sha256: &found.content.sha256,
    });
    atomic::publish(&place.directory, place.name, text.as_bytes(), expected)
}

/// Compares the file with what permission was asked for, and with what the session has read.
fn check(target: &Authorized, plan: &Plan, found: Option<&Found>, receipt: Option<&Receipt>) -> Option<Conflict> {
    let name = &target.resolved.relative;
    let Some(found) = found else {
        return plan.planned_on.as_ref().map(|_| Conflict::stale(name, &plan.operation, None, receipt));
    };
    let current = &found.content.sha256;
    if plan.planned_on.is_none() {
        return Some(Conflict::stale(name, &plan.operation, Some(current.clone()), receipt));
    }
    judge(name, &plan.operation, current, receipt).or_else(|| {
        (plan.planned_on.as_ref() != Some(current))
            .then(|| Conflict::stale(name, &plan.operation, Some(current.clone()), receipt))
    })
}

/// A byte order mark is kept if the old file had one.
pub fn with_mark(content: String, found: Option<&Found>) -> String {
    let had = found.is_some_and(|found| found.content.byte_order_mark);
    if had && !content.starts_with(BYTE_ORDER_MARK) { format!("{BYTE_ORDER_MARK}{content}") } else { content }
}

fn holds(found: &Found, text: &str) -> bool {
    found.content.bytes == text.len() as u64
        && found.content.sha256 == crate::text::fingerprint::sha256_hex(text.as_bytes())
}

fn current_digest(
    target: &Authorized,
    parent: &OwnedFd,
    forbidden: &[(u64, u64)],
    cancel: &CancellationToken,
) -> Option<String> {
    let object = target.look(parent).ok()??;
    let (file, facts) = target.open_object(&object, parent, forbidden).ok()?;
    Some(snapshot(&file, facts.size, 0, cancel).ok()??.sha256)
}

fn lost(target: &Authorized, error: &io::Error) -> ToolError {
    let path = target.resolved.path.to_string_lossy().into_owned();
    let message = format!("Whether {path} was written cannot be told ({error}). Inspect it; do not resend the call.");
    ToolError::uncertain("publication_lost", vec![path], message)
}
