//! A store with one session, a clock set by hand, and everything that was committed.

// Each test file uses its part of this.
#![allow(dead_code, clippy::unwrap_used)]

use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use zuno::host::NoHost;
use zuno::question::{PublishParams, QuestionPort};
use zuno::store::inbox::{self, InputRecord};
use zuno::store::questions::{Action, Answers, Choice, Command, NewItem, Purpose, Question, QuestionMode};
use zuno::store::sessions::{self, SessionMode, SessionRecord, SessionSetup, SessionState};
use zuno::store::{Durability, EventSink, Location, Store, StoreError, events, leases};
use zuno::text::rules::Layers;
use zuno::tools::contract::{Services, SessionContext};
use zuno::tools::question::QuestionTool;
use zuno::types::{Clock, Error, Event, Millis, RandomIds, SessionId};

pub(crate) struct HandClock(pub(crate) AtomicI64);

impl HandClock {
    pub(crate) fn set(&self, now: Millis) {
        self.0.store(now, Ordering::SeqCst);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Millis {
        self.0.load(Ordering::SeqCst)
    }
}

#[derive(Default)]
pub(crate) struct Seen(pub(crate) Mutex<Vec<Arc<Event>>>);

impl EventSink for Seen {
    fn committed(&self, events: Vec<Arc<Event>>) {
        self.0.lock().unwrap().extend(events);
    }
}

pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) port: QuestionPort,
    pub(crate) clock: Arc<HandClock>,
    pub(crate) seen: Arc<Seen>,
    pub(crate) session: SessionId,
}

pub(crate) const START: Millis = 1_764_576_000_000;

impl World {
    /// Opens the store of a folder without taking the session.
    pub(crate) fn visit(folder: &Path, now: Millis) -> Self {
        let clock = Arc::new(HandClock(AtomicI64::new(now)));
        let seen = Arc::new(Seen::default());
        let location = Location::File(folder.join("zuno.db"));
        let store = Store::open(location, clock.clone(), Arc::new(RandomIds::default()), seen.clone()).unwrap();
        Self {
            port: QuestionPort::new(store.clone(), clock.clone()),
            store,
            clock,
            seen,
            session: SessionId::from("ses_one"),
        }
    }

    /// Opens the store of a folder and owns its session, which is created if need be.
    pub(crate) fn open(folder: &Path, now: Millis) -> Self {
        let world = Self::visit(folder, now);
        let (session, owner) = (world.session.clone(), world.store.owner().clone());
        let setup = setup(&session);
        let wanted = session.clone();
        let known = world.store.read::<_, StoreError>(move |connection| sessions::get(connection, &wanted)).unwrap();
        world
            .store
            .write_blocking::<(), StoreError>(Durability::Full, move |tx| {
                if known.is_none() {
                    sessions::create(tx, &setup)?;
                }
                leases::take(tx, &session, &owner).map(drop)
            })
            .unwrap();
        world
    }

    /// Gives the session back and closes the store.
    pub(crate) fn close(self) {
        let owner = self.store.owner().clone();
        self.store
            .write_blocking::<(), StoreError>(Durability::Full, move |tx| leases::release_all(tx, &owner))
            .unwrap();
    }

    pub(crate) fn inbox(&self) -> Vec<InputRecord> {
        let session = self.session.clone();
        self.store.read::<_, StoreError>(move |connection| inbox::list(connection, &session)).unwrap()
    }

    /// Stored events of the question and inbox kinds.
    pub(crate) fn events(&self) -> Vec<Event> {
        let session = self.session.clone();
        let all = self.store.read::<_, Error>(move |connection| events::read(connection, &session, 0, 1_000)).unwrap();
        all.into_iter()
            .filter(|event| event.kind.starts_with("question.") || event.kind.starts_with("input."))
            .collect()
    }

    pub(crate) fn event_kinds(&self) -> Vec<String> {
        self.events().into_iter().map(|event| event.kind).collect()
    }

    pub(crate) async fn publish(&self, mode: QuestionMode, items: Vec<NewItem>) -> Question {
        self.port.publish(params(&self.session, mode, items)).await.unwrap()
    }

    pub(crate) fn command(&self, question: &Question, id: &str, revision: i64, action: Action) -> Command {
        Command { request_id: question.id.clone(), command_id: id.to_owned(), expected_revision: revision, action }
    }
}

pub(crate) fn setup(session: &SessionId) -> SessionSetup {
    SessionSetup {
        record: SessionRecord {
            id: session.clone(),
            directory: "/w".to_owned(),
            worktree: "/w".to_owned(),
            parent_id: None,
            agent: "build".to_owned(),
            mode: SessionMode::Work,
            title: String::new(),
            state: SessionState::Active,
            time_created: START,
            time_updated: START,
        },
        root_id: session.clone(),
        work_state: true,
        human_surface: true,
        profile: Value::Object(Default::default()),
        config: Value::Object(Default::default()),
    }
}

pub(crate) fn params(session: &SessionId, mode: QuestionMode, questions: Vec<NewItem>) -> PublishParams {
    PublishParams { session_id: session.clone(), mode, purpose: Purpose::Clarification, questions, closed: false }
}

pub(crate) fn item(question: &str, labels: &[&str]) -> NewItem {
    NewItem {
        question: question.to_owned(),
        header: "Header".to_owned(),
        options: labels.iter().map(|label| Choice { label: (*label).to_owned(), description: String::new() }).collect(),
        multiple: false,
    }
}

pub(crate) fn two_items() -> Vec<NewItem> {
    vec![item("Which database?", &["SQLite", "Postgres"]), item("Which port?", &[])]
}

pub(crate) fn answers(pairs: &[(&str, &[&str])]) -> Answers {
    pairs
        .iter()
        .map(|(id, values)| ((*id).to_owned(), values.iter().map(|value| (*value).to_owned()).collect()))
        .collect()
}

pub(crate) fn answer(pairs: &[(&str, &[&str])]) -> Action {
    Action::Answer { answers: answers(pairs) }
}

pub(crate) fn code<T>(result: Result<T, Error>) -> String {
    match result {
        Ok(_) => "ok".to_owned(),
        Err(error) => error.code,
    }
}

/// Who calls a question tool.
#[derive(Clone, Copy)]
pub(crate) struct Caller {
    pub(crate) plan_mode: bool,
    pub(crate) root: bool,
    pub(crate) human_surface: bool,
}

pub(crate) const WORK: Caller = Caller { plan_mode: false, root: true, human_surface: true };
pub(crate) const PLAN: Caller = Caller { plan_mode: true, root: true, human_surface: true };

pub(crate) fn tools() -> [QuestionTool; 2] {
    [QuestionTool::question(), QuestionTool::question_async()]
}

pub(crate) fn arguments() -> Value {
    json!({"questions": [
        {"question": "Which database?", "header": "Database", "options": [
            {"label": "SQLite", "description": "One file."}, {"label": "Postgres", "description": "A server."}]},
        {"question": "Which port?", "header": "Port"},
    ]})
}

pub(crate) fn session_context(world: &World, caller: Caller, layers: Layers) -> SessionContext {
    SessionContext {
        id: world.session.clone(),
        workspace: "/w".into(),
        workspace_spelling: "/w".into(),
        worktree: "/w".into(),
        root_id: world.session.clone(),
        agent: "build".to_owned(),
        read_only_agent: false,
        plan_mode: caller.plan_mode,
        root: caller.root,
        human_surface: caller.human_surface,
        config: Arc::default(),
        layers: Arc::new(layers),
        place: Arc::default(),
    }
}

/// The rooms tools stand on, with the port of the world in place of one of their own.
pub(crate) fn services(world: &World) -> Arc<Services> {
    let ids = Arc::new(RandomIds::default());
    let mut services = Services::new(world.store.clone(), Arc::new(NoHost), world.clock.clone(), ids);
    services.questions = world.port.clone();
    Arc::new(services)
}
