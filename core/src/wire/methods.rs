//! The method table: a name, typed parameters, the API below, a typed result. It decides nothing.

use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::Inner;
use super::params::*;
use crate::config;
use crate::dispatch::registry::ToolInfo;
use crate::dispatch::{DispatchResult, HookSpec};
use crate::host::BoxFuture;
use crate::output;
use crate::question::{PublishParams, Waited};
use crate::runtime::Waiting;
use crate::runtime::hub::{Filter, Outlet};
use crate::session::{CreateParams, ReconcileParams};
use crate::store::calls::Message;
use crate::store::questions::{Command, CommandReceipt, Question};
use crate::store::sessions::SessionRecord;
use crate::store::verification::{self, VerificationReceipt};
use crate::store::{StoreError, events};
use crate::text::nearest::nearest;
use crate::text::rules::Grant;
use crate::tools::host_tool::HostToolSpec;
use crate::types::{Error, Event, Part, PermissionRequest, Result};

type Running = BoxFuture<'static, Result<String>>;
type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// One row of the table.
pub(super) struct Method {
    pub(super) name: &'static str,
    pub(super) params: SchemaOf,
    pub(super) result: SchemaOf,
    run: fn(Arc<Inner>, Value, CancellationToken) -> Result<Running>,
}

/// Starts a method.
pub(super) fn run(inner: &Arc<Inner>, name: &str, params: Value, cancel: CancellationToken) -> Result<Running> {
    let Some(method) = METHODS.iter().find(|method| method.name == name) else {
        let near = nearest(name, METHODS.iter().map(|method| method.name));
        let hint = near.map(|near| format!(" Did you mean `{near}`?")).unwrap_or_default();
        let text = format!("There is no method named `{name}`.{hint}");
        return Err(Error::new("arguments.unknown_method", text).with("method", name).with("suggestion", near));
    };
    (method.run)(Arc::clone(inner), params, cancel)
}

fn prepare<P, R, F>(
    name: &'static str,
    inner: Arc<Inner>,
    params: Value,
    cancel: CancellationToken,
    body: fn(Arc<Inner>, P, CancellationToken) -> F,
) -> Result<Running>
where
    P: DeserializeOwned + JsonSchema,
    R: Serialize,
    F: Future<Output = Result<R>> + Send + 'static,
{
    let params: P = read(name, params)?;
    let running = body(inner, params, cancel);
    Ok(Box::pin(async move {
        let result = running.await?;
        serde_json::to_string(&result)
            .map_err(|error| Error::new("internal.panic", format!("A result cannot be written as JSON: {error}.")))
    }))
}

macro_rules! methods {
    ($($name:literal: $params:ty => $result:ty, |$inner:ident, $given:pat_param, $cancel:pat_param| $body:expr;)*) => {
        pub(super) static METHODS: &[Method] = &[$(Method {
            name: $name,
            params: |generator| generator.subschema_for::<$params>(),
            result: |generator| generator.subschema_for::<$result>(),
            run: |inner, params, cancel| {
                prepare::<$params, $result, _>($name, inner, params, cancel, |$inner, $given, $cancel| async move { $body })
            },
        }),*];
    };
}

/// Lists are objects, so that they can grow.
macro_rules! list {
    ($(#[$doc:meta])* $name:ident { $field:ident: $kind:ty }) => {
        $(#[$doc])*
        #[derive(Serialize, JsonSchema)]
        #[serde(rename_all = "camelCase")]
        pub(super) struct $name {
            /// The rows.
            $field: $kind,
        }
    };
}

list!(
    /// `tool.list`
    Tools { tools: Vec<ToolInfo> }
);
list!(
    /// `session.tools`
    SessionTools { tools: Vec<Value> }
);
list!(
    /// `session.list`
    Sessions { sessions: Vec<SessionRecord> }
);
list!(
    /// `session.messages`
    Messages { messages: Vec<Message> }
);
list!(
    /// `session.unsettled`
    Calls { calls: Vec<Part> }
);
list!(
    /// `permission.list`
    Requests { requests: Vec<PermissionRequest> }
);
list!(
    /// `permission.grants`
    Grants { grants: Vec<Grant> }
);
list!(
    /// `runtime.waiting`
    WaitingList { waiting: Vec<Waiting> }
);
list!(
    /// `tool.register`
    RegisteredName { name: String }
);
list!(
    /// Whether something was there and has been removed.
    Removed { removed: bool }
);
list!(
    /// `session.delete`
    Deleted { deleted: bool }
);
list!(
    /// `session.interrupt`
    Interrupted { interrupted: bool }
);
list!(
    /// `hook.register`
    HookId { hook_id: String }
);
list!(
    /// `event.subscribe`
    SubscriptionId { subscription_id: u64 }
);

list!(
    /// `question.list`
    Questions { questions: Vec<Question> }
);

/// `event.read`
#[derive(Serialize, JsonSchema)]
pub(super) struct EventPage {
    /// The events, in order.
    events: Vec<Event>,
    /// The number of the session's last event.
    last: i64,
}

methods! {
    "runtime.config": Nothing => Value, |inner, _, _| {
        inner.runtime.check_open()?;
        Ok(config::effective_document(inner.runtime.loaded()))
    };
    "runtime.diagnostics": Nothing => Value, |inner, _, _| inner.runtime.diagnostics().await;
    "runtime.waiting": Nothing => WaitingList, |inner, _, _| {
        Ok(WaitingList { waiting: inner.runtime.waiting().await? })
    };
    "tool.register": HostToolSpec => RegisteredName, |inner, spec, _| {
        let name = spec.name.clone();
        inner.runtime.dispatcher().registry.register(spec)?;
        Ok(RegisteredName { name })
    };
    "tool.unregister": Named => Removed, |inner, named, _| {
        Ok(Removed { removed: inner.runtime.dispatcher().registry.unregister(&named.name) })
    };
    "tool.list": Nothing => Tools, |inner, _, _| Ok(Tools { tools: inner.runtime.dispatcher().registry.list() });
    "hook.register": HookSpec => HookId, |inner, spec, _| {
        Ok(HookId { hook_id: inner.runtime.dispatcher().hooks.register(spec) })
    };
    "hook.unregister": HookRef => Removed, |inner, hook, _| {
        Ok(Removed { removed: inner.runtime.dispatcher().hooks.unregister(&hook.hook_id) })
    };
    "session.create": CreateParams => SessionRecord, |inner, given, _| inner.runtime.session_create(given).await;
    "session.open": OfSession => SessionRecord, |inner, given, _| inner.runtime.session_open(&given.session_id).await;
    "session.get": OfSession => SessionRecord, |inner, given, _| inner.runtime.session_get(&given.session_id).await;
    "session.list": ListSessions => Sessions, |inner, given, _| {
        Ok(Sessions { sessions: inner.runtime.session_list(given.parent_id.as_ref()).await? })
    };
    "session.children": OfSession => Sessions, |inner, given, _| {
        Ok(Sessions { sessions: inner.runtime.session_list(Some(&given.session_id)).await? })
    };
    "session.tools": ToolsOf => SessionTools, |inner, given, _| {
        let work = move || inner.runtime.session_tools(&given.session_id, given.format);
        let tools = tokio::task::spawn_blocking(work).await.map_err(|_| super::panicked())??;
        Ok(SessionTools { tools })
    };
    "session.dispatch": Dispatch => DispatchResult, |inner, given, cancel| {
        let Dispatch { session_id, message_id, calls, r#final } = given;
        inner.runtime.session_dispatch(&session_id, message_id, calls, r#final, &cancel).await
    };
    "session.interrupt": Interrupt => Interrupted, |inner, given, _| {
        let reason = given.reason.unwrap_or_default().as_str();
        Ok(Interrupted { interrupted: inner.runtime.session_interrupt(&given.session_id, reason).await? })
    };
    "session.messages": MessagesOf => Messages, |inner, given, _| {
        let (after, limit) = (given.after.unwrap_or(0), given.limit.unwrap_or(100));
        Ok(Messages { messages: inner.runtime.session_messages(&given.session_id, after, limit).await? })
    };
    "session.unsettled": OfSession => Calls, |inner, given, _| {
        Ok(Calls { calls: inner.runtime.session_unsettled(&given.session_id).await? })
    };
    "session.reconcile": ReconcileParams => Part, |inner, given, _| inner.runtime.session_reconcile(given).await;
    "session.close": OfSession => SessionRecord, |inner, given, _| inner.runtime.session_close(&given.session_id).await;
    "session.archive": OfSession => SessionRecord, |inner, given, _| {
        inner.runtime.session_archive(&given.session_id).await
    };
    "session.unarchive": OfSession => SessionRecord, |inner, given, _| {
        inner.runtime.session_unarchive(&given.session_id).await
    };
    "session.delete": Delete => Deleted, |inner, given, _| {
        if !given.confirm {
            let text = "Deleting a session cannot be taken back. Send `confirm: true` to do it.";
            return Err(Error::arguments(text).with("field", "confirm"));
        }
        Ok(Deleted { deleted: inner.runtime.session_delete(&given.session_id).await? })
    };
    "permission.list": MaybeSession => Requests, |inner, given, _| {
        Ok(Requests { requests: inner.runtime.dispatcher().broker.list(given.session_id.as_ref()) })
    };
    "permission.reply": PermissionReply => PermissionRequest, |inner, given, _| {
        let broker = &inner.runtime.dispatcher().broker;
        broker.reply(&given.request_id, given.reply, given.message.as_deref()).await
    };
    "permission.grants": OfSession => Grants, |inner, given, _| {
        inner.runtime.session_get(&given.session_id).await?;
        Ok(Grants { grants: inner.runtime.dispatcher().broker.grants(&given.session_id) })
    };
    "question.publish": PublishParams => Question, |inner, given, _| {
        inner.runtime.driven(&given.session_id)?;
        inner.runtime.services().questions.publish(given).await
    };
    "question.list": ListQuestions => Questions, |inner, given, _| {
        Ok(Questions { questions: inner.runtime.services().questions.list(given.session_id, given.state)? })
    };
    "question.get": QuestionRef => Question, |inner, given, _| inner.runtime.services().questions.get(&given.request_id);
    "question.respond": Command => CommandReceipt, |inner, given, _| {
        inner.runtime.services().questions.respond(given).await
    };
    "question.wait": WaitQuestion => Waited, |inner, given, cancel| {
        let questions = &inner.runtime.services().questions;
        tokio::select! {
            waited = questions.wait(&given.request_id, given.after_revision, given.timeout_ms) => waited,
            () = cancel.cancelled() => Err(Error::new("failed.canceled", "The wait was cancelled; the question is as it was.")),
        }
    };
    "artifact.read": ReadArtifact => Value, |inner, given, _| {
        inner.runtime.session_get(&given.session_id).await?;
        let store = inner.runtime.services().store.clone();
        let work = move || {
            output::read_artifact(&store, &given.session_id, &given.output_path, given.cursor, given.limit)
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| super::panicked())?
    };
    "receipt.get": ReceiptRef => VerificationReceipt, |inner, given, _| {
        let id = given.receipt_id.to_string();
        let read = move |connection: &rusqlite::Connection| {
            verification::find(connection, &given.session_id, &given.receipt_id)
        };
        let found = inner.runtime.services().store.read::<_, StoreError>(read)?;
        found.ok_or_else(|| Error::not_found("receipt", &id))
    };
    "event.subscribe": Subscribe => SubscriptionId, |inner, given, _| {
        let filter = Filter {
            session: given.session_id,
            root: given.root_session_id,
            types: given.types,
            live: given.live.unwrap_or(true),
        };
        let (store, limit) = (&inner.runtime.services().store, inner.runtime.config().events_queue);
        let outlet: Arc<dyn Outlet> = Arc::<super::Queue>::clone(&inner.queue);
        let subscription_id = inner.runtime.hub().subscribe(store, filter, given.after, limit, outlet)?;
        Ok(SubscriptionId { subscription_id })
    };
    "event.unsubscribe": SubscriptionRef => Removed, |inner, given, _| {
        Ok(Removed { removed: inner.runtime.hub().unsubscribe(given.subscription_id) })
    };
    "event.read": ReadEvents => EventPage, |inner, given, _| {
        let limit = given.limit.unwrap_or(events::PAGE);
        let work = move |connection: &rusqlite::Connection| -> Result<EventPage> {
            let found = events::read(connection, &given.session_id, given.after, limit)?;
            let last = events::last_seq(connection, &given.session_id)?.unwrap_or(0);
            Ok(EventPage { events: found, last })
        };
        inner.runtime.services().store.read(work)
    };
}
