//! What the handles of one runtime share.

use std::ffi::c_void;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};
use zuno::types::{Error, Result};
use zuno::wire::Wire;

use crate::deliver::Push;
use crate::host::zuno_host_t;

/// The last item of every queue.
const CLOSED: &str = r#"{"type":"closed"}"#;

/// A runtime and the way its items reach the program.
pub(crate) struct Shared {
    wire: Arc<Wire>,
    pid: u32,
    delivery: Delivery,
}

enum Delivery {
    /// The dispatcher thread calls the host's functions.
    Push(Push),
    /// The program asks.
    Pull(Pull),
}

#[derive(Default)]
struct Pull {
    ended: AtomicBool,
    signal: OnceLock<Arc<OwnedFd>>,
}

impl Shared {
    pub(crate) fn open(options: &str, host: Option<zuno_host_t>) -> Result<Arc<Self>> {
        let wire = Wire::open(options)?;
        let delivery = host.map_or_else(|| Delivery::Pull(Pull::default()), |host| Delivery::Push(Push::new(host)));
        let shared = Arc::new(Self { wire, pid: std::process::id(), delivery });
        if let Some(push) = shared.push() {
            push.begin(&shared)?;
        }
        Ok(shared)
    }

    pub(crate) fn wire(&self) -> &Wire {
        &self.wire
    }

    pub(crate) fn push(&self) -> Option<&Push> {
        match &self.delivery {
            Delivery::Push(push) => Some(push),
            Delivery::Pull(_) => None,
        }
    }

    fn pull(&self) -> Result<&Pull> {
        if self.is_elsewhere() {
            let text = "The runtime belongs to the process that forked this one. Open a new one in this process.";
            return Err(Error::new("closed.forked", text));
        }
        match &self.delivery {
            Delivery::Pull(pull) => Ok(pull),
            Delivery::Push(_) => Err(Error::new(
                "unavailable.feature",
                "This runtime was opened with a host, whose functions get its items. Open it with NULL to ask for them.",
            )),
        }
    }

    /// Whether this is a forked child, in which no thread of the runtime exists.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.pid != std::process::id()
    }

    /// Runs a method and waits for its result.
    pub(crate) fn call(self: &Arc<Self>, method: &str, params: &str) -> Result<String> {
        if let Some(push) = self.push() {
            push.before_waiting(self, method)?;
        }
        self.wire.call(method, params)
    }

    /// Starts a method.
    pub(crate) fn start(&self, method: &str, params: &str, data: *mut c_void) -> Result<u64> {
        match self.push() {
            Some(push) => push.start_op(&self.wire, method, params, data),
            None => self.wire.start(method, params),
        }
    }

    /// The next item, in pull mode.
    pub(crate) fn next(&self, timeout: Option<Duration>) -> Result<Option<String>> {
        let pull = self.pull()?;
        let signal = pull.signal.get();
        // Lowered before looking and raised after finding: it is never down while an item waits.
        if let Some(signal) = signal {
            lower(signal);
        }
        let item = self.wire.next(timeout);
        if item.as_deref() == Some(CLOSED) {
            pull.ended.store(true, Ordering::Release);
        }
        let ended = pull.ended.load(Ordering::Acquire) || timeout.is_none();
        if let (Some(signal), true) = (signal, item.is_some() || ended) {
            raise(signal);
        }
        if item.is_none() && ended {
            return Err(Error::new("closed.object", "The runtime is closed and its queue has ended."));
        }
        Ok(item)
    }

    /// A descriptor that is readable while items may wait.
    pub(crate) fn descriptor(&self) -> Result<RawFd> {
        let pull = self.pull()?;
        if let Some(signal) = pull.signal.get() {
            return Ok(signal.as_raw_fd());
        }
        let made = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|error| Error::new("failed.operation", format!("No descriptor could be made: {error}.")))?;
        let signal = Arc::clone(pull.signal.get_or_init(|| Arc::new(made)));
        let fd = signal.as_raw_fd();
        self.wire.set_waker(Some(Box::new(move || raise(&signal))));
        Ok(fd)
    }
}

fn raise(signal: &OwnedFd) {
    let _ = rustix::io::write(signal, &1_u64.to_ne_bytes());
}

fn lower(signal: &OwnedFd) {
    let _ = rustix::io::read(signal, &mut [0_u8; 8]);
}
