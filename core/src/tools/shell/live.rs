//! Output as it comes, for the host to watch. The model never sees it.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use crate::process::Observer;
use crate::tools::contract::{CallContext, Live};
use crate::types::{CallId, SessionId};

/// How long output is collected before it is told; a fraction of what is promised.
const PAUSE: Duration = Duration::from_millis(50);
/// One event holds about this much.
const PIECE: usize = 64 << 10;

/// The events of one command.
pub(super) struct Deltas {
    task: Option<JoinHandle<()>>,
}

struct Teller {
    live: Live,
    session: SessionId,
    call: CallId,
    /// Bytes of a character that is not whole yet.
    pending: Vec<u8>,
}

impl Deltas {
    /// Starts telling. The observer is given every chunk; without a listener there is none.
    pub(super) fn start(call: &CallContext) -> (Option<Observer>, Self) {
        let Some(live) = call.services.live.clone() else { return (None, Self { task: None }) };
        let (sender, receiver) = unbounded_channel::<(u64, Vec<u8>)>();
        let teller = Teller { live, session: call.session.id.clone(), call: call.call_id.clone(), pending: Vec::new() };
        let observer: Observer = Box::new(move |offset, bytes| {
            // Nobody listens any more when the runtime is going away.
            let _ = sender.send((offset, bytes.to_vec()));
        });
        (Some(observer), Self { task: Some(tokio::spawn(teller.run(receiver))) })
    }

    /// Waits until everything was told. The observer has to be gone by then.
    pub(super) async fn finish(self) {
        if let Some(task) = self.task {
            let _ = task.await;
        }
    }
}

impl Teller {
    async fn run(mut self, mut receiver: UnboundedReceiver<(u64, Vec<u8>)>) {
        while let Some((offset, mut bytes)) = receiver.recv().await {
            let until = Instant::now() + PAUSE;
            while bytes.len() < PIECE {
                match timeout_at(until, receiver.recv()).await {
                    Ok(Some((_, more))) => bytes.extend(more),
                    Ok(None) | Err(_) => break,
                }
            }
            self.tell(offset, &bytes);
        }
    }

    fn tell(&mut self, offset: u64, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        let data = json!({
            "callId": self.call,
            "offset": offset,
            "bytes": STANDARD.encode(bytes),
            "text": take_text(&mut self.pending),
            "stream": "combined",
        });
        (self.live)(&self.session, "tool.output.delta", data);
    }
}

/// Takes every whole character; what is no text becomes the replacement character.
fn take_text(pending: &mut Vec<u8>) -> String {
    let mut text = String::new();
    let mut taken = 0;
    for chunk in pending.utf8_chunks() {
        text.push_str(chunk.valid());
        taken += chunk.valid().len();
        let invalid = chunk.invalid();
        if invalid.is_empty() || (taken + invalid.len() == pending.len() && may_become_a_character(invalid)) {
            break;
        }
        text.push(char::REPLACEMENT_CHARACTER);
        taken += invalid.len();
    }
    pending.drain(..taken);
    text
}

/// The start of a character whose rest has not come yet.
fn may_become_a_character(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_never_cut() {
        let mut pending = b"a\xc3".to_vec();
        assert_eq!(take_text(&mut pending), "a");
        pending.extend_from_slice(b"\xa4\xff b\xe2\x82");
        assert_eq!(take_text(&mut pending), "\u{e4}\u{fffd} b");
        assert_eq!(pending, b"\xe2\x82");
        pending.extend_from_slice(b"x");
        assert_eq!(take_text(&mut pending), "\u{fffd}x");
        assert!(pending.is_empty());
    }
}
