//! `question` and `question_async` through the whole pipeline: surface, permission, stamp, body, settlement.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod question_support;

use std::sync::Arc;

use question_support::*;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use zuno::dispatch::registry::Registry;
use zuno::dispatch::surface::{Contract, Profile};
use zuno::dispatch::{CallInput, DispatchSession, Dispatcher, Hooks};
use zuno::permission::Broker;
use zuno::store::inbox::InputState;
use zuno::store::questions::{Question, QuestionMode};
use zuno::text::rules::{Action as RuleAction, Layers, Rule};
use zuno::tools::contract::Tool;
use zuno::types::{BlockKind, Outcome, Part, PermissionMode};

struct Bench {
    dispatcher: Dispatcher,
    session: Arc<DispatchSession>,
}

impl Bench {
    fn new(world: &World, caller: Caller, rules: &[Rule]) -> Self {
        let services = services(world);
        let tools = tools().into_iter().map(|tool| Arc::new(tool) as Arc<dyn Tool>).collect();
        let dispatcher = Dispatcher {
            registry: Registry::new(tools).unwrap(),
            hooks: Arc::new(Hooks::default()),
            broker: Broker::new(
                services.host.clone(),
                Arc::new(world.store.clone()),
                services.clock.clone(),
                services.ids.clone(),
            ),
            services,
        };
        let layers = Layers::over_shipped(rules, &[]);
        let context = Arc::new(session_context(world, caller, layers));
        let session = DispatchSession::new(context, PermissionMode::Standard, Profile::default(), Contract::default());
        Self { dispatcher, session: Arc::new(session) }
    }

    async fn call(&self, tool: &str, message: &str) -> Part {
        let call = CallInput { call_id: Some("call1".to_owned()), name: tool.to_owned(), arguments: arguments() };
        let stop = CancellationToken::new();
        let result = self.dispatcher.dispatch(&self.session, Some(message.into()), vec![call], false, &stop).await;
        result.unwrap().results.remove(0)
    }
}

async fn opened(world: &World) -> Question {
    loop {
        if let Some(question) = world.port.list(None, None).unwrap().pop() {
            return question;
        }
        tokio::task::yield_now().await;
    }
}

// spec: QUESTION-07, QUESTION-10, QUESTION-14
#[tokio::test]
async fn work_mode_gets_a_receipt_and_the_answer_as_one_input() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::open(folder.path(), START);
    let bench = Bench::new(&world, WORK, &[]);
    for (message, tool) in [("msg_a", "question"), ("msg_b", "question_async")] {
        let part = bench.call(tool, message).await;
        assert_eq!((part.outcome, part.error.clone()), (Some(Outcome::Ok), None));
        let question = opened(&world).await;
        assert_eq!(question.mode, QuestionMode::Deferred);
        assert_eq!(part.metadata["requestId"], question.id.as_str());
        // A repeated dispatch finds its result and publishes nothing.
        assert_eq!(bench.call(tool, message).await, part);
        assert_eq!(world.port.list(None, None).unwrap().len(), 1);
        let rows = world.inbox().len();
        let full = answer(&[("q1", &["SQLite"]), ("q2", &["80"])]);
        world.port.respond(world.command(&question, "c", 1, full)).await.unwrap();
        assert_eq!(world.inbox().len() - rows, 1);
        assert_eq!(world.inbox()[rows].state, InputState::Queued);
        assert_eq!(world.inbox()[rows].cycle_id, Some(part.cycle_id.clone()));
    }
}

// spec: QUESTION-05, QUESTION-14
#[tokio::test]
async fn plan_mode_returns_the_answer_and_no_input_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::open(folder.path(), START);
    let bench = Bench::new(&world, PLAN, &[]);
    let respond = async {
        let question = opened(&world).await;
        assert_eq!(question.mode, QuestionMode::Blocking);
        let full = answer(&[("q1", &["SQLite"]), ("q2", &["80"])]);
        world.port.respond(world.command(&question, "c", 1, full)).await.unwrap();
    };
    let (part, ()) = tokio::join!(bench.call("question", "msg_a"), respond);
    assert_eq!(part.output.lines().next(), Some("answered"));
    assert_eq!(part.metadata["answers"], json!({"q1": ["SQLite"], "q2": ["80"]}));
    assert_eq!(world.inbox().iter().map(|row| row.state).collect::<Vec<_>>(), [InputState::Consumed]);
}

#[tokio::test]
async fn an_interrupt_ends_the_wait_and_keeps_the_question() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::open(folder.path(), START);
    let bench = Bench::new(&world, PLAN, &[]);
    let interrupt = async {
        let question = opened(&world).await;
        assert!(bench.session.interrupt());
        question
    };
    let (part, question) = tokio::join!(bench.call("question", "msg_a"), interrupt);
    assert_eq!((part.outcome, part.error.unwrap().code.as_str()), (Some(Outcome::Error), "cancelled"));
    assert_eq!(world.port.get(&question.id).unwrap(), question);
}

// spec: QUESTION-19
#[tokio::test]
async fn one_permission_key_governs_both() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::open(folder.path(), START);
    let deny = |key: &str| [Rule::new(key, "*", RuleAction::Deny, "test")];
    let bench = Bench::new(&world, WORK, &deny("question"));
    for (message, tool) in [("msg_a", "question"), ("msg_b", "question_async")] {
        let part = bench.call(tool, message).await;
        assert_eq!(part.outcome, Some(Outcome::Blocked), "{tool}");
        assert_ne!(part.block_kind, Some(BlockKind::InvalidArguments), "{tool}");
    }
    assert!(world.port.list(None, None).unwrap().is_empty());
    let bench = Bench::new(&world, WORK, &deny("question_async"));
    assert_eq!(bench.call("question_async", "msg_c").await.outcome, Some(Outcome::Ok));
    // The user is not asked whether the user may be asked.
    let ask = [Rule::new("*", "*", RuleAction::Ask, "test")];
    assert_eq!(Bench::new(&world, WORK, &ask).call("question", "msg_d").await.outcome, Some(Outcome::Ok));
}
