//! Requests kept in the store.

use super::RequestLog;
use crate::host::BoxFuture;
use crate::store::{Durability, Store, StoreError, permissions};
use crate::types::{CycleId, Error, Millis, PermissionId, PermissionRequest, RequestState, Result, SettleOrigin};

// Ordered is enough: what an approval lets happen is stamped later, and that commit waits for the disk.
const DURABILITY: Durability = Durability::Ordered;

impl RequestLog for Store {
    fn asked<'a>(&'a self, request: &'a PermissionRequest, cycle: &'a CycleId) -> BoxFuture<'a, Result<()>> {
        let (request, cycle) = (request.clone(), cycle.clone());
        Box::pin(async move {
            self.write(DURABILITY, move |tx| permissions::ask(tx, &request, &cycle)).await.map_err(Error::from)
        })
    }

    fn settled<'a>(
        &'a self,
        id: &'a PermissionId,
        state: RequestState,
        origin: SettleOrigin,
        at: Millis,
    ) -> BoxFuture<'a, Result<()>> {
        let wanted = id.clone();
        Box::pin(async move {
            let ended = self
                .write::<_, StoreError>(DURABILITY, move |tx| permissions::settle(tx, &wanted, state, origin, at))
                .await?;
            if ended { Ok(()) } else { Err(super::broker::closed(id)) }
        })
    }

    fn get<'a>(&'a self, id: &'a PermissionId) -> BoxFuture<'a, Result<Option<PermissionRequest>>> {
        let id = id.clone();
        Box::pin(async move {
            // Through the writer: it does not block the caller's thread, and sees what was just ended.
            Ok(self.write::<_, StoreError>(DURABILITY, move |tx| permissions::get(tx.connection(), &id)).await?)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use serde_json::{Value, json};

    use super::*;
    use crate::store::sessions::{self, SessionMode, SessionRecord, SessionSetup, SessionState};
    use crate::store::{EventSink, Location};
    use crate::types::{Event, RandomIds, RequestKind, SystemClock};

    #[derive(Default)]
    struct Heard(Mutex<Vec<Arc<Event>>>);

    impl EventSink for Heard {
        fn committed(&self, events: Vec<Arc<Event>>) {
            self.0.lock().unwrap().extend(events);
        }
    }

    impl Heard {
        fn of(&self, kind: &str) -> Vec<Value> {
            let events = self.0.lock().unwrap();
            events
                .iter()
                .filter(|event| event.kind == kind)
                .map(|event| serde_json::to_value(event.as_ref()).unwrap())
                .collect()
        }
    }

    fn setup() -> SessionSetup {
        SessionSetup {
            record: SessionRecord {
                id: "ses_a".into(),
                directory: "/ws".into(),
                worktree: "/ws".into(),
                parent_id: None,
                agent: "build".into(),
                mode: SessionMode::Work,
                title: String::new(),
                state: SessionState::Active,
                time_created: 1,
                time_updated: 1,
            },
            root_id: "ses_a".into(),
            work_state: true,
            human_surface: true,
            profile: json!({}),
            config: json!({}),
        }
    }

    fn request(id: &str) -> PermissionRequest {
        PermissionRequest {
            id: id.into(),
            session_id: "ses_a".into(),
            root_session_id: "ses_a".into(),
            agent: "build".into(),
            turn_id: "turn_a".into(),
            message_id: "msg_a".into(),
            call_id: "c1".into(),
            tool: "write".into(),
            intent: None,
            kind: RequestKind::Rule,
            asks: vec![crate::types::Ask::one("edit", "a")],
            choices: Vec::new(),
            preview: Value::Null,
            metadata: crate::types::JsonMap::new(),
            state: RequestState::Pending,
            time_created: 5,
            time_settled: None,
        }
    }

    async fn open() -> (Store, Arc<Heard>) {
        let heard = Arc::new(Heard::default());
        let (clock, ids) = (Arc::new(SystemClock), Arc::new(RandomIds::default()));
        let store = Store::open(Location::Memory, clock, ids, heard.clone()).unwrap();
        let create = |tx: &mut crate::store::Tx<'_>| {
            sessions::create(tx, &setup())?;
            crate::store::leases::take(tx, &"ses_a".into(), tx.owner()).map(|_| ())
        };
        store.write::<_, StoreError>(DURABILITY, create).await.unwrap();
        (store, heard)
    }

    #[tokio::test]
    async fn a_request_and_its_end_are_kept_with_their_events() {
        let (store, heard) = open().await;
        let asked = request("per_1");
        store.asked(&asked, &"cyc_a".into()).await.unwrap();
        assert_eq!(store.get(&asked.id).await.unwrap().unwrap(), asked);
        store.settled(&asked.id, RequestState::Once, SettleOrigin::Reply, 9).await.unwrap();
        let again = store.settled(&asked.id, RequestState::Rejected, SettleOrigin::Reply, 10).await.unwrap_err();
        assert_eq!(again.code, "closed.object");
        let ended = PermissionRequest { state: RequestState::Once, time_settled: Some(9), ..asked.clone() };
        assert_eq!(store.get(&asked.id).await.unwrap().unwrap(), ended);
        assert!(store.get(&"per_none".into()).await.unwrap().is_none());

        store.flush();
        let (opened, closed) = (heard.of("permission.asked"), heard.of("permission.settled"));
        assert_eq!((opened.len(), closed.len()), (1, 1));
        assert_eq!(opened[0]["data"], serde_json::to_value(&asked).unwrap());
        assert_eq!((&opened[0]["turnId"], &opened[0]["cycleId"]), (&json!("turn_a"), &json!("cyc_a")));
        assert_eq!(closed[0]["data"], json!({"requestId": "per_1", "state": "once", "origin": "reply"}));
        assert_eq!(closed[0]["cycleId"], "cyc_a");
    }

    #[tokio::test]
    async fn what_a_crash_left_waiting_is_cancelled_once() {
        let (store, heard) = open().await;
        for id in ["per_1", "per_2"] {
            store.asked(&request(id), &"cyc_a".into()).await.unwrap();
        }
        store.settled(&"per_1".into(), RequestState::Always, SettleOrigin::Grant, 9).await.unwrap();
        let recover = || store.write::<_, StoreError>(DURABILITY, |tx| permissions::recover(tx, &"ses_a".into()));
        assert_eq!(recover().await.unwrap(), 1);
        assert_eq!(recover().await.unwrap(), 0);
        assert_eq!(store.get(&"per_2".into()).await.unwrap().unwrap().state, RequestState::Cancelled);
        assert_eq!(store.get(&"per_1".into()).await.unwrap().unwrap().state, RequestState::Always);
        store.flush();
        let last = heard.of("permission.settled").pop().unwrap();
        assert_eq!(last["data"], json!({"requestId": "per_2", "state": "cancelled", "origin": "recovery"}));
    }
}
