//! From a prepared call to its settlement: run the body, present its output, hear the after-call hooks.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::execute::{self, Ended};
use super::hooks::{self, HookKind, Hooks};
use super::prepare::{Next, PreparedCall, Ready};
use super::read::ReadCall;
use crate::output::{Artifacts, Presented, Presenter};
use crate::store::artifacts::{NewArtifact, record};
use crate::store::calls::{CallKey, Settlement};
use crate::store::{StoreError, Tx};
use crate::text::result_text::error_text;
use crate::tools::contract::{Body, CallContext, OnSettle, Output, ToolOutput};
use crate::types::{Effect, ErrorKind, Replay, ToolError};

/// A call on its way to its settlement.
pub(super) struct Settling {
    pub(super) key: CallKey,
    pub(super) name: String,
    pub(super) digest: String,
    pub(super) replay: Replay,
    pub(super) effect: Effect,
    pub(super) settlement: Settlement,
    pub(super) together: Together,
}

/// What is committed with a settlement.
#[derive(Default)]
pub(super) struct Together {
    artifacts: Vec<NewArtifact>,
    change: Option<OnSettle>,
}

impl Together {
    pub(super) fn apply(self, tx: &mut Tx<'_>, key: &CallKey, settlement: &mut Settlement) -> Result<(), StoreError> {
        for artifact in &self.artifacts {
            record(tx, &key.session_id, artifact)?;
        }
        self.change.map_or(Ok(()), |change| change.apply(tx, &mut settlement.metadata))
    }
}

/// What a body needs of the dispatcher once it runs.
#[derive(Clone)]
pub(super) struct RunServices {
    pub(super) services: Arc<crate::tools::contract::Services>,
    pub(super) hooks: Arc<Hooks>,
}

/// Brings one prepared call to its settlement.
pub(super) async fn run_call(run: RunServices, prepared: PreparedCall) -> Settling {
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

/// How long the hooks of an interrupted call may take.
const AFTER_INTERRUPT_MS: u64 = 2_000;

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
    // An interrupted call has ended and its hooks still see it; they are not waited for much longer then.
    let late = CancellationToken::new();
    let give_up = async {
        context.cancel.cancelled().await;
        run.services.clock.sleep(AFTER_INTERRUPT_MS).await;
        late.cancel();
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = hooks::after(&run.services.host, &ids, &payload, &mut settlement.metadata, &late) => {}
        () = give_up => {}
    }
}

/// Names the values that were reduced to a published maximum.
pub(super) fn add_effective(output: &mut ToolOutput, effective: crate::types::JsonMap) {
    if !effective.is_empty() {
        output.metadata.insert("effective".to_owned(), Value::Object(effective));
    }
}

pub(super) fn artifacts(context: &CallContext) -> Artifacts {
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
pub(super) fn present(
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

/// The settlement of a call that has nothing to show but its error.
pub(super) fn failure(name: &str, error: ToolError, replay: Replay) -> Settlement {
    let mut settlement =
        Settlement { title: name.to_owned(), output: error_text(&error, replay), ..Settlement::default() };
    if let ErrorKind::MutationConflict { conflict } = &error.kind {
        settlement.metadata.insert("conflict".to_owned(), (**conflict).clone());
    }
    settlement.error = Some(error);
    settlement
}
