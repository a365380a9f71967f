//! Parameters and results of the methods that have no type of their own in a room below.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::dispatch::CallInput;
use crate::host::Port;
use crate::session::ToolFormat;
use crate::store::questions::QuestionState;
use crate::types::{Error, JsonMap, MessageId, PermissionId, QuestionId, ReceiptId, Reply, Result, SessionId};

/// Reads parameters. What cannot be read is looked at again, to say what is wrong with it.
pub(super) fn read<P: DeserializeOwned + JsonSchema>(method: &str, params: Value) -> Result<P> {
    let params = if params.is_null() { Value::Object(JsonMap::new()) } else { params };
    if !params.is_object() {
        return Err(Error::arguments(format!("The parameters of `{method}` have to be an object.")));
    }
    P::deserialize(&params).map_err(|error| {
        unknown_field::<P>(method, &params).unwrap_or_else(|| {
            let text = format!("The parameters of `{method}` are not acceptable: {error}.");
            Error::arguments(text).with("method", method)
        })
    })
}

/// The unknown field among the parameters, with the nearest known one.
fn unknown_field<P: JsonSchema>(method: &str, params: &Value) -> Option<Error> {
    let known = fields::<P>();
    let unknown = params.as_object()?.keys().find(|name| !known.contains(*name))?;
    let near = crate::text::nearest::nearest(unknown, known.iter().map(String::as_str));
    let hint = match near {
        Some(near) => format!(" Did you mean `{near}`?"),
        None => format!(" It takes: {}.", known.iter().cloned().collect::<Vec<_>>().join(", ")),
    };
    let text = format!("`{method}` does not know the field `{unknown}`.{hint}");
    Some(Error::new("arguments.unknown_field", text).with("field", unknown.as_str()).with("suggestion", near))
}

fn fields<P: JsonSchema>() -> BTreeSet<String> {
    let schema = schemars::schema_for!(P);
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flat_map(|map| map.keys().cloned()).collect()
}

/// `open`
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OpenParams {
    /// A path whose folder exists, or `:memory:`; default below the user's state folder.
    #[serde(default)]
    pub database: Option<String>,
    /// What the host answers.
    #[serde(default)]
    pub ports: Vec<Port>,
    /// The configuration document.
    #[serde(default)]
    pub config: Option<Value>,
    /// Read the global configuration file.
    #[serde(default)]
    pub read_global: bool,
    /// Read the configuration variables of the environment.
    #[serde(default)]
    pub read_environment: bool,
    /// Read the project file of each session's worktree.
    #[serde(default)]
    pub read_project: bool,
}

/// No parameters.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

macro_rules! documents {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $(@$default:ident)? $field:ident: $kind:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub(super) struct $name {
            $($(#[$field_doc])* $(#[serde($default)])? pub(super) $field: $kind,)*
        }
    )*};
}

documents! {
    /// A session.
    OfSession {
        /// The session.
        session_id: SessionId,
    }
    /// A session that may be left out.
    MaybeSession {
        /// Only this session.
        @default session_id: Option<SessionId>,
    }
    /// `tool.unregister`
    Named {
        /// The tool.
        name: String,
    }
    /// `hook.unregister`
    HookRef {
        /// The hook.
        hook_id: String,
    }
    /// `session.list`
    ListSessions {
        /// Only the children of this session.
        @default parent_id: Option<SessionId>,
    }
    /// `session.tools`
    ToolsOf {
        /// The session.
        session_id: SessionId,
        /// Whose form.
        @default format: ToolFormat,
    }
    /// `session.dispatch`
    Dispatch {
        /// The session.
        session_id: SessionId,
        /// The message; a new one when it is left out. The same id again gives back what is stored.
        @default message_id: Option<MessageId>,
        /// The calls, in order.
        @default calls: Vec<CallInput>,
        /// Ends the turn.
        @default r#final: bool,
    }
    /// `session.interrupt`
    Interrupt {
        /// The session.
        session_id: SessionId,
        /// Who stops it.
        @default reason: Option<InterruptReason>,
    }
    /// `session.messages`
    MessagesOf {
        /// The session.
        session_id: SessionId,
        /// Messages after this ordinal.
        @default after: Option<i64>,
        /// At most 500.
        @default limit: Option<i64>,
    }
    /// `session.delete`
    Delete {
        /// The session.
        session_id: SessionId,
        /// Has to be true: it cannot be taken back.
        confirm: bool,
    }
    /// `permission.reply`
    PermissionReply {
        /// The request.
        request_id: PermissionId,
        /// The answer.
        reply: Reply,
        /// Given to the model with a rejection.
        @default message: Option<String>,
    }
    /// `question.list`
    ListQuestions {
        /// Only this session.
        @default session_id: Option<SessionId>,
        /// Default: pending ones.
        @default state: Option<QuestionState>,
    }
    /// `question.get`
    QuestionRef {
        /// The request.
        request_id: QuestionId,
    }
    /// `question.wait`
    WaitQuestion {
        /// The request.
        request_id: QuestionId,
        /// Returns when the revision is past this one.
        after_revision: i64,
        /// Milliseconds; without it the wait has no end.
        @default timeout_ms: Option<u64>,
    }
    /// `receipt.get`
    ReceiptRef {
        /// The session it belongs to.
        session_id: SessionId,
        /// `rcp_...`
        receipt_id: ReceiptId,
    }
    /// `artifact.read`
    ReadArtifact {
        /// The session whose call produced it.
        session_id: SessionId,
        /// The artifact.
        output_path: String,
        /// Absolute byte offset; default 0.
        @default cursor: Option<u64>,
        /// Window size in bytes; default 16384, at most 1 MiB.
        @default limit: Option<u64>,
    }
    /// `event.subscribe`
    Subscribe {
        /// Only this session.
        @default session_id: Option<SessionId>,
        /// Only the tree below this root.
        @default root_session_id: Option<SessionId>,
        /// First the stored events after this number; needs `sessionId`.
        @default after: Option<i64>,
        /// Live events too; default true.
        @default live: Option<bool>,
        /// Only these types.
        @default types: Vec<String>,
    }
    /// `event.unsubscribe`
    SubscriptionRef {
        /// The subscription.
        subscription_id: u64,
    }
    /// `event.read`
    ReadEvents {
        /// The session.
        session_id: SessionId,
        /// Events after this number.
        after: i64,
        /// At most 1000.
        @default limit: Option<i64>,
    }
}

/// Who stops a session.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum InterruptReason {
    /// A person.
    #[default]
    UserCancel,
    /// The request it worked for is gone.
    RequestCancelled,
    /// The host shuts down.
    Shutdown,
    /// The session is being closed.
    SessionClose,
}

impl InterruptReason {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::UserCancel => "user_cancel",
            Self::RequestCancelled => "request_cancelled",
            Self::Shutdown => "shutdown",
            Self::SessionClose => "session_close",
        }
    }
}
