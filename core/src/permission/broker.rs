//! One call, one request, one answer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::judge::{Need, Subject, choices, offered_grants};
use super::pending::{Memory, Pending, Verdict};
use super::{Inquiry, RequestLog, denials};
use crate::host::{Host, Port};
use crate::text::rules::Grant;
use crate::types::{
    Clock, Error, IdSource, PermissionId, PermissionRequest, Reply, RequestKind, RequestState, Result, SessionId,
    SettleOrigin, ToolError,
};

/// Decides prepared calls. One per runtime, shared by all sessions.
pub struct Broker {
    host: Arc<dyn Host>,
    log: Arc<dyn RequestLog>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    memory: Mutex<Memory>,
    /// Held while a request is recorded or ended, so that a request is never ended before it is recorded and only one
    /// answer is first.
    journal: tokio::sync::Mutex<()>,
}

/// What the approval port answers. Further fields are the host's business.
#[derive(Deserialize)]
struct PortAnswer {
    reply: Reply,
    message: Option<String>,
}

impl Broker {
    /// A broker without grants and without requests.
    pub fn new(host: Arc<dyn Host>, log: Arc<dyn RequestLog>, clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>) -> Self {
        Self { host, log, clock, ids, memory: Mutex::default(), journal: tokio::sync::Mutex::default() }
    }

    /// Returns once the call may run, or with the refusal. Waits for a person without a time limit.
    pub async fn permit(&self, mut inquiry: Inquiry) -> Result<(), ToolError> {
        let grants = self.grants(&inquiry.origin.session_id);
        let Some(need) = inquiry.judge(&grants)? else { return Ok(()) };
        if inquiry.cancel.is_cancelled() {
            return Err(denials::interrupted());
        }
        if !self.host.installed(Port::Approval) {
            return Err(denials::no_handler(&need));
        }
        let request = self.new_request(&mut inquiry, need.kind);
        let cancel = inquiry.cancel.clone();
        let Some(verdict) = self.raise(inquiry, &request, need).await? else { return Ok(()) };
        let settled = self.wait(&request, verdict, &cancel).await;
        // An approval that came together with the interrupt does not start a call any more.
        if cancel.is_cancelled() { settled.and(Err(denials::interrupted())) } else { settled }
    }

    /// Answers a pending request; the first answer counts. Returns the request as it ended.
    ///
    /// # Errors
    /// `closed.object` for a request that has ended, `not_found.object` for one that never was, `arguments.invalid`
    /// for an answer that it does not offer.
    pub async fn reply(&self, id: &PermissionId, reply: Reply, message: Option<&str>) -> Result<PermissionRequest> {
        let _turn = self.journal.lock().await;
        let offered = self.memory().find(id).map(|pending| pending.request.choices.contains(&reply));
        if offered == Some(false) {
            let message =
                format!("The request {id} does not offer `{}`; answer with one of its `choices`.", reply.name());
            return Err(Error::arguments(message));
        }
        if offered == Some(true) {
            self.answer(id, reply, message).await?;
        }
        match self.log.get(id).await? {
            Some(request) if offered.is_some() => Ok(request),
            Some(_) => Err(closed(id)),
            None => Err(Error::not_found("permission request", id.as_str())),
        }
    }

    /// The requests that wait, oldest first; `time_created` says since when.
    pub fn list(&self, session: Option<&SessionId>) -> Vec<PermissionRequest> {
        self.memory().requests(session)
    }

    /// What a person allowed for a session.
    pub fn grants(&self, session: &SessionId) -> Vec<Grant> {
        self.memory().grants(session)
    }

    /// Drops the grants of a session that was closed, archived or deleted. Its turns have to have ended before.
    pub fn forget_session(&self, session: &SessionId) {
        self.memory().forget(session);
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn new_request(&self, inquiry: &mut Inquiry, kind: RequestKind) -> PermissionRequest {
        let preview = inquiry.preview.take().map_or_else(|| inquiry.arguments.clone(), |make| make());
        let origin = inquiry.origin.clone();
        PermissionRequest {
            id: PermissionId::generate(self.ids.as_ref()),
            session_id: origin.session_id,
            root_session_id: origin.root_session_id,
            agent: origin.agent,
            turn_id: origin.turn_id,
            message_id: origin.message_id,
            call_id: origin.call_id,
            tool: origin.tool,
            intent: origin.intent,
            kind,
            asks: inquiry.asks.clone(),
            choices: choices(kind, &inquiry.asks),
            preview,
            metadata: std::mem::take(&mut inquiry.facts),
            state: RequestState::Pending,
            time_created: self.clock.now(),
            time_settled: None,
        }
    }

    /// Records the request; `None` when a grant that came meanwhile answers it.
    async fn raise(
        &self,
        inquiry: Inquiry,
        request: &PermissionRequest,
        need: Need,
    ) -> Result<Option<oneshot::Receiver<Verdict>>, ToolError> {
        let _turn = self.journal.lock().await;
        let grants = self.grants(&request.session_id);
        if request.kind == RequestKind::Rule && inquiry.rulings().covered(&grants) {
            return Ok(None);
        }
        self.log.asked(request, &inquiry.origin.cycle_id).await.map_err(|error| denials::not_kept(&error))?;
        let (verdict, receiver) = oneshot::channel();
        let Inquiry { asks, layers, place, .. } = inquiry;
        let (request, subject) = (request.clone(), need.subject);
        self.memory().add(Pending { request, asks, subject, layers, place, verdict });
        Ok(Some(receiver))
    }

    /// Whatever ends the request sends the verdict; the port and the interrupt are two of the things that may.
    async fn wait(
        &self,
        request: &PermissionRequest,
        mut verdict: oneshot::Receiver<Verdict>,
        cancel: &CancellationToken,
    ) -> Verdict {
        let _forget = Unlisted { broker: self, id: &request.id };
        let unwanted = CancellationToken::new();
        let _withdraw = unwanted.clone().drop_guard();
        // In a task of its own: it outlives this wait to tell the host that the answer is no longer wanted, and a
        // panic of the host's code stays there.
        let host = self.host.clone();
        let payload = serde_json::to_value(request).unwrap_or_default();
        let mut port = tokio::spawn(async move { host.ask(Port::Approval, payload, unwanted).await });
        tokio::select! {
            biased;
            settled = &mut verdict => return settled.unwrap_or_else(|_| Err(denials::interrupted())),
            () = cancel.cancelled() => self.interrupt(request).await,
            answered = &mut port => {
                let answered = answered.unwrap_or_else(|_| {
                    Err(Error::new("host.failed", "The approval handler ended without an answer."))
                });
                self.port_answered(request, answered).await;
            }
        }
        verdict.await.unwrap_or_else(|_| Err(denials::interrupted()))
    }

    async fn interrupt(&self, request: &PermissionRequest) {
        let _turn = self.journal.lock().await;
        let taken = self.memory().take(&request.id);
        if let Some(pending) = taken {
            let verdict = Err(denials::interrupted());
            // The waiting call hears of a failure through its verdict.
            let _ = self.end(pending, RequestState::Cancelled, SettleOrigin::Interrupt, verdict).await;
        }
    }

    async fn port_answered(&self, request: &PermissionRequest, answered: Result<Value>) {
        let _turn = self.journal.lock().await;
        let Some(subject) = self.memory().find(&request.id).map(|pending| pending.subject.clone()) else { return };
        let refusal = match answered {
            Err(error) => denials::failed_port(&subject, &error),
            Ok(value) => match read_answer(&subject, &request.choices, value) {
                Ok(answer) => {
                    let _ = self.answer(&request.id, answer.reply, answer.message.as_deref()).await;
                    return;
                }
                Err(refusal) => refusal,
            },
        };
        let taken = self.memory().take(&request.id);
        if let Some(pending) = taken {
            let _ = self.end(pending, RequestState::Rejected, SettleOrigin::Reply, Err(refusal)).await;
        }
    }

    /// One person's answer with all it entails. The journal is held.
    async fn answer(&self, id: &PermissionId, reply: Reply, message: Option<&str>) -> Result<()> {
        let taken = self.memory().take(id);
        let Some(pending) = taken else { return Err(closed(id)) };
        match reply {
            Reply::Once => self.end(pending, RequestState::Once, SettleOrigin::Reply, Ok(())).await,
            Reply::Always => self.allow_always(pending).await,
            Reply::Reject => self.reject(pending, message).await,
        }
    }

    async fn allow_always(&self, pending: Pending) -> Result<()> {
        let session = pending.request.session_id.clone();
        let granted = offered_grants(&pending.request.asks);
        self.end(pending, RequestState::Always, SettleOrigin::Reply, Ok(())).await?;
        let covered = {
            let mut memory = self.memory();
            memory.grant(&session, granted);
            memory.take_covered(&session)
        };
        let mut result = Ok(());
        for other in covered {
            result = result.and(self.end(other, RequestState::Always, SettleOrigin::Grant, Ok(())).await);
        }
        result
    }

    async fn reject(&self, pending: Pending, message: Option<&str>) -> Result<()> {
        let others = self.memory().take_session(&pending.request.session_id);
        let refusal = denials::by_person(&pending.subject, message);
        let mut result = self.end(pending, RequestState::Rejected, SettleOrigin::Reply, Err(refusal)).await;
        for other in others {
            let refusal = denials::with_another(&other.subject);
            let ended = self.end(other, RequestState::Rejected, SettleOrigin::RejectAll, Err(refusal)).await;
            result = result.and(ended);
        }
        result
    }

    /// Records the end, then lets the call go on. What was not recorded does not run.
    async fn end(&self, pending: Pending, state: RequestState, origin: SettleOrigin, verdict: Verdict) -> Result<()> {
        let recorded = self.log.settled(&pending.request.id, state, origin, self.clock.now()).await;
        let verdict = match &recorded {
            Err(error) if verdict.is_ok() => Err(denials::not_kept(error)),
            _ => verdict,
        };
        // The call may have been given up; then nobody listens.
        let _ = pending.verdict.send(verdict);
        recorded
    }
}

/// Takes a request off the list when its call is given up from outside.
struct Unlisted<'a> {
    broker: &'a Broker,
    id: &'a PermissionId,
}

impl Drop for Unlisted<'_> {
    fn drop(&mut self) {
        self.broker.memory().take(self.id);
    }
}

pub(super) fn closed(id: &PermissionId) -> Error {
    Error::new("closed.object", format!("The request {id} has ended; one reply counts.")).with("id", id.as_str())
}

fn read_answer(subject: &Subject, choices: &[Reply], value: Value) -> Result<PortAnswer, ToolError> {
    let found = shown(&value);
    let answer: PortAnswer =
        serde_json::from_value(value).map_err(|_| denials::bad_answer(subject, choices, &found))?;
    if choices.contains(&answer.reply) {
        return Ok(answer);
    }
    let found = format!("it answered `{}`, which was not offered", answer.reply.name());
    Err(denials::bad_answer(subject, choices, &found))
}

/// The wrong answer, short enough for a message.
fn shown(value: &Value) -> String {
    const MOST: usize = 80;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("it answered {}…", text.get(..at).unwrap_or_default()),
        None => format!("it answered {text}"),
    }
}

#[cfg(test)]
#[path = "broker_tests.rs"]
mod tests;
