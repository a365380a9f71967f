//! One ask against the layers: the last matching rule wins, narrowing layers only tighten, deny is terminal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::spelling::{Spellings, runs_bare_program};
use super::{Action, Pattern, Reading, Rule, shipped_rules};
use crate::types::{Access, Ask};

/// Rules in force for a session or an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layers {
    /// Trusted layers, concatenated in their order.
    pub trusted: Vec<Rule>,
    /// Layers that can only tighten; rules of one layer share their `layer` name, and every layer is judged by itself.
    pub narrowing: Vec<Rule>,
}

impl Layers {
    /// The shipped rules, then the configured ones.
    pub fn over_shipped(configured: &[Rule], narrowing: &[Rule]) -> Self {
        let mut trusted = shipped_rules();
        trusted.extend_from_slice(configured);
        Self { trusted, narrowing: narrowing.to_vec() }
    }
}

/// Where patterns are read: what `~` means and what relative paths are relative to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The home directory.
    pub home: Option<String>,
    /// Spellings of the workspace root: canonical, and as the host named it.
    pub roots: Vec<String>,
}

/// A pattern a person allowed for one session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Grant {
    /// The permission key, literal.
    pub key: String,
    /// The pattern over resources. `~` is literal: what a person saw was a file of that name.
    pub pattern: String,
    /// What an outside directory was wanted for; leave to read is no leave to write.
    pub access: Option<Access>,
}

impl Grant {
    fn applies_to(&self, ask: &Ask) -> bool {
        self.key == ask.key && !(self.access == Some(Access::Read) && ask.access == Some(Access::Write))
    }
}

/// What the rules say to one ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The strictest answer over all resources.
    pub action: Action,
    /// The rule that gave it; `None` when no rule matched or a grant answered.
    pub rule: Option<Rule>,
    /// The resource that got it.
    pub pattern: Option<String>,
}

/// Judges every resource of the ask; the strictest answer counts. Grants lift `ask`, never `deny`.
pub fn decide(layers: &Layers, grants: &[Grant], ask: &Ask, place: &Place) -> Decision {
    let everything = ["*".to_owned()];
    let resources = if ask.patterns.is_empty() { &everything } else { ask.patterns.as_slice() };
    let mut strictest: Option<Decision> = None;
    for resource in resources {
        let decision = decide_one(layers, grants, ask, resource, place);
        if strictest.as_ref().is_none_or(|so_far| decision.action > so_far.action) {
            strictest = Some(decision);
        }
    }
    strictest.unwrap_or(Decision { action: Action::Ask, rule: None, pattern: None })
}

/// Whether a tool is left out of the surface: its key is denied for the pattern `*`.
pub fn tool_hidden(layers: &Layers, key: &str) -> bool {
    decide(layers, &[], &Ask::one(key, "*"), &Place::default()).action == Action::Deny
}

fn decide_one(layers: &Layers, grants: &[Grant], ask: &Ask, resource: &str, place: &Place) -> Decision {
    let judged = Judged { ask, spellings: Spellings::of(&ask.key, resource, &ask.deny_only, place), place };
    let trusted = layers.trusted.iter().rev().find(|rule| judged.hit_by(rule));
    let mut rule = trusted;
    let mut action = trusted.map_or(Action::Ask, |rule| rule.action);
    for tightening in narrowing_results(&layers.narrowing, &judged) {
        if tightening.action > action {
            (rule, action) = (Some(tightening), tightening.action);
        }
    }
    if action == Action::Ask && (judged.is_unnamed(layers) || judged.granted(grants)) {
        (rule, action) = (None, Action::Allow);
    }
    Decision { action, rule: rule.cloned(), pattern: Some(resource.to_owned()) }
}

/// The last matching rule of each narrowing layer. An `allow` there has no effect, so it is not looked at.
fn narrowing_results<'a>(rules: &'a [Rule], judged: &Judged<'_>) -> Vec<&'a Rule> {
    let mut seen: Vec<&str> = Vec::new();
    let mut results = Vec::new();
    for rule in rules.iter().rev().filter(|rule| rule.action != Action::Allow) {
        if !seen.contains(&rule.layer.as_str()) && judged.hit_by(rule) {
            seen.push(&rule.layer);
            results.push(rule);
        }
    }
    results
}

struct Judged<'a> {
    ask: &'a Ask,
    spellings: Spellings,
    place: &'a Place,
}

impl Judged<'_> {
    fn hit_by(&self, rule: &Rule) -> bool {
        let key = &self.ask.key;
        if !Pattern::new(&rule.key, Reading::of_key("", None)).matches(key) {
            return false;
        }
        let pattern = Pattern::new(&rule.pattern, Reading::of_key(key, self.place.home.as_deref()));
        let named = &self.spellings.named;
        if rule.action == Action::Allow {
            return self.allowed_by(&pattern);
        }
        if named.iter().any(|spelling| pattern.matches(spelling)) {
            return true;
        }
        let further = &self.spellings.deny_only;
        rule.action == Action::Deny
            && (further.iter().any(|spelling| pattern.matches(spelling))
                || named.iter().chain(further).any(|spelling| runs_bare_program(key, &rule.pattern, spelling)))
    }

    fn allowed_by(&self, pattern: &Pattern) -> bool {
        self.spellings.named.iter().any(|spelling| pattern.matches(spelling))
            && self.spellings.resolved.as_ref().is_none_or(|resolved| pattern.matches(resolved))
    }

    /// The tool has no ordinary ask and no rule names its key by something other than the bare `*`.
    fn is_unnamed(&self, layers: &Layers) -> bool {
        let tightening = layers.narrowing.iter().filter(|rule| rule.action != Action::Allow);
        let mut rules = layers.trusted.iter().chain(tightening);
        self.ask.implicit && !rules.any(|rule| rule.key != "*" && self.hit_by(rule))
    }

    fn granted(&self, grants: &[Grant]) -> bool {
        grants.iter().filter(|grant| grant.applies_to(self.ask)).any(|grant| {
            let pattern = Pattern::new(&grant.pattern, Reading::of_key(&grant.key, None));
            self.allowed_by(&pattern)
        })
    }
}

/// Whether a rule hits a resource of its own key, as the examples beside a rule claim.
pub(super) fn hits_example(rule: &Rule, example: &str, home: Option<&str>) -> bool {
    let ask = Ask::one(&rule.key, example);
    let place = Place { home: home.map(str::to_owned), roots: Vec::new() };
    let judged = Judged { ask: &ask, spellings: Spellings::of(&rule.key, example, &[], &place), place: &place };
    judged.hit_by(rule)
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
