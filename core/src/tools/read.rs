//! `read`: a window of a file or directory, or a whole image or PDF.

use std::sync::LazyLock;

use base64::Engine;
use serde::Deserialize;
use serde_json::{Value, json};

use super::contract::{Body, CallContext, Output, Prepared, Tool, ToolOutput};
use super::file_call;
use crate::files::authorized::{Authorized, Kind, authorize, not_found};
use crate::files::listing;
use crate::files::reading::{self, Reading};
use crate::files::snapshot::INLINE_LIMIT;
use crate::files::window::{Bounds, WINDOW_LINES, Window, entries, numbered};
use crate::host::BoxFuture;
use crate::types::{Attachment, Declarations, JsonMap, ToolError};

const DESCRIPTION: &str = "Read a text file as numbered lines, an image or a PDF, or list a directory. One call shows \
    at most 51200 bytes and 2000 lines and names the offset to continue with. A line of more than 2000 characters is \
    cut and marked with its length; read its rest with `shell`, for example with `tail -c` and `head -c`. Reading a \
    file is what allows this session to change it.";

static SCHEMA: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("schemas/read.json")).unwrap_or_default());

/// The tool.
#[derive(Debug, Default)]
pub struct Read;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    file_path: String,
    offset: Option<u64>,
    limit: Option<u64>,
}

impl Tool for Read {
    fn name(&self) -> &str {
        "read"
    }

    fn description(&self) -> &str {
        DESCRIPTION
    }

    fn input_schema(&self) -> &Value {
        &SCHEMA
    }

    fn declarations(&self) -> Declarations {
        Declarations::READ
    }

    fn prepare(&self, call: CallContext, arguments: JsonMap) -> BoxFuture<'static, Result<Prepared, ToolError>> {
        Box::pin(async move { prepare(call, file_call::arguments(arguments)?) })
    }
}

fn prepare(call: CallContext, arguments: Arguments) -> Result<Prepared, ToolError> {
    let target = authorize(&file_call::roots(&call.session), &arguments.file_path)?;
    let resolved = &target.resolved;
    let Some(object) = target.object() else { return Err(missing(&target)) };
    let forbidden = call.services.store.file_identities();
    let is_directory = object.facts.kind == Kind::Directory;
    if !is_directory {
        target.refuse_unreadable(&object.facts, &forbidden)?;
    }
    let asks = file_call::read_asks(resolved);
    let facts = file_call::facts(resolved);
    let window = (arguments.offset.unwrap_or(1), arguments.limit.unwrap_or(WINDOW_LINES as u64));
    let body = if is_directory {
        Body::run(move || async move { list(&target, window) })
    } else {
        Body::run(move || read(call, target, window))
    };
    Ok(Prepared { asks, preview: None, facts, body })
}

/// Names of the same directory that look like the missing one. Outside the workspace nothing is told before it is
/// allowed.
fn missing(target: &Authorized) -> ToolError {
    let resolved = &target.resolved;
    let names = if resolved.inside && !target.lacks_parents() {
        listing::similar(&target.siblings(), &target.name().to_string_lossy())
    } else {
        Vec::new()
    };
    let more = if names.is_empty() {
        "Look for it with `glob`, or list its directory with `read`.".to_owned()
    } else {
        format!("Similar names in its directory: {}.", names.join(", "))
    };
    not_found(&resolved.relative, &more, names.into_iter().next())
}

async fn read(call: CallContext, target: Authorized, (offset, limit): (u64, u64)) -> Result<ToolOutput, ToolError> {
    let resolved = target.resolved.clone();
    let head = head(&resolved.relative, "file");
    let bounds = Bounds::new(offset, limit, &head);
    let (file, facts) = target.open_file(|| call.services.store.file_identities())?;
    let cancel = call.cancel.clone();
    let work = move || {
        let resolved = &target.resolved;
        reading::read(&file, &resolved.path, &resolved.relative, facts.size, bounds, &cancel)
    };
    let reading = if facts.size > INLINE_LIMIT { file_call::blocking(work).await? } else { work()? };
    let sha256 = match &reading {
        Reading::Text { sha256, .. } => sha256.clone(),
        Reading::Attachment { sha256, .. } => Some(sha256.clone()),
    };
    let path = resolved.path.to_string_lossy();
    let output = match reading {
        Reading::Text { window, .. } => text(&resolved.relative, &path, &head, &window),
        Reading::Attachment { mime, bytes, .. } => attachment(&resolved.relative, mime, &bytes),
    };
    let on_settle = sha256.map(|sha256| file_call::record_on_settle(&call.session.id, &resolved.path, sha256));
    Ok(ToolOutput { on_settle, ..output.with("readReceipt", Value::Null) })
}

fn head(relative: &str, kind: &str) -> String {
    format!("<path>{relative}</path>\n<type>{kind}</type>\n<content>\n")
}

fn text(relative: &str, path: &str, head: &str, window: &Window) -> ToolOutput {
    let mut text = head.to_owned();
    for (number, line) in (window.first..).zip(&window.rows) {
        text.push_str(&numbered(number, line));
        text.push('\n');
    }
    text.push_str(&window.end("end of file, ", "lines"));
    text.push_str("\n</content>");
    if let Some((line, shown, bytes)) = window.cut {
        text.push_str(&format!(
            "\n(line {line} is shown up to byte {shown} of {bytes}; read its rest with shell: \
             sed -n {line}p FILE | tail -c +{} | head -c 16384)",
            shown + 1
        ));
    }
    let display = json!({
        "type": "file", "path": path, "text": window.rows.join("\n"), "lineStart": window.first,
        "lineEnd": window.last(), "totalLines": window.total, "truncated": window.truncated(),
    });
    shown(relative, text, window, display)
}

fn attachment(relative: &str, mime: &str, bytes: &[u8]) -> ToolOutput {
    let name = relative.rsplit('/').next().unwrap_or(relative).to_owned();
    let data = base64::engine::general_purpose::STANDARD.encode(bytes);
    let text = format!("{relative} is attached ({mime}, {} bytes).", bytes.len());
    let url = format!("data:{mime};base64,{data}");
    let file = Attachment { kind: "file".to_owned(), mime: mime.to_owned(), filename: Some(name), url };
    let output = ToolOutput {
        title: relative.to_owned(),
        output: Output::Window(text.clone()),
        attachments: vec![file],
        ..ToolOutput::default()
    };
    output.with("preview", text).with("truncated", false)
}

fn list(target: &Authorized, (offset, limit): (u64, u64)) -> Result<ToolOutput, ToolError> {
    let relative = &target.resolved.relative;
    let listing = listing::list(target.open_directory()?).map_err(|error| {
        ToolError::failed("io", format!("Could not list {relative}: {error}. Check its permissions."))
    })?;
    let head = head(relative, "directory");
    let window = entries(Bounds::new(offset, limit, &head), listing.names.into_iter());
    if window.is_past_end() {
        return Err(reading::past_end(relative, &window, "entries"));
    }
    let mut text = head;
    for entry in &window.rows {
        text.push_str(entry);
        text.push('\n');
    }
    text.push_str(&window.end("", "entries"));
    text.push_str("\n</content>");
    if listing.unnamed > 0 {
        text.push_str(&format!("\n({} names are not valid UTF-8 and are left out)", listing.unnamed));
    }
    let display = json!({
        "type": "directory", "path": target.resolved.path.to_string_lossy(), "entries": window.rows,
        "offset": window.first, "totalEntries": window.total, "truncated": window.truncated(),
    });
    Ok(shown(relative, text, &window, display).with("readReceipt", Value::Null))
}

fn shown(relative: &str, text: String, window: &Window, display: Value) -> ToolOutput {
    ToolOutput { title: relative.to_owned(), output: Output::Window(text), ..ToolOutput::default() }
        .with("preview", window.preview())
        .with("truncated", window.truncated())
        .with("display", display)
}
