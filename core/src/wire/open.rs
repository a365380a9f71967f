//! Opening a runtime from its options document.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::ops::Ops;
use super::params::{self, OpenParams};
use super::queue::Queue;
use super::requests::Requests;
use super::{Inner, Threads, Wire, parse};
use crate::host::Host;
use crate::runtime::{Kernel, Options};
use crate::store::Location;
use crate::types::{Error, RandomIds, Result, SystemClock};

/// Threads that drive futures; bodies that block have threads of their own.
const WORKERS: usize = 2;

pub(super) fn open(options: &str) -> Result<Arc<Wire>> {
    let options: OpenParams = params::read("open", parse(options)?)?;
    let threads = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .thread_name("zuno-worker")
        .enable_all()
        .build()
        .map_err(|error| Error::new("failed.operation", format!("No threads could be started: {error}.")))?;
    let handle = threads.handle().clone();
    // From here on they end without a panic, also on a thread of the host's own async runtime.
    let threads = Threads(Some(threads));
    let queue = Arc::new(Queue::default());
    let requests = Arc::new(Requests::new(Arc::clone(&queue), options.ports.iter().copied().collect()));
    let host: Arc<dyn Host> = Arc::<Requests>::clone(&requests);
    let database = options.database.as_deref().map(location).transpose()?;
    let inside = handle.enter();
    let runtime = Kernel::open(Options {
        database,
        host,
        config: options.config,
        read_global: options.read_global,
        read_environment: options.read_environment,
        read_project: options.read_project,
        environment: std::env::vars_os().collect(),
        clock: Arc::new(SystemClock),
        ids: Arc::new(RandomIds::default()),
    })?;
    drop(inside);
    let inner =
        Inner { runtime, ops: Ops::new(Arc::clone(&queue)), queue, requests, closed: AtomicBool::new(false), handle };
    Ok(Arc::new(Wire { pid: std::process::id(), inner: Some(Arc::new(inner)), threads }))
}

fn location(text: &str) -> Result<Location> {
    if text.is_empty() || text.contains('\0') {
        let text = "`database` has to be the path of a file whose folder exists, or `:memory:`.";
        return Err(Error::arguments(text).with("field", "database"));
    }
    Ok(if text == ":memory:" { Location::Memory } else { Location::File(PathBuf::from(text)) })
}
