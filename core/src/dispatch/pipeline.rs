//! The pipeline as a whole: one message in, one result per call out, in call order.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;

use super::backoff::Failures;
use super::hooks::Hooks;
use super::read::{ReadCall, group, read};
use super::registry::Registry;
use super::surface::{Conditions, Contract, Profile, Snapshot};
use crate::permission::Broker;
use crate::store::calls::{Admission, Admitted, Turn, admit, end_turn, parts};
use crate::store::{Durability, StoreError};
use crate::text::rules::tool_hidden;
use crate::tools::contract::{Services, SessionContext};
use crate::types::{CycleId, Error, MessageId, Part, PermissionMode, TurnId};

/// One call of a message as a host or a model gives it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CallInput {
    /// Its id inside the message; `call_1`, `call_2`, ... when it has none.
    #[serde(default)]
    pub call_id: Option<String>,
    /// The tool.
    pub name: String,
    /// An object, or a text that holds one.
    #[serde(default)]
    pub arguments: Value,
}

/// What a dispatch answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DispatchResult {
    /// The message the calls belong to.
    pub message_id: MessageId,
    /// The turn; `null` when an empty dispatch ended none.
    pub turn_id: Option<TurnId>,
    /// The work cycle.
    pub cycle_id: Option<CycleId>,
    /// The step inside the turn.
    pub step: u32,
    /// One result per call, in call order.
    pub results: Vec<Part>,
}

/// What the dispatcher knows of an open session.
pub struct DispatchSession {
    /// What tools see of it.
    pub context: Arc<SessionContext>,
    /// The effective permission mode.
    pub mode: PermissionMode,
    /// Its tool composition.
    pub profile: Profile,
    /// Its agent.
    pub contract: Contract,
    /// Failures that may pass.
    pub failures: Failures,
    /// Permits for overlapping calls; an exclusive call takes all of them, which makes it a barrier on both sides.
    pub(super) gate: Arc<Semaphore>,
    pub(super) bound: u32,
    presences: Mutex<Presences>,
    messages: Mutex<HashMap<MessageId, Arc<tokio::sync::Mutex<()>>>>,
    left: Notify,
}

/// The dispatches that are under way.
#[derive(Default)]
struct Presences {
    tokens: HashMap<u64, CancellationToken>,
    next: u64,
    closed: bool,
}

impl DispatchSession {
    /// An idle session.
    pub fn new(context: Arc<SessionContext>, mode: PermissionMode, profile: Profile, contract: Contract) -> Self {
        let bound = context.config.concurrency.tool_calls.clamp(1, 64);
        Self {
            context,
            mode,
            profile,
            contract,
            failures: Failures::default(),
            gate: Arc::new(Semaphore::new(bound)),
            bound: u32::try_from(bound).unwrap_or(1),
            presences: Mutex::default(),
            messages: Mutex::new(HashMap::new()),
            left: Notify::new(),
        }
    }

    fn presences(&self) -> std::sync::MutexGuard<'_, Presences> {
        self.presences.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cancels every dispatch that is under way; says whether there was one.
    pub fn interrupt(&self) -> bool {
        let presences = self.presences();
        presences.tokens.values().for_each(CancellationToken::cancel);
        !presences.tokens.is_empty()
    }

    /// The same, and nothing starts any more: once it is idle it stays so.
    pub fn close(&self) {
        self.presences().closed = true;
        self.interrupt();
    }

    /// Ends when no dispatch is under way.
    pub async fn idle(&self) {
        loop {
            let changed = self.left.notified();
            if self.presences().tokens.is_empty() {
                return;
            }
            changed.await;
        }
    }

    /// Interrupts until no dispatch is under way, those that begin meanwhile included.
    pub async fn stop(&self) {
        loop {
            let changed = self.left.notified();
            if !self.interrupt() {
                return;
            }
            changed.await;
        }
    }

    fn enter(self: &Arc<Self>, cancel: &CancellationToken) -> Result<Presence, Error> {
        let mut presences = self.presences();
        if presences.closed {
            let text = format!("The session {} is being closed. Open it again with `session.open`.", self.context.id);
            return Err(Error::new("closed.object", text).with("sessionId", self.context.id.as_str()));
        }
        let token = cancel.child_token();
        presences.next += 1;
        let number = presences.next;
        presences.tokens.insert(number, token.clone());
        Ok(Presence { session: Arc::clone(self), number, token })
    }

    /// Dispatches of one message follow each other, so that a repeated one finds the results of the first.
    fn lane(&self, message: &MessageId) -> Arc<tokio::sync::Mutex<()>> {
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        messages.retain(|_, lane| Arc::strong_count(lane) > 1);
        Arc::clone(messages.entry(message.clone()).or_default())
    }
}

/// A dispatch that is under way; forgotten when it ends, however it ends.
struct Presence {
    session: Arc<DispatchSession>,
    number: u64,
    token: CancellationToken,
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.session.presences().tokens.remove(&self.number);
        self.session.left.notify_waiters();
    }
}

/// The dispatcher of a runtime.
pub struct Dispatcher {
    /// The registered tools.
    pub registry: Registry,
    /// The registered hooks.
    pub hooks: Arc<Hooks>,
    /// The ask broker.
    pub broker: Broker,
    /// The rooms tools stand on.
    pub services: Arc<Services>,
}

impl Dispatcher {
    /// The surface of a session as it is now.
    pub fn snapshot(&self, session: &DispatchSession) -> Snapshot {
        let layers = Arc::clone(&session.context.layers);
        Snapshot::lock(
            &self.registry,
            &Conditions {
                session: &session.context,
                profile: &session.profile,
                contract: &session.contract,
                services: &self.services,
                hidden: &move |key| tool_hidden(&layers, key),
            },
        )
    }

    /// Runs the calls of one message.
    ///
    /// # Errors
    /// Only what concerns the whole message: a lost lease, a changed message, a failing store. Everything else is the
    /// result of a call.
    pub async fn dispatch(
        &self,
        session: &Arc<DispatchSession>,
        message: Option<MessageId>,
        calls: Vec<CallInput>,
        is_final: bool,
        cancel: &CancellationToken,
    ) -> Result<DispatchResult, Error> {
        check_ids(message.as_ref(), &calls)?;
        let presence = session.enter(cancel)?;
        let message = message.unwrap_or_else(|| MessageId::generate(self.services.ids.as_ref()));
        let lane = session.lane(&message);
        let _turn = lane.lock().await;
        let mut result = DispatchResult {
            message_id: message.clone(),
            turn_id: None,
            cycle_id: None,
            step: 0,
            results: Vec::with_capacity(calls.len()),
        };
        if !calls.is_empty() {
            let snapshot = self.snapshot(session);
            let read: Vec<ReadCall> =
                calls.into_iter().enumerate().map(|(position, input)| read(&snapshot, position, input)).collect();
            let (turn, results) = self.run(session, &message, read, &presence.token).await?;
            result.turn_id = Some(turn.turn_id);
            result.cycle_id = Some(turn.cycle_id);
            result.step = turn.step;
            result.results = results;
        }
        if is_final && let Some(turn) = self.finish(session).await? {
            result.turn_id = Some(turn.turn_id);
            result.cycle_id = Some(turn.cycle_id);
            result.step = turn.step;
        }
        Ok(result)
    }

    async fn run(
        &self,
        session: &Arc<DispatchSession>,
        message: &MessageId,
        read: Vec<ReadCall>,
        cancel: &CancellationToken,
    ) -> Result<(Turn, Vec<Part>), Error> {
        let admission = self.admit(session, message, &read).await?;
        let turn = admission.turn;
        let mut results: Vec<Option<Part>> = Vec::with_capacity(read.len());
        let mut places = HashMap::new();
        let mut fresh = Vec::with_capacity(read.len());
        for (position, (call, admitted)) in read.into_iter().zip(admission.calls).enumerate() {
            match admitted {
                Admitted::Known(part) => results.push(Some(*part)),
                Admitted::New => {
                    places.insert(call.call_id.clone(), position);
                    fresh.push(call);
                    results.push(None);
                }
            }
        }
        for calls in group(fresh) {
            for part in self.run_group(session, message, &turn, calls, cancel).await? {
                if let Some(slot) = places.get(&part.call_id).and_then(|place| results.get_mut(*place)) {
                    *slot = Some(part);
                }
            }
        }
        Ok((turn, results.into_iter().flatten().collect()))
    }

    async fn admit(
        &self,
        session: &DispatchSession,
        message: &MessageId,
        read: &[ReadCall],
    ) -> Result<Admission, Error> {
        let records: Vec<_> = read.iter().map(ReadCall::record).collect();
        let owner = self.services.store.owner().clone();
        let (session, message) = (session.context.id.clone(), message.clone());
        let write = move |tx: &mut crate::store::Tx<'_>| admit(tx, &owner, &session, &message, &records);
        self.services.store.write(Durability::Ordered, write).await
    }

    /// Ends the open turn and runs the driver. Without work state there is nothing that could be left open.
    async fn finish(&self, session: &DispatchSession) -> Result<Option<Turn>, Error> {
        let (id, owner) = (session.context.id.clone(), self.services.store.owner().clone());
        let facts = serde_json::json!({ "decision": "durable_work_settled" });
        let write = self
            .services
            .store
            .write::<_, StoreError>(Durability::Ordered, move |tx| end_turn(tx, &owner, &id, "turn.completed", facts));
        Ok(write.await?)
    }

    /// The stored results of a message.
    ///
    /// # Errors
    /// The store's own failure.
    pub fn stored(&self, session: &DispatchSession, message: &MessageId) -> Result<Vec<Part>, Error> {
        let (session, message) = (session.context.id.clone(), message.clone());
        Ok(self.services.store.read::<_, StoreError>(move |connection| parts(connection, &session, &message))?)
    }
}

/// Call ids have to tell the calls of a message apart, also from those that are named by their position.
fn check_ids(message: Option<&MessageId>, calls: &[CallInput]) -> Result<(), Error> {
    let fits = |id: &str| !id.is_empty() && id.len() <= 256;
    if message.is_some_and(|message| !fits(message.as_str())) {
        return Err(Error::arguments("A message id has between 1 and 256 bytes.").with("field", "messageId"));
    }
    let mut seen = std::collections::HashSet::new();
    for (position, call) in calls.iter().enumerate() {
        let id = call_id(position, call);
        if !fits(&id) {
            return Err(Error::arguments("A call id has between 1 and 256 bytes.").with("field", "callId"));
        }
        if let Some(id) = seen.replace(id) {
            return Err(Error::arguments(format!("Two calls of the message have the id {id}.")).with("callId", id));
        }
    }
    Ok(())
}

/// The id of a call; one that has none goes by its position.
pub(super) fn call_id(position: usize, call: &CallInput) -> String {
    call.call_id.clone().unwrap_or_else(|| format!("call_{}", position + 1))
}
