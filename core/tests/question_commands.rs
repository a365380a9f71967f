//! Publishing, reading and answering questions on a real store.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]

mod question_support;

use question_support::*;
use serde_json::json;
use zuno::store::inbox::{InputKind, InputState};
use zuno::store::questions::{
    Action, AutoDeferState, Decision, DeliveryPhase, Purpose, QuestionMode, QuestionState, input_id,
};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

// spec: QUESTION-01, QUESTION-02, QUESTION-04
#[tokio::test]
async fn ids_and_revisions_survive_a_restart() {
    let folder = folder();
    let world = World::open(folder.path(), START);
    let published = world.publish(QuestionMode::Deferred, two_items()).await;
    assert!(published.id.as_str().starts_with("que_"));
    assert_eq!(published.questions.iter().map(|item| item.id.as_str()).collect::<Vec<_>>(), ["q1", "q2"]);
    assert_eq!(published.revision, 1);
    let before = world.port.list(None, None).unwrap();
    world.close();

    let world = World::open(folder.path(), START + 1);
    assert_eq!(world.port.list(None, None).unwrap(), before);
    assert_eq!(world.port.get(&published.id).unwrap(), published);
    let events = world.event_kinds();
    let _ = (world.port.list(Some(world.session.clone()), None), world.port.get(&published.id), world.port.pending());
    assert_eq!(world.event_kinds(), events, "reading changes nothing");
    let receipt = world.port.respond(world.command(&published, "c1", 1, answer(&[("q1", &["SQLite"])]))).await.unwrap();
    assert_eq!(receipt.question.revision, 2);
}

// spec: QUESTION-03: the view has every field of the record, absent ones as null.
#[tokio::test]
async fn the_view_has_every_field() {
    let folder = folder();
    let world = World::open(folder.path(), START);
    let question = world.publish(QuestionMode::Blocking, vec![item("Go?", &["Yes"])]).await;
    assert_eq!(
        serde_json::to_value(&question).unwrap(),
        json!({
            "id": question.id,
            "origin": {"sessionId": "ses_one", "messageId": null, "callId": null, "turnId": null, "goalId": null},
            "revision": 1, "mode": "blocking", "purpose": "clarification", "state": "pending",
            "questions": [{"id": "q1", "question": "Go?", "header": "Header",
                "options": [{"label": "Yes", "description": ""}], "multiple": false, "custom": true}],
            "answers": {}, "draftAnswers": {}, "autoDefer": null, "goalRevision": null, "plan": null,
            "decision": null, "authorization": null,
            "delivery": {"phase": "waiting_answer", "pendingInputs": 0, "appliedInputs": 0, "lastInputId": null,
                "lastInputState": null, "appliedAt": null},
            "timeCreated": START, "timeUpdated": START,
        })
    );
    let opened = world.events().remove(0);
    assert_eq!((opened.kind.as_str(), opened.data), ("question.opened", serde_json::to_value(&question).unwrap()));
}

// spec: QUESTION-13, QUESTION-14
#[tokio::test]
async fn a_partial_answer_keeps_its_item_and_each_answer_is_one_input() {
    let folder = folder();
    let world = World::open(folder.path(), START);
    let question = world.publish(QuestionMode::Deferred, two_items()).await;
    let first = world.port.respond(world.command(&question, "c1", 1, answer(&[("q1", &["SQLite"])]))).await.unwrap();
    assert_eq!(first.question.state, QuestionState::Pending);
    assert_eq!(first.input_id, Some(input_id(&question.id, 2)));
    let second = world.port.respond(world.command(&question, "c2", 2, answer(&[("q2", &["80"])]))).await.unwrap();
    assert_eq!(second.question.state, QuestionState::Answered);
    assert_eq!(second.question.answers, answers(&[("q1", &["SQLite"]), ("q2", &["80"])]));
    assert_eq!(second.question.delivery.phase, DeliveryPhase::AnsweredPendingDelivery);
    assert_eq!(second.question.delivery.pending_inputs, 2);

    let inbox = world.inbox();
    assert_eq!(inbox.len(), 2);
    assert_eq!(inbox[0].kind, InputKind::HumanRequestAnswer);
    assert_eq!(inbox[0].state, InputState::Queued);
    assert_eq!(inbox[0].source_key, Some(format!("question:{}:c1", question.id)));
    assert_eq!(inbox[0].prompt["outcome"], "partial");
    assert_eq!(inbox[0].prompt["requestRevision"], 2);
    assert_eq!(inbox[0].prompt["response"]["answers"], json!({"q1": ["SQLite"]}));
    assert_eq!(inbox[1].prompt["outcome"], "answered");
    let keys: Vec<&String> = inbox[1].prompt.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["requestId", "requestRevision", "questionPurpose", "outcome", "text", "request", "response"]);
    let kinds = world.event_kinds();
    assert_eq!(kinds, ["question.opened", "input.admitted", "question.updated", "input.admitted", "question.updated"]);
    let updated = &world.events()[2];
    assert_eq!((&updated.data["commandType"], &updated.data["duplicate"]), (&json!("answer"), &json!(false)));
    assert_eq!(updated.data["revision"], 2);
}

// spec: QUESTION-13: clearing takes an item back and is no answer; drafts of answered items go.
#[tokio::test]
async fn clearing_and_drafts() {
    let folder = folder();
    let world = World::open(folder.path(), START);
    let question = world.publish(QuestionMode::Deferred, two_items()).await;
    let drafts = Some(answers(&[("q1", &["Post"]), ("q2", &[])]));
    let deferred =
        world.port.respond(world.command(&question, "c1", 1, Action::Defer { draft_answers: drafts })).await.unwrap();
    assert_eq!(deferred.question.draft_answers, answers(&[("q1", &["Post"]), ("q2", &[])]));
    assert!(deferred.question.answers.is_empty());
    assert_eq!(deferred.input_id, None);
    let answered =
        world.port.respond(world.command(&question, "c2", 2, answer(&[("q1", &["Postgres"])]))).await.unwrap();
    assert_eq!(answered.question.draft_answers, answers(&[("q2", &[])]));
    let cleared = world.port.respond(world.command(&question, "c3", 3, answer(&[("q1", &[])]))).await.unwrap();
    assert!(cleared.question.answers.is_empty());
    assert_eq!((cleared.question.revision, cleared.input_id), (4, None));
    assert_eq!(world.inbox().len(), 1);
}

// spec: QUESTION-15, QUESTION-16, QUESTION-17, QUESTION-18
#[tokio::test]
async fn the_checks_run_in_their_order() {
    let folder = folder();
    let world = World::open(folder.path(), START);
    let question = world.publish(QuestionMode::Deferred, two_items()).await;
    let port = &world.port;
    let send = |id: &str, revision, action| port.respond(world.command(&question, id, revision, action));
    let yes = || answer(&[("q1", &["SQLite"]), ("q2", &["80"])]);

    for (id, revision) in [("", 1), (" \t", 1), ("c", 0), ("c", -3)] {
        assert_eq!(code(send(id, revision, yes()).await), "arguments.invalid", "{id:?} {revision}");
    }
    assert_eq!(code(send(&"x".repeat(257), 1, yes()).await), "arguments.invalid");
    for shape in [
        json!({"requestId": question.id, "expectedRevision": 1, "action": {"type": "skip"}}),
        json!({"requestId": question.id, "commandId": "c", "action": {"type": "skip"}}),
        json!({"requestId": question.id, "commandId": "c", "expectedRevision": 1, "action": {"type": "approve"}}),
        json!({"requestId": question.id, "commandId": "c", "expectedRevision": 1, "action": {"type": "skip", "x": 1}}),
    ] {
        assert!(serde_json::from_value::<zuno::store::questions::Command>(shape).is_err());
    }
    // A shape at fault is told before the missing request; another kind of request with an id is no question.
    let mut stranger = world.command(&question, "", 1, yes());
    stranger.request_id = "per_000000000000000000000000".into();
    assert_eq!(code(port.respond(stranger.clone()).await), "arguments.invalid");
    stranger.command_id = "c".to_owned();
    assert_eq!(code(port.respond(stranger).await), "not_found.object");

    let stale = send("c1", 2, yes()).await.unwrap_err();
    assert_eq!(stale.code, "conflict.stale_revision");
    assert_eq!(stale.details, json!({"expected": 2, "actual": 1}));
    // A refused command was not seen: its id is free.
    let accepted = send("c1", 1, yes()).await.unwrap();
    assert!(!accepted.duplicate);
    let events = world.event_kinds();
    // Closed and moved on, and still the stored receipt.
    let again = send("c1", 1, yes()).await.unwrap();
    assert!(again.duplicate);
    assert_eq!((&again.question, &again.input_id), (&accepted.question, &accepted.input_id));
    assert!(send("c1", 7, yes()).await.unwrap().duplicate);
    assert_eq!(code(send("c1", 1, Action::Skip {}).await), "conflict.command_conflict");
    assert_eq!(code(send("c2", 1, yes()).await), "conflict.stale_revision");
    assert_eq!(code(send("c2", 2, answer(&[("q9", &["?"])])).await), "closed.object");
    assert_eq!(world.event_kinds(), events, "a repeated or refused command emits nothing");
    assert_eq!(world.inbox().len(), 1);
    assert_eq!(port.get(&question.id).unwrap().revision, 2);
}

#[tokio::test]
async fn answers_that_do_not_fit_are_refused_and_change_nothing() {
    let folder = folder();
    let world = World::open(folder.path(), START);
    let mut items = two_items();
    items[1].multiple = true;
    let question = world.publish(QuestionMode::Deferred, items).await;
    let long = "x".repeat(8 * 1024 + 1);
    let refused = [
        answer(&[]),
        answer(&[("q3", &["a"])]),
        answer(&[("q1", &["a", "b"])]),
        answer(&[("q1", &["  "])]),
        answer(&[("q2", &["a", "a"])]),
        answer(&[("q1", &[&long])]),
        // One item at fault refuses all of them.
        answer(&[("q1", &["SQLite"]), ("q2", &[""])]),
        Action::Defer { draft_answers: Some(answers(&[("q7", &["a"])])) },
        Action::Snooze { draft_answers: Some(answers(&[("q7", &["a"])])) },
        Action::Answer {
            answers: [("q2".to_owned(), (0..9).map(|n| format!("{n}{}", "y".repeat(8_000))).collect())].into(),
        },
    ];
    for (index, action) in refused.into_iter().enumerate() {
        let result = world.port.respond(world.command(&question, &format!("c{index}"), 1, action)).await;
        assert_eq!(code(result), "arguments.invalid", "{index}");
    }
    let plan = Action::PlanDecision { decision: Decision::Approve, risk_reason: None };
    assert_eq!(code(world.port.respond(world.command(&question, "p", 1, plan)).await), "arguments.not_a_plan");
    assert_eq!(world.port.get(&question.id).unwrap(), question);
    assert!(world.inbox().is_empty());
    let values: &[&str] = &["a", "é\u{0}\u{202e}\n", "SQLite"];
    let fine = world.port.respond(world.command(&question, "ok", 1, answer(&[("q2", values)]))).await.unwrap();
    assert_eq!(fine.question.answers, answers(&[("q2", values)]));
}

// spec: QUESTION-20, QUESTION-21
#[tokio::test]
async fn skip_cancel_defer_and_drafts_answer_nothing() {
    let folder = folder();
    let world = World::open(folder.path(), START);
    let ask = || vec![item("May I deploy?", &["Yes", "No"])];
    let drafts = Some(answers(&[("q1", &["Yes"])]));
    let cases = [
        (Action::Skip {}, QuestionState::Skipped, None),
        (Action::Cancel {}, QuestionState::Cancelled, Some("cancelled")),
        (Action::Defer { draft_answers: drafts.clone() }, QuestionState::Pending, None),
        (Action::Snooze { draft_answers: drafts }, QuestionState::Pending, None),
    ];
    for (action, state, outcome) in cases {
        let question = world.publish(QuestionMode::Deferred, ask()).await;
        let before = world.inbox().len();
        let receipt = world.port.respond(world.command(&question, "c", 1, action)).await.unwrap();
        assert_eq!(receipt.question.state, state);
        assert!(receipt.question.answers.is_empty());
        assert!(receipt.question.decision.is_none() && receipt.question.authorization.is_none());
        assert_eq!(receipt.input_id.is_some(), outcome.is_some());
        let rows = world.inbox();
        assert_eq!(rows.len() - before, usize::from(outcome.is_some()));
        if let Some(outcome) = outcome {
            assert_eq!(rows.last().unwrap().prompt["outcome"], outcome);
            assert_eq!(rows.last().unwrap().prompt["response"]["answers"], json!({}));
        }
    }
    let kinds = world.event_kinds();
    assert_eq!(kinds.iter().filter(|kind| *kind == "question.opened").count(), 4, "nothing is published again");
    assert_eq!(kinds.iter().filter(|kind| *kind == "question.cancelled").count(), 1);
}

// spec: QUESTION-28, QUESTION-29
#[tokio::test]
async fn snooze_stops_the_clock_and_keeps_drafts() {
    let folder = folder();
    let world = World::open(folder.path(), START);
    let question = world.publish(QuestionMode::Deferred, two_items()).await;
    let snooze = |drafts| Action::Snooze { draft_answers: drafts };
    let drafts = answers(&[("q2", &["8080"])]);
    let receipt = world.port.respond(world.command(&question, "s", 1, snooze(Some(drafts.clone())))).await.unwrap();
    assert_eq!(receipt.question.revision, 1);
    assert_eq!(receipt.question.auto_defer.as_ref().unwrap().state, AutoDeferState::Snoozed);
    assert!(
        world.port.respond(world.command(&question, "s", 1, snooze(Some(drafts.clone())))).await.unwrap().duplicate
    );
    let refused = world.port.respond(world.command(&question, "s2", 1, snooze(None))).await;
    assert_eq!(code(refused), "arguments.question_timer_unavailable");
    world.clock.set(START + 120_000);
    assert!(world.port.apply_due(START + 120_000).await.unwrap().is_empty());
    let now = world.port.get(&question.id).unwrap();
    assert_eq!((&now.draft_answers, now.answers.is_empty(), now.revision), (&drafts, true, 1));
    let updated = world.events().remove(1);
    assert_eq!(updated.data["commandType"], "snooze");
    // A blocking question never had a clock.
    let blocking = world.publish(QuestionMode::Blocking, two_items()).await;
    let refused = world.port.respond(world.command(&blocking, "s", 1, snooze(None))).await;
    assert_eq!(code(refused), "arguments.question_timer_unavailable");
}

#[tokio::test]
async fn what_cannot_be_published_leaves_no_row() {
    let folder = folder();
    let world = World::open(folder.path(), START);
    let session = world.session.clone();
    let good = || params(&session, QuestionMode::Deferred, two_items());
    let mut bad = vec![good(), good(), good(), good(), good(), good(), good(), good()];
    bad[0].questions = Vec::new();
    bad[1].questions = (0..9).map(|n| item(&n.to_string(), &[])).collect();
    bad[2].questions[0].options[1].label = "SQLite".to_owned();
    bad[3].questions[0].options[0].label = " ".to_owned();
    bad[4].closed = true;
    bad[5].questions[0].header = "é".repeat(61);
    bad[6].purpose = Purpose::RequiredInput;
    bad[7].questions[0].question = String::new();
    for (index, params) in bad.into_iter().enumerate() {
        assert_eq!(code(world.port.publish(params).await), "arguments.invalid", "{index}");
    }
    let mut unknown = good();
    unknown.session_id = "ses_none".into();
    assert_eq!(code(world.port.publish(unknown).await), "not_found.object");
    assert!(world.port.list(None, None).unwrap().is_empty());
    assert!(world.event_kinds().is_empty());

    let mut closed = good();
    closed.closed = true;
    closed.questions.truncate(1);
    closed.questions[0].header = "é".repeat(60);
    let question = world.port.publish(closed).await.unwrap();
    assert!(!question.questions[0].custom);
    let typed = world.port.respond(world.command(&question, "c", 1, answer(&[("q1", &["MySQL"])]))).await;
    assert_eq!(code(typed), "arguments.invalid");
    let label = world.port.respond(world.command(&question, "c", 1, answer(&[("q1", &["SQLite"])]))).await;
    assert_eq!(label.unwrap().question.state, QuestionState::Answered);
}

// case: 91: open questions are in the list of everything that waits, ended ones are not.
#[tokio::test]
async fn the_list_of_what_waits() {
    let folder = folder();
    let world = World::open(folder.path(), START);
    let first = world.publish(QuestionMode::Deferred, two_items()).await;
    world.clock.set(START + 5);
    let second = world.publish(QuestionMode::Blocking, two_items()).await;
    let third = world.publish(QuestionMode::Deferred, two_items()).await;
    world.port.respond(world.command(&third, "c", 1, Action::Skip {})).await.unwrap();
    let waiting = world.port.pending().unwrap();
    assert_eq!(
        serde_json::to_value(&waiting).unwrap(),
        json!([
            {"kind": "question", "id": first.id, "sessionId": "ses_one", "since": START},
            {"kind": "question", "id": second.id, "sessionId": "ses_one", "since": START + 5},
        ])
    );
    let open = world.port.list(Some(world.session.clone()), None).unwrap();
    assert_eq!(open.iter().map(|question| &question.id).collect::<Vec<_>>(), [&first.id, &second.id]);
    let skipped = world.port.list(None, Some(QuestionState::Skipped)).unwrap();
    assert_eq!(skipped.len(), 1);
    assert!(world.port.list(Some("ses_other".into()), None).unwrap().is_empty());
}
