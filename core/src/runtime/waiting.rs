//! One list of everything that waits for a person.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Kernel;
use crate::types::{Millis, Result, SessionId};

/// One thing that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Waiting {
    /// `permission`, `question`, `required_input`, `plan_approval` or `goal_resume`.
    pub kind: String,
    /// Its id.
    pub id: String,
    /// Where it belongs.
    pub session_id: SessionId,
    /// Since when.
    pub since: Millis,
}

impl Kernel {
    /// Everything that waits for a person, oldest first. Attaching late loses nothing: it is read from what is kept.
    ///
    /// # Errors
    /// The store's own failure.
    pub async fn waiting(&self) -> Result<Vec<Waiting>> {
        self.check_open()?;
        let permissions = self.dispatcher().broker.list(None).into_iter().map(|request| Waiting {
            kind: "permission".to_owned(),
            id: request.id.to_string(),
            session_id: request.session_id,
            since: request.time_created,
        });
        let questions = self.services().questions.pending()?.into_iter().map(|open| Waiting {
            kind: open.kind,
            id: open.id.to_string(),
            session_id: open.session_id,
            since: open.since,
        });
        let mut waiting: Vec<Waiting> = permissions.chain(questions).collect();
        waiting.sort_by_key(|entry| entry.since);
        Ok(waiting)
    }
}
