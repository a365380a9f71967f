//! Phases 3 to 6 for one group: prepare in order, stamp together, run under the bound, settle in call order.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::pipeline::{DispatchSession, Dispatcher};
use super::prepare::{Next, PreparedCall, Ready, not_started};
use super::read::{ReadCall, is_exclusive};
use super::settling::{RunServices, Settling, Together, add_effective, artifacts, failure, present, run_call};
use crate::store::calls::{CallKey, Turn, settle, stamp};
use crate::store::{Durability, StoreError, Tx, leases};
use crate::tools::contract::{Body, CallContext, StoreBody, ToolOutput};
use crate::types::{Effect, Error, MessageId, Part, ToolError};

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
                settling.push(run_call(self.services_for_run(), call).await);
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
                run_call(services, call).await
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
