//! Opening a runtime away from the event loop.

use std::sync::Arc;

use napi::bindgen_prelude::{AsyncTask, Function};
use napi::{Env, Result, Task};
use napi_derive::napi;
use zuno::wire::Wire;

use crate::errors::told;
use crate::handle::Handle;
use crate::wake::Wake;

/// The work of `open`: it reads and writes the disk.
pub struct Opening {
    options: String,
    wake: Wake,
}

impl Task for Opening {
    type Output = Arc<Wire>;
    type JsValue = Handle;

    fn compute(&mut self) -> Result<Self::Output> {
        Wire::open(&self.options).map_err(|error| told(&error))
    }

    fn resolve(&mut self, env: Env, wire: Self::Output) -> Result<Self::JsValue> {
        Handle::new(&env, wire, self.wake.clone())
    }
}

/// Opens a runtime. `wake` is called, without arguments, when an empty queue gets its first item; it must not throw.
#[napi(catch_unwind)]
pub fn open(options: String, wake: Function<'_, (), ()>) -> Result<AsyncTask<Opening>> {
    Ok(AsyncTask::new(Opening { options, wake: Wake::new(&wake)? }))
}
