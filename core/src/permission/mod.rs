//! The ask broker: judges one prepared call, asks a person at most once, and keeps what was answered.
//!
//! A call waits for its answer as long as it takes. Whoever answers first counts: the host's approval port or the
//! operation `permission.reply`, from any thread. Grants live in memory, one session each.

mod broker;
mod denials;
mod judge;
mod kept;
mod pending;

pub use broker::Broker;
pub use judge::{CallOrigin, Inquiry};

use crate::host::BoxFuture;
use crate::types::{CycleId, Millis, PermissionId, PermissionRequest, RequestState, Result, SettleOrigin};

/// Where requests are kept. Each write makes the fact and its event in one transaction.
pub trait RequestLog: Send + Sync {
    /// Keeps a new request and emits `permission.asked`.
    fn asked<'a>(&'a self, request: &'a PermissionRequest, cycle: &'a CycleId) -> BoxFuture<'a, Result<()>>;

    /// Ends a pending request and emits `permission.settled`.
    fn settled<'a>(
        &'a self,
        id: &'a PermissionId,
        state: RequestState,
        origin: SettleOrigin,
        at: Millis,
    ) -> BoxFuture<'a, Result<()>>;

    /// A request that was ever asked.
    fn get<'a>(&'a self, id: &'a PermissionId) -> BoxFuture<'a, Result<Option<PermissionRequest>>>;
}
