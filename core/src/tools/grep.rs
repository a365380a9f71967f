//! `grep`: search file contents.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

use super::contract::{Body, CallContext, Prepared, Tool};
use super::searching;
use crate::host::BoxFuture;
use crate::search::{GrepQuery, Kind};
use crate::types::{Ask, Declarations, JsonMap, ToolError};

static SCHEMA: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("schemas/grep.json")).unwrap_or_default());

/// Searches file contents.
#[derive(Debug, Default)]
pub struct Grep;

#[derive(Deserialize)]
struct Arguments {
    pattern: String,
    path: Option<String>,
    include: Option<String>,
}

impl Tool for Grep {
    fn name(&self) -> &str {
        "grep"
    }

    fn description(&self) -> &str {
        "Search file contents with a regular expression in ripgrep syntax. Shows the first 100 matching lines, by path \
         and line number; long lines are cut. Hidden files are searched, `.git` is not. Ignore files are honoured; an \
         include that names ignored files searches them, and a file given as path is always searched."
    }

    fn input_schema(&self) -> &Value {
        &SCHEMA
    }

    fn declarations(&self) -> Declarations {
        Declarations::READ
    }

    fn prepare(&self, call: CallContext, arguments: JsonMap) -> BoxFuture<'static, Result<Prepared, ToolError>> {
        Box::pin(async move { prepare(call, arguments) })
    }
}

fn prepare(call: CallContext, arguments: JsonMap) -> Result<Prepared, ToolError> {
    let Arguments { pattern, path, include } = searching::typed(arguments)?;
    let query = GrepQuery::new(&pattern, include.as_deref())?;
    let root = searching::start(&call.session, path.as_deref())?;
    let mut asks = Vec::from_iter(searching::outside(&root));
    asks.push(Ask::one("grep", pattern));
    if root.kind() == Kind::File {
        asks.push(searching::reading(&root));
    }
    let body = Body::run(move || async move {
        let settings = searching::settings(&call.session);
        let denied = searching::denied(&call.session);
        let found = call.services.ripgrep.grep(&settings, root, query, denied, &call.cancel).await?;
        Ok(searching::output(found))
    });
    Ok(Prepared { asks, preview: None, facts: JsonMap::new(), body })
}
