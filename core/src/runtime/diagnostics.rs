//! What this machine offers, and what was odd about the configuration.

use serde_json::{Value, json};

use super::Kernel;
use crate::types::Result;

impl Kernel {
    /// `runtime.diagnostics`
    ///
    /// # Errors
    /// `closed.object`.
    pub async fn diagnostics(&self) -> Result<Value> {
        self.check_open()?;
        let store = &self.services().store;
        let mut diagnostics: Vec<Value> = self
            .loaded()
            .diagnostics()
            .map(|found| json!({ "severity": "warning", "code": found.code, "detail": found.detail }))
            .collect();
        diagnostics.extend(self.unknown_switches());
        Ok(json!({
            "version": env!("CARGO_PKG_VERSION"),
            "database": { "path": store.path().map(|path| path.to_string_lossy()) },
            "diagnostics": diagnostics,
        }))
    }

    /// Switches of tools that nobody registered.
    fn unknown_switches(&self) -> Vec<Value> {
        let tools = self.dispatcher().registry.all();
        self.config()
            .tools
            .keys()
            .filter(|name| !tools.iter().any(|known| known.tool.name() == name.as_str()))
            .map(|name| {
                let detail = format!("`tools.{name}` switches a tool that is not registered.");
                json!({ "severity": "warning", "code": "config.unknown_tool", "detail": detail })
            })
            .collect()
    }
}
