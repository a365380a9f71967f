//! The clock of optional questions, driven by a clock set by hand.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod question_support;

use std::sync::{Arc, Mutex};

use question_support::*;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use zuno::question::timer;
use zuno::store::StoreError;
use zuno::store::questions::{self, Action, AutoDeferState, QuestionMode, QuestionState};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

// spec: QUESTION-22, QUESTION-23, QUESTION-24, QUESTION-25, QUESTION-26, QUESTION-27
#[tokio::test]
async fn an_optional_question_defers_itself_after_two_minutes() {
    let folder = folder();
    let world = World::open(folder.path(), START);
    let question = world.publish(QuestionMode::Deferred, two_items()).await;
    let clock = question.auto_defer.clone().unwrap();
    assert_eq!(
        serde_json::to_value(&clock).unwrap(),
        json!({"deadlineAt": START + 120_000, "countdownAt": START + 60_000, "state": "armed"})
    );
    assert_eq!(world.store.read::<_, StoreError>(questions::next_deadline).unwrap(), Some(START + 120_000));
    assert!(world.port.apply_due(START + 119_999).await.unwrap().is_empty());
    assert_eq!(world.port.get(&question.id).unwrap(), question);

    let deferred = world.port.apply_due(START + 120_000).await.unwrap();
    assert_eq!(deferred.len(), 1);
    let now = world.port.get(&question.id).unwrap();
    assert_eq!((now.state, now.revision), (QuestionState::Pending, 2));
    assert_eq!(now.auto_defer.as_ref().unwrap().state, AutoDeferState::Deferred);
    assert!(now.answers.is_empty() && now.draft_answers.is_empty());
    assert!(world.inbox().is_empty());
    // A second timer is a no-op.
    assert!(world.port.apply_due(START + 999_999).await.unwrap().is_empty());
    assert_eq!(world.event_kinds(), ["question.opened", "question.updated"]);
    assert_eq!(world.events()[1].data["commandType"], "auto_defer");

    // A client that kept the form open re-sends with the new revision.
    let action = || answer(&[("q1", &["SQLite"]), ("q2", &["80"])]);
    let stale = world.port.respond(world.command(&question, "c", 1, action())).await;
    assert_eq!(code(stale), "conflict.stale_revision");
    let late = world.port.respond(world.command(&question, "c", 2, action())).await.unwrap();
    assert_eq!(late.question.state, QuestionState::Answered);
    assert_eq!(world.inbox().len(), 1);
}

// spec: QUESTION-32: of the four kinds, the one that can be published here and never had a clock.
#[tokio::test]
async fn a_blocking_question_never_defers_itself() {
    let folder = folder();
    let world = World::open(folder.path(), START);
    let question = world.publish(QuestionMode::Blocking, two_items()).await;
    assert!(question.auto_defer.is_none());
    let released =
        world.port.respond(world.command(&question, "c", 1, Action::Defer { draft_answers: None })).await.unwrap();
    assert_eq!(released.question.mode, QuestionMode::Deferred);
    assert!(released.question.auto_defer.is_none());
    assert!(world.port.apply_due(START + 600_000).await.unwrap().is_empty());
    assert_eq!(world.port.get(&question.id).unwrap(), released.question);
}

#[tokio::test]
async fn a_form_that_was_deferred_has_nothing_left_to_defer() {
    let folder = folder();
    let world = World::open(folder.path(), START);
    let question = world.publish(QuestionMode::Deferred, two_items()).await;
    world.port.respond(world.command(&question, "c", 1, Action::Defer { draft_answers: None })).await.unwrap();
    assert!(world.port.apply_due(START + 120_000).await.unwrap().is_empty());
    // A partial answer leaves the clock running for the rest.
    let other = world.publish(QuestionMode::Deferred, two_items()).await;
    world.port.respond(world.command(&other, "c", 1, answer(&[("q2", &["80"])]))).await.unwrap();
    let deferred = world.port.apply_due(START + 120_000).await.unwrap();
    assert_eq!((deferred.len(), deferred[0].revision), (1, 3));
    assert_eq!(deferred[0].answers, answers(&[("q2", &["80"])]));
}

// spec: QUESTION-30
#[tokio::test]
async fn the_deadline_survives_a_restart() {
    let folder = folder();
    let world = World::open(folder.path(), START);
    let question = world.publish(QuestionMode::Deferred, two_items()).await;
    world.close();

    let world = World::open(folder.path(), START + 90_000);
    assert!(world.port.apply_due(START + 90_000).await.unwrap().is_empty());
    assert_eq!(world.port.armed().unwrap()[0].deadline_at, START + 120_000);
    world.close();

    let world = World::open(folder.path(), START + 500_000);
    assert_eq!(world.port.apply_due(START + 500_000).await.unwrap().len(), 1);
    assert_eq!(world.port.get(&question.id).unwrap().revision, 2);
}

// spec: QUESTION-23, QUESTION-31: two loops, one transition, one announcement each.
#[tokio::test]
async fn the_loop_counts_down_and_defers() {
    let folder = folder();
    let world = World::open(folder.path(), START);
    let stop = CancellationToken::new();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let loops: Vec<_> = (0..2)
        .map(|_| {
            let (port, heard, stop) = (world.port.clone(), heard.clone(), stop.clone());
            tokio::spawn(timer::run(port, move |entry| heard.lock().unwrap().push(entry.clone()), stop))
        })
        .collect();
    let question = world.publish(QuestionMode::Deferred, two_items()).await;
    world.clock.set(START + 59_999);
    world.port.changed();
    world.clock.set(START + 60_000);
    world.port.changed();
    while heard.lock().unwrap().len() < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(heard.lock().unwrap()[0].request_id, question.id);
    assert_eq!(heard.lock().unwrap()[0].deadline_at, START + 120_000);
    assert_eq!(world.port.get(&question.id).unwrap().revision, 1);

    world.clock.set(START + 120_000);
    let waiting = world.port.wait(&question.id, 1, None);
    world.port.changed();
    let waited = waiting.await.unwrap();
    assert_eq!(waited.question.auto_defer.unwrap().state, AutoDeferState::Deferred);
    stop.cancel();
    for done in loops {
        done.await.unwrap();
    }
    assert_eq!(world.port.get(&question.id).unwrap().revision, 2);
    assert_eq!(heard.lock().unwrap().len(), 2);
}
