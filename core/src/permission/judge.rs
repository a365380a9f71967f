//! What one call needs: nothing, a person, or a refusal. Pure; the broker acts on it.

use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::denials;
use crate::text::rules::{Action, Decision, Grant, Layers, Place, decide};
use crate::types::{
    Ask, CallId, CycleId, Effect, JsonMap, MessageId, PermissionMode, Reply, RequestKind, SessionId, ToolError, TurnId,
};

/// Whose call it is.
#[derive(Clone, Debug)]
pub struct CallOrigin {
    /// The session.
    pub session_id: SessionId,
    /// The root of the session tree.
    pub root_session_id: SessionId,
    /// The active agent.
    pub agent: String,
    /// The turn.
    pub turn_id: TurnId,
    /// The work cycle.
    pub cycle_id: CycleId,
    /// The message.
    pub message_id: MessageId,
    /// The call.
    pub call_id: CallId,
    /// The tool as called.
    pub tool: String,
    /// Label the model gave for the user interface.
    pub intent: Option<String>,
}

/// One prepared call that waits for permission.
pub struct Inquiry {
    /// Whose call it is.
    pub origin: CallOrigin,
    /// The effective mode.
    pub mode: PermissionMode,
    /// The effect of this call.
    pub effect: Effect,
    /// The risk gate wants a fresh confirmation; the findings are among the facts.
    pub risk: bool,
    /// The rules in force.
    pub layers: Arc<Layers>,
    /// Where their patterns are read.
    pub place: Arc<Place>,
    /// What has to be allowed.
    pub asks: Vec<Ask>,
    /// What a person is shown; made only when a person is asked. Without one the arguments are shown.
    pub preview: Option<Box<dyn FnOnce() -> Value + Send>>,
    /// The arguments of the call.
    pub arguments: Value,
    /// Facts for the request.
    pub facts: JsonMap,
    /// Cancelled when the turn is interrupted.
    pub cancel: CancellationToken,
}

/// Why a person has to be asked, and about what.
pub(super) struct Need {
    pub(super) kind: RequestKind,
    pub(super) subject: Subject,
}

/// The key and resource that stand for a call in a refusal.
#[derive(Clone)]
pub(super) struct Subject {
    pub(super) key: String,
    pub(super) pattern: Option<String>,
}

/// What the rules say to every ask of a call.
pub(super) struct Rulings<'a> {
    pub(super) layers: &'a Layers,
    pub(super) place: &'a Place,
    pub(super) asks: &'a [Ask],
}

impl Rulings<'_> {
    fn decisions(&self, grants: &[Grant]) -> Vec<(&Ask, Decision)> {
        self.asks.iter().map(|ask| (ask, decide(self.layers, grants, ask, self.place))).collect()
    }

    /// Whether rules and grants together allow everything.
    pub(super) fn covered(&self, grants: &[Grant]) -> bool {
        self.decisions(grants).iter().all(|(_, decision)| decision.action == Action::Allow)
    }
}

impl Inquiry {
    pub(super) fn rulings(&self) -> Rulings<'_> {
        Rulings { layers: &self.layers, place: &self.place, asks: &self.asks }
    }

    /// The reason to ask a person, none when the call may run, or the refusal of a rule.
    pub(super) fn judge(&self, grants: &[Grant]) -> Result<Option<Need>, ToolError> {
        let rulings = self.rulings();
        let decisions = rulings.decisions(grants);
        if let Some((ask, decision)) = decisions.iter().find(|(_, decision)| decision.action == Action::Deny) {
            return Err(denials::by_rule(ask, decision));
        }
        let asked = decisions.iter().find(|(_, decision)| decision.action == Action::Ask);
        let kind = match self.mode {
            PermissionMode::AllowAll => None,
            PermissionMode::Strict if self.needs_fresh_approval() => Some(RequestKind::Strict),
            _ if self.risk => Some(RequestKind::Risk),
            _ => asked.map(|_| RequestKind::Rule),
        };
        // A call that strict mode stops may have nothing to judge; then its tool stands for it.
        let subject = match asked.or(decisions.first()) {
            Some((ask, decision)) => Subject { key: ask.key.clone(), pattern: decision.pattern.clone() },
            None => Subject { key: self.origin.tool.clone(), pattern: None },
        };
        Ok(kind.map(|kind| Need { kind, subject }))
    }

    /// `execute` only combines calls that are each judged for themselves.
    fn needs_fresh_approval(&self) -> bool {
        match self.effect {
            Effect::SideEffecting => true,
            Effect::Delegating => self.origin.tool != "execute",
            Effect::ReadOnly | Effect::UserMediated => false,
        }
    }
}

/// The answers a request offers.
pub(super) fn choices(kind: RequestKind, asks: &[Ask]) -> Vec<Reply> {
    if kind == RequestKind::Rule && asks.iter().any(|ask| !ask.always.is_empty()) {
        vec![Reply::Once, Reply::Always, Reply::Reject]
    } else {
        vec![Reply::Once, Reply::Reject]
    }
}

/// What an `always` reply grants.
pub(super) fn offered_grants(asks: &[Ask]) -> Vec<Grant> {
    let of_ask = |ask: &Ask| {
        let (key, access) = (ask.key.clone(), ask.access);
        ask.always.clone().into_iter().map(move |pattern| Grant { key: key.clone(), pattern, access })
    };
    asks.iter().flat_map(of_ask).collect()
}
