//! Creating, opening and ending sessions.

use std::sync::Arc;

use serde_json::{Value, json};

use super::params::CreateParams;
use super::setup::{assemble, load_config, resolve_directory};
use crate::agents;
use crate::dispatch::DispatchSession;
use crate::dispatch::surface::Profile;
use crate::runtime::Kernel;
use crate::store::calls::{end_turn, recent_failures, recover};
use crate::store::sessions::{self, SessionRecord, SessionSetup, SessionState};
use crate::store::{Durability, StoreError, leases, permissions};
use crate::types::{Error, Result, SessionId};

/// Failures older than this have no backoff left.
const FAILURES_MS: i64 = 60_000;

impl Kernel {
    /// Creates a session and takes its lease.
    ///
    /// # Errors
    /// `arguments.*`; nothing has been stored then.
    pub async fn session_create(&self, params: CreateParams) -> Result<SessionRecord> {
        self.check_open()?;
        let directory = resolve_directory(&params.directory)?;
        let loaded = load_config(self, &directory.worktree, params.config.as_ref())?;
        let agent = agents::resolve(params.agent.as_deref(), loaded.values())?;
        let profile = params.profile.unwrap_or_default();
        profile.check(&self.dispatcher().registry)?;
        let now = self.services().clock.now();
        let id = SessionId::generate(self.services().ids.as_ref());
        let setup = SessionSetup {
            record: SessionRecord {
                id: id.clone(),
                directory: directory.canonical.to_string_lossy().into_owned(),
                worktree: directory.worktree.to_string_lossy().into_owned(),
                parent_id: None,
                agent: agent.name,
                mode: params.mode.unwrap_or_default(),
                title: params.title.unwrap_or_default(),
                state: SessionState::Active,
                time_created: now,
                time_updated: now,
            },
            root_id: id.clone(),
            work_state: params.work_state.unwrap_or(true),
            human_surface: params.human_surface.unwrap_or(true),
            profile: profile_document(&profile)?,
            config: params.config.unwrap_or_else(|| json!({})),
        };
        let session = assemble(self, &setup, Some(directory.spelling))?;
        let (stored, owner) = (setup.clone(), self.services().store.owner().clone());
        let write = self.services().store.write::<_, StoreError>(Durability::Ordered, move |tx| {
            sessions::create(tx, &stored)?;
            leases::take(tx, &stored.record.id, &owner).map(|_| ())
        });
        write.await?;
        self.keep(id, session);
        Ok(setup.record)
    }

    /// Takes the lease of a stored session and settles what a crash left behind.
    ///
    /// # Errors
    /// `not_found.object`, `busy.session` naming the owner, `arguments.*` when its directory is gone.
    pub async fn session_open(&self, id: &SessionId) -> Result<SessionRecord> {
        self.check_open()?;
        let _turn = self.lane(id).await;
        if let Some(session) = self.kept(id) {
            if self.owns(id)? {
                return self.session_get(id).await;
            }
            // Another process took it over while this one did not get to say that it lives.
            self.let_go(id, &session).await;
        }
        let setup = self.stored_session(id)?;
        if setup.record.state == SessionState::Archived {
            let text = format!("The session {id} is archived. Bring it back with `session.unarchive` first.");
            return Err(Error::new("closed.object", text));
        }
        resolve_directory(&setup.record.directory)?;
        let session = assemble(self, &setup, None)?;
        let (key, owner, since) =
            (id.clone(), self.services().store.owner().clone(), self.services().clock.now() - FAILURES_MS);
        let write = self.services().store.write::<_, StoreError>(Durability::Full, move |tx| {
            leases::take(tx, &key, &owner)?;
            sessions::set_state(tx, &key, SessionState::Active)?;
            recover(tx, &key)?;
            permissions::recover(tx, &key)?;
            let facts = json!({ "error": { "code": "host_ended", "message": "The host ended during this turn." } });
            end_turn(tx, &owner, &key, "turn.failed", facts)?;
            recent_failures(tx.connection(), &key, since)
        });
        session.failures.restore(write.await?);
        self.keep(id.clone(), session);
        self.session_get(id).await
    }

    /// Stops what the session does and gives its lease back.
    ///
    /// # Errors
    /// `not_found.object`, or the store's own failure.
    pub async fn session_close(&self, id: &SessionId) -> Result<SessionRecord> {
        let _turn = self.lane(id).await;
        self.end(id, SessionState::Closed).await
    }

    /// Closes a session and puts it away.
    ///
    /// # Errors
    /// As [`Kernel::session_close`].
    pub async fn session_archive(&self, id: &SessionId) -> Result<SessionRecord> {
        let _turn = self.lane(id).await;
        self.end(id, SessionState::Archived).await
    }

    /// Brings an archived session back; it is closed then.
    ///
    /// # Errors
    /// `not_found.object`, `conflict.revision` when it is not archived.
    pub async fn session_unarchive(&self, id: &SessionId) -> Result<SessionRecord> {
        self.check_open()?;
        let _turn = self.lane(id).await;
        if self.stored_session(id)?.record.state != SessionState::Archived {
            return Err(Error::new("conflict.revision", format!("The session {id} is not archived.")));
        }
        let key = id.clone();
        let write = self
            .services()
            .store
            .write::<_, StoreError>(Durability::Ordered, move |tx| sessions::set_state(tx, &key, SessionState::Closed));
        write.await?;
        self.session_get(id).await
    }

    /// Removes a session with its messages, artifacts, receipts and grants. Report files stay.
    ///
    /// # Errors
    /// `not_found.object`, `busy.session`.
    pub async fn session_delete(&self, id: &SessionId) -> Result<bool> {
        let _turn = self.lane(id).await;
        self.end(id, SessionState::Closed).await?;
        let (key, owner) = (id.clone(), self.services().store.owner().clone());
        let listed = key.clone();
        let files = self
            .services()
            .store
            .read::<_, StoreError>(move |connection| crate::store::artifacts::of_session(connection, &listed))?;
        let write = self.services().store.write::<_, StoreError>(Durability::Full, move |tx| {
            leases::take(tx, &key, &owner)?;
            sessions::delete(tx, &key)
        });
        let deleted = write.await?;
        for file in files {
            // A file that is gone already is what was wanted.
            let _ = crate::output::remove(std::path::Path::new(&file.path));
        }
        Ok(deleted)
    }

    async fn end(&self, id: &SessionId, state: SessionState) -> Result<SessionRecord> {
        self.check_open()?;
        self.stored_session(id)?;
        if let Some(session) = self.kept(id) {
            self.let_go(id, &session).await;
        }
        let (key, owner) = (id.clone(), self.services().store.owner().clone());
        let write = self.services().store.write::<_, StoreError>(Durability::Ordered, move |tx| {
            leases::take(tx, &key, &owner)?;
            // A session that is not open here may be what a crash left behind.
            recover(tx, &key)?;
            permissions::recover(tx, &key)?;
            end_turn(tx, &owner, &key, "turn.interrupted", json!({ "reason": "session_close" }))?;
            sessions::set_state(tx, &key, state)?;
            leases::release(tx, &key, &owner)
        });
        write.await?;
        self.session_get(id).await
    }

    /// Stops driving a session: interrupts it, waits until every call has settled, forgets what was allowed.
    async fn let_go(&self, id: &SessionId, session: &DispatchSession) {
        session.close();
        session.idle().await;
        self.dispatcher().broker.forget_session(id);
        self.forget(id);
    }

    fn owns(&self, id: &SessionId) -> Result<bool> {
        let (key, owner) = (id.clone(), self.services().store.owner().id.clone());
        let read = move |connection: &rusqlite::Connection| leases::is_held(connection, &key, &owner);
        Ok(self.services().store.read::<_, StoreError>(read)?)
    }

    /// Interrupts what the session does; says whether it did anything.
    ///
    /// # Errors
    /// `not_found.object`, `closed.object`.
    pub async fn session_interrupt(&self, id: &SessionId, reason: &'static str) -> Result<bool> {
        let session = self.driven(id)?;
        let interrupted = session.interrupt();
        let (key, owner) = (id.clone(), self.services().store.owner().clone());
        if interrupted {
            session.stop().await;
            let write = self.services().store.write::<_, StoreError>(Durability::Ordered, move |tx| {
                end_turn(tx, &owner, &key, "turn.interrupted", json!({ "reason": reason }))
            });
            write.await?;
        }
        Ok(interrupted)
    }

    pub(super) fn stored_session(&self, id: &SessionId) -> Result<SessionSetup> {
        let key = id.clone();
        let found = self.services().store.read::<_, StoreError>(move |connection| sessions::get(connection, &key))?;
        found.ok_or_else(|| Error::not_found("session", id.as_str()))
    }

    /// A session that this runtime drives.
    ///
    /// # Errors
    /// `not_found.object` for an unknown one, `closed.object` for one that is not open here.
    pub fn driven(&self, id: &SessionId) -> Result<Arc<DispatchSession>> {
        self.check_open()?;
        if let Some(session) = self.kept(id) {
            return Ok(session);
        }
        self.stored_session(id)?;
        let text = format!("The session {id} is not open in this runtime. Open it with `session.open` first.");
        Err(Error::new("closed.object", text).with("sessionId", id.as_str()))
    }
}

fn profile_document(profile: &Profile) -> Result<Value> {
    serde_json::to_value(profile).map_err(|error| Error::arguments(error.to_string()))
}
