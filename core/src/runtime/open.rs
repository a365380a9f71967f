//! Opening a runtime: configuration first, then the store; a fault opens nothing.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::hub::Hub;
use super::{Inner, Kernel};
use crate::config::{self, Sources};
use crate::dispatch::registry::Registry;
use crate::dispatch::{Dispatcher, Hooks};
use crate::host::Host;
use crate::permission::Broker;
use crate::question;
use crate::store::leases::{self, HEARTBEAT};
use crate::store::questions::Countdown;
use crate::store::{Durability, Location, Store, StoreError};
use crate::tools;
use crate::tools::contract::Services;
use crate::types::{Clock, Error, IdSource, Result};

/// What a runtime is opened with.
pub struct Options {
    /// `None` = the ordinary place below the user's state folder.
    pub database: Option<Location>,
    /// The host's ports.
    pub host: Arc<dyn Host>,
    /// The explicit configuration document.
    pub config: Option<Value>,
    /// Read the global file.
    pub read_global: bool,
    /// Read the environment's variables.
    pub read_environment: bool,
    /// Read the project file of each session's worktree.
    pub read_project: bool,
    /// The environment as the host has it.
    pub environment: config::Environment,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids.
    pub ids: Arc<dyn IdSource>,
}

impl Kernel {
    /// Opens a runtime. Has to be called inside the tokio runtime that will drive it.
    ///
    /// # Errors
    /// `arguments.config`, `store.*`; nothing is open then.
    pub fn open(options: Options) -> Result<Self> {
        let environment = options.environment.clone();
        let home = environment.get(OsStr::new("HOME")).and_then(|home| home.to_str()).map(str::to_owned);
        let loaded = config::load(&Sources {
            global: if options.read_global { config::global_file(&environment) } else { None },
            environment: options.read_environment.then(|| environment.clone()),
            runtime: options.config.clone(),
            session: None,
            project: None,
            home: home.clone(),
        })?;
        let location = match options.database.clone() {
            Some(location) => location,
            None => default_location(&environment, options.read_environment)?,
        };
        let hub = Arc::new(Hub::new(Arc::clone(&options.clock), Arc::clone(&options.ids)));
        let sink: Arc<dyn crate::store::EventSink> = Arc::<Hub>::clone(&hub);
        let store = Store::open(location, Arc::clone(&options.clock), Arc::clone(&options.ids), sink)?;
        let broker = Broker::new(
            Arc::clone(&options.host),
            Arc::new(store.clone()),
            Arc::clone(&options.clock),
            Arc::clone(&options.ids),
        );
        let mut services =
            Services::new(store, Arc::clone(&options.host), Arc::clone(&options.clock), Arc::clone(&options.ids));
        let live = Arc::clone(&hub);
        services.live = Some(Arc::new(move |session, kind, data| live.live(session, kind, data)));
        let dispatcher = Dispatcher {
            registry: Registry::new(tools::builtin())?,
            hooks: Arc::new(Hooks::default()),
            broker,
            services: Arc::new(services),
        };
        let inner = Inner {
            dispatcher,
            hub,
            loaded,
            reads_project: options.read_project,
            home,
            sessions: Mutex::new(HashMap::new()),
            lanes: Mutex::new(HashMap::new()),
            closed: AtomicBool::new(false),
            stop: CancellationToken::new(),
        };
        let runtime = Self { inner: Arc::new(inner) };
        runtime.beat();
        runtime.watch_questions();
        runtime.follow();
        Ok(runtime)
    }

    /// Defers optional questions at their deadlines, until the runtime is closed.
    fn watch_questions(&self) {
        let (hub, stop) = (Arc::clone(&self.inner.hub), self.inner.stop.clone());
        let countdown = move |entry: &Countdown| {
            let data = json!({ "requestId": entry.request_id, "deadlineAt": entry.deadline_at });
            hub.live(&entry.session_id, "question.countdown", data);
        };
        tokio::spawn(question::timer::run(self.services().questions.clone(), countdown, stop));
    }

    /// Says every few seconds that this owner lives, until the runtime is gone.
    fn beat(&self) {
        let weak = Arc::downgrade(&self.inner);
        let clock = Arc::clone(&self.services().clock);
        tokio::spawn(async move {
            loop {
                clock.sleep(HEARTBEAT.unsigned_abs()).await;
                let Some(inner) = weak.upgrade() else { return };
                if inner.sessions.lock().is_ok_and(|sessions| sessions.is_empty()) {
                    continue;
                }
                let store = &inner.dispatcher.services.store;
                let owner = store.owner().clone();
                store.submit::<StoreError>(Durability::Ordered, move |tx| leases::beat(tx, &owner));
            }
        });
    }
}

fn default_location(environment: &config::Environment, read_environment: bool) -> Result<Location> {
    let Some(path) = config::database_file(environment, read_environment) else {
        let text = "There is no home directory to keep the database in. Give `database` a path, or `:memory:`.";
        return Err(Error::arguments(text).with("field", "database"));
    };
    if path.as_os_str() == ":memory:" {
        return Ok(Location::Memory);
    }
    // The ordinary place is the library's own; a path that a host names has to exist.
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|_| Error::from(StoreError::ReadOnly(path.clone())))?;
    }
    Ok(Location::File(path))
}
