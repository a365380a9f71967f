//! The clock of optional questions: one loop per runtime over stored deadlines.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::QuestionPort;
use crate::store::questions::Countdown;
use crate::types::{Clock, Millis, QuestionId};

/// The loop looks again after this long at the latest. A question counts down a minute after its publication at the
/// earliest, so one that a call or another process published is seen in time without being told.
const LOOK: Duration = Duration::from_secs(30);

/// Runs until it is cancelled. `countdown` hears of every question once, when its countdown starts. A clock that is
/// set by hand says so with [`QuestionPort::changed`].
pub async fn run(
    port: QuestionPort,
    clock: Arc<dyn Clock>,
    countdown: impl Fn(&Countdown) + Send,
    stop: CancellationToken,
) {
    let mut changes = port.subscribe();
    let mut announced = HashSet::new();
    loop {
        // A store that cannot be read or written now is asked again later; deadlines are stored and do not get lost.
        let pause = step(&port, clock.now(), &countdown, &mut announced).await.unwrap_or(LOOK);
        tokio::select! {
            () = stop.cancelled() => return,
            _ = changes.changed() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

async fn step(
    port: &QuestionPort,
    now: Millis,
    countdown: &(impl Fn(&Countdown) + Send),
    announced: &mut HashSet<QuestionId>,
) -> Option<Duration> {
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

fn next_look(armed: &[Countdown], now: Millis) -> Duration {
    armed
        .iter()
        .flat_map(|entry| [entry.countdown_at, entry.deadline_at])
        .filter(|at| *at > now)
        .min()
        .map_or(LOOK, |at| Duration::from_millis((at - now).unsigned_abs()).min(LOOK))
}
