//! The clock of optional questions: one loop per runtime over stored deadlines.

use std::collections::HashSet;

use tokio_util::sync::CancellationToken;

use super::QuestionPort;
use crate::store::questions::Countdown;
use crate::types::{Millis, QuestionId};

/// The loop looks again after this many milliseconds at the latest. A question counts down a minute after its
/// publication at the earliest, so one that a call or another process published is seen in time without being told.
const LOOK: Millis = 30_000;

/// Runs until it is cancelled. `countdown` hears of every question once, when its countdown starts. A clock that is
/// set by hand and wakes no sleepers says so with [`QuestionPort::changed`].
pub async fn run(port: QuestionPort, countdown: impl Fn(&Countdown) + Send, stop: CancellationToken) {
    let mut changes = port.subscribe();
    let mut announced = HashSet::new();
    loop {
        // A store that cannot be read or written now is asked again later; deadlines are stored and do not get lost.
        let pause = step(&port, port.clock.now(), &countdown, &mut announced).await.unwrap_or(LOOK);
        tokio::select! {
            () = stop.cancelled() => return,
            _ = changes.changed() => {}
            () = port.clock.sleep(pause.unsigned_abs()) => {}
        }
    }
}

async fn step(
    port: &QuestionPort,
    now: Millis,
    countdown: &(impl Fn(&Countdown) + Send),
    announced: &mut HashSet<QuestionId>,
) -> Option<Millis> {
    let armed = port.armed().ok()?;
    announced.retain(|id| armed.iter().any(|entry| entry.request_id == *id));
    for entry in &armed {
        let counts = entry.countdown_at <= now && now < entry.deadline_at;
        if counts && announced.insert(entry.request_id.clone()) {
            countdown(entry);
        }
    }
    if armed.iter().any(|entry| entry.deadline_at <= now) {
        port.apply_due(now).await.ok()?;
    }
    Some(next_look(&armed, now))
}

fn next_look(armed: &[Countdown], now: Millis) -> Millis {
    let times = armed.iter().flat_map(|entry| [entry.countdown_at, entry.deadline_at]);
    times.filter(|at| *at > now).map(|at| at - now).min().unwrap_or(LOOK).min(LOOK)
}
