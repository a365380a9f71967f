//! Which tools exist: those of the library, and those the host registered.

use std::sync::{Arc, PoisonError, RwLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::text::arguments::{ArgumentSchema, Owner};
use crate::tools::contract::{Surface, Tool};
use crate::tools::host_tool::{HostTool, HostToolSpec};
use crate::types::{Concurrency, Effect, Error, Replay};

/// A tool with its compiled schema.
pub struct Registered {
    /// The tool.
    pub tool: Arc<dyn Tool>,
    /// Its schema.
    pub schema: ArgumentSchema,
    /// Who brought it.
    pub origin: Origin,
}

/// Who brought a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ToolOrigin")]
pub enum Origin {
    /// The library.
    Builtin,
    /// The host.
    Host,
}

/// One row of `tool.list`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolInfo {
    /// The name models call.
    pub name: String,
    /// What the model is told.
    pub description: String,
    /// The published schema, common arguments included.
    pub input_schema: Value,
    /// What a call may change.
    pub effect: Effect,
    /// Whether it may be attempted again.
    pub replay: Replay,
    /// Whether it may overlap.
    pub concurrency: Concurrency,
    /// Whether it is shown by itself.
    pub surface: Surface,
    /// Who brought it.
    pub origin: Origin,
}

/// The registered tools, in order of registration.
pub struct Registry {
    builtin: Vec<Arc<Registered>>,
    tools: RwLock<Vec<Arc<Registered>>>,
}

impl Registry {
    /// A registry of the library's tools.
    ///
    /// # Errors
    /// Never for the tools of this library; a test holds that.
    pub fn new(tools: Vec<Arc<dyn Tool>>) -> Result<Self, Error> {
        let mut registered = Vec::with_capacity(tools.len());
        for tool in tools {
            let schema = ArgumentSchema::compile(tool.input_schema(), Owner::Library)
                .map_err(|text| Error::new("arguments.bad_tool", text).with("name", tool.name()))?;
            registered.push(Arc::new(Registered { tool, schema, origin: Origin::Builtin }));
        }
        Ok(Self { builtin: registered.clone(), tools: RwLock::new(registered) })
    }

    /// Adds a tool of the host.
    ///
    /// # Errors
    /// `arguments.bad_tool`, `conflict.name_taken`.
    pub fn register(&self, spec: HostToolSpec) -> Result<(), Error> {
        let replace = spec.replace;
        let tool = HostTool::new(spec)?;
        let schema = ArgumentSchema::compile(tool.input_schema(), Owner::Foreign).map_err(|text| {
            Error::new("arguments.bad_tool", text).with("field", "inputSchema").with("name", tool.name())
        })?;
        let added = Arc::new(Registered { tool: Arc::new(tool), schema, origin: Origin::Host });
        let mut tools = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        let place = tools.iter().position(|known| known.tool.name() == added.tool.name());
        match place.and_then(|place| tools.get_mut(place)) {
            None => tools.push(added),
            Some(taken) if replace => *taken = added,
            Some(taken) => {
                let text = format!(
                    "A tool named `{}` is registered. Give another name, or `replace: true` to take its place.",
                    taken.tool.name()
                );
                return Err(Error::new("conflict.name_taken", text).with("name", taken.tool.name()));
            }
        }
        Ok(())
    }

    /// Removes a tool of the host; says whether it was there. A tool of the library whose place it had taken is back
    /// then; those are switched off by configuration only.
    pub fn unregister(&self, name: &str) -> bool {
        let mut tools = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        let of_host = |known: &Arc<Registered>| known.origin == Origin::Host && known.tool.name() == name;
        let Some(place) = tools.iter().position(of_host) else { return false };
        match self.builtin.iter().find(|known| known.tool.name() == name) {
            Some(original) => {
                if let Some(slot) = tools.get_mut(place) {
                    *slot = Arc::clone(original);
                }
            }
            None => drop(tools.remove(place)),
        }
        true
    }

    /// All of them, as they are now.
    pub fn all(&self) -> Vec<Arc<Registered>> {
        self.tools.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// One row per tool.
    pub fn list(&self) -> Vec<ToolInfo> {
        self.all()
            .iter()
            .map(|known| {
                let declared = known.tool.declarations();
                ToolInfo {
                    name: known.tool.name().to_owned(),
                    description: known.tool.description().to_owned(),
                    input_schema: known.schema.published().clone(),
                    effect: declared.effect,
                    replay: declared.replay,
                    concurrency: declared.concurrency,
                    surface: known.tool.surface(),
                    origin: known.origin,
                }
            })
            .collect()
    }
}
