//! The Rust face: what a program that links the crate writes against.
//!
//! ```
//! use zuno::{Call, Runtime};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = std::env::temp_dir();
//! let runtime = Runtime::builder().in_memory().config(serde_json::json!({ "permission": { "mode": "allow_all" } })).open()?;
//! let session = runtime.session(&folder).create_blocking()?;
//! let outcome = session.call_blocking(Call::read("."))?;
//! assert!(outcome.is_ok());
//! # Ok(())
//! # }
//! ```

mod builder;
mod call;
mod events;
mod handlers;
mod outcome;
mod session;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::dispatch::registry::ToolInfo;
use crate::runtime::{Kernel, Waiting};
use crate::store::sessions::SessionRecord;
use crate::types::{Error, PermissionId, PermissionRequest, Reply, Result, SessionId};

pub use builder::Builder;
pub use call::Call;
pub use events::{EventStream, EventsOf};
pub use handlers::{Approval, CommandEnvironment, EnvironmentChange, HostAnswer, HostCall, HostFailure};
pub use outcome::{Outcome, Receipt};
pub use session::{Session, SessionBuilder};

/// An open runtime. Clones share it; dropping the last one closes it.
#[derive(Clone)]
pub struct Runtime {
    inner: Arc<Inner>,
}

struct Inner {
    kernel: Kernel,
    threads: Option<tokio::runtime::Runtime>,
}

/// How long dropping a runtime waits for what still runs.
const DROP_DEADLINE: Duration = Duration::from_secs(5);

impl Runtime {
    /// Starts to describe a runtime.
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// Describes a new session in a directory.
    pub fn session(&self, directory: impl AsRef<std::path::Path>) -> SessionBuilder {
        SessionBuilder::new(self.clone(), directory.as_ref())
    }

    /// Opens a stored session: takes its lease and settles what a crash left behind.
    ///
    /// # Errors
    /// `not_found.object`, `busy.session` naming the owner.
    pub async fn open_session(&self, id: &SessionId) -> Result<Session> {
        let (kernel, key) = (self.kernel().clone(), id.clone());
        let record = self.on_threads(async move { kernel.session_open(&key).await }).await?;
        Ok(Session::new(self.clone(), record))
    }

    /// All sessions of the store, oldest first.
    ///
    /// # Errors
    /// The store's own failure.
    pub async fn sessions(&self) -> Result<Vec<SessionRecord>> {
        self.kernel().session_list(None).await
    }

    /// Every registered tool with its declarations.
    pub fn tools(&self) -> Vec<ToolInfo> {
        self.kernel().dispatcher().registry.list()
    }

    /// Everything that waits for a person, oldest first.
    ///
    /// # Errors
    /// The store's own failure.
    pub async fn waiting(&self) -> Result<Vec<Waiting>> {
        self.kernel().waiting().await
    }

    /// Answers a permission request that waits, from any task.
    ///
    /// # Errors
    /// `not_found.object`, `closed.object` when it was answered before.
    pub async fn reply(
        &self,
        request: &PermissionId,
        reply: Reply,
        message: Option<&str>,
    ) -> Result<PermissionRequest> {
        self.kernel().dispatcher().broker.reply(request, reply, message).await
    }

    /// The effective configuration as a document, with the layer of each value and without secrets.
    pub fn config(&self) -> Value {
        crate::config::effective_document(self.kernel().loaded())
    }

    /// Events of one session, of a tree of sessions, or of all.
    ///
    /// # Errors
    /// `not_found.object` for an unknown session.
    pub fn events(&self, of: EventsOf) -> Result<EventStream> {
        EventStream::open(self, of)
    }

    /// Interrupts what runs, waits for it until the deadline, and gives all leases back.
    pub async fn close(&self, deadline: Duration) {
        let kernel = self.kernel().clone();
        self.kernel().begin_close();
        let finish = async move {
            kernel.finish_close(deadline).await;
            Ok(())
        };
        let _ = self.on_threads(finish).await;
    }

    pub(crate) fn kernel(&self) -> &Kernel {
        &self.inner.kernel
    }

    /// Runs work on the runtime's own threads, so that callers may use any executor, and so that a future that is
    /// dropped loses no result.
    pub(crate) async fn on_threads<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let handle = self.handle()?;
        handle.spawn(work).await.unwrap_or_else(|_| {
            Err(Error::new("internal.panic", "A defect of the library ended this operation. Everything else goes on."))
        })
    }

    /// The same for a thread that may block.
    pub(crate) fn block_on<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        if tokio::runtime::Handle::try_current().is_ok() {
            let text = "A blocking call was made inside an async runtime. Await the async form instead.";
            return Err(Error::new("failed.operation", text));
        }
        self.handle()?.block_on(work)
    }

    fn handle(&self) -> Result<&tokio::runtime::Handle> {
        let threads = self.inner.threads.as_ref();
        threads
            .map(tokio::runtime::Runtime::handle)
            .ok_or_else(|| Error::new("closed.object", "The runtime is closed."))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let Some(threads) = self.threads.take() else { return };
        self.kernel.begin_close();
        if tokio::runtime::Handle::try_current().is_err() {
            threads.block_on(self.kernel.finish_close(DROP_DEADLINE));
        }
        threads.shutdown_background();
    }
}
