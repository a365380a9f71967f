//! The rules every configuration starts from.

use super::{Action, Rule};

/// The layer name of the shipped rules.
const LAYER: &str = "shipped";

/// Keys that are allowed without a question.
const ALLOWED: [&str; 9] = ["read", "glob", "grep", "skill", "job", "plan_get", "todo_get", "goal_get", "history"];

/// Note operations that only look.
const NOTES: [&str; 3] = ["list_files_by_prefix/*", "read_file/*", "search_contents/*"];

/// The shipped rules, first layer of every rule set.
pub fn shipped_rules() -> Vec<Rule> {
    let mut rules = vec![Rule::new("*", "*", Action::Ask, LAYER)];
    rules.extend(ALLOWED.iter().map(|key| Rule::new(key, "*", Action::Allow, LAYER)));
    rules.push(Rule::new("read", "mcp:*", Action::Ask, LAYER));
    rules.extend(NOTES.iter().map(|pattern| Rule::new("notes", pattern, Action::Allow, LAYER)));
    rules
}
