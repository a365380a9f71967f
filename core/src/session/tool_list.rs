//! The tools of a session in the form a loop's model wants them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::dispatch::surface::Snapshot;
use crate::types::{Effect, Replay};

/// Whose form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ToolFormat {
    /// Name, description, schema and declarations.
    #[default]
    Native,
    /// Function tools of the OpenAI chat form.
    Openai,
    /// Tools of the Anthropic messages form.
    Anthropic,
    /// Tools of the Model Context Protocol, declarations as annotations.
    Mcp,
}

/// The shown tools of a snapshot.
pub fn tools(snapshot: &Snapshot, format: ToolFormat) -> Vec<Value> {
    snapshot
        .shown()
        .iter()
        .map(|known| {
            let (name, description) = (known.tool.name(), known.tool.description());
            let (schema, declared) = (known.schema.published(), known.tool.declarations());
            match format {
                ToolFormat::Native => json!({
                    "name": name, "description": description, "inputSchema": schema, "effect": declared.effect,
                    "replay": declared.replay, "concurrency": declared.concurrency,
                }),
                ToolFormat::Openai => json!({
                    "type": "function",
                    "function": { "name": name, "description": description, "parameters": schema },
                }),
                ToolFormat::Anthropic => json!({ "name": name, "description": description, "input_schema": schema }),
                ToolFormat::Mcp => {
                    let read_only = declared.effect == Effect::ReadOnly;
                    json!({
                        "name": name, "description": description, "inputSchema": schema,
                        "annotations": {
                            "readOnlyHint": read_only,
                            "destructiveHint": declared.effect == Effect::SideEffecting,
                            "idempotentHint": declared.replay == Replay::Safe,
                        },
                    })
                }
            }
        })
        .collect()
}
