use std::collections::HashMap;
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinHandle;

use super::super::CallOrigin;
use super::*;
use crate::host::{BoxFuture, NoHost};
use crate::text::rules::{Layers, Place, parse_rules};
use crate::types::{
    Access, Ask, CycleId, Denial, DenialOrigin, Effect, ErrorKind, JsonMap, Millis, PermissionMode, RandomIds,
    SystemClock,
};

/// A host whose requests the test answers by hand, in the order they came.
struct Hand {
    requests: tokio::sync::Mutex<tokio::sync::mpsc::UnboundedReceiver<Held>>,
    sender: tokio::sync::mpsc::UnboundedSender<Held>,
}

struct Held {
    payload: Value,
    answer: oneshot::Sender<Result<Value>>,
    cancel: CancellationToken,
}

impl Hand {
    fn new() -> Arc<Self> {
        let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
        Arc::new(Self { requests: tokio::sync::Mutex::new(receiver), sender })
    }

    async fn next(&self) -> Held {
        self.requests.lock().await.recv().await.unwrap()
    }
}

impl Host for Hand {
    fn installed(&self, port: Port) -> bool {
        port == Port::Approval
    }

    fn ask(&self, port: Port, payload: Value, cancel: CancellationToken) -> BoxFuture<'static, Result<Value>> {
        assert_eq!(port, Port::Approval);
        let (answer, answered) = oneshot::channel();
        self.sender.send(Held { payload, answer, cancel: cancel.clone() }).unwrap();
        Box::pin(async move {
            tokio::select! {
                value = answered => value.unwrap_or_else(|_| Err(Error::new("host.dropped", "Dropped."))),
                () = cancel.cancelled() => Err(Error::new("failed.canceled", "Not wanted.")),
            }
        })
    }
}

type Answer = fn() -> Result<Value>;

/// A host that answers at once.
struct AtOnce(Answer);

impl Host for AtOnce {
    fn installed(&self, _: Port) -> bool {
        true
    }

    fn ask(&self, _: Port, _: Value, _: CancellationToken) -> BoxFuture<'static, Result<Value>> {
        let answer = self.0;
        Box::pin(async move { answer() })
    }
}

#[derive(Default)]
struct Log {
    rows: Mutex<HashMap<PermissionId, PermissionRequest>>,
    ends: Mutex<Vec<(PermissionId, RequestState, SettleOrigin)>>,
    broken: std::sync::atomic::AtomicBool,
}

impl Log {
    fn check(&self) -> Result<()> {
        match self.broken.load(std::sync::atomic::Ordering::SeqCst) {
            true => Err(Error::new("store.locked", "The database is busy.")),
            false => Ok(()),
        }
    }

    fn ends(&self) -> Vec<(RequestState, SettleOrigin)> {
        self.ends.lock().unwrap().iter().map(|(_, state, origin)| (*state, *origin)).collect()
    }
}

impl RequestLog for Log {
    fn asked<'a>(&'a self, request: &'a PermissionRequest, _: &'a CycleId) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.check()?;
            self.rows.lock().unwrap().insert(request.id.clone(), request.clone());
            Ok(())
        })
    }

    fn settled<'a>(
        &'a self,
        id: &'a PermissionId,
        state: RequestState,
        origin: SettleOrigin,
        _: Millis,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.check()?;
            let mut rows = self.rows.lock().unwrap();
            let row = rows.get_mut(id).expect("ended before it was recorded");
            assert_eq!(row.state, RequestState::Pending, "ended twice");
            row.state = state;
            self.ends.lock().unwrap().push((id.clone(), state, origin));
            Ok(())
        })
    }

    fn get<'a>(&'a self, id: &'a PermissionId) -> BoxFuture<'a, Result<Option<PermissionRequest>>> {
        Box::pin(async move { Ok(self.rows.lock().unwrap().get(id).cloned()) })
    }
}

struct World {
    host: Arc<Hand>,
    log: Arc<Log>,
    broker: Arc<Broker>,
}

fn broker(host: Arc<dyn Host>, log: Arc<Log>) -> Broker {
    Broker::new(host, log, Arc::new(SystemClock), Arc::new(RandomIds::default()))
}

impl World {
    fn new() -> Self {
        let (host, log) = (Hand::new(), Arc::new(Log::default()));
        let broker = Arc::new(broker(host.clone(), log.clone()));
        Self { host, log, broker }
    }

    fn start(&self, inquiry: Inquiry) -> JoinHandle<Result<(), ToolError>> {
        let broker = self.broker.clone();
        tokio::spawn(async move { broker.permit(inquiry).await })
    }

    fn requests(&self) -> usize {
        self.log.rows.lock().unwrap().len()
    }
}

fn layers(rules: &Value) -> Arc<Layers> {
    Arc::new(Layers::over_shipped(&parse_rules(rules, "global", None).unwrap().rules, &[]))
}

fn call(asks: Vec<Ask>) -> Inquiry {
    Inquiry {
        origin: CallOrigin {
            session_id: "ses_a".into(),
            root_session_id: "ses_root".into(),
            agent: "build".into(),
            turn_id: "turn_a".into(),
            cycle_id: "cyc_a".into(),
            message_id: "msg_a".into(),
            call_id: "call-1".into(),
            tool: "write".into(),
            intent: None,
        },
        mode: PermissionMode::Standard,
        effect: Effect::SideEffecting,
        risk: false,
        layers: layers(&json!({})),
        place: Arc::new(Place::default()),
        asks,
        preview: None,
        arguments: json!({"filePath": "src/a"}),
        facts: JsonMap::new(),
        cancel: CancellationToken::new(),
    }
}

fn edit(path: &str) -> Vec<Ask> {
    vec![Ask { always: vec!["src/*".into()], ..Ask::one("edit", path) }]
}

fn id_of(held: &Held) -> PermissionId {
    serde_json::from_value(held.payload["id"].clone()).unwrap()
}

fn denial(result: Result<(), ToolError>) -> Denial {
    match result.unwrap_err().kind {
        ErrorKind::Denied { denial } => *denial,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_rules_decide_reaches_no_person() {
    let world = World::new();
    let reads = call(vec![Ask::one("read", "a")]);
    world.broker.permit(reads).await.unwrap();
    let rules = json!({"edit": {"secret/*": {"action": "deny", "reason": "Secrets stay as they are."}}});
    let refused = denial(world.broker.permit(Inquiry { layers: layers(&rules), ..call(edit("secret/a")) }).await);
    assert_eq!(refused.origin, DenialOrigin::Rule);
    assert_eq!((refused.key.as_str(), refused.pattern.as_deref()), ("edit", Some("secret/a")));
    assert_eq!(refused.rule.as_deref(), Some(r#"{"edit":{"secret/*":"deny"}}"#));
    assert_eq!(refused.reason, "Secrets stay as they are.");
    assert_eq!(world.requests(), 0);
}

#[tokio::test]
async fn the_request_carries_every_field_and_one_reply_runs_the_call_once() {
    let world = World::new();
    let outside = Ask { access: Some(Access::Write), ..Ask::one("external_directory", "/ext/*") };
    let inquiry = Inquiry {
        preview: Some(Box::new(|| json!("--- a\n+++ b"))),
        facts: json!({"filepath": "/ext/a"}).as_object().unwrap().clone(),
        ..call(vec![outside, Ask { always: vec!["/ext/*".into()], ..Ask::one("edit", "/ext/a") }])
    };
    let waiting = world.start(inquiry);
    let held = world.host.next().await;
    let mut payload = held.payload.clone();
    let (id, created) = (payload["id"].take(), payload["timeCreated"].take());
    assert!(id.as_str().unwrap().starts_with("per_") && created.as_i64().unwrap() > 0);
    assert_eq!(
        payload,
        json!({
            "id": null, "sessionId": "ses_a", "rootSessionId": "ses_root", "agent": "build", "turnId": "turn_a",
            "messageId": "msg_a", "callId": "call-1", "tool": "write", "intent": null, "kind": "rule",
            "asks": [
                {"key": "external_directory", "patterns": ["/ext/*"], "always": ["/ext/*"], "access": "write"},
                {"key": "edit", "patterns": ["/ext/a"], "always": ["/ext/*"], "access": null},
            ],
            "choices": ["once", "always", "reject"], "preview": "--- a\n+++ b", "metadata": {"filepath": "/ext/a"},
            "state": "pending", "timeCreated": null, "timeSettled": null,
        })
    );
    // case: 91
    let listed = world.broker.list(None);
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].time_created, created.as_i64().unwrap());
    assert!(world.broker.list(Some(&"ses_other".into())).is_empty());
    held.answer.send(Ok(json!({"reply": "once"}))).unwrap();
    waiting.await.unwrap().unwrap();
    assert_eq!(world.log.ends(), [(RequestState::Once, SettleOrigin::Reply)]);
    assert!(world.broker.list(None).is_empty() && world.broker.grants(&"ses_a".into()).is_empty());
}

#[tokio::test]
async fn without_a_handler_the_reason_names_both_ways_out() {
    let log = Arc::new(Log::default());
    let refused = denial(broker(Arc::new(NoHost), log.clone()).permit(call(edit("src/a"))).await);
    assert_eq!((refused.origin, refused.key.as_str()), (DenialOrigin::NoHandler, "edit"));
    for part in
        ["no approval handler is installed", "`approval` port of `runtime.open`", r#"{"edit":{"src/a":"allow"}}"#]
    {
        assert!(refused.reason.contains(part), "{}", refused.reason);
    }
    assert!(log.rows.lock().unwrap().is_empty());
}

// case: 98
#[tokio::test]
async fn a_handler_that_answers_nothing_usable_is_a_refusal_with_the_reason() {
    let answers: [(Answer, &str); 9] = [
        (|| Ok(Value::Null), "null"),
        (|| Ok(json!("once")), "\"once\""),
        (|| Ok(json!({})), "{}"),
        (|| Ok(json!({"reply": "yes"})), "yes"),
        (|| Ok(json!({"reply": true})), "true"),
        (|| Ok(json!({"reply": "once", "message": 3})), "3"),
        (|| Ok(json!(["once"])), "[\"once\"]"),
        (|| Err(Error::new("host.failed", "KeyboardInterrupt")), "KeyboardInterrupt"),
        (|| panic!("thrown by the handler"), "ended without an answer"),
    ];
    for (answer, reason) in answers {
        let log = Arc::new(Log::default());
        let broker = broker(Arc::new(AtOnce(answer)), log.clone());
        let refused = denial(broker.permit(call(edit("src/a"))).await);
        assert_eq!(refused.origin, DenialOrigin::NoHandler);
        assert!(refused.reason.contains(reason), "{}", refused.reason);
        assert_eq!(log.ends(), [(RequestState::Rejected, SettleOrigin::Reply)]);
        assert!(broker.list(None).is_empty());
    }
}

#[tokio::test]
async fn a_dropped_request_is_a_refusal() {
    let world = World::new();
    let waiting = world.start(call(edit("src/a")));
    drop(world.host.next().await.answer);
    let refused = denial(waiting.await.unwrap());
    assert!(refused.reason.contains("host.dropped"), "{}", refused.reason);
}

#[tokio::test]
async fn always_grants_and_settles_what_is_now_covered() {
    let world = World::new();
    let first = world.start(call(edit("src/a")));
    let held = world.host.next().await;
    let covered = world.start(call(edit("src/b")));
    let covered_held = world.host.next().await;
    let partly = world.start(call([edit("src/c"), edit("docs/c")].concat()));
    let partly_held = world.host.next().await;
    let elsewhere = Inquiry { mode: PermissionMode::Standard, ..call(edit("src/d")) };
    let origin = CallOrigin { session_id: "ses_b".into(), ..elsewhere.origin.clone() };
    let other_session = world.start(Inquiry { origin, ..elsewhere });
    let other_held = world.host.next().await;

    held.answer.send(Ok(json!({"reply": "always"}))).unwrap();
    first.await.unwrap().unwrap();
    covered.await.unwrap().unwrap();
    covered_held.cancel.cancelled().await;
    assert_eq!(
        world.log.ends(),
        [(RequestState::Always, SettleOrigin::Reply), (RequestState::Always, SettleOrigin::Grant)]
    );
    assert_eq!(world.broker.list(None).len(), 2);
    let granted = Grant { key: "edit".into(), pattern: "src/*".into(), access: None };
    assert_eq!(world.broker.grants(&"ses_a".into()), [granted]);

    let before = world.requests();
    world.broker.permit(call(edit("src/later"))).await.unwrap();
    assert_eq!(world.requests(), before);
    let denied = Inquiry { layers: layers(&json!({"edit": "deny"})), ..call(edit("src/x")) };
    assert_eq!(denial(world.broker.permit(denied).await).origin, DenialOrigin::Rule);

    world.broker.forget_session(&"ses_a".into());
    assert!(world.broker.grants(&"ses_a".into()).is_empty());
    for (held, waiting) in [(partly_held, partly), (other_held, other_session)] {
        held.answer.send(Ok(json!({"reply": "once"}))).unwrap();
        waiting.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn reject_ends_every_other_ask_of_the_session() {
    let world = World::new();
    let first = world.start(call(edit("src/a")));
    let held = world.host.next().await;
    let second = world.start(Inquiry { risk: true, ..call(edit("src/b")) });
    let second_held = world.host.next().await;
    let origin = CallOrigin { session_id: "ses_b".into(), ..call(vec![]).origin };
    let elsewhere = world.start(Inquiry { origin, ..call(edit("src/c")) });
    let elsewhere_held = world.host.next().await;

    held.answer.send(Ok(json!({"reply": "reject", "message": "Use the other file."}))).unwrap();
    let refused = denial(first.await.unwrap());
    assert_eq!(refused.origin, DenialOrigin::User);
    assert!(refused.reason.contains("Use the other file."));
    assert_eq!(denial(second.await.unwrap()).origin, DenialOrigin::User);
    second_held.cancel.cancelled().await;
    assert_eq!(
        world.log.ends(),
        [(RequestState::Rejected, SettleOrigin::Reply), (RequestState::Rejected, SettleOrigin::RejectAll)]
    );
    assert_eq!(world.broker.list(None).len(), 1);
    elsewhere_held.answer.send(Ok(json!({"reply": "once"}))).unwrap();
    elsewhere.await.unwrap().unwrap();
}

// case: 89
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_threads_answer_one_request_and_one_answer_counts() {
    for round in 0..50 {
        let world = World::new();
        let waiting = world.start(call(edit("src/a")));
        let held = world.host.next().await;
        let id = id_of(&held);
        let start = Arc::new(std::sync::Barrier::new(3));
        let threads: Vec<_> = [Reply::Once, Reply::Reject]
            .into_iter()
            .map(|reply| {
                let (broker, id, start) = (world.broker.clone(), id.clone(), start.clone());
                let handle = tokio::runtime::Handle::current();
                std::thread::spawn(move || {
                    start.wait();
                    handle.block_on(broker.reply(&id, reply, None))
                })
            })
            .collect();
        start.wait();
        let _ = held.answer.send(Ok(json!({"reply": if round % 2 == 0 { "once" } else { "reject" }})));
        let results: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        let verdict = waiting.await.unwrap();
        let won = results.iter().filter(|result| result.is_ok()).count();
        assert!(won <= 1, "{results:?}");
        for lost in results.iter().filter_map(|result| result.as_ref().err()) {
            assert_eq!(lost.code, "closed.object");
        }
        let ends = world.log.ends();
        assert_eq!(ends.len(), 1);
        assert_eq!(verdict.is_ok(), ends[0].0 == RequestState::Once);
        match (&results[0], &results[1]) {
            (Ok(_), _) => assert!(verdict.is_ok()),
            (_, Ok(_)) => assert!(verdict.is_err()),
            _ => assert_eq!(verdict.is_ok(), round % 2 == 0),
        }
    }
}

#[tokio::test]
async fn a_reply_withdraws_the_host_request_and_late_answers_change_nothing() {
    let world = World::new();
    let waiting = world.start(call(edit("src/a")));
    let held = world.host.next().await;
    let id = id_of(&held);
    let ended = world.broker.reply(&id, Reply::Reject, Some("No.")).await.unwrap();
    assert_eq!((ended.id, ended.state), (id.clone(), RequestState::Rejected));
    assert!(denial(waiting.await.unwrap()).reason.contains("No."));
    held.cancel.cancelled().await;
    let _ = held.answer.send(Ok(json!({"reply": "always"})));
    assert!(world.broker.grants(&"ses_a".into()).is_empty());
    assert_eq!(world.broker.reply(&id, Reply::Once, None).await.unwrap_err().code, "closed.object");
    assert_eq!(world.broker.reply(&"per_none".into(), Reply::Once, None).await.unwrap_err().code, "not_found.object");
    assert_eq!(world.log.ends().len(), 1);
}

#[tokio::test]
async fn interrupting_cancels_the_request_and_nothing_was_started() {
    let world = World::new();
    let inquiry = call(edit("src/a"));
    let cancel = inquiry.cancel.clone();
    let waiting = world.start(inquiry);
    let held = world.host.next().await;
    cancel.cancel();
    let error = waiting.await.unwrap().unwrap_err();
    assert_eq!(error.kind, ErrorKind::Cancelled { started: false });
    held.cancel.cancelled().await;
    assert_eq!(world.log.ends(), [(RequestState::Cancelled, SettleOrigin::Interrupt)]);
    assert_eq!(world.broker.reply(&id_of(&held), Reply::Once, None).await.unwrap_err().code, "closed.object");

    let late = call(edit("src/a"));
    late.cancel.cancel();
    assert!(world.broker.permit(late).await.is_err());
    assert_eq!(world.requests(), 1, "an interrupted turn asks nobody");
}

#[tokio::test]
async fn a_call_given_up_from_outside_leaves_the_list() {
    let world = World::new();
    let waiting = world.start(call(edit("src/a")));
    let held = world.host.next().await;
    waiting.abort();
    held.cancel.cancelled().await;
    assert!(waiting.await.unwrap_err().is_cancelled());
    assert!(world.broker.list(None).is_empty());
    assert_eq!(world.broker.reply(&id_of(&held), Reply::Once, None).await.unwrap_err().code, "closed.object");
}

// spec: EFFECT-06, EFFECT-07, EFFECT-09
#[tokio::test]
async fn strict_mode_wants_a_fresh_approval_for_each_call() {
    let world = World::new();
    let strict = |effect| Inquiry {
        mode: PermissionMode::Strict,
        effect,
        layers: layers(&json!({"*": "allow"})),
        ..call(edit("src/a"))
    };
    world.broker.memory().grant(&"ses_a".into(), vec![Grant { key: "edit".into(), pattern: "*".into(), access: None }]);
    for effect in [Effect::SideEffecting, Effect::SideEffecting, Effect::Delegating] {
        let waiting = world.start(strict(effect));
        let held = world.host.next().await;
        assert_eq!(held.payload["kind"], "strict");
        assert_eq!(held.payload["choices"], json!(["once", "reject"]));
        assert_eq!(world.broker.reply(&id_of(&held), Reply::Always, None).await.unwrap_err().code, "arguments.invalid");
        held.answer.send(Ok(json!({"reply": "once"}))).unwrap();
        waiting.await.unwrap().unwrap();
    }
    assert_eq!(world.requests(), 3);
    for effect in [Effect::ReadOnly, Effect::UserMediated] {
        world.broker.permit(strict(effect)).await.unwrap();
    }
    let execute = CallOrigin { tool: "execute".into(), ..strict(Effect::Delegating).origin };
    world.broker.permit(Inquiry { origin: execute, ..strict(Effect::Delegating) }).await.unwrap();
    let denied = Inquiry { layers: layers(&json!({"edit": "deny"})), ..strict(Effect::SideEffecting) };
    assert_eq!(denial(world.broker.permit(denied).await).origin, DenialOrigin::Rule);
    assert_eq!(world.requests(), 3);

    let waiting = world.start(strict(Effect::SideEffecting));
    world.host.next().await.answer.send(Ok(json!({"reply": "always"}))).unwrap();
    assert!(denial(waiting.await.unwrap()).reason.contains("`always`, which was not offered"));
}

#[tokio::test]
async fn a_call_with_nothing_to_judge_still_needs_strict_approval() {
    let world = World::new();
    let waiting = world.start(Inquiry { mode: PermissionMode::Strict, ..call(Vec::new()) });
    world.host.next().await.answer.send(Ok(json!({"reply": "reject"}))).unwrap();
    assert_eq!(denial(waiting.await.unwrap()).key, "write");
}

#[tokio::test]
async fn a_risk_is_confirmed_afresh_and_grants_do_not_answer_it() {
    let world = World::new();
    let risky = || Inquiry { risk: true, layers: layers(&json!({"edit": "allow"})), ..call(edit("src/a")) };
    let waiting = world.start(risky());
    let held = world.host.next().await;
    assert_eq!((&held.payload["kind"], &held.payload["choices"]), (&json!("risk"), &json!(["once", "reject"])));
    let plain = world.start(call(edit("src/b")));
    world.host.next().await.answer.send(Ok(json!({"reply": "always"}))).unwrap();
    plain.await.unwrap().unwrap();
    assert_eq!(world.broker.list(None).len(), 1, "the risk still waits");
    held.answer.send(Ok(json!({"reply": "once"}))).unwrap();
    waiting.await.unwrap().unwrap();
}

#[tokio::test]
async fn allow_all_never_prompts_and_denies_hold() {
    let world = World::new();
    let free = |rules: &Value| Inquiry {
        mode: PermissionMode::AllowAll,
        risk: true,
        layers: layers(rules),
        ..call(edit("src/a"))
    };
    world.broker.permit(free(&json!({"edit": "ask"}))).await.unwrap();
    assert_eq!(denial(world.broker.permit(free(&json!({"edit": "deny"}))).await).origin, DenialOrigin::Rule);
    assert_eq!(world.requests(), 0);
}

#[tokio::test]
async fn what_cannot_be_recorded_does_not_run() {
    let world = World::new();
    let waiting = world.start(call(edit("src/a")));
    let held = world.host.next().await;
    world.log.broken.store(true, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(world.broker.reply(&id_of(&held), Reply::Once, None).await.unwrap_err().code, "store.locked");
    assert_eq!(waiting.await.unwrap().unwrap_err().code, "permission_not_recorded");
    let asked = tokio::time::timeout(Duration::from_secs(30), world.broker.permit(call(edit("src/b")))).await;
    assert_eq!(asked.unwrap().unwrap_err().code, "permission_not_recorded");
    assert!(world.broker.list(None).is_empty());
}

// case: 79
#[tokio::test]
async fn a_waiting_call_holds_nobody_else() {
    let world = World::new();
    let waiting = world.start(call(edit("src/a")));
    let held = world.host.next().await;
    world.broker.permit(call(vec![Ask::one("read", "a")])).await.unwrap();
    held.answer.send(Ok(json!({"reply": "once"}))).unwrap();
    waiting.await.unwrap().unwrap();
}
