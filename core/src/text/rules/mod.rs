//! Permission patterns and decisions.

/// One rule, in the order it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Pattern over permission keys.
    pub key: String,
    /// Pattern over resources.
    pub pattern: String,
    /// What happens.
    pub action: Action,
    /// Text handed to the model when the rule denies.
    pub reason: Option<String>,
    /// Which layer it came from, for messages.
    pub layer: String,
}

/// What a rule decides, from loose to strict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// No question.
    Allow,
    /// A person decides.
    Ask,
    /// Never.
    Deny,
}
