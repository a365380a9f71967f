//! `question` and `question_async` over a real store, settled the way the dispatcher does.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod question_support;

use std::sync::Arc;

use question_support::*;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use zuno::store::calls::{self, CallKey, NewCall, Settlement, Turn};
use zuno::store::inbox::InputState;
use zuno::store::questions::{Action, DeliveryPhase, QuestionMode, QuestionState};
use zuno::store::{Durability, StoreError};
use zuno::text::rules::Layers;
use zuno::tools::contract::{Body, CallContext, Output, Prepared, Tool, ToolOutput};
use zuno::tools::question::QuestionTool;
use zuno::types::{Effect, Error, MessageId, Outcome, Part, ToolError};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// A call of one message, admitted and stamped.
struct Dispatched {
    context: CallContext,
    key: CallKey,
}

impl Dispatched {
    async fn new(world: &World, caller: Caller, tool: &QuestionTool, message: &str) -> Self {
        let key = CallKey { session_id: world.session.clone(), message_id: message.into(), call_id: "call1".into() };
        let turn = admit(world, &key, tool).await;
        let session = session_context(world, caller, Layers::default());
        let context = CallContext {
            session: Arc::new(session),
            services: services(world),
            message_id: key.message_id.clone(),
            call_id: key.call_id.clone(),
            turn_id: turn.turn_id,
            cycle_id: turn.cycle_id,
            cancel: CancellationToken::new(),
            accept_large_output: false,
        };
        Self { context, key }
    }

    async fn prepare(&self, tool: &QuestionTool, arguments: Value) -> Result<Prepared, ToolError> {
        let Value::Object(arguments) = arguments else { panic!("an object") };
        tool.prepare(self.context.clone(), arguments).await
    }

    /// Runs a body that settles in the transaction of its effect.
    async fn settle_in_one(&self, world: &World, prepared: Prepared) -> Part {
        let Body::Store(body) = prepared.body else { panic!("a body that only writes to the store") };
        let key = self.key.clone();
        world
            .store
            .write::<_, Error>(Durability::Ordered, move |tx| {
                calls::stamp(tx, &key)?;
                let output = body(tx).map_err(|error| Error::arguments(error.message))?;
                Ok(calls::settle(tx, &key, &settlement(Ok(output)))?)
            })
            .await
            .unwrap()
    }

    async fn settle(&self, world: &World, result: Result<ToolOutput, ToolError>) -> Part {
        let key = self.key.clone();
        let settlement = settlement(result);
        world
            .store
            .write::<_, StoreError>(Durability::Ordered, move |tx| calls::settle(tx, &key, &settlement))
            .await
            .unwrap()
    }
}

async fn admit(world: &World, key: &CallKey, tool: &QuestionTool) -> Turn {
    let call = NewCall {
        call_id: key.call_id.clone(),
        tool: tool.name().to_owned(),
        arguments: arguments(),
        argument_digest: String::new(),
        intent: None,
        declarations: tool.declarations(),
    };
    let (key, owner) = (key.clone(), world.store.owner().clone());
    world
        .store
        .write::<_, Error>(Durability::Ordered, move |tx| {
            Ok(calls::admit(tx, &owner, &key.session_id, &key.message_id, &[call])?.turn)
        })
        .await
        .unwrap()
}

fn settlement(result: Result<ToolOutput, ToolError>) -> Settlement {
    match result {
        Ok(output) => {
            let Output::Text(text) = output.output else { panic!("text") };
            Settlement {
                title: output.title,
                output: text,
                metadata: output.metadata,
                claims: output.claims,
                ..Settlement::default()
            }
        }
        Err(error) => Settlement { error: Some(error), ..Settlement::default() },
    }
}

async fn run(prepared: Prepared) -> Result<ToolOutput, ToolError> {
    let Body::Run(body) = prepared.body else { panic!("a body that runs") };
    body().await
}

// spec: QUESTION-07, QUESTION-10, QUESTION-12, QUESTION-19
#[tokio::test]
async fn a_receipt_comes_at_once() {
    let folder = folder();
    let world = World::open(folder.path(), START);
    let [question, question_async] = tools();
    let silent = Caller { human_surface: false, ..PLAN };
    let cases = [(&question, WORK), (&question, silent), (&question_async, WORK), (&question_async, PLAN)];
    for (index, (tool, caller)) in cases.into_iter().enumerate() {
        let call = Dispatched::new(&world, caller, tool, &format!("msg_{index}")).await;
        let prepared = call.prepare(tool, arguments()).await.unwrap();
        assert_eq!(prepared.asks.len(), 1);
        let ask = &prepared.asks[0];
        assert_eq!(
            (ask.key.as_str(), ask.patterns.as_slice(), ask.implicit),
            ("question", &["*".to_owned()][..], true)
        );
        let part = call.settle_in_one(&world, prepared).await;
        assert_eq!(part.outcome, Some(Outcome::Ok));
        let open = world.port.list(None, None).unwrap();
        assert_eq!(open.len(), index + 1);
        let published = &open[index];
        assert_eq!((published.mode, published.state), (QuestionMode::Deferred, QuestionState::Pending));
        assert_eq!(published.auto_defer.as_ref().unwrap().deadline_at, START + 120_000);
        assert_eq!(published.origin.call_id.as_ref(), Some(&call.key.call_id));
        assert_eq!(published.origin.turn_id.as_ref(), Some(&call.context.turn_id));
        assert_eq!(part.metadata["requestId"], published.id.as_str());
        assert_eq!(part.metadata["revision"], 1);
        assert_eq!(part.metadata["question"], serde_json::to_value(published).unwrap());
        for text in
            [published.id.as_str(), "q1, q2", "later, as an input", "existing authorization", "stated assumptions"]
        {
            assert!(part.output.contains(text), "{text}: {}", part.output);
        }
        assert_eq!(tool.declarations().effect, Effect::UserMediated);
    }
    assert!(question.description().contains("at most three") && question_async.description().contains("recommended"));
    let printed = serde_json::to_value(question.input_schema()).unwrap();
    assert_eq!(printed["properties"]["questions"]["maxItems"], 8);
}

// The settlement and the publication are one transaction: without one there is not the other.
#[tokio::test]
async fn a_publication_that_is_rolled_back_leaves_nothing() {
    let folder = folder();
    let world = World::open(folder.path(), START);
    let [question, _] = tools();
    let call = Dispatched::new(&world, WORK, &question, "msg_a").await;
    let Body::Store(body) = call.prepare(&question, arguments()).await.unwrap().body else { panic!("a store body") };
    let refused = world
        .store
        .write::<(), Error>(Durability::Ordered, move |tx| {
            body(tx).map_err(|error| Error::arguments(error.message))?;
            Err(Error::arguments("the settlement failed"))
        })
        .await;
    assert_eq!(code(refused), "arguments.invalid");
    assert!(world.port.list(None, None).unwrap().is_empty());
    assert!(world.event_kinds().is_empty());
}

// spec: QUESTION-05, QUESTION-14: a live wait takes the answer as its result; it is not delivered again.
#[tokio::test]
async fn plan_mode_waits_and_claims_the_answer() {
    let folder = folder();
    let world = World::open(folder.path(), START);
    let [question, _] = tools();
    let call = Dispatched::new(&world, PLAN, &question, "msg_a").await;
    let prepared = call.prepare(&question, arguments()).await.unwrap();
    let body = tokio::spawn(run(prepared));
    let published = opened(&world).await;
    assert_eq!(published.mode, QuestionMode::Blocking);
    assert!(!body.is_finished());
    world.port.respond(world.command(&published, "c", 1, answer(&[("q1", &["SQLite"])]))).await.unwrap();
    let output = body.await.unwrap().unwrap();
    // A second answer before the settlement is not in the result, so it stays an input.
    world.port.respond(world.command(&published, "d", 2, answer(&[("q2", &["80"])]))).await.unwrap();
    let part = call.settle(&world, Ok(output)).await;
    assert_eq!(part.output.lines().next(), Some("partly answered"));
    assert!(part.output.contains("Which database?\n  SQLite") && part.output.contains("Which port?\n  (no answer)"));
    assert_eq!(part.metadata["status"], "partly answered");
    assert_eq!(part.metadata["answers"], json!({"q1": ["SQLite"]}));
    let states: Vec<InputState> = world.inbox().iter().map(|row| row.state).collect();
    assert_eq!(states, [InputState::Consumed, InputState::Queued]);
    assert_eq!(world.inbox()[0].cycle_id.as_ref(), Some(&call.context.cycle_id));
    let delivery = world.port.get(&published.id).unwrap().delivery;
    assert_eq!(
        (delivery.phase, delivery.pending_inputs, delivery.applied_inputs),
        (DeliveryPhase::AnsweredPendingDelivery, 1, 1)
    );
    assert_eq!(world.event_kinds().iter().filter(|kind| *kind == "input.consumed").count(), 1);
    // Settling again claims nothing again.
    call.settle(&world, Ok(ToolOutput::default())).await;
    assert_eq!(world.event_kinds().iter().filter(|kind| *kind == "input.consumed").count(), 1);
}

// spec: QUESTION-06, QUESTION-20, QUESTION-21
#[tokio::test]
async fn every_first_response_releases_the_wait() {
    let folder = folder();
    let world = World::open(folder.path(), START);
    let [question, _] = tools();
    let full = answer(&[("q1", &["SQLite"]), ("q2", &["80"])]);
    let cases = [
        (Action::Defer { draft_answers: Some(answers(&[("q1", &["SQLite"])])) }, "deferred", QuestionState::Pending),
        (Action::Skip {}, "skipped", QuestionState::Skipped),
        (Action::Cancel {}, "cancelled", QuestionState::Cancelled),
        (full, "answered", QuestionState::Answered),
    ];
    for (index, (action, status, state)) in cases.into_iter().enumerate() {
        let call = Dispatched::new(&world, PLAN, &question, &format!("msg_{index}")).await;
        let body = tokio::spawn(run(call.prepare(&question, arguments()).await.unwrap()));
        let published = opened(&world).await;
        world.port.respond(world.command(&published, "c", 1, action)).await.unwrap();
        let part = call.settle(&world, body.await.unwrap()).await;
        assert_eq!((part.outcome, part.output.lines().next()), (Some(Outcome::Ok), Some(status)));
        assert_eq!(part.output.contains("(no answer)"), status != "answered");
        assert_eq!(world.port.get(&published.id).unwrap().state, state);
        assert!(world.inbox().iter().all(|row| row.state == InputState::Consumed));
        if state == QuestionState::Pending {
            world.port.respond(world.command(&published, "end", 2, Action::Skip {})).await.unwrap();
        }
    }
    assert!(world.port.list(None, None).unwrap().is_empty());
}

// spec: QUESTION-14: the wait is given up; the answer comes later and is delivered once, as an input.
#[tokio::test]
async fn an_interrupted_wait_leaves_the_question_open() {
    let folder = folder();
    let world = World::open(folder.path(), START);
    let [question, _] = tools();
    let call = Dispatched::new(&world, PLAN, &question, "msg_a").await;
    let body = tokio::spawn(run(call.prepare(&question, arguments()).await.unwrap()));
    let published = opened(&world).await;
    call.context.cancel.cancel();
    let part = call.settle(&world, body.await.unwrap()).await;
    assert_eq!(part.error.as_ref().unwrap().code, "cancelled");
    assert_eq!(world.port.get(&published.id).unwrap(), published);
    world
        .port
        .respond(world.command(&published, "c", 1, answer(&[("q1", &["SQLite"]), ("q2", &["1"])])))
        .await
        .unwrap();
    assert_eq!(world.inbox().iter().map(|row| row.state).collect::<Vec<_>>(), [InputState::Queued]);
}

// spec: QUESTION-14: after a crash the same call waits on the stored request, or takes its stored answer.
#[tokio::test]
async fn running_the_call_again_takes_the_stored_answer() {
    let folder = folder();
    let world = World::open(folder.path(), START);
    let [question, _] = tools();
    let call = Dispatched::new(&world, PLAN, &question, "msg_a").await;
    let body = tokio::spawn(run(call.prepare(&question, arguments()).await.unwrap()));
    let published = opened(&world).await;
    body.abort();
    assert!(body.await.is_err());
    world
        .port
        .respond(world.command(&published, "c", 1, answer(&[("q1", &["SQLite"]), ("q2", &["1"])])))
        .await
        .unwrap();
    let output = run(call.prepare(&question, arguments()).await.unwrap()).await;
    let part = call.settle(&world, output).await;
    assert_eq!(part.output.lines().next(), Some("answered"));
    assert_eq!(world.port.list(None, Some(QuestionState::Answered)).unwrap().len(), 1);
    assert_eq!(world.inbox().iter().map(|row| row.state).collect::<Vec<_>>(), [InputState::Consumed]);

    // The same call with other items is another question and refused.
    let other = json!({"questions": [{"question": "Else?", "header": "H"}]});
    let refused = run(call.prepare(&question, other).await.unwrap()).await.unwrap_err();
    assert_eq!(refused.outcome(), Outcome::Blocked);
}

// spec: QUESTION-33: the part the tool has in it: nothing is published, the parent has to decide.
#[tokio::test]
async fn a_child_asks_nobody() {
    let folder = folder();
    let world = World::open(folder.path(), START);
    for (index, tool) in tools().iter().enumerate() {
        for plan_mode in [false, true] {
            let caller = Caller { plan_mode, root: false, human_surface: true };
            let call = Dispatched::new(&world, caller, tool, &format!("msg_{index}{plan_mode}")).await;
            let part = call.settle_in_one(&world, call.prepare(tool, arguments()).await.unwrap()).await;
            assert_eq!(part.outcome, Some(Outcome::Ok));
            assert!(part.output.contains("the parent has to decide") && part.output.contains("Which database?"));
        }
    }
    assert!(world.port.list(None, None).unwrap().is_empty());
    assert!(world.event_kinds().is_empty());
}

#[tokio::test]
async fn labels_are_checked_before_anything_happens() {
    let folder = folder();
    let world = World::open(folder.path(), START);
    let [question, _] = tools();
    let call = Dispatched::new(&world, WORK, &question, MessageId::from("msg_a").as_str()).await;
    let twice = json!([{"label": "A", "description": ""}, {"label": "A", "description": ""}]);
    let arguments = json!({"questions": [{"question": "Q?", "header": "H", "options": twice}]});
    let Err(error) = call.prepare(&question, arguments).await else { panic!("refused") };
    assert_eq!(error.outcome(), Outcome::Blocked);
    assert!(serde_json::to_string(&error).unwrap().contains("questions[0].options"));
}

async fn opened(world: &World) -> zuno::store::questions::Question {
    loop {
        if let Some(question) = world.port.list(None, None).unwrap().pop() {
            return question;
        }
        tokio::task::yield_now().await;
    }
}
