//! Phase 3, call by call in model order: hooks, the tool's own checks, permission.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use serde_json::{Value, json};

use super::hooks::{self, Decision, HookKind};
use super::pipeline::{DispatchSession, Dispatcher};
use super::read::{ReadCall, Reading};
use super::registry::Registered;
use crate::permission::{CallOrigin, Inquiry};
use crate::store::calls::{CallKey, Turn, rewrite};
use crate::store::{Durability, StoreError, leases};
use crate::text::arguments::Checked;
use crate::tools::contract::{Body, CallContext, Prepared};
use crate::types::{Denial, DenialOrigin, EventDraft, MessageId, ToolError};

use super::execute::catch_panic;

/// A call after preparation.
pub(super) struct PreparedCall {
    pub(super) call: ReadCall,
    pub(super) key: CallKey,
    pub(super) next: Next,
}

/// What is to be done with it.
pub(super) enum Next {
    /// Nothing: it settles with this.
    Settle(ToolError),
    /// Run it.
    Run(Box<Ready>),
}

/// A call that may run.
pub(super) struct Ready {
    pub(super) known: Arc<Registered>,
    pub(super) checked: Checked,
    pub(super) context: CallContext,
    pub(super) body: Body,
}

impl Dispatcher {
    pub(super) async fn prepare(
        &self,
        session: &Arc<DispatchSession>,
        message: &MessageId,
        turn: &Turn,
        mut call: ReadCall,
        cancel: &tokio_util::sync::CancellationToken,
    ) -> PreparedCall {
        let key = CallKey {
            session_id: session.context.id.clone(),
            message_id: message.clone(),
            call_id: call.call_id.clone(),
        };
        let reading = std::mem::replace(&mut call.reading, Reading::Refused(not_started()));
        let next = match reading {
            Reading::Refused(error) => Next::Settle(error),
            Reading::Ready { .. } if cancel.is_cancelled() => Next::Settle(not_started()),
            Reading::Ready { known, checked } => {
                let context = CallContext {
                    session: Arc::clone(&session.context),
                    services: Arc::clone(&self.services),
                    message_id: message.clone(),
                    call_id: call.call_id.clone(),
                    turn_id: turn.turn_id.clone(),
                    cycle_id: turn.cycle_id.clone(),
                    cancel: cancel.child_token(),
                    accept_large_output: checked.accept_large_output,
                };
                match self.clear(session, &mut call, known, checked, context, &key).await {
                    Ok(ready) => Next::Run(Box::new(ready)),
                    Err(error) => Next::Settle(error),
                }
            }
        };
        PreparedCall { call, key, next }
    }

    /// Everything that can still refuse a call.
    async fn clear(
        &self,
        session: &Arc<DispatchSession>,
        call: &mut ReadCall,
        known: Arc<Registered>,
        checked: Checked,
        context: CallContext,
        key: &CallKey,
    ) -> Result<Ready, ToolError> {
        let checked = self.run_hooks(session, call, &known, checked, &context, key).await?;
        if session.context.plan_mode && !known.tool.allowed_in_plan(call.declarations) {
            return Err(planning(&call.name));
        }
        self.hold(session, call, &context).await?;
        let arguments = checked.arguments.clone();
        let (tool, given) = (Arc::clone(&known), context.clone());
        let prepare = AssertUnwindSafe(async move { tool.tool.prepare(given, arguments).await });
        let prepared = tokio::select! {
            prepared = catch_panic(prepare) => prepared.unwrap_or_else(|| Err(defect(&call.name)))?,
            () = context.cancel.cancelled() => return Err(not_started()),
        };
        let Prepared { asks, preview, facts, body } = prepared;
        let inquiry = Inquiry {
            origin: origin(session, call, &context),
            mode: session.mode,
            effect: call.declarations.effect,
            risk: facts.contains_key("risk"),
            layers: Arc::clone(&session.context.layers),
            place: Arc::clone(&session.context.place),
            asks,
            preview,
            arguments: Value::Object(checked.arguments.clone()),
            facts,
            cancel: context.cancel.clone(),
        };
        self.broker.permit(inquiry).await?;
        Ok(Ready { known, checked, context, body })
    }

    async fn run_hooks(
        &self,
        session: &Arc<DispatchSession>,
        call: &mut ReadCall,
        known: &Arc<Registered>,
        mut checked: Checked,
        context: &CallContext,
        key: &CallKey,
    ) -> Result<Checked, ToolError> {
        for id in self.hooks.of(HookKind::BeforeCall, &call.name) {
            let payload = json!({
                "sessionId": session.context.id, "messageId": context.message_id, "callId": call.call_id,
                "tool": call.name, "arguments": checked.arguments, "effect": call.declarations.effect,
                "replay": call.declarations.replay, "concurrency": call.declarations.concurrency,
            });
            let ran = hooks::before(&self.services.host, &id, payload, context.cancel.clone()).await;
            self.note_hook(session, context, &call.call_id, ran.hook, ran.result);
            match ran.decision {
                Decision::Continue => {}
                Decision::Block(error) => return Err(error),
                Decision::Rewrite(arguments) => {
                    checked = self.accept_rewrite(session, call, known, checked, arguments, key).await?;
                }
            }
        }
        Ok(checked)
    }

    /// Arguments that a hook rewrote are checked and classified like any others.
    async fn accept_rewrite(
        &self,
        session: &Arc<DispatchSession>,
        call: &mut ReadCall,
        known: &Arc<Registered>,
        before: Checked,
        arguments: Value,
        key: &CallKey,
    ) -> Result<Checked, ToolError> {
        let mut checked = known.schema.check(&arguments)?;
        let declarations = known.tool.classify(&checked.arguments);
        if declarations.concurrency != call.declarations.concurrency {
            let text = "A hook rewrote the arguments so that the call would overlap differently; that is not possible any more.";
            return Err(ToolError::denied(
                Denial {
                    origin: DenialOrigin::Hook,
                    key: known.tool.permission_key().to_owned(),
                    pattern: None,
                    rule: None,
                    reason: text.to_owned(),
                },
                text,
            ));
        }
        checked.intent = before.intent;
        checked.accept_large_output |= before.accept_large_output;
        call.declarations = declarations;
        let (key, owner) = (key.clone(), self.services.store.owner().clone());
        let session_id = session.context.id.clone();
        let stored = Value::Object(checked.arguments.clone());
        let write = self.services.store.write::<_, StoreError>(Durability::Ordered, move |tx| {
            leases::fence(tx, &session_id, &owner)?;
            rewrite(tx, &key, &stored, declarations)
        });
        write.await?;
        Ok(checked)
    }

    fn note_hook(
        &self,
        session: &DispatchSession,
        context: &CallContext,
        call_id: &crate::types::CallId,
        hook: String,
        result: &'static str,
    ) {
        let data = json!({ "callId": call_id, "hook": hook, "result": result });
        let draft = EventDraft::new("tool.hook", data).in_turn(&context.turn_id, &context.cycle_id);
        let id = session.context.id.clone();
        self.services.store.submit::<StoreError>(Durability::Ordered, move |tx| {
            leases::fence(tx, &id, tx.owner())?;
            tx.emit(&id, draft).map(|_| ())
        });
    }

    /// Holds an identical call that failed a moment ago until its backoff has passed.
    async fn hold(&self, session: &DispatchSession, call: &ReadCall, context: &CallContext) -> Result<(), ToolError> {
        let now = self.services.clock.now();
        let wait = session.failures.hold(&call.name, &call.digest, now, chance(&self.services.ids.next_id()));
        if wait == 0 {
            return Ok(());
        }
        tokio::select! {
            () = self.services.clock.sleep(wait) => Ok(()),
            () = context.cancel.cancelled() => Err(not_started()),
        }
    }
}

/// A number between 0 and 1 from the random part of an id.
fn chance(id: &str) -> f64 {
    let tail = id.bytes().rev().take(4).fold(0u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
    f64::from(tail % 1_000) / 1_000.0
}

fn origin(session: &DispatchSession, call: &ReadCall, context: &CallContext) -> CallOrigin {
    CallOrigin {
        session_id: session.context.id.clone(),
        root_session_id: session.context.root_id.clone(),
        agent: session.context.agent.clone(),
        turn_id: context.turn_id.clone(),
        cycle_id: context.cycle_id.clone(),
        message_id: context.message_id.clone(),
        call_id: call.call_id.clone(),
        tool: call.name.clone(),
        intent: call.intent.clone(),
    }
}

pub(super) fn not_started() -> ToolError {
    ToolError::cancelled(false, "Cancelled before the call was started. Nothing happened.")
}

fn planning(name: &str) -> ToolError {
    let reason = format!("The session is planning; `{name}` would change something. Start Work first.");
    let denial = Denial {
        origin: DenialOrigin::PlanMode,
        key: name.to_owned(),
        pattern: None,
        rule: None,
        reason: reason.clone(),
    };
    ToolError::denied(denial, reason)
}

fn defect(name: &str) -> ToolError {
    ToolError::failed("panic", format!("A defect of the library ended the preparation of `{name}`. Nothing happened."))
}
