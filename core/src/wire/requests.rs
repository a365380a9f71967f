//! Work for the host: a request with an id, answered once, later, from any thread.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::queue::{Item, Queue};
use crate::host::{BoxFuture, Host, Port};
use crate::types::{Error, Result};

type Waiting = HashMap<String, oneshot::Sender<Result<Value>>>;

/// The host as the queue shows it.
pub(super) struct Requests {
    queue: Arc<Queue>,
    ports: BTreeSet<Port>,
    waiting: Arc<Mutex<Option<Waiting>>>,
    next: AtomicU64,
}

impl Requests {
    pub(super) fn new(queue: Arc<Queue>, ports: BTreeSet<Port>) -> Self {
        Self { queue, ports, waiting: Arc::new(Mutex::new(Some(HashMap::new()))), next: AtomicU64::new(1) }
    }

    /// Gives an answer to whoever waits for it; says whether anybody did.
    pub(super) fn settle(&self, id: &str, answer: Result<Value>) -> bool {
        let sender = lock(&self.waiting).as_mut().and_then(|waiting| waiting.remove(id));
        sender.is_some_and(|sender| sender.send(answer).is_ok())
    }

    /// Fails everything that waits, and everything that will ask. The host is told what is not wanted any more.
    pub(super) fn close(&self) {
        let mut waiting: Vec<_> = lock(&self.waiting).take().into_iter().flatten().collect();
        waiting.sort_by(|(one, _), (other, _)| (one.len(), one).cmp(&(other.len(), other)));
        for (request, sender) in waiting {
            let _ = sender.send(Err(gone()));
            self.queue.push(Item::Cancelled { request });
        }
    }
}

fn lock(waiting: &Mutex<Option<Waiting>>) -> std::sync::MutexGuard<'_, Option<Waiting>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

fn gone() -> Error {
    Error::new("host.gone", "The runtime was closed before the host answered.")
}

/// Takes a request back when nobody waits for it any more.
struct Withdraw {
    id: String,
    queue: Arc<Queue>,
    waiting: Arc<Mutex<Option<Waiting>>>,
}

impl Drop for Withdraw {
    fn drop(&mut self) {
        let unanswered = lock(&self.waiting).as_mut().and_then(|waiting| waiting.remove(&self.id)).is_some();
        if unanswered {
            self.queue.push(Item::Cancelled { request: std::mem::take(&mut self.id) });
        }
    }
}

impl Host for Requests {
    fn installed(&self, port: Port) -> bool {
        self.ports.contains(&port)
    }

    fn ask(&self, port: Port, payload: Value, cancel: CancellationToken) -> BoxFuture<'static, Result<Value>> {
        if !self.installed(port) {
            let text = format!(
                "No `{0}` port is installed. Name it in `ports` of `open` and answer `{0}` requests.",
                port.name()
            );
            return Box::pin(async move { Err(Error::new("host.unsupported", text)) });
        }
        let id = format!("req_{}", self.next.fetch_add(1, Ordering::Relaxed));
        let (sender, receiver) = oneshot::channel();
        match lock(&self.waiting).as_mut() {
            Some(waiting) => waiting.insert(id.clone(), sender),
            None => return Box::pin(async { Err(gone()) }),
        };
        let withdraw = Withdraw { id: id.clone(), queue: Arc::clone(&self.queue), waiting: Arc::clone(&self.waiting) };
        self.queue.push(Item::Request { id, kind: port.name(), payload });
        Box::pin(async move {
            let _withdraw = withdraw;
            tokio::select! {
                answer = receiver => answer.unwrap_or_else(|_| Err(gone())),
                () = cancel.cancelled() => {
                    Err(Error::new("failed.canceled", "The answer was no longer wanted: the call was cancelled."))
                }
            }
        })
    }
}
