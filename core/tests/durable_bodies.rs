//! Bodies that panic, hang or give up: every call settles, and what only writes to the store is all or nothing.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::print_stderr)]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use zuno::dispatch::registry::Registry;
use zuno::dispatch::surface::{Contract, Profile};
use zuno::dispatch::{CallInput, DispatchSession, Dispatcher, Hooks};
use zuno::host::{BoxFuture, NoHost};
use zuno::permission::Broker;
use zuno::store::sessions::{self, SessionMode, SessionRecord, SessionSetup, SessionState};
use zuno::store::{Durability, Location, NoEvents, Store, StoreError, calls, events, leases};
use zuno::tools::contract::{Body, CallContext, Prepared, Services, SessionContext, Tool, ToolOutput};
use zuno::types::{
    CallState, Concurrency, Declarations, Effect, JsonMap, MessageId, Outcome, Part, PermissionMode, RandomIds, Replay,
    SessionId, SystemClock, ToolError,
};

/// What a test tool does wrong.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    PanicsInPrepare,
    PanicsAtOnce,
    PanicsLater,
    PanicsWhenDropped,
    NeverEnds,
    StoreBodyPanics,
    StoreBodyRefuses,
    StoreBodyWorks,
}

struct Faulty {
    name: &'static str,
    fault: Fault,
    effect: Effect,
    schema: Value,
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("dropping it panics");
        }
    }
}

impl Tool for Faulty {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        "Does something wrong."
    }

    fn input_schema(&self) -> &Value {
        &self.schema
    }

    fn declarations(&self) -> Declarations {
        let concurrency =
            if self.effect == Effect::ReadOnly { Concurrency::ParallelSafe } else { Concurrency::Exclusive };
        Declarations { effect: self.effect, replay: Replay::Never, concurrency }
    }

    fn interrupt_grace(&self) -> Duration {
        Duration::from_millis(10)
    }

    fn prepare(&self, call: CallContext, _: JsonMap) -> BoxFuture<'static, Result<Prepared, ToolError>> {
        let fault = self.fault;
        assert!(fault != Fault::PanicsInPrepare, "preparing panics");
        Box::pin(async move {
            Ok(Prepared { asks: Vec::new(), preview: None, facts: JsonMap::new(), body: body(fault, call) })
        })
    }
}

fn body(fault: Fault, call: CallContext) -> Body {
    match fault {
        Fault::StoreBodyPanics | Fault::StoreBodyRefuses | Fault::StoreBodyWorks => Body::Store(Box::new(move |tx| {
            // Something that can be looked for afterwards: another session.
            sessions::create(tx, &setup("ses_by_the_body"))?;
            assert!(fault != Fault::StoreBodyPanics, "a body panics in its transaction");
            if fault == Fault::StoreBodyRefuses {
                return Err(ToolError::failed("refused", "The body looked and refused."));
            }
            Ok(ToolOutput::text("made", "made"))
        })),
        _ => Body::run(move || async move {
            assert!(fault != Fault::PanicsAtOnce, "a body panics");
            let _bomb = (fault == Fault::PanicsWhenDropped).then(|| Bomb);
            tokio::task::yield_now().await;
            assert!(fault != Fault::PanicsLater, "a body panics later");
            let _held = call;
            std::future::pending::<()>().await;
            Ok(ToolOutput::default())
        }),
    }
}

fn setup(id: &str) -> SessionSetup {
    let record = SessionRecord {
        id: id.into(),
        directory: "/".into(),
        worktree: "/".into(),
        parent_id: None,
        agent: "orchestrator".into(),
        mode: SessionMode::Work,
        title: String::new(),
        state: SessionState::Active,
        time_created: 1,
        time_updated: 1,
    };
    let root_id = SessionId::from(id);
    SessionSetup { record, root_id, work_state: true, human_surface: true, profile: json!({}), config: json!({}) }
}

struct Fixture {
    dispatcher: Dispatcher,
    session: Arc<DispatchSession>,
    store: Store,
}

async fn fixture(tools: &[(&'static str, Fault, Effect)]) -> Fixture {
    let (clock, ids) = (Arc::new(SystemClock), Arc::new(RandomIds::default()));
    let store =
        Store::open(Location::Memory, Arc::clone(&clock) as _, Arc::clone(&ids) as _, Arc::new(NoEvents)).unwrap();
    let owner = store.owner().clone();
    let begin = move |tx: &mut zuno::store::Tx<'_>| {
        sessions::create(tx, &setup("ses_a"))?;
        leases::take(tx, &"ses_a".into(), &owner).map(drop)
    };
    store.write::<_, StoreError>(Durability::Ordered, begin).await.unwrap();
    let schema = json!({ "type": "object" });
    let tools = tools.iter().map(|&(name, fault, effect)| {
        Arc::new(Faulty { name, fault, effect, schema: schema.clone() }) as Arc<dyn Tool>
    });
    let host = Arc::new(NoHost);
    let dispatcher = Dispatcher {
        registry: Registry::new(tools.collect()).unwrap(),
        hooks: Arc::new(Hooks::default()),
        broker: Broker::new(host.clone(), Arc::new(store.clone()), Arc::clone(&clock) as _, Arc::clone(&ids) as _),
        services: Arc::new(Services::new(store.clone(), host, clock, ids)),
    };
    let context = Arc::new(SessionContext::new("ses_a".into(), PathBuf::from("/")));
    let session =
        Arc::new(DispatchSession::new(context, PermissionMode::AllowAll, Profile::default(), Contract::default()));
    Fixture { dispatcher, session, store }
}

impl Fixture {
    async fn dispatch(&self, names: &[&str], cancel: &CancellationToken) -> Vec<Part> {
        let calls = names
            .iter()
            .map(|name| CallInput { call_id: None, name: (*name).to_owned(), arguments: json!({}) })
            .collect();
        let message = MessageId::from("m");
        let result =
            self.dispatcher.dispatch(&self.session, Some(message.clone()), calls, false, cancel).await.unwrap();
        let stored = self.dispatcher.stored(&self.session, &message).unwrap();
        assert_eq!(result.results, stored);
        assert!(stored.iter().all(|part| part.state == CallState::Settled));
        stored
    }

    async fn one(&self, name: &str) -> Part {
        self.dispatch(&[name], &CancellationToken::new()).await.remove(0)
    }

    fn made(&self) -> bool {
        let read = |connection: &rusqlite::Connection| sessions::get(connection, &"ses_by_the_body".into());
        self.store.read::<_, StoreError>(read).unwrap().is_some()
    }

    fn types(&self) -> Vec<String> {
        let read = |connection: &rusqlite::Connection| events::page(connection, &"ses_a".into(), 0, 1_000);
        self.store.read::<_, StoreError>(read).unwrap().into_iter().map(|event| event.kind).collect()
    }
}

#[tokio::test]
async fn a_panic_settles_the_call_by_what_it_could_have_done() {
    for (fault, effect, outcome, stamped) in [
        (Fault::PanicsInPrepare, Effect::SideEffecting, Outcome::Error, false),
        (Fault::PanicsAtOnce, Effect::SideEffecting, Outcome::Uncertain, true),
        (Fault::PanicsLater, Effect::SideEffecting, Outcome::Uncertain, true),
        (Fault::PanicsLater, Effect::ReadOnly, Outcome::Error, true),
    ] {
        let fixture = fixture(&[("faulty", fault, effect)]).await;
        let part = fixture.one("faulty").await;
        assert_eq!(part.outcome, Some(outcome), "{part:?}");
        assert_eq!(part.dispatched_at.is_some(), stamped);
        let read = |connection: &rusqlite::Connection| calls::unsettled(connection, &"ses_a".into());
        let listed = fixture.store.read::<_, StoreError>(read).unwrap();
        assert_eq!(listed.len(), usize::from(outcome == Outcome::Uncertain));
    }
}

#[tokio::test]
async fn one_panic_in_a_group_costs_the_others_nothing() {
    let read = |name, fault| (name, fault, Effect::ReadOnly);
    let tools = [read("a", Fault::PanicsAtOnce), read("b", Fault::PanicsInPrepare), read("c", Fault::PanicsLater)];
    let fixture = fixture(&tools).await;
    let parts = fixture.dispatch(&["a", "b", "c", "a", "unknown"], &CancellationToken::new()).await;
    let tools: Vec<&str> = parts.iter().map(|part| part.tool.as_str()).collect();
    assert_eq!(tools, ["a", "b", "c", "a", "unknown"]);
    assert_eq!(parts[4].outcome, Some(Outcome::Blocked));
}

// spec: REPLAY-10
#[tokio::test]
async fn a_body_that_ignores_the_interrupt_is_dropped_and_its_call_settled() {
    for (fault, effect, outcome) in [
        (Fault::NeverEnds, Effect::SideEffecting, Outcome::Uncertain),
        (Fault::NeverEnds, Effect::ReadOnly, Outcome::Error),
        (Fault::PanicsWhenDropped, Effect::SideEffecting, Outcome::Uncertain),
    ] {
        let fixture = fixture(&[("faulty", fault, effect)]).await;
        let cancel = CancellationToken::new();
        let interrupt = async {
            while !fixture.types().contains(&"tool.dispatch.started".to_owned()) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            cancel.cancel();
        };
        let (parts, ()) = tokio::join!(fixture.dispatch(&["faulty"], &cancel), interrupt);
        assert_eq!(parts[0].outcome, Some(outcome), "{:?}", parts[0]);
        assert!(fixture.types().contains(&"tool.dispatch.interrupted".to_owned()));
        fixture.session.idle().await;
    }
}

#[tokio::test]
async fn what_only_writes_to_the_store_is_all_or_nothing() {
    for (fault, outcome, made) in [
        (Fault::StoreBodyWorks, Outcome::Ok, true),
        (Fault::StoreBodyRefuses, Outcome::Error, false),
        (Fault::StoreBodyPanics, Outcome::Error, false),
    ] {
        let fixture = fixture(&[("faulty", fault, Effect::SideEffecting)]).await;
        let part = fixture.one("faulty").await;
        assert_eq!(part.outcome, Some(outcome), "{part:?}");
        assert_eq!(fixture.made(), made);
        assert!(!part.output.is_empty());
        // Asking again gives back the same record.
        assert_eq!(fixture.one("faulty").await, part);
    }
}

/// Leaves a call behind as a dispatch does that failed half-way, for instance because the database was locked.
async fn leave_behind(fixture: &Fixture, stamped: bool) {
    let owner = fixture.store.owner().clone();
    let call = calls::NewCall {
        call_id: "call_1".into(),
        tool: "faulty".to_owned(),
        arguments: json!({}),
        argument_digest: String::new(),
        intent: None,
        declarations: Declarations::STRICT,
    };
    let leave = move |tx: &mut zuno::store::Tx<'_>| -> Result<(), zuno::types::Error> {
        calls::admit(tx, &owner, &"ses_a".into(), &"m".into(), &[call])?;
        if stamped {
            let key = calls::CallKey { session_id: "ses_a".into(), message_id: "m".into(), call_id: "call_1".into() };
            calls::stamp(tx, &key)?;
        }
        Ok(())
    };
    fixture.store.write(Durability::Full, leave).await.unwrap();
}

// spec: REPLAY-09
// case: 74
#[tokio::test]
async fn a_message_that_failed_half_way_is_finished_by_sending_it_again() {
    for (stamped, outcome) in [(false, Outcome::Ok), (true, Outcome::Uncertain)] {
        let fixture = fixture(&[("faulty", Fault::StoreBodyWorks, Effect::SideEffecting)]).await;
        leave_behind(&fixture, stamped).await;
        let part = fixture.one("faulty").await;
        assert_eq!(part.outcome, Some(outcome), "{part:?}");
        assert_eq!(fixture.made(), !stamped, "what may have run is not run again");
        let count = |kind: &str| fixture.types().iter().filter(|found| *found == kind).count();
        assert_eq!(
            (count("tool.call.started"), count("tool.dispatch.started"), count("tool.dispatch.completed")),
            (1, 1, 1)
        );
    }
}
