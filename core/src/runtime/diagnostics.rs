//! What this machine offers, and what was odd about the configuration.

use serde_json::{Value, json};

use super::Kernel;
use crate::sandbox::Policy;
use crate::search::Settings;
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
            "ripgrep": self.ripgrep().await,
            "sandbox": self.sandbox().await,
            "diagnostics": diagnostics,
        }))
    }

    async fn ripgrep(&self) -> Value {
        let config = self.config();
        let settings =
            Settings { ripgrep_path: config.ripgrep_path.clone(), withhold_prefixes: config.withhold_prefixes.clone() };
        match self.services().ripgrep.locate(&settings).await {
            Ok(path) => json!({ "usable": true, "path": path.to_string_lossy(), "error": null }),
            Err(error) => {
                json!({ "usable": false, "path": null, "error": { "code": error.code, "message": error.message } })
            }
        }
    }

    /// What a session in the current directory would get. Starts a command that does nothing at the first need.
    async fn sandbox(&self) -> Value {
        let (config, sandbox) = (std::sync::Arc::clone(self.config()), std::sync::Arc::clone(&self.services().sandbox));
        let folder = std::env::temp_dir();
        let probe = move || sandbox.resolve(&Policy::new(&config.sandbox, &folder, &folder));
        match tokio::task::spawn_blocking(probe).await {
            Ok(Ok(resolution)) => json!({ "usable": true, "facts": resolution.facts.metadata(), "error": null }),
            Ok(Err(unusable)) => json!({
                "usable": false, "facts": null, "error": { "code": unusable.cause.code(), "message": unusable.message },
            }),
            Err(_) => {
                json!({ "usable": false, "facts": null, "error": { "code": "setup_failed", "message": "The probe panicked." } })
            }
        }
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
