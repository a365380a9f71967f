//! Phase 5: running one body, with an end in every case.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use serde_json::json;

use crate::tools::contract::{CallContext, RunBody, ToolOutput};
use crate::types::{Effect, Millis, ToolError};

/// How a body ended.
pub(super) struct Ended {
    pub(super) result: Result<ToolOutput, ToolError>,
    pub(super) started: Millis,
}

/// Runs a body. An interrupt gives it `grace` to settle by itself; then it is dropped.
pub(super) async fn run(body: RunBody, context: &CallContext, name: &str, effect: Effect, grace: Duration) -> Ended {
    let started = context.services.clock.now();
    let running = catch_panic(AssertUnwindSafe(async move { body().await }));
    tokio::pin!(running);
    let result = tokio::select! {
        result = &mut running => {
            // A body that saw the interrupt at once ends before this side has seen it.
            if context.cancel.is_cancelled() {
                note(context, "cooperative", result.as_ref());
            }
            result
        }
        () = context.cancel.cancelled() => {
            let millis = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
            tokio::select! {
                result = &mut running => {
                    note(context, "cooperative", result.as_ref());
                    result
                }
                () = context.services.clock.sleep(millis) => {
                    let forced = Some(Err(forced(name, effect)));
                    note(context, "forced", forced.as_ref());
                    forced
                }
            }
        }
    };
    Ended { result: result.unwrap_or_else(|| Err(defect(name, effect))), started }
}

fn note(context: &CallContext, mode: &'static str, result: Option<&Result<ToolOutput, ToolError>>) {
    let error = match result {
        Some(Ok(output)) => output.error.as_ref(),
        Some(Err(error)) => Some(error),
        None => None,
    };
    let uncertain = error.is_some_and(|error| error.outcome() == crate::types::Outcome::Uncertain);
    let data = json!({ "callId": context.call_id, "mode": mode, "uncertain": uncertain });
    let draft =
        crate::types::EventDraft::new("tool.dispatch.interrupted", data).in_turn(&context.turn_id, &context.cycle_id);
    let session = context.session.id.clone();
    context.services.store.submit::<crate::store::StoreError>(crate::store::Durability::Ordered, move |tx| {
        crate::store::leases::fence(tx, &session, tx.owner())?;
        tx.emit(&session, draft).map(|_| ())
    });
}

fn doubtful(effect: Effect) -> bool {
    matches!(effect, Effect::SideEffecting | Effect::Delegating)
}

fn forced(name: &str, effect: Effect) -> ToolError {
    if effect == Effect::ReadOnly {
        return ToolError::cancelled(true, format!("`{name}` was cancelled while it was reading. It changed nothing."));
    }
    let text = format!("`{name}` was cancelled and did not end by itself. What it had changed by then is unknown.");
    ToolError::uncertain("forced", Vec::new(), text)
}

fn defect(name: &str, effect: Effect) -> ToolError {
    let text = format!("A defect of the library ended `{name}`.");
    if doubtful(effect) { ToolError::uncertain("panic", Vec::new(), text) } else { ToolError::failed("panic", text) }
}

/// Runs a future; `None` when it panicked.
pub(super) fn catch_panic<F: Future>(future: AssertUnwindSafe<F>) -> impl Future<Output = Option<F::Output>> {
    CatchPanic { future: Some(Box::pin(future.0)) }
}

struct CatchPanic<F> {
    future: Option<Pin<Box<F>>>,
}

impl<F> CatchPanic<F> {
    /// Drops the future; what its parts do when they are dropped ends here too.
    fn give_up(&mut self) {
        let future = self.future.take();
        let _ = catch_unwind(AssertUnwindSafe(|| drop(future)));
    }
}

impl<F> Drop for CatchPanic<F> {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl<F: Future> Future for CatchPanic<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = self.future.as_mut() else { return Poll::Ready(None) };
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(output)) => {
                self.give_up();
                Poll::Ready(Some(output))
            }
            Err(_) => {
                // Dropping what panicked may panic again; leaking it cannot.
                std::mem::forget(self.future.take());
                Poll::Ready(None)
            }
        }
    }
}
