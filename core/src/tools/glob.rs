//! `glob`: find files by pattern.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

use super::contract::{Body, CallContext, Prepared, Tool};
use super::searching;
use crate::host::BoxFuture;
use crate::search::{GlobQuery, Kind};
use crate::types::{Ask, Declarations, JsonMap, ToolError};

static SCHEMA: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("schemas/glob.json")).unwrap_or_default());

/// Finds files by pattern.
#[derive(Debug, Default)]
pub struct Glob;

#[derive(Deserialize)]
struct Arguments {
    pattern: String,
    path: Option<String>,
}

impl Tool for Glob {
    fn name(&self) -> &str {
        "glob"
    }

    fn description(&self) -> &str {
        "Find files by glob, for example src/**/*.rs. Lists the first 100 absolute paths in byte order. Hidden files \
         are found, `.git` is not. Ignore files are honoured; a glob that names ignored files finds them, but not \
         inside ignored directories."
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
    let Arguments { pattern, path } = searching::typed(arguments)?;
    let query = GlobQuery::new(&pattern)?;
    let root = searching::start(&call.session, path.as_deref())?;
    if root.kind() == Kind::File {
        let message = format!("{} is a file. Name a directory to search, or use `grep` or `read`.", root.spelling());
        return Err(ToolError::invalid_field("not_directory", "path", None, message));
    }
    let mut asks = Vec::from_iter(searching::outside(&root));
    asks.push(Ask::one("glob", pattern));
    let body = Body::run(move || async move {
        let settings = searching::settings(&call.session);
        let denied = searching::denied(&call.session);
        let found = call.services.ripgrep.glob(&settings, root, query, denied, &call.cancel).await?;
        Ok(searching::output(found))
    });
    Ok(Prepared { asks, preview: None, facts: JsonMap::new(), body })
}
