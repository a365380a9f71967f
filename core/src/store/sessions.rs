//! Sessions: durable conversations with one workspace.

use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{StoreError, Tx};
use crate::types::{EventDraft, Millis, SessionId};

pub(super) const SCHEMA: &str = "
CREATE TABLE sessions (
    id            TEXT    NOT NULL PRIMARY KEY,
    root_id       TEXT    NOT NULL,
    parent_id     TEXT    NOT NULL DEFAULT '',
    directory     TEXT    NOT NULL,
    worktree      TEXT    NOT NULL,
    agent         TEXT    NOT NULL,
    mode          TEXT    NOT NULL DEFAULT 'work',
    title         TEXT    NOT NULL DEFAULT '',
    state         TEXT    NOT NULL DEFAULT 'active',
    work_state    INTEGER NOT NULL DEFAULT 1,
    human_surface INTEGER NOT NULL DEFAULT 1,
    profile       TEXT    NOT NULL DEFAULT '{}',
    config        TEXT    NOT NULL DEFAULT '{}',
    last_seq      INTEGER NOT NULL DEFAULT 0,
    generation    INTEGER NOT NULL DEFAULT 0,
    turn_id       TEXT    NOT NULL DEFAULT '',
    cycle_id      TEXT    NOT NULL DEFAULT '',
    step          INTEGER NOT NULL DEFAULT 0,
    time_created  INTEGER NOT NULL,
    time_updated  INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_by_time ON sessions (time_created, id);
CREATE INDEX sessions_by_root ON sessions (root_id);
CREATE INDEX sessions_by_parent ON sessions (parent_id, time_created, id);
";

/// What a session is doing in the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// Can be driven.
    Active,
    /// Closed; opening it makes it active again.
    Closed,
    /// Put away; can be brought back.
    Archived,
}

impl SessionState {
    fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Closed => "closed",
            Self::Archived => "archived",
        }
    }

    fn parse(text: &str) -> Result<Self, StoreError> {
        match text {
            "active" => Ok(Self::Active),
            "closed" => Ok(Self::Closed),
            "archived" => Ok(Self::Archived),
            other => Err(StoreError::Record(format!("session state {other}"))),
        }
    }
}

/// How a session works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionMode {
    /// Planning: nothing is changed.
    Plan,
    /// Working.
    #[default]
    Work,
}

/// The session record every face shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionRecord {
    /// Its id.
    pub id: SessionId,
    /// The workspace: canonical, absolute.
    pub directory: String,
    /// Root of the Git work tree that holds it, or the workspace.
    pub worktree: String,
    /// The session that delegated to it.
    pub parent_id: Option<SessionId>,
    /// The agent.
    pub agent: String,
    /// Plan or work.
    pub mode: SessionMode,
    /// For a list of sessions.
    pub title: String,
    /// Active, closed or archived.
    pub state: SessionState,
    /// When it was created.
    pub time_created: Millis,
    /// When it last changed.
    pub time_updated: Millis,
}

/// What is stored beside the record.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionSetup {
    /// The record.
    pub record: SessionRecord,
    /// The root of its tree.
    pub root_id: SessionId,
    /// Shows plan, todo and goal tools.
    pub work_state: bool,
    /// Questions reach a person.
    pub human_surface: bool,
    /// `profile` of `session.create`.
    pub profile: Value,
    /// `config` of `session.create`.
    pub config: Value,
}

/// Stores a new session.
pub fn create(tx: &mut Tx<'_>, setup: &SessionSetup) -> Result<(), StoreError> {
    let record = &setup.record;
    tx.prepare(
        "INSERT INTO sessions (id, root_id, parent_id, directory, worktree, agent, mode, title, state, work_state,
             human_surface, profile, config, time_created, time_updated)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
    )?
    .execute(params![
        record.id.as_str(),
        setup.root_id.as_str(),
        record.parent_id.as_ref().map_or("", SessionId::as_str),
        record.directory,
        record.worktree,
        record.agent,
        mode_text(record.mode),
        record.title,
        record.state.as_str(),
        setup.work_state,
        setup.human_surface,
        setup.profile.to_string(),
        setup.config.to_string(),
        record.time_created,
        record.time_updated,
    ])?;
    let data = json!({
        "directory": record.directory, "agent": record.agent, "mode": record.mode, "title": record.title,
        "parentId": record.parent_id,
    });
    tx.emit(&record.id, EventDraft::new("session.created", data))?;
    Ok(())
}

fn mode_text(mode: SessionMode) -> &'static str {
    match mode {
        SessionMode::Plan => "plan",
        SessionMode::Work => "work",
    }
}

const COLUMNS: &str = "id, root_id, parent_id, directory, worktree, agent, mode, title, state, work_state, \
                       human_surface, profile, config, time_created, time_updated";

fn record_from_row(row: &Row<'_>) -> Result<SessionRecord, StoreError> {
    let parent: String = row.get(2)?;
    let mode: String = row.get(6)?;
    let state: String = row.get(8)?;
    Ok(SessionRecord {
        id: SessionId::from(row.get::<_, String>(0)?),
        directory: row.get(3)?,
        worktree: row.get(4)?,
        parent_id: (!parent.is_empty()).then(|| SessionId::from(parent)),
        agent: row.get(5)?,
        mode: if mode == "plan" { SessionMode::Plan } else { SessionMode::Work },
        title: row.get(7)?,
        state: SessionState::parse(&state)?,
        time_created: row.get(13)?,
        time_updated: row.get(14)?,
    })
}

fn from_row(row: &Row<'_>) -> Result<SessionSetup, StoreError> {
    let profile: String = row.get(11)?;
    let config: String = row.get(12)?;
    Ok(SessionSetup {
        record: record_from_row(row)?,
        root_id: SessionId::from(row.get::<_, String>(1)?),
        work_state: row.get(9)?,
        human_surface: row.get(10)?,
        profile: serde_json::from_str(&profile)?,
        config: serde_json::from_str(&config)?,
    })
}

/// One session, when it exists.
pub fn get(connection: &Connection, id: &SessionId) -> Result<Option<SessionSetup>, StoreError> {
    let mut statement = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM sessions WHERE id = ?1"))?;
    statement.query_row([id.as_str()], |row| Ok(from_row(row))).optional()?.transpose()
}

/// All sessions, oldest first; with a parent only its children.
pub fn list(connection: &Connection, parent: Option<&SessionId>) -> Result<Vec<SessionRecord>, StoreError> {
    let filter = if parent.is_some() { "WHERE parent_id = ?1" } else { "" };
    let sql = format!("SELECT {COLUMNS} FROM sessions {filter} ORDER BY time_created, id");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(parent.map(SessionId::as_str)))?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        records.push(record_from_row(row)?);
    }
    Ok(records)
}

/// A session and the tree below it: ids, the numbers of their last events, and their root.
pub fn heads(connection: &Connection, named: &SessionId) -> Result<Vec<(SessionId, i64, SessionId)>, StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT id, last_seq, root_id FROM sessions WHERE id = ?1 OR root_id = ?1")?;
    let id = |row: &Row<'_>, index: usize| row.get::<_, String>(index).map(SessionId::from);
    let rows = statement.query_map([named.as_str()], |row| Ok((id(row, 0)?, row.get(1)?, id(row, 2)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Changes the state of a session; a change to the state it has is none.
pub fn set_state(tx: &mut Tx<'_>, id: &SessionId, state: SessionState) -> Result<(), StoreError> {
    let now = tx.now();
    let changed = tx
        .prepare("UPDATE sessions SET state = ?2, time_updated = ?3 WHERE id = ?1 AND state <> ?2")?
        .execute(params![id.as_str(), state.as_str(), now])?;
    if changed > 0 {
        tx.emit(id, EventDraft::new("session.updated", json!({ "state": state })))?;
    }
    Ok(())
}

/// Removes a session with everything that hangs on it. Report files stay.
pub fn delete(tx: &mut Tx<'_>, id: &SessionId) -> Result<bool, StoreError> {
    Ok(tx.prepare("DELETE FROM sessions WHERE id = ?1")?.execute([id.as_str()])? > 0)
}
