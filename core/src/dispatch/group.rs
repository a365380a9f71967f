//! Phases 3 to 6 for one group: prepare in order, stamp together, run under the bound, settle in call order.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::execute::{self, Ended};
use super::hooks::{self, HookKind, Hooks};
use super::pipeline::{DispatchSession, Dispatcher};
use super::prepare::{Next, PreparedCall, Ready, not_started};
use super::read::{ReadCall, is_exclusive};
use crate::output::{Artifacts, Presented, Presenter};
use crate::store::artifacts::{NewArtifact, record};
use crate::store::calls::{CallKey, Settlement, Turn, settle, stamp};
use crate::store::{Durability, StoreError, Tx, leases};
use crate::text::result_text::error_text;
use crate::tools::contract::{Body, CallContext, OnSettle, Output, StoreBody, ToolOutput};
use crate::types::{Effect, Error, ErrorKind, MessageId, Part, Replay, ToolError};

/// A call on its way to its settlement.
struct Settling {
    key: CallKey,
    name: String,
    digest: String,
    replay: Replay,
    effect: Effect,
    settlement: Settlement,
    together: Together,
}

/// What is committed with a settlement.
#[derive(Default)]
struct Together {
    artifacts: Vec<NewArtifact>,
    change: Option<OnSettle>,
}

impl Together {
    fn apply(self, tx: &mut Tx<'_>, key: &CallKey, settlement: &mut Settlement) -> Result<(), StoreError> {
        for artifact in &self.artifacts {
            record(tx, &key.session_id, artifact)?;
        }
        self.change.map_or(Ok(()), |change| change.apply(tx, &mut settlement.metadata))
    }
}

impl Dispatcher {
    pub(super) async fn run_group(
        &self,
        session: &Arc<DispatchSession>,
        message: &MessageId,
        turn: &Turn,
        calls: Vec<ReadCall>,
        cancel: &CancellationToken,
    ) -> Result<Vec<Part>, Error> {
        let exclusive = calls.iter().all(is_exclusive);
        let mut prepared = Vec::with_capacity(calls.len());
        for call in calls {
            prepared.push(self.prepare(session, message, turn, call, cancel).await);
        }
        let permit = self.pass_gate(session, exclusive, &mut prepared, cancel).await;
        if let Some(parts) = self.run_in_store(session, &mut prepared).await? {
            drop(permit);
            return Ok(parts);
        }
        self.stamp(session, running(&prepared)).await?;
        let settling = self.execute(session, prepared, permit, exclusive).await;
        self.settle(session, settling).await
    }

    /// Waits for the calls that must not overlap. An exclusive call takes every permit, and the semaphore is fair, so
    /// nothing later starts before it.
    async fn pass_gate(
        &self,
        session: &DispatchSession,
        exclusive: bool,
        prepared: &mut [PreparedCall],
        cancel: &CancellationToken,
    ) -> Option<OwnedSemaphorePermit> {
        if !prepared.iter().any(|call| matches!(call.next, Next::Run(_))) {
            return None;
        }
        let wanted = if exclusive { session.bound } else { 1 };
        let permit = tokio::select! {
            permit = Arc::clone(&session.gate).acquire_many_owned(wanted) => permit.ok(),
            () = cancel.cancelled() => None,
        };
        if permit.is_none() {
            for call in prepared {
                if matches!(call.next, Next::Run(_)) {
                    call.next = Next::Settle(not_started());
                }
            }
        }
        permit
    }

    /// Commits the stamp of every call that will run, before any body starts. A group that only reads waits for no
    /// disk: nothing could happen twice.
    async fn stamp(&self, session: &DispatchSession, (keys, reads): (Vec<CallKey>, bool)) -> Result<(), Error> {
        if keys.is_empty() {
            return Ok(());
        }
        let (id, owner) = (session.context.id.clone(), self.services.store.owner().clone());
        let write = move |tx: &mut Tx<'_>| -> Result<(), StoreError> {
            leases::fence(tx, &id, &owner)?;
            keys.iter().try_for_each(|key| stamp(tx, key).map(|_| ()))
        };
        let durability = if reads { Durability::Ordered } else { Durability::Full };
        Ok(self.services.store.write(durability, write).await?)
    }

    async fn execute(
        &self,
        session: &Arc<DispatchSession>,
        prepared: Vec<PreparedCall>,
        permit: Option<OwnedSemaphorePermit>,
        exclusive: bool,
    ) -> Vec<Settling> {
        let alone = exclusive || prepared.len() == 1;
        if alone {
            let mut settling = Vec::with_capacity(prepared.len());
            for call in prepared {
                settling.push(run_call(self.services_for_run(), session, call).await);
            }
            drop(permit);
            return settling;
        }
        // The group's own permit becomes one of the permits its calls share.
        drop(permit);
        let mut running = Vec::with_capacity(prepared.len());
        for call in prepared {
            let (services, session) = (self.services_for_run(), Arc::clone(session));
            running.push(tokio::spawn(async move {
                let _permit = match call.next {
                    Next::Run(_) => Arc::clone(&session.gate).acquire_owned().await.ok(),
                    Next::Settle(_) => None,
                };
                run_call(services, &session, call).await
            }));
        }
        let mut settling = Vec::with_capacity(running.len());
        for handle in running {
            // Bodies catch their own panics; a task that is gone all the same has no call left to settle here, and
            // recovery settles it.
            if let Ok(call) = handle.await {
                settling.push(call);
            }
        }
        settling
    }

    fn services_for_run(&self) -> RunServices {
        RunServices { services: Arc::clone(&self.services), hooks: Arc::clone(&self.hooks) }
    }

    /// A body that only writes to the store settles in the transaction of its effect.
    async fn run_in_store(
        &self,
        session: &Arc<DispatchSession>,
        prepared: &mut Vec<PreparedCall>,
    ) -> Result<Option<Vec<Part>>, Error> {
        let is_store =
            |call: &PreparedCall| matches!(&call.next, Next::Run(ready) if matches!(ready.body, Body::Store(_)));
        if prepared.len() != 1 || !prepared.iter().all(is_store) {
            return Ok(None);
        }
        let Some(PreparedCall { call, key, next: Next::Run(ready) }) = prepared.pop() else { return Ok(None) };
        let Ready { context, body: Body::Store(body), checked, .. } = *ready else { return Ok(None) };
        let part = self.transact(session, call, key, body, &context, checked.effective).await?;
        Ok(Some(vec![part]))
    }

    async fn transact(
        &self,
        session: &Arc<DispatchSession>,
        call: ReadCall,
        key: CallKey,
        body: StoreBody,
        context: &CallContext,
        effective: crate::types::JsonMap,
    ) -> Result<Part, Error> {
        let (id, owner) = (session.context.id.clone(), self.services.store.owner().clone());
        let artifacts = artifacts(context);
        let context = context.clone();
        let (name, replay) = (call.name.clone(), call.declarations.replay);
        let failed_key = key.clone();
        let write = move |tx: &mut Tx<'_>| -> Result<Part, Given> {
            leases::fence(tx, &id, &owner)?;
            stamp(tx, &key)?;
            let started = tx.now();
            let mut output = match run_body(body, tx, &name) {
                Ok(output) => output,
                // What the body had written by then has to go: the transaction is given up.
                Err(error) => return Err(Given::Up(error)),
            };
            add_effective(&mut output, effective);
            let (mut settlement, together) = present(output, &context, &artifacts, &name, replay);
            settlement.time_started = Some(started);
            together.apply(tx, &key, &mut settlement)?;
            Ok(settle(tx, &key, &settlement)?)
        };
        match self.services.store.write(Durability::Full, write).await {
            Ok(part) => Ok(part),
            Err(Given::Up(error)) => self.refuse(session, failed_key, &call, error).await,
            Err(Given::Failed(error)) => Err(error.into()),
        }
    }

    async fn refuse(
        &self,
        session: &Arc<DispatchSession>,
        key: CallKey,
        call: &ReadCall,
        error: ToolError,
    ) -> Result<Part, Error> {
        let settling = Settling {
            key,
            name: call.name.clone(),
            digest: call.digest.clone(),
            replay: call.declarations.replay,
            effect: call.declarations.effect,
            settlement: failure(&call.name, error, call.declarations.replay),
            together: Together::default(),
        };
        let parts = self.settle(session, vec![settling]).await?;
        parts.into_iter().next().ok_or_else(|| Error::new("internal.panic", "A settled call has no record."))
    }

    /// Stores the results of the group in call order, whichever finished first.
    async fn settle(&self, session: &DispatchSession, settling: Vec<Settling>) -> Result<Vec<Part>, Error> {
        let now = self.services.clock.now();
        for call in &settling {
            session.failures.note(&call.name, &call.digest, call.replay, call.settlement.error.as_ref(), now);
        }
        let nothing_ran = |call: &Settling| {
            call.effect == Effect::ReadOnly
                || call.settlement.error.as_ref().is_some_and(|error| error.kind.block_kind().is_some())
        };
        let durability = if settling.iter().all(nothing_ran) { Durability::Ordered } else { Durability::Full };
        let (id, owner) = (session.context.id.clone(), self.services.store.owner().clone());
        let write = move |tx: &mut Tx<'_>| -> Result<Vec<Part>, StoreError> {
            leases::fence(tx, &id, &owner)?;
            let mut parts = Vec::with_capacity(settling.len());
            for mut call in settling {
                call.together.apply(tx, &call.key, &mut call.settlement)?;
                parts.push(settle(tx, &call.key, &call.settlement)?);
            }
            Ok(parts)
        };
        Ok(self.services.store.write(durability, write).await?)
    }
}

/// The calls that will run, and whether all of them only read.
fn running(prepared: &[PreparedCall]) -> (Vec<CallKey>, bool) {
    let running = || prepared.iter().filter(|call| matches!(call.next, Next::Run(_)));
    let reads = running().all(|call| call.call.declarations.effect == Effect::ReadOnly);
    (running().map(|call| call.key.clone()).collect(), reads)
}

/// A panic of the body is a refusal: its transaction is given up like any other.
fn run_body(body: StoreBody, tx: &mut Tx<'_>, name: &str) -> Result<ToolOutput, ToolError> {
    catch_unwind(AssertUnwindSafe(|| body(tx))).unwrap_or_else(|_| {
        let text = format!("A defect of the library ended `{name}`. Nothing of what it did was kept.");
        Err(ToolError::failed("panic", text))
    })
}

/// Why the transaction of a store body was given up.
enum Given {
    /// The body refused: nothing it wrote stays.
    Up(ToolError),
    /// The store failed.
    Failed(StoreError),
}

impl From<StoreError> for Given {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

/// What a body needs of the dispatcher once it runs.
#[derive(Clone)]
struct RunServices {
    services: Arc<crate::tools::contract::Services>,
    hooks: Arc<Hooks>,
}

async fn run_call(run: RunServices, _session: &Arc<DispatchSession>, prepared: PreparedCall) -> Settling {
    let PreparedCall { call, key, next } = prepared;
    let (replay, effect) = (call.declarations.replay, call.declarations.effect);
    let (settlement, together) = match next {
        Next::Settle(error) => (failure(&call.name, error, replay), Together::default()),
        Next::Run(ready) => run_ready(&run, &call, *ready).await,
    };
    Settling { key, name: call.name, digest: call.digest, replay, effect, settlement, together }
}

async fn run_ready(run: &RunServices, call: &ReadCall, ready: Ready) -> (Settlement, Together) {
    let Ready { known, checked, context, body } = ready;
    let replay = call.declarations.replay;
    let Body::Run(body) = body else {
        // Store bodies are exclusive tools and were settled in their own transaction.
        let error = ToolError::failed("panic", format!("`{}` cannot run beside other calls.", call.name));
        return (failure(&call.name, error, replay), Together::default());
    };
    let grace = known.tool.interrupt_grace();
    let Ended { result, started } = execute::run(body, &context, &call.name, call.declarations.effect, grace).await;
    let (mut settlement, saved) = match result {
        Ok(mut output) => {
            add_effective(&mut output, checked.effective);
            present_off_thread(output, &context, &call.name, replay).await
        }
        Err(error) => (failure(&call.name, error, replay), Together::default()),
    };
    settlement.time_started = Some(started);
    after_hooks(run, call, &context, &mut settlement).await;
    (settlement, saved)
}

async fn after_hooks(run: &RunServices, call: &ReadCall, context: &CallContext, settlement: &mut Settlement) {
    let ids = run.hooks.of(HookKind::AfterCall, &call.name);
    if ids.is_empty() {
        return;
    }
    let payload = json!({
        "sessionId": context.session.id, "messageId": context.message_id, "callId": call.call_id, "tool": call.name,
        "arguments": call.arguments, "outcome": settlement.outcome(), "title": settlement.title,
        "output": settlement.output, "metadata": settlement.metadata,
    });
    // An interrupted call has ended; its hooks still see it.
    let cancel = CancellationToken::new();
    hooks::after(&run.services.host, &ids, &payload, &mut settlement.metadata, &cancel).await;
}

fn add_effective(output: &mut ToolOutput, effective: crate::types::JsonMap) {
    if !effective.is_empty() {
        output.metadata.insert("effective".to_owned(), Value::Object(effective));
    }
}

fn artifacts(context: &CallContext) -> Artifacts {
    Artifacts::new(context.session.worktree.clone(), Arc::clone(&context.services.ids))
}

/// Output above this is presented on a thread that may wait for the disk.
const INLINE: usize = 32 << 10;

async fn present_off_thread(
    output: ToolOutput,
    context: &CallContext,
    name: &str,
    replay: Replay,
) -> (Settlement, Together) {
    let artifacts = artifacts(context);
    let small = match &output.output {
        Output::Text(text) | Output::Window(text) => text.len() <= INLINE,
        Output::Captured(captured) => captured.bytes <= INLINE as u64,
    };
    if small {
        return present(output, context, &artifacts, name, replay);
    }
    let (context, owned) = (context.clone(), name.to_owned());
    let work = move || present(output, &context, &artifacts, &owned, replay);
    match tokio::task::spawn_blocking(work).await {
        Ok(presented) => presented,
        Err(_) => {
            let error = ToolError::failed("panic", "A defect of the library lost the output of this call.");
            (failure(name, error, replay), Together::default())
        }
    }
}

/// Applies the output limits and, for a call that did not end well, puts its typed first line in front.
fn present(
    output: ToolOutput,
    context: &CallContext,
    artifacts: &Artifacts,
    name: &str,
    replay: Replay,
) -> (Settlement, Together) {
    let presenter = Presenter {
        limits: context.session.config.tool_output,
        artifacts,
        session: &context.session.id,
        accept_large: context.accept_large_output,
    };
    let lead = match &output.error {
        Some(error) if output.lead.is_empty() => error_text(error, replay),
        _ => output.lead,
    };
    let Presented { text, metadata: added, artifacts: saved } = presenter.present(&lead, output.output, &output.trail);
    let mut metadata = output.metadata;
    metadata.extend(added);
    let settlement = Settlement {
        title: if output.title.is_empty() { name.to_owned() } else { output.title },
        output: text,
        metadata,
        attachments: output.attachments,
        continuation: output.continuation,
        claims: output.claims,
        error: output.error,
        time_started: None,
    };
    (settlement, Together { artifacts: saved, change: output.on_settle })
}

fn failure(name: &str, error: ToolError, replay: Replay) -> Settlement {
    let mut settlement =
        Settlement { title: name.to_owned(), output: error_text(&error, replay), ..Settlement::default() };
    if let ErrorKind::MutationConflict { conflict } = &error.kind {
        settlement.metadata.insert("conflict".to_owned(), (**conflict).clone());
    }
    settlement.error = Some(error);
    settlement
}
