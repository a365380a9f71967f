//! Values every room shares: ids, declarations, outcomes, errors, events, clock and id sources.
//!
//! Floor 0: nothing here does I/O or knows about sessions as a running thing.

mod call;
mod clock;
mod declarations;
mod error;
mod event;
mod ids;
mod output;
mod permission;
mod permission_request;
mod tool_error;

pub use call::{Attachment, CallState, Continuation, Part, Uncertainty};
pub use clock::{Clock, IdSource, Millis, RandomIds, SystemClock};
pub use declarations::{Concurrency, Declarations, Effect, Replay};
pub use error::{CODES, CodeEntry, Error, Result};
pub use event::{Event, EventDraft};
pub use ids::{
    ArtifactId, CallId, CycleId, EventId, ExecutionId, InputId, MessageId, PermissionId, QuestionId, ReceiptId,
    SessionId, TurnId,
};
pub use output::{Captured, Output};
pub use permission::{Access, Ask, Denial, DenialOrigin, PermissionMode};
pub use permission_request::{PermissionRequest, Reply, RequestKind, RequestState, SettleOrigin};
pub use tool_error::{BlockKind, ErrorKind, Outcome, ToolError};

/// A JSON object with its keys in insertion order.
pub type JsonMap = serde_json::Map<String, serde_json::Value>;
