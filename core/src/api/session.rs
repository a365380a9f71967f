//! A session as a host drives it.

use std::path::Path;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::call::Call;
use super::outcome::Outcome;
use super::{EventStream, EventsOf, Runtime};
use crate::dispatch::surface::Profile;
use crate::session::{CreateParams, ReconcileParams, ToolFormat};
use crate::store::calls::{Message, Verdict};
use crate::store::sessions::{SessionMode, SessionRecord};
use crate::types::{CallId, Error, MessageId, Result, SessionId};

/// A session that is not created yet.
pub struct SessionBuilder {
    runtime: Runtime,
    params: CreateParams,
}

impl SessionBuilder {
    pub(super) fn new(runtime: Runtime, directory: &Path) -> Self {
        let directory = directory.to_string_lossy().into_owned();
        Self { runtime, params: CreateParams { directory, ..CreateParams::default() } }
    }

    /// The agent; default `orchestrator`.
    #[must_use]
    pub fn agent(mut self, name: &str) -> Self {
        self.params.agent = Some(name.to_owned());
        self
    }

    /// A title for lists.
    #[must_use]
    pub fn title(mut self, title: &str) -> Self {
        self.params.title = Some(title.to_owned());
        self
    }

    /// Planning or working; default working.
    #[must_use]
    pub fn mode(mut self, mode: SessionMode) -> Self {
        self.params.mode = Some(mode);
        self
    }

    /// The tool composition.
    #[must_use]
    pub fn profile(mut self, profile: Profile) -> Self {
        self.params.profile = Some(profile);
        self
    }

    /// Configuration on top of the runtime's.
    #[must_use]
    pub fn config(mut self, document: Value) -> Self {
        self.params.config = Some(document);
        self
    }

    /// Creates it and takes its lease.
    ///
    /// # Errors
    /// `arguments.*`; nothing has been stored then.
    pub async fn create(self) -> Result<Session> {
        let (runtime, params) = (self.runtime, self.params);
        let kernel = runtime.kernel().clone();
        let record = runtime.on_threads(async move { kernel.session_create(params).await }).await?;
        Ok(Session::new(runtime, record))
    }

    /// The same for a thread that may block.
    ///
    /// # Errors
    /// As [`SessionBuilder::create`].
    pub fn create_blocking(self) -> Result<Session> {
        let runtime = self.runtime.clone();
        runtime.block_on(self.create())
    }
}

/// An open session. Clones share it.
#[derive(Clone)]
pub struct Session {
    runtime: Runtime,
    record: SessionRecord,
}

impl Session {
    pub(super) fn new(runtime: Runtime, record: SessionRecord) -> Self {
        Self { runtime, record }
    }

    /// Its id.
    pub fn id(&self) -> &SessionId {
        &self.record.id
    }

    /// Its record as it was when it was opened.
    pub fn record(&self) -> &SessionRecord {
        &self.record
    }

    /// The tools a model is shown, in the form its loop wants.
    ///
    /// # Errors
    /// `closed.object`.
    pub fn tools(&self, format: ToolFormat) -> Result<Vec<Value>> {
        self.runtime.kernel().session_tools(self.id(), format)
    }

    /// One call.
    ///
    /// # Errors
    /// Only what concerns the session: everything else is the outcome.
    pub async fn call(&self, call: Call) -> Result<Outcome> {
        let outcomes = self.dispatch(vec![call]).await?;
        outcomes.into_iter().next().ok_or_else(|| Error::new("internal.panic", "A call has no outcome."))
    }

    /// The same for a thread that may block.
    ///
    /// # Errors
    /// As [`Session::call`].
    pub fn call_blocking(&self, call: Call) -> Result<Outcome> {
        self.runtime.block_on(self.call(call))
    }

    /// The calls of one message; one outcome per call, in call order.
    ///
    /// # Errors
    /// As [`Session::call`].
    pub async fn dispatch(&self, calls: Vec<Call>) -> Result<Vec<Outcome>> {
        self.dispatch_message(None, calls, false, &CancellationToken::new()).await
    }

    /// The calls of a message the host names: the same message again gives back what is stored. `is_final` ends the
    /// turn.
    ///
    /// # Errors
    /// `conflict.call_changed`, and as [`Session::call`].
    pub async fn dispatch_message(
        &self,
        message: Option<MessageId>,
        calls: Vec<Call>,
        is_final: bool,
        cancel: &CancellationToken,
    ) -> Result<Vec<Outcome>> {
        let (kernel, id, cancel) = (self.runtime.kernel().clone(), self.id().clone(), cancel.clone());
        let inputs = calls.into_iter().map(Call::into_input).collect();
        let work = async move { kernel.session_dispatch(&id, message, inputs, is_final, &cancel).await };
        let result = self.runtime.on_threads(work).await?;
        Ok(result.results.into_iter().map(Outcome::new).collect())
    }

    /// Interrupts what runs; says whether something did.
    ///
    /// # Errors
    /// `closed.object`.
    pub async fn interrupt(&self) -> Result<bool> {
        let (kernel, id) = (self.runtime.kernel().clone(), self.id().clone());
        self.runtime.on_threads(async move { kernel.session_interrupt(&id, "user_cancel").await }).await
    }

    /// Stored messages after an ordinal.
    ///
    /// # Errors
    /// The store's own failure.
    pub async fn messages(&self, after: i64, limit: i64) -> Result<Vec<Message>> {
        self.runtime.kernel().session_messages(self.id(), after, limit).await
    }

    /// Uncertain calls that nobody has reconciled.
    ///
    /// # Errors
    /// The store's own failure.
    pub async fn unsettled(&self) -> Result<Vec<Outcome>> {
        let parts = self.runtime.kernel().session_unsettled(self.id()).await?;
        Ok(parts.into_iter().map(Outcome::new).collect())
    }

    /// Records once what became of an uncertain call.
    ///
    /// # Errors
    /// `not_found.object`, `conflict.already_reconciled`.
    pub async fn reconcile(&self, call: &CallId, verdict: Verdict, evidence: &str) -> Result<Outcome> {
        let params = ReconcileParams {
            session_id: self.id().clone(),
            call_id: call.clone(),
            message_id: None,
            verdict,
            evidence: evidence.to_owned(),
        };
        let part = self.runtime.kernel().session_reconcile(params).await?;
        Ok(Outcome::new(part))
    }

    /// Its events from now on.
    ///
    /// # Errors
    /// The store's own failure.
    pub fn events(&self) -> Result<EventStream> {
        self.runtime.events(EventsOf::session(self.id()))
    }

    /// Stops what it does and gives the lease back.
    ///
    /// # Errors
    /// The store's own failure.
    pub async fn close(&self) -> Result<SessionRecord> {
        let (kernel, id) = (self.runtime.kernel().clone(), self.id().clone());
        self.runtime.on_threads(async move { kernel.session_close(&id).await }).await
    }
}
