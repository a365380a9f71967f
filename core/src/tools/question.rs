//! `question` and `question_async`: ask a person, with or without waiting for the first response.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

use super::contract::{Body, CallContext, Output, Prepared, Tool, ToolOutput};
use crate::host::BoxFuture;
use crate::question::{released, status};
use crate::store::questions::{self, NewItem, Origin, Publication, Question, QuestionMode, input_id};
use crate::types::{Ask, Concurrency, Declarations, Effect, Error, ErrorKind, InputId, JsonMap, Replay, ToolError};

static SCHEMA: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("schemas/question.json")).unwrap_or_default());

const GUIDANCE: &str = "Ask one question, at most three, and only what you cannot find out yourself. Give two or three \
exclusive options with the recommended one first; a typed answer is always possible. While a question is open, go on \
within existing authorization with the available evidence and stated assumptions. Silence, a skip, a deferral, a \
cancellation and a timeout are no consent, and a skipped question is not asked again.";

/// Which of the two tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    Question,
    Async,
}

/// `question` or `question_async`; both share schema, permission key and publication.
pub struct QuestionTool {
    variant: Variant,
    description: String,
}

impl QuestionTool {
    /// `question`: waits for the first response in Plan mode, where a person is at hand.
    pub fn question() -> Self {
        let lead = "Asks the user. In Plan mode the call waits for the first response; in Work mode it returns a \
                    receipt at once and the answer arrives later as an input.";
        Self { variant: Variant::Question, description: format!("{lead} {GUIDANCE}") }
    }

    /// `question_async`: never waits.
    pub fn question_async() -> Self {
        let lead = "Asks the user without waiting: returns a receipt at once, in every mode. The answer arrives later \
                    as an input.";
        Self { variant: Variant::Async, description: format!("{lead} {GUIDANCE}") }
    }
}

#[derive(Deserialize)]
struct Arguments {
    questions: Vec<NewItem>,
}

impl Tool for QuestionTool {
    fn name(&self) -> &str {
        match self.variant {
            Variant::Question => "question",
            Variant::Async => "question_async",
        }
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn input_schema(&self) -> &Value {
        &SCHEMA
    }

    fn declarations(&self) -> Declarations {
        Declarations { effect: Effect::UserMediated, replay: Replay::Never, concurrency: Concurrency::Exclusive }
    }

    fn permission_key(&self) -> &str {
        "question"
    }

    fn prepare(&self, call: CallContext, arguments: JsonMap) -> BoxFuture<'static, Result<Prepared, ToolError>> {
        let waits = self.variant == Variant::Question && call.session.plan_mode && call.session.human_surface;
        Box::pin(async move { prepare(call, arguments, waits) })
    }
}

fn prepare(call: CallContext, arguments: JsonMap, waits: bool) -> Result<Prepared, ToolError> {
    let Arguments { questions } = serde_json::from_value(Value::Object(arguments))
        .map_err(|error| ToolError::invalid("invalid", format!("The arguments cannot be read: {error}.")))?;
    questions::check_items(&questions, false)
        .map_err(|fault| ToolError::invalid_field("invalid", &fault.field, None, fault.message))?;
    let body = if !call.session.root {
        Body::Store(Box::new(move |_| Ok(for_the_parent(&questions))))
    } else if waits {
        Body::run(move || wait_for_response(call, questions))
    } else {
        let publication = publication(&call, QuestionMode::Deferred, questions);
        Body::Store(Box::new(move |tx| {
            let question = questions::publish(tx, publication).map_err(tool_error)?;
            receipt(&question)
        }))
    };
    Ok(Prepared { asks: vec![Ask::one("question", "*").implicit()], preview: None, facts: JsonMap::new(), body })
}

fn publication(call: &CallContext, mode: QuestionMode, questions: Vec<NewItem>) -> Publication {
    let origin = Origin {
        session_id: call.session.id.clone(),
        message_id: Some(call.message_id.clone()),
        call_id: Some(call.call_id.clone()),
        turn_id: Some(call.turn_id.clone()),
        goal_id: None,
    };
    Publication { origin, cycle_id: Some(call.cycle_id.clone()), mode, questions, closed: false }
}

/// A child has nobody to ask: its parent decides.
fn for_the_parent(questions: &[NewItem]) -> ToolOutput {
    let mut text = "Nothing was asked: a delegated session cannot reach the user, so the parent has to decide. Go on \
                    with what does not depend on the answer, and name this as a blocker in your report:\n"
        .to_owned();
    for item in questions {
        text.push_str("- ");
        text.push_str(&item.question);
        for option in &item.options {
            text.push_str("\n  - ");
            text.push_str(&option.label);
        }
        text.push('\n');
    }
    ToolOutput { output: Output::Text(text), title: "Question for the parent".to_owned(), ..ToolOutput::default() }
}

fn receipt(question: &Question) -> Result<ToolOutput, ToolError> {
    let items: Vec<&str> = question.questions.iter().map(|item| item.id.as_str()).collect();
    let text = format!(
        "Published {} with the items {}. There is no answer yet: it comes later, as an input. {GUIDANCE}",
        question.id,
        items.join(", "),
    );
    Ok(ToolOutput::text(title(question), text)
        .with("requestId", question.id.as_str())
        .with("revision", question.revision)
        .with("question", view(question)?))
}

/// Publishes and waits for the first response. The request stays when the wait is given up; running this again for
/// the same call waits on it, or takes the answer that is stored.
async fn wait_for_response(call: CallContext, questions: Vec<NewItem>) -> Result<ToolOutput, ToolError> {
    let port = &call.services.questions;
    let published = port.publish_from(publication(&call, QuestionMode::Blocking, questions)).await;
    let mut question = published.map_err(tool_error)?;
    while question.holds_its_call() {
        tokio::select! {
            biased;
            () = call.cancel.cancelled() => {
                let message = format!(
                    "The wait for an answer ended. The question {} stays open; an answer arrives as an input.",
                    question.id
                );
                return Err(ToolError::cancelled(true, message));
            }
            waited = port.wait(&question.id, question.revision, None) => {
                question = waited.map_err(tool_error)?.question;
            }
        }
    }
    let output = ToolOutput::text(title(&question), released(&question))
        .with("requestId", question.id.as_str())
        .with("status", status(&question))
        .with("answers", serde_json::to_value(&question.answers).map_err(unreadable)?)
        .with("question", view(&question)?);
    Ok(ToolOutput { claims: told_by(&question), ..output })
}

/// The inputs whose answers a view of the question shows. An answer that comes after it is not among them.
fn told_by(question: &Question) -> Vec<InputId> {
    (2..=question.revision).map(|revision| input_id(&question.id, revision)).collect()
}

fn title(question: &Question) -> String {
    let headers: Vec<&str> = question.questions.iter().map(|item| item.header.as_str()).collect();
    headers.join(", ")
}

fn view(question: &Question) -> Result<Value, ToolError> {
    serde_json::to_value(question).map_err(unreadable)
}

fn unreadable(error: serde_json::Error) -> ToolError {
    ToolError::failed("store", format!("The question cannot be shown: {error}."))
}

fn tool_error(error: Error) -> ToolError {
    match error.code.as_str() {
        code if code.starts_with("arguments.") => ToolError::invalid("invalid", error.message),
        "store.locked" => ToolError::new(ErrorKind::Transient { retry_after_ms: Some(1_000) }, "locked", error.message),
        code => ToolError::failed(code.rsplit('.').next().unwrap_or("operation"), error.message),
    }
}
