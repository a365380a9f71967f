//! Push mode: threads that read the queue and call the host's functions.

use std::collections::HashMap;
use std::ffi::c_void;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use serde::Deserialize;
use serde_json::Value;
use zuno::types::{Error, Result};
use zuno::wire::Wire;

use crate::contain;
use crate::error::zuno_error_t;
use crate::host::zuno_host_t;
use crate::request::zuno_request_t;
use crate::roster::Roster;
use crate::shared::Shared;
use crate::status::ZUNO_OK;
use crate::text::{Terminated, zuno_str_t};

/// Methods whose end may depend on what the host answers. A callback that waits for one lends its turn meanwhile.
const WAIT_FOR_HOST: [&str; 2] = ["session.dispatch", "question.wait"];

/// The host's functions and who calls them.
pub(crate) struct Push {
    host: zuno_host_t,
    roster: Roster,
    ops: Mutex<HashMap<u64, OpData>>,
}

/// What the program wants to be given back at the end of an operation.
struct OpData(*mut c_void);

// SAFETY: it is only carried; the program said that a thread of the library hands it back.
unsafe impl Send for OpData {}

/// The documents of the queue.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Item {
    Event { subscription_id: u64, event: Value },
    Request { id: String, kind: String, payload: Value },
    Cancelled { request_id: String },
    Op { id: u64, result: Value, error: Option<Error> },
    Closed,
}

impl Push {
    pub(crate) fn new(host: zuno_host_t) -> Self {
        Self { host, roster: Roster::default(), ops: Mutex::default() }
    }

    /// Starts the dispatcher thread.
    pub(crate) fn begin(&self, shared: &Arc<Shared>) -> Result<()> {
        self.roster.enlist(|| start(Arc::clone(shared)))
    }

    /// Whether the calling thread calls this host's functions.
    pub(crate) fn is_dispatcher(&self) -> bool {
        self.roster.is_member()
    }

    /// Called before a wait for a method.
    pub(crate) fn before_waiting(&self, shared: &Arc<Shared>, method: &str) -> Result<()> {
        if !WAIT_FOR_HOST.contains(&method) {
            return Ok(());
        }
        self.roster.lend_turn(|| start(Arc::clone(shared)))
    }

    /// Starts an operation. Its end is not delivered before its `op_data` is known.
    pub(crate) fn start_op(&self, wire: &Wire, method: &str, params: &str, data: *mut c_void) -> Result<u64> {
        let mut ops = self.ops.lock().unwrap_or_else(PoisonError::into_inner);
        let op = wire.start(method, params)?;
        ops.insert(op, OpData(data));
        Ok(op)
    }

    /// Waits for the threads; they end after `closed`.
    pub(crate) fn join(&self) {
        self.roster.join();
    }

    fn call(&self, shared: &Arc<Shared>, item: Item) {
        let data = self.host.user_data;
        match item {
            Item::Event { subscription_id, event } => {
                if let Some(on_event) = self.host.on_event {
                    let event = Terminated::new(event.to_string());
                    // SAFETY: the host's own function, with what its contract says.
                    unsafe { on_event(data, subscription_id, event.view()) };
                }
            }
            Item::Request { id, kind, payload } => {
                let request = Box::new(zuno_request_t::new(shared, id, kind, &payload));
                match self.host.on_request {
                    // SAFETY: the host's own function; it takes the request over.
                    Some(on_request) => unsafe { on_request(data, Box::into_raw(request)) },
                    None => drop(request.fail("host.unsupported", "The host has no `on_request` function.")),
                }
            }
            Item::Cancelled { request_id } => {
                if let Some(on_cancel) = self.host.on_cancel {
                    let id = Terminated::new(request_id);
                    // SAFETY: the host's own function, with what its contract says.
                    unsafe { on_cancel(data, id.view()) };
                }
            }
            Item::Op { id, result, error } => self.op(id, &result, error),
            Item::Closed => {
                if let Some(on_closed) = self.host.on_closed {
                    // SAFETY: the host's own function, with what its contract says.
                    unsafe { on_closed(data) };
                }
            }
        }
    }

    fn op(&self, id: u64, result: &Value, error: Option<Error>) {
        let op_data = self.ops.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        let op_data = op_data.map_or(std::ptr::null_mut(), |data| data.0);
        let Some(on_op) = self.host.on_op else { return };
        let data = self.host.user_data;
        if let Some(error) = error.map(|error| zuno_error_t::new(&error)) {
            // SAFETY: the host's own function, with what its contract says.
            unsafe { on_op(data, op_data, id, error.status(), zuno_str_t::EMPTY, &raw const error) };
        } else {
            let result = Terminated::new(result.to_string());
            // SAFETY: the host's own function, with what its contract says.
            unsafe { on_op(data, op_data, id, ZUNO_OK, result.view(), std::ptr::null()) };
        }
    }

    fn last_call(&self) {
        if let Some(user_data_free) = self.host.user_data_free {
            // SAFETY: the host's own function; nobody calls another one after the last thread has left.
            unsafe { user_data_free(self.host.user_data) };
        }
    }
}

fn start(shared: Arc<Shared>) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name("zuno-dispatch".to_owned()).spawn(move || serve(&shared))
}

/// Reads and calls until the queue ends.
fn serve(shared: &Arc<Shared>) {
    let Some(push) = shared.push() else { return };
    while push.roster.take_turn() {
        while push.roster.has_turn() {
            let Some(document) = shared.wire().next(None) else {
                push.roster.end();
                break;
            };
            // A panic of ours costs one item, not the thread.
            contain::value((), || deliver(shared, push, &document));
        }
        push.roster.rest();
    }
    if push.roster.leave() {
        contain::value((), || push.last_call());
    }
}

fn deliver(shared: &Arc<Shared>, push: &Push, document: &str) {
    match serde_json::from_str(document) {
        Ok(item) => push.call(shared, item),
        Err(error) => debug_assert!(false, "an item of the queue has another form: {error}"),
    }
}
