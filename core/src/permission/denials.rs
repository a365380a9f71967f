//! The texts of a refusal: who said no, and what can be done about it.

use super::judge::{Need, Subject};
use crate::text::rules::{Action, Decision, Rule};
use crate::types::{Ask, Denial, DenialOrigin, Error, ErrorKind, Reply, RequestKind, ToolError};

/// A configured rule.
pub(super) fn by_rule(ask: &Ask, decision: &Decision) -> ToolError {
    let resource = decision.pattern.clone().unwrap_or_else(|| "*".to_owned());
    let written = decision.rule.as_ref().map(Rule::as_written);
    let named = match (&written, &decision.rule) {
        (Some(written), Some(rule)) => format!("the rule {written} of the {} configuration", rule.layer),
        _ => "a rule".to_owned(),
    };
    let message = format!("`{}` is denied for `{resource}` by {named}.", ask.key);
    let given = decision.rule.as_ref().and_then(|rule| rule.reason.clone());
    let message = match &given {
        Some(reason) => format!("{message} {reason}"),
        None => format!("{message} Do not try the same another way; say what you needed it for."),
    };
    let reason = given.unwrap_or_else(|| message.clone());
    let origin = DenialOrigin::Rule;
    ToolError::denied(Denial { origin, key: ask.key.clone(), pattern: Some(resource), rule: written, reason }, message)
}

/// A person said no to this request.
pub(super) fn by_person(subject: &Subject, message: Option<&str>) -> ToolError {
    let reason = match message.map(str::trim).filter(|text| !text.is_empty()) {
        Some(text) => format!("The user rejected this call: {text}"),
        None => "The user rejected this call. Ask what to do instead, or go on without it.".to_owned(),
    };
    of(subject, DenialOrigin::User, reason)
}

/// A person said no to another request of the session.
pub(super) fn with_another(subject: &Subject) -> ToolError {
    let reason = "The user rejected another call of this session while this one waited; that rejects this one too. \
                  Ask what to do instead.";
    of(subject, DenialOrigin::User, reason.to_owned())
}

/// The approval port answered with something that is no answer.
pub(super) fn bad_answer(subject: &Subject, choices: &[Reply], found: &str) -> ToolError {
    let reason = format!(
        "The approval handler gave no usable answer: {found}. It has to answer {{\"reply\": one of {}}}.",
        choices.iter().map(|reply| format!("\"{}\"", reply.name())).collect::<Vec<_>>().join(", ")
    );
    of(subject, DenialOrigin::NoHandler, reason)
}

/// The approval port failed or gave the request up.
pub(super) fn failed_port(subject: &Subject, error: &Error) -> ToolError {
    let reason = format!("The approval handler gave no answer ({}): {}", error.code, error.message);
    of(subject, DenialOrigin::NoHandler, reason)
}

/// Nobody can be asked.
pub(super) fn no_handler(need: &Need) -> ToolError {
    let Subject { key, pattern } = &need.subject;
    let rule = Rule::new(key, pattern.as_deref().unwrap_or("*"), Action::Allow, "").as_written();
    let other = match need.kind {
        RequestKind::Rule => format!("or add an allow rule such as {rule} to `permission.rules`"),
        RequestKind::Risk => "no allow rule can stand in for the confirmation of a risk".to_owned(),
        RequestKind::Strict => "in strict mode no allow rule can stand in for it".to_owned(),
    };
    let reason = format!(
        "This call needs an approval and no approval handler is installed. Set one with the `approval` port of \
         `runtime.open`; {other}."
    );
    of(&need.subject, DenialOrigin::NoHandler, reason)
}

/// The answer was given but could not be kept, so the call does not run.
pub(super) fn not_kept(error: &Error) -> ToolError {
    let message = format!("The permission request could not be recorded, so nothing was run: {}", error.message);
    ToolError::new(ErrorKind::Transient { retry_after_ms: None }, "permission_not_recorded", message)
}

/// The turn was interrupted while the call waited.
pub(super) fn interrupted() -> ToolError {
    ToolError::cancelled(false, "The call was cancelled before it was approved; nothing was run.")
}

fn of(subject: &Subject, origin: DenialOrigin, reason: String) -> ToolError {
    let Subject { key, pattern } = subject.clone();
    let message = reason.clone();
    ToolError::denied(Denial { origin, key, pattern, rule: None, reason }, message)
}
