//! Typed identifiers: a prefix and 26 characters of lower-case Crockford base32.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::clock::IdSource;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// The prefix in front of the 26 characters.
            pub const PREFIX: &'static str = $prefix;

            /// Makes a new id from an id source.
            pub fn generate(source: &dyn IdSource) -> Self {
                Self(format!("{}{}", $prefix, source.next_id()))
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(
    /// A session.
    SessionId, "ses_"
);
id!(
    /// An assistant message: one group of calls a model or a host issued together.
    MessageId, "msg_"
);
id!(
    /// One drive from start to a terminal outcome.
    TurnId, "turn_"
);
id!(
    /// Work scope shared by a user input and its continuations.
    CycleId, "cyc_"
);
id!(
    /// A durable event.
    EventId, "evt_"
);
id!(
    /// A permission request.
    PermissionId, "per_"
);
id!(
    /// A question request.
    QuestionId, "que_"
);
id!(
    /// A verification receipt of a shell command.
    ReceiptId, "rcp_"
);
id!(
    /// A command that outlives its call.
    ExecutionId, "bgx_"
);
id!(
    /// One durable inbox row.
    InputId, "inp_"
);
id!(
    /// The last part of an artifact's file name; artifacts are addressed by path, so it has no prefix.
    ArtifactId, ""
);
id!(
    /// One tool invocation; given by the provider or the host, unique inside its message.
    CallId, ""
);
