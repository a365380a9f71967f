//! A runtime as TypeScript holds it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use napi::{CleanupEnvHook, Env, Result};
use napi_derive::napi;
use zuno::wire::Wire;

use crate::errors::{closed, told};
use crate::wake::Wake;

/// How long an environment that ends waits for what still runs.
const TEARDOWN: Duration = Duration::from_secs(1);

/// An open runtime. All functions are called on the thread of the environment that opened it and none of them waits for
/// the host.
#[napi]
pub struct Handle {
    // Shared with the environment's clean-up hook; empty once it was given back.
    open: Arc<Mutex<Option<Open>>>,
    hook: Option<CleanupEnvHook<Arc<Mutex<Option<Open>>>>>,
}

#[derive(Clone)]
struct Open {
    wire: Arc<Wire>,
    wake: Wake,
}

#[napi]
impl Handle {
    pub(crate) fn new(env: &Env, wire: Arc<Wire>, wake: Wake) -> Result<Self> {
        let ring = wake.clone();
        wire.set_waker(Some(Box::new(move || ring.ring())));
        let open = Arc::new(Mutex::new(Some(Open { wire, wake })));
        let hook = env.add_env_cleanup_hook(Arc::clone(&open), |open| tear_down(&open))?;
        Ok(Self { open, hook: Some(hook) })
    }

    fn get(&self) -> Result<Open> {
        lock(&self.open).clone().ok_or_else(closed)
    }

    /// Runs a method that never needs the host and returns its result; for registrations and subscriptions.
    #[napi(catch_unwind)]
    pub fn call(&self, method: String, params: String) -> Result<String> {
        self.get()?.wire.call(&method, &params).map_err(|error| told(&error))
    }

    /// Starts a method; exactly one `op` item with this id follows.
    #[napi(catch_unwind)]
    pub fn start(&self, method: String, params: String) -> Result<i64> {
        let op = self.get()?.wire.start(&method, &params).map_err(|error| told(&error))?;
        Ok(i64::try_from(op).unwrap_or(i64::MAX))
    }

    /// Cancels an operation; says whether it was still running.
    #[napi(catch_unwind)]
    pub fn cancel(&self, op: i64) -> bool {
        let (Ok(open), Ok(op)) = (self.get(), u64::try_from(op)) else { return false };
        open.wire.cancel(op)
    }

    /// Answers a request; says whether the answer was still wanted.
    #[napi(catch_unwind)]
    pub fn respond(&self, request: String, answer: String) -> Result<bool> {
        self.get()?.wire.respond(&request, &answer).map_err(|error| told(&error))
    }

    /// Answers a request with an error; says whether the answer was still wanted.
    #[napi(catch_unwind)]
    pub fn fail(&self, request: String, code: String, message: String) -> bool {
        self.get().is_ok_and(|open| open.wire.fail(&request, &code, &message))
    }

    /// Items that are there, at most `max`. When more are there the wake-up is called again.
    #[napi(catch_unwind)]
    pub fn drain(&self, max: u32) -> Vec<String> {
        let max = usize::try_from(max).unwrap_or(usize::MAX);
        self.get().map(|open| open.wire.drain(max)).unwrap_or_default()
    }

    /// Makes the runtime keep the event loop open, or not.
    #[napi(catch_unwind)]
    pub fn hold(&self, env: Env, on: bool) -> Result<()> {
        self.get()?.wake.hold(&env, on)
    }

    /// Begins to close; the last item is `closed`. Returns at once.
    #[napi(catch_unwind)]
    pub fn close(&self, deadline_ms: u32) {
        let Ok(open) = self.get() else { return };
        let deadline = Duration::from_millis(deadline_ms.into());
        let wire = Arc::clone(&open.wire);
        let closing = std::thread::Builder::new().name("zuno-close".to_owned()).spawn(move || wire.close(deadline));
        if closing.is_err() {
            open.wire.close(deadline);
        }
    }

    /// Closes, waits for it and gives everything back; only for a process that is about to end.
    #[napi(catch_unwind)]
    pub fn close_now(&self) {
        tear_down(&self.open);
    }

    /// Gives the runtime and its wake-up back; called after the `closed` item.
    #[napi(catch_unwind)]
    pub fn free(&mut self, env: Env) -> Result<()> {
        if let Some(hook) = self.hook.take() {
            env.remove_env_cleanup_hook(hook)?;
        }
        if let Some(open) = lock(&self.open).take() {
            open.wire.set_waker(None);
        }
        Ok(())
    }
}

/// The environment ends: a worker was terminated, or the process leaves. Nothing may call into it afterwards.
fn tear_down(open: &Mutex<Option<Open>>) {
    let taken = lock(open).take();
    // A panic must not cross into the environment that is ending.
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        if let Some(open) = taken {
            open.wire.set_waker(None);
            open.wire.close(TEARDOWN);
        }
    }));
}

fn lock(open: &Mutex<Option<Open>>) -> std::sync::MutexGuard<'_, Option<Open>> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}
