//! What `glob` and `grep` have in common: where they may start, what they ask for, what they may not show.

use std::path::Path;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::contract::{SessionContext, ToolOutput};
use crate::search::{Denied, Places, Rendered, SearchRoot, Settings};
use crate::text::rules::{Action, Layers, Pattern, Reading, Rule, decide};
use crate::types::{Access, Ask, JsonMap, ToolError};

/// Key under which the reading of a file is judged.
const READ: &str = "read";

/// Arguments that passed the schema.
pub(super) fn typed<T: DeserializeOwned>(arguments: JsonMap) -> Result<T, ToolError> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| ToolError::invalid("schema", format!("The arguments do not have the tool's form: {error}.")))
}

/// Where a search starts.
pub(super) fn start(session: &SessionContext, path: Option<&str>) -> Result<SearchRoot, ToolError> {
    let mut further = session.config.sandbox.writable_roots.clone();
    further.push(session.worktree.clone());
    let places = Places { workspace: session.workspace.clone(), spelling: session.workspace_spelling.clone(), further };
    SearchRoot::resolve(&places, path)
}

/// What the configuration says about searching.
pub(super) fn settings(session: &SessionContext) -> Settings {
    Settings {
        ripgrep_path: session.config.ripgrep_path.clone(),
        withhold_prefixes: session.config.withhold_prefixes.clone(),
    }
}

/// The ask for a directory outside everything the session may search, when there is one.
pub(super) fn outside(root: &SearchRoot) -> Option<Ask> {
    let ask = Ask::one("external_directory", everything_in(root.outside()?));
    Some(Ask { access: Some(Access::Read), ..ask })
}

/// The ask for reading the one file that is searched.
pub(super) fn reading(root: &SearchRoot) -> Ask {
    let mut ask = Ask::one(READ, root.named_spelling());
    if let Some(directory) = root.outside() {
        ask.always = vec![everything_in(directory)];
    }
    // The person and the rules see the name as it was given; a deny also holds for the file behind it.
    ask.deny_only = vec![root.spelling(), root.path().to_string_lossy().into_owned()];
    ask
}

/// Which files the session's rules keep from being read.
pub(super) fn denied(session: &SessionContext) -> Denied {
    let mut layers = Layers::clone(&session.layers);
    let about_reading = |rule: &Rule| Pattern::new(&rule.key, Reading::of_key("", None)).matches(READ);
    layers.trusted.retain(about_reading);
    layers.narrowing.retain(about_reading);
    // Nearly every session denies none, and a search names many files.
    if !layers.trusted.iter().chain(&layers.narrowing).any(|rule| rule.action == Action::Deny) {
        return Arc::new(|_| false);
    }
    let place = Arc::clone(&session.place);
    Arc::new(move |path| decide(&layers, &[], &Ask::one(READ, path), &place).action == Action::Deny)
}

/// A search result as a tool result.
pub(super) fn output(rendered: Rendered) -> ToolOutput {
    ToolOutput { metadata: rendered.metadata, ..ToolOutput::text(rendered.title, rendered.text) }
}

/// The pattern of everything in a directory.
fn everything_in(directory: &Path) -> String {
    format!("{}/*", directory.to_string_lossy().trim_end_matches('/'))
}
