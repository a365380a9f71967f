//! One list of everything that waits for a person.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Kernel;
use crate::types::{Millis, Result, SessionId};

/// What kind of answer is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitingKind {
    /// A permission request.
    Permission,
    /// A question.
    Question,
    /// Required input of a Goal.
    RequiredInput,
    /// A Plan that wants approval.
    PlanApproval,
}

/// One thing that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Waiting {
    /// What kind of answer is wanted.
    pub kind: WaitingKind,
    /// Its id.
    pub id: String,
    /// Where it belongs.
    pub session_id: SessionId,
    /// Since when.
    pub since: Millis,
}

impl Kernel {
    /// Everything that waits for a person, oldest first.
    ///
    /// # Errors
    /// The store's own failure.
    pub async fn waiting(&self) -> Result<Vec<Waiting>> {
        self.check_open()?;
        let mut waiting: Vec<Waiting> = self
            .dispatcher()
            .broker
            .list(None)
            .into_iter()
            .map(|request| Waiting {
                kind: WaitingKind::Permission,
                id: request.id.to_string(),
                session_id: request.session_id,
                since: request.time_created,
            })
            .collect();
        waiting.sort_by_key(|entry| entry.since);
        Ok(waiting)
    }
}
