//! What a text says, owned and flat: statements, commands, words and redirects, with the shapes of the syntax tree
//! corrected.

use std::ops::Range;

/// Index of a [`Node`] in its [`Model`].
pub(super) type NodeId = usize;

/// A text as statements.
#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) source: String,
    pub(super) nodes: Vec<Node>,
    pub(super) commands: Vec<Command>,
    /// The sequence that is the whole text.
    pub(super) root: NodeId,
    /// How deep statements nest.
    pub(super) depth: usize,
    pub(super) words: usize,
    /// The tree cannot be trusted to show every command.
    pub(super) unreadable: bool,
}

impl Model {
    pub(super) fn slice(&self, span: Range<usize>) -> &str {
        self.source.get(span).unwrap_or_default()
    }

    pub(super) fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id)
    }
}

/// A statement.
#[derive(Debug)]
pub(super) enum Node {
    Sequence(Vec<Item>),
    /// `&&` and `||` have one precedence and group to the left, so a flat list says everything.
    AndOr(Vec<(AndOr, NodeId)>),
    /// The stages of a pipeline.
    Pipeline(Vec<NodeId>),
    /// Index into [`Model::commands`].
    Command(usize),
    Compound(Compound),
}

/// A statement of a sequence.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) node: NodeId,
    /// Ended by `&`.
    pub(super) background: bool,
}

/// What joins an operand to the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AndOr {
    First,
    And,
    Or,
}

/// A compound command.
#[derive(Debug)]
pub(super) struct Compound {
    pub(super) kind: CompoundKind,
    /// Of a function.
    pub(super) name: Option<String>,
    pub(super) span: Range<usize>,
    pub(super) sections: Vec<Section>,
    pub(super) redirects: Vec<Redirect>,
    /// Substitutions outside of its statements: loop values, a `case` word, arithmetic.
    pub(super) substitutions: Vec<Substitution>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CompoundKind {
    Group,
    Subshell,
    Arithmetic,
    If,
    Loop,
    Case,
    Function,
}

/// A list of statements inside a compound command.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) is_condition: bool,
    pub(super) body: NodeId,
}

/// A simple command, a declaration, an assignment or a test.
#[derive(Clone, Debug)]
pub(super) struct Command {
    pub(super) span: Range<usize>,
    /// Where the reserved word `time` in front of it starts.
    pub(super) time: Option<usize>,
    /// Assignments included, redirects not.
    pub(super) words: Vec<Word>,
    pub(super) redirects: Vec<Redirect>,
    /// Substitutions that stand in no word.
    pub(super) substitutions: Vec<Substitution>,
}

/// A word of a command.
#[derive(Clone, Debug)]
pub(super) struct Word {
    pub(super) span: Range<usize>,
    /// As written.
    pub(super) raw: String,
    /// After quote removal, with what the shell expands left as written.
    pub(super) spelled: String,
    /// The same with everything that the shell expands left out.
    pub(super) literal: String,
    /// Holds `$`, a substitution or another user's home.
    pub(super) expands: bool,
    /// Holds an unquoted `*`, `?` or `[...]`.
    pub(super) globs: bool,
    /// Holds an unquoted `{a,b}` or `{1..3}`.
    pub(super) braces: bool,
    /// Holds an unquoted blank, so it is not one word to a shell.
    pub(super) has_blank: bool,
    /// What follows an unquoted `~` at the start.
    pub(super) tilde: Option<String>,
    /// What follows `$HOME` at the start, when nothing else expands.
    pub(super) home: Option<String>,
    pub(super) substitutions: Vec<Substitution>,
}

impl Word {
    /// The text the command sees, when it does not depend on the run. A leading `~` stays.
    pub(super) fn value(&self) -> Option<&str> {
        (!self.expands && !self.globs && !self.braces).then_some(self.spelled.as_str())
    }

    /// The value of a word that names a program.
    pub(super) fn file_name(&self) -> Option<&str> {
        self.value().map(|value| value.rsplit('/').next().unwrap_or(value))
    }

    /// Only the run decides what this word is.
    pub(super) fn is_computed(&self) -> bool {
        self.expands || self.braces
    }

    /// `name=value` or `name+=value` with an unquoted name.
    pub(super) fn is_assignment(&self) -> bool {
        let Some((name, _)) = self.raw.split_once('=') else { return false };
        let name = name.strip_suffix('+').unwrap_or(name);
        let name = name.split_once('[').filter(|(_, rest)| rest.ends_with(']')).map_or(name, |(name, _)| name);
        let mut letters = name.chars();
        letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    }
}

/// Commands that run to produce a word.
#[derive(Clone, Debug)]
pub(super) enum Substitution {
    Parsed(NodeId),
    /// Text that has to be read by itself, since the tree does not show what is in it.
    Text(String),
}

/// What a redirect does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RedirectKind {
    Read,
    Write,
    /// Between descriptors, or closing one.
    Descriptor,
    /// A here-document or here-string.
    Inline,
}

/// A redirect.
#[derive(Clone, Debug)]
pub(super) struct Redirect {
    pub(super) kind: RedirectKind,
    /// Descriptor, operator and target; for a here-document up to its delimiter.
    pub(super) span: Range<usize>,
    /// As written, such as `>>`.
    pub(super) operator: String,
    pub(super) target: Option<Word>,
    pub(super) substitutions: Vec<Substitution>,
}
