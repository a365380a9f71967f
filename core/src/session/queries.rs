//! What a session answers without changing.

use super::params::ReconcileParams;
use super::tool_list::{ToolFormat, tools};
use crate::dispatch::{CallInput, DispatchResult};
use crate::runtime::Kernel;
use crate::store::calls::{self, Message};
use crate::store::sessions::{self, SessionRecord};
use crate::store::{Durability, StoreError};
use crate::types::{MessageId, Part, Result, SessionId};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Messages a page holds at most.
const PAGE: i64 = 500;

impl Kernel {
    /// The record of a session.
    ///
    /// # Errors
    /// `not_found.object`.
    pub async fn session_get(&self, id: &SessionId) -> Result<SessionRecord> {
        Ok(self.stored_session(id)?.record)
    }

    /// All sessions of the store, or the children of one; oldest first.
    ///
    /// # Errors
    /// `not_found.object` for an unknown parent.
    pub async fn session_list(&self, parent: Option<&SessionId>) -> Result<Vec<SessionRecord>> {
        if let Some(parent) = parent {
            self.stored_session(parent)?;
        }
        let parent = parent.cloned();
        let read = move |connection: &rusqlite::Connection| sessions::list(connection, parent.as_ref());
        Ok(self.services().store.read::<_, StoreError>(read)?)
    }

    /// The tools of the session as a model is shown them.
    ///
    /// # Errors
    /// `not_found.object`, `closed.object`.
    pub fn session_tools(&self, id: &SessionId, format: ToolFormat) -> Result<Vec<Value>> {
        let session = self.driven(id)?;
        Ok(tools(&self.dispatcher().snapshot(&session), format))
    }

    /// Runs the calls of one message.
    ///
    /// # Errors
    /// Only what concerns the whole message; everything else is the result of a call.
    pub async fn session_dispatch(
        &self,
        id: &SessionId,
        message: Option<MessageId>,
        calls: Vec<CallInput>,
        is_final: bool,
        cancel: &CancellationToken,
    ) -> Result<DispatchResult> {
        let session = self.driven(id)?;
        self.dispatcher().dispatch(&session, message, calls, is_final, cancel).await
    }

    /// The messages of a session after an ordinal.
    ///
    /// # Errors
    /// `not_found.object`.
    pub async fn session_messages(&self, id: &SessionId, after: i64, limit: i64) -> Result<Vec<Message>> {
        self.stored_session(id)?;
        let (key, limit) = (id.clone(), limit.clamp(1, PAGE));
        let read = move |connection: &rusqlite::Connection| calls::messages(connection, &key, after.max(0), limit);
        Ok(self.services().store.read::<_, StoreError>(read)?)
    }

    /// The uncertain calls that nobody has reconciled.
    ///
    /// # Errors
    /// `not_found.object`.
    pub async fn session_unsettled(&self, id: &SessionId) -> Result<Vec<Part>> {
        self.stored_session(id)?;
        let key = id.clone();
        let read = move |connection: &rusqlite::Connection| calls::unsettled(connection, &key);
        Ok(self.services().store.read::<_, StoreError>(read)?)
    }

    /// Records once what became of an uncertain call.
    ///
    /// # Errors
    /// `not_found.object`, `conflict.already_reconciled`, `closed.object`.
    pub async fn session_reconcile(&self, params: ReconcileParams) -> Result<Part> {
        self.driven(&params.session_id)?;
        let owner = self.services().store.owner().clone();
        let write = move |tx: &mut crate::store::Tx<'_>| {
            let ReconcileParams { session_id, call_id, message_id, verdict, evidence } = &params;
            calls::reconcile(tx, &owner, session_id, message_id.as_ref(), call_id, *verdict, evidence)
        };
        self.services().store.write(Durability::Full, write).await
    }
}
