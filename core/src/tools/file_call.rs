//! What the file tools have in common: their roots and what they ask.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::contract::{OnSettle, SessionContext};
use crate::files::authorized::Resolved;
use crate::files::path::{Roots, everything_in};
use crate::files::{protected, receipts};
use crate::store::read_receipts;
use crate::types::{Access, Ask, Denial, DenialOrigin, JsonMap, SessionId, ToolError};

/// Typed arguments. The schema was checked before.
pub(super) fn arguments<T: DeserializeOwned>(arguments: JsonMap) -> Result<T, ToolError> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| {
        ToolError::invalid("schema", format!("The arguments do not have the form of the schema: {error}."))
    })
}

/// The directories a session's file tools count as inside.
pub(super) fn roots(session: &SessionContext) -> Roots {
    Roots::new(&session.workspace, &session.workspace_spelling, &session.config.sandbox.writable_roots)
}

/// What has to be allowed to read a path.
pub(super) fn read_asks(resolved: &Resolved) -> Vec<Ask> {
    let patterns = patterns(resolved);
    let always = resolved.external_pattern().map_or_else(|| patterns.clone(), |directory| vec![directory]);
    asks(resolved, "read", Access::Read, patterns, always)
}

/// What has to be allowed to change a file.
pub(super) fn edit_asks(session: &SessionContext, resolved: &Resolved) -> Vec<Ask> {
    let patterns = patterns(resolved);
    let mut always: Vec<String> = patterns.iter().map(|path| directory_pattern(path)).collect();
    always.dedup();
    let mut asks = asks(resolved, "edit", Access::Write, patterns, always);
    asks.extend(git_ask(session, resolved));
    asks
}

/// The path as named; behind a final link also the file it leads to, because that is what a person approves.
fn patterns(resolved: &Resolved) -> Vec<String> {
    let mut patterns = vec![resolved.relative.clone()];
    if resolved.through_link && resolved.destination != resolved.relative {
        patterns.push(resolved.destination.clone());
    }
    patterns
}

fn asks(resolved: &Resolved, key: &str, access: Access, patterns: Vec<String>, always: Vec<String>) -> Vec<Ask> {
    let external = resolved
        .external_pattern()
        .map(|pattern| Ask { access: Some(access), ..Ask::one("external_directory", pattern) });
    let main = Ask {
        key: key.to_owned(),
        patterns,
        always,
        access: None,
        deny_only: resolved.deny_only.clone(),
        implicit: false,
    };
    external.into_iter().chain([main]).collect()
}

/// Every file of the directory a path names. Names at the top of the workspace have no directory part.
fn directory_pattern(path: &str) -> String {
    match Path::new(path).parent() {
        Some(directory) if directory.as_os_str().is_empty() => "*".to_owned(),
        Some(directory) => everything_in(directory),
        None => "/*".to_owned(),
    }
}

fn git_ask(session: &SessionContext, resolved: &Resolved) -> Option<Ask> {
    if session.config.sandbox.git_metadata_writable {
        return None;
    }
    let directory = [&resolved.path, &resolved.named]
        .into_iter()
        .find_map(|path| protected::git_metadata(&session.worktree, path))?;
    Some(Ask { always: Vec::new(), ..Ask::one("git_metadata", protected::git_pattern(&directory)) })
}

/// Refuses to change what lies in the runtime's own folder.
pub(super) fn refuse_protected(session: &SessionContext, resolved: &Resolved) -> Result<(), ToolError> {
    let protected =
        [&resolved.path, &resolved.named].into_iter().any(|path| protected::is_runtime_folder(&session.worktree, path));
    if !protected {
        return Ok(());
    }
    let reason = format!(
        "{} lies in `.zuno`, which belongs to the runtime. Put the file elsewhere; reports are published with `report_write`.",
        resolved.relative
    );
    let denial = Denial {
        origin: DenialOrigin::ProtectedPath,
        key: "edit".to_owned(),
        pattern: Some(resolved.relative.clone()),
        rule: None,
        reason: reason.clone(),
    };
    Err(ToolError::denied(denial, reason))
}

/// Facts of one file for the permission request.
pub(super) fn facts(resolved: &Resolved) -> JsonMap {
    let mut facts = JsonMap::new();
    let parent = resolved.path.parent().unwrap_or(&resolved.path);
    facts.insert("filepath".to_owned(), resolved.path.to_string_lossy().into());
    facts.insert("parentDir".to_owned(), parent.to_string_lossy().into());
    facts
}

/// Work that may block, on a thread for it.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        Err(ToolError::failed(
            "io",
            format!("The work on the file did not end: {error}. Look at the file before you go on."),
        ))
    })
}

/// A read receipt that is recorded in the transaction that settles the read: what the session knows and what the result
/// says are one fact.
pub(super) fn record_on_settle(session: &SessionId, path: &Path, sha256: String) -> OnSettle {
    let (session, path) = (session.clone(), receipts::key(path));
    OnSettle::new(move |tx, metadata| {
        let receipt = read_receipts::record(tx, &session, &path, &sha256)?;
        metadata.insert("readReceipt".to_owned(), serde_json::to_value(receipt)?);
        Ok(())
    })
}
