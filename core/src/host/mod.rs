//! What the host implements. Host work is a request with an id, answered once, later, from any thread.

use std::future::Future;
use std::pin::Pin;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::types::Result;

/// A future that can move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The ports a host can install.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum Port {
    /// Permission asks.
    Approval,
    /// Last word on a command's environment.
    Environment,
    /// The host's own tools.
    HostTool,
    /// Before- and after-call hooks.
    Hook,
    /// Formatting after a write.
    Formatter,
}

impl Port {
    /// The kind of the requests this port receives.
    pub fn name(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::Environment => "environment",
            Self::HostTool => "hostTool",
            Self::Hook => "hook",
            Self::Formatter => "formatter",
        }
    }
}

/// The host's side of the library.
pub trait Host: Send + Sync {
    /// Whether the host installed this port when it opened the runtime.
    fn installed(&self, port: Port) -> bool;

    /// Asks the host. Cancelling tells the host that the answer is no longer wanted and ends the wait with
    /// `failed.canceled`. A host that fails, drops the request or goes away ends it with `host.*`.
    fn ask(&self, port: Port, payload: Value, cancel: CancellationToken) -> BoxFuture<'static, Result<Value>>;
}

/// A host without ports.
#[derive(Debug, Default)]
pub struct NoHost;

impl Host for NoHost {
    fn installed(&self, _: Port) -> bool {
        false
    }

    fn ask(&self, port: Port, _: Value, _: CancellationToken) -> BoxFuture<'static, Result<Value>> {
        let message = format!("No `{}` port is installed.", port.name());
        Box::pin(async move { Err(crate::types::Error::new("host.unsupported", message)) })
    }
}
