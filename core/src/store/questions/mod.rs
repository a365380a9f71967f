//! Questions to a person: durable before anybody waits, changed by one command at a time.
//!
//! The write lock of SQLite makes read, check and write of a command one step, across processes too; the revision in
//! every update guards the same thing a second time.

mod due;
mod publish;
mod record;
mod respond;
mod rows;
mod rules;
mod text;

pub use due::{Countdown, apply_due, armed, next_deadline};
pub use publish::{Publication, publish};
pub use record::{
    Action, Answers, Authorization, AutoDefer, AutoDeferState, Choice, Command, CommandReceipt, Decision, Delivery,
    DeliveryPhase, Item, NewItem, Origin, Purpose, Question, QuestionMode, QuestionState,
};
pub use respond::{input_id, respond};
pub use rows::{Waiting, get, list, of_call, pending, revision};
pub use rules::{ItemFault, check_items};
pub use text::answer_lines;

pub(super) const SCHEMA: &str = "
CREATE TABLE questions (
    ordinal        INTEGER PRIMARY KEY,
    id             TEXT    NOT NULL UNIQUE,
    session_id     TEXT    NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    message_id     TEXT    NOT NULL DEFAULT '',
    call_id        TEXT    NOT NULL DEFAULT '',
    turn_id        TEXT    NOT NULL DEFAULT '',
    cycle_id       TEXT    NOT NULL DEFAULT '',
    goal_id        TEXT    NOT NULL DEFAULT '',
    revision       INTEGER NOT NULL,
    mode           TEXT    NOT NULL,
    purpose        TEXT    NOT NULL,
    state          TEXT    NOT NULL,
    content_digest TEXT    NOT NULL,
    questions      TEXT    NOT NULL,
    answers        TEXT    NOT NULL DEFAULT '{}',
    draft_answers  TEXT    NOT NULL DEFAULT '{}',
    auto_defer     TEXT    NOT NULL DEFAULT '',
    countdown_at   INTEGER NOT NULL DEFAULT 0,
    deadline_at    INTEGER NOT NULL DEFAULT 0,
    goal_revision  INTEGER NOT NULL DEFAULT 0,
    plan           TEXT    NOT NULL DEFAULT '',
    decision       TEXT    NOT NULL DEFAULT '',
    authorization  TEXT    NOT NULL DEFAULT '',
    time_created   INTEGER NOT NULL,
    time_updated   INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX questions_by_call ON questions (session_id, message_id, call_id) WHERE call_id <> '';
CREATE INDEX questions_by_session ON questions (session_id, state);
CREATE INDEX questions_pending ON questions (time_created) WHERE state = 'pending';
CREATE INDEX questions_armed ON questions (deadline_at) WHERE state = 'pending' AND auto_defer = 'armed';

CREATE TABLE question_commands (
    request_id  TEXT    NOT NULL REFERENCES questions(id) ON DELETE CASCADE,
    command_id  TEXT    NOT NULL,
    body_digest TEXT    NOT NULL,
    receipt     TEXT    NOT NULL,
    time        INTEGER NOT NULL,
    PRIMARY KEY (request_id, command_id)
) STRICT, WITHOUT ROWID;
";
