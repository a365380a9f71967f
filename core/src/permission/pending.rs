//! What the broker remembers: requests that wait, and the grants of each session.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::judge::{Rulings, Subject};
use crate::text::rules::{Grant, Layers, Place};
use crate::types::{Ask, PermissionId, PermissionRequest, RequestKind, SessionId, ToolError};

/// How a waiting call goes on.
pub(super) type Verdict = Result<(), ToolError>;

/// A request that waits.
pub(super) struct Pending {
    pub(super) request: PermissionRequest,
    /// The asks with the spellings that only deny rules see; the record does not carry those.
    pub(super) asks: Vec<Ask>,
    /// What a refusal names.
    pub(super) subject: Subject,
    pub(super) layers: Arc<Layers>,
    pub(super) place: Arc<Place>,
    pub(super) verdict: oneshot::Sender<Verdict>,
}

impl Pending {
    /// Whether the grants now answer everything it asks. They never answer strict mode or a risk.
    fn covered(&self, grants: &[Grant]) -> bool {
        let rulings = Rulings { layers: &self.layers, place: &self.place, asks: &self.asks };
        self.request.kind == RequestKind::Rule && rulings.covered(grants)
    }
}

/// Requests in the order they were asked, and grants.
#[derive(Default)]
pub(super) struct Memory {
    pending: Vec<Pending>,
    grants: HashMap<SessionId, Vec<Grant>>,
}

impl Memory {
    pub(super) fn add(&mut self, pending: Pending) {
        self.pending.push(pending);
    }

    pub(super) fn find(&self, id: &PermissionId) -> Option<&Pending> {
        self.pending.iter().find(|pending| pending.request.id == *id)
    }

    pub(super) fn take(&mut self, id: &PermissionId) -> Option<Pending> {
        let at = self.pending.iter().position(|pending| pending.request.id == *id)?;
        Some(self.pending.remove(at))
    }

    pub(super) fn take_session(&mut self, session: &SessionId) -> Vec<Pending> {
        self.pending.extract_if(.., |pending| pending.request.session_id == *session).collect()
    }

    /// The requests of a session that its grants answer by now.
    pub(super) fn take_covered(&mut self, session: &SessionId) -> Vec<Pending> {
        let grants = self.grants.get(session).map_or(&[][..], Vec::as_slice);
        self.pending
            .extract_if(.., |pending| pending.request.session_id == *session && pending.covered(grants))
            .collect()
    }

    pub(super) fn requests(&self, session: Option<&SessionId>) -> Vec<PermissionRequest> {
        let wanted = |request: &&PermissionRequest| session.is_none_or(|session| request.session_id == *session);
        self.pending.iter().map(|pending| &pending.request).filter(wanted).cloned().collect()
    }

    pub(super) fn grants(&self, session: &SessionId) -> Vec<Grant> {
        self.grants.get(session).cloned().unwrap_or_default()
    }

    pub(super) fn grant(&mut self, session: &SessionId, grants: Vec<Grant>) {
        let known = self.grants.entry(session.clone()).or_default();
        for grant in grants {
            if !known.contains(&grant) {
                known.push(grant);
            }
        }
    }

    pub(super) fn forget(&mut self, session: &SessionId) {
        self.grants.remove(session);
    }
}
