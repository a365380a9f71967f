//! Every command that a text would run, in order, with the directories it could run in.
//!
//! The walk recurses over the model, never over the syntax tree, and no deeper than [`MAX_DEPTH`].

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::{Duration, Instant};

use super::Dialect;
use super::directory::{Location, Places};
use super::lower::MAX_DEPTH;
use super::model::{
    AndOr, Command, Compound, CompoundKind, Model, Node, NodeId, Redirect, Section, Substitution, Word,
};
use super::parse;
use super::recover::recovered;
use super::word;
use super::wrappers::{self, Inner, Look, Place, What};

/// Inline scripts inside of each other.
pub(super) const MAX_SCRIPTS: usize = 4;
/// Wrappers inside of each other.
const MAX_WRAPPERS: usize = 16;
/// Words of a text, inline scripts included.
const MAX_WORDS: usize = 4096;
/// How long reading a text may take, inline scripts included. Ordinary text takes a thousandth of it.
const TIME: Duration = Duration::from_millis(1500);
/// Bytes of all command texts together: nesting repeats what stands inside.
pub(super) const MAX_BYTES: usize = 1 << 20;

/// What a word weighs beyond its text.
const WORD_BYTES: usize = 64;

/// What an [`Occurrence`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Command,
    /// `cd`, `pushd` or `popd` with nothing else.
    DirectoryChange,
    Assignment,
    /// Redirects without a command of their own.
    Redirects,
    /// Text that could not be taken apart.
    Opaque,
}

/// One command where it stands.
#[derive(Clone, Debug)]
pub(super) struct Occurrence {
    pub(super) role: Role,
    pub(super) text: String,
    /// Leading assignments.
    pub(super) assignments: Vec<Word>,
    /// The program and its arguments.
    pub(super) words: Vec<Word>,
    pub(super) redirects: Vec<Redirect>,
    pub(super) from_wrapper: bool,
    pub(super) is_wrapper: bool,
    pub(super) computed: bool,
    pub(super) directories: Vec<Option<Location>>,
    /// Spellings of commands inside of opaque text.
    pub(super) recovered: Vec<Vec<Word>>,
}

/// What the walk found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) occurrences: Vec<Occurrence>,
    /// The text itself could not be taken apart.
    pub(super) unreadable: bool,
    /// An inline script could not be.
    pub(super) unreadable_script: bool,
    pub(super) too_deep: bool,
    pub(super) too_large: bool,
    /// The text itself, unless the parser gave up on it.
    pub(super) model: Option<Model>,
}

/// Walks a text and everything in it.
pub(super) fn walk(text: &str, dialect: Dialect) -> Found {
    let deadline = Instant::now() + TIME;
    let mut walk = Walk {
        found: Found::default(),
        deadline,
        dialect,
        level: 0,
        scripts: 0,
        words: 0,
        bytes: 0,
        copied: 0,
        incomplete: false,
        movers: BTreeSet::new(),
    };
    let Some(model) = parse::parse(text, dialect, deadline) else {
        let opaque = opaque(text, recovered(text, None, deadline), false);
        return Found { occurrences: vec![opaque], unreadable: true, ..Found::default() };
    };
    walk.words = model.words;
    walk.found.unreadable = model.unreadable;
    walk.found.too_large = model.words > MAX_WORDS;
    walk.found.too_deep = model.depth > MAX_DEPTH;
    walk.incomplete = walk.found.too_deep;
    if !walk.gave_up() {
        walk.node(&model, model.root, Places::start());
    }
    if walk.gave_up() {
        walk.found.occurrences = vec![opaque(text, recovered(text, Some(&model), deadline), false)];
    }
    walk.found.model = Some(model);
    walk.found
}

fn opaque(text: &str, recovered: Vec<Vec<Word>>, from_wrapper: bool) -> Occurrence {
    Occurrence {
        role: Role::Opaque,
        text: text.trim().to_owned(),
        assignments: Vec::new(),
        words: Vec::new(),
        redirects: Vec::new(),
        from_wrapper,
        is_wrapper: false,
        computed: true,
        directories: Vec::new(),
        recovered,
    }
}

/// Leading assignments, and the program with its arguments.
pub(super) fn split(words: &[Word]) -> (&[Word], &[Word]) {
    words.split_at(words.iter().take_while(|word| word.is_assignment()).count())
}

struct Walk {
    found: Found,
    deadline: Instant,
    dialect: Dialect,
    level: usize,
    scripts: usize,
    words: usize,
    bytes: usize,
    /// Bytes of all copied words.
    copied: usize,
    /// Something of the text was left out.
    incomplete: bool,
    /// Functions that change the directory of their caller.
    movers: BTreeSet<String>,
}

impl Walk {
    /// The line can only be judged as a whole.
    fn gave_up(&self) -> bool {
        let found = &self.found;
        found.unreadable || found.too_large || self.incomplete
    }

    fn emit(&mut self, occurrence: Occurrence) {
        self.bytes += occurrence.text.len();
        if self.bytes > MAX_BYTES {
            self.found.too_large = true;
        } else {
            self.found.occurrences.push(occurrence);
        }
    }

    // --- Statements ---

    fn node(&mut self, model: &Model, id: NodeId, places: Places) -> Places {
        if self.level >= MAX_DEPTH {
            (self.found.too_deep, self.incomplete) = (true, true);
            return Places::unknown();
        }
        self.level += 1;
        let after = match model.node(id) {
            Some(Node::Sequence(items)) => {
                let mut places = places;
                for item in items {
                    let after = self.node(model, item.node, places.clone());
                    places = if item.background { places } else { after };
                }
                places
            }
            Some(Node::AndOr(operands)) => self.and_or(model, operands, places),
            Some(Node::Pipeline(stages)) => self.pipeline(model, stages, places),
            Some(Node::Command(at)) => match model.commands.get(*at) {
                Some(command) => self.command(model, command, places),
                None => places,
            },
            Some(Node::Compound(compound)) => self.compound(model, compound, places),
            None => places,
        };
        self.level -= 1;
        after
    }

    fn pipeline(&mut self, model: &Model, stages: &[NodeId], places: Places) -> Places {
        let mut last = places.clone();
        for stage in stages {
            last = self.node(model, *stage, places.clone());
        }
        // Here the last stage runs in the shell itself.
        if matches!(self.dialect, Dialect::Zsh | Dialect::Ksh) { places.or(&last) } else { places }
    }

    /// A directory change counts as successful, except where `||` says that it may fail.
    fn and_or(&mut self, model: &Model, operands: &[(AndOr, NodeId)], places: Places) -> Places {
        let mut succeeded = places;
        let mut failed = Places::none();
        let mut may_have_failed = Places::none();
        for (join, operand) in operands {
            let is_or = *join == AndOr::Or;
            let before = if is_or { may_have_failed.clone() } else { succeeded.clone() };
            let after = self.node(model, *operand, before.clone());
            if is_or && leaves(model, *operand) {
                (failed, may_have_failed) = (Places::none(), before);
                continue;
            }
            let unmoved = if after == before { after.clone() } else { Places::none() };
            let either = before.or(&after);
            if is_or {
                (succeeded, failed, may_have_failed) = (succeeded.or(&after), unmoved, either);
            } else {
                (succeeded, failed, may_have_failed) = (after, failed.or(&unmoved), may_have_failed.or(&either));
            }
        }
        succeeded.or(&failed)
    }

    fn compound(&mut self, model: &Model, compound: &Compound, places: Places) -> Places {
        self.substitutions(model, &compound.substitutions, &places);
        if !compound.redirects.is_empty() {
            self.redirects(model, &compound.redirects, &places);
        }
        match compound.kind {
            CompoundKind::Group | CompoundKind::Arithmetic => {
                compound.sections.iter().fold(places, |places, section| self.node(model, section.body, places))
            }
            CompoundKind::Subshell => {
                self.sections(model, &compound.sections, &places);
                places
            }
            CompoundKind::If => self.branches(model, &compound.sections, places),
            CompoundKind::Case => {
                let after = self.sections(model, &compound.sections, &places);
                places.or(&after)
            }
            CompoundKind::Loop => {
                let moves = changes_directory(model, &compound.span);
                let again = if moves { places.clone().or(&Places::unknown()) } else { places.clone() };
                let after = compound.sections.iter().fold(again, |at, section| self.node(model, section.body, at));
                places.or(&after)
            }
            CompoundKind::Function => {
                let moves = changes_directory(model, &compound.span);
                if moves {
                    self.movers.extend(compound.name.clone());
                }
                let elsewhere = changes_directory(model, &(0..model.source.len()));
                let called = if elsewhere { places.clone().or(&Places::unknown()) } else { places.clone() };
                self.sections(model, &compound.sections, &called);
                places
            }
        }
    }

    fn sections(&mut self, model: &Model, sections: &[Section], places: &Places) -> Places {
        let mut after = Places::none();
        for section in sections {
            after = after.or(&self.node(model, section.body, places.clone()));
        }
        after
    }

    fn branches(&mut self, model: &Model, sections: &[Section], places: Places) -> Places {
        let mut conditions = places;
        let mut after = Places::none();
        for section in sections {
            let end = self.node(model, section.body, conditions.clone());
            if section.is_condition {
                conditions = end;
            } else {
                after = after.or(&end);
            }
        }
        conditions.or(&after)
    }

    // --- Commands ---

    fn command(&mut self, model: &Model, command: &Command, places: Places) -> Places {
        self.substitutions(model, &command.substitutions, &places);
        for word in &command.words {
            self.substitutions(model, &word.substitutions, &places);
        }
        for redirect in &command.redirects {
            self.substitutions(model, &redirect.substitutions, &places);
        }
        if command.words.is_empty() {
            self.plain_redirects(model, &command.redirects, &places);
            return places;
        }
        let timed = command.time.is_some();
        if let Some(start) = command.time {
            let text = model.slice(start..command.span.end);
            let keyword = word::word(model.slice(start..start + 4), 0..4, &[], Vec::new());
            let words = std::iter::once(keyword).chain(split(&command.words).1.iter().cloned());
            self.emit(Occurrence {
                text: text.to_owned(),
                words: words.collect(),
                is_wrapper: true,
                ..self.blank(Role::Command, &places, false)
            });
        }
        self.simple(model, &command.words, &command.redirects, command.span.clone(), timed, 0, places)
    }

    fn blank(&self, role: Role, places: &Places, from_wrapper: bool) -> Occurrence {
        Occurrence { role, directories: places.directories(), computed: false, ..opaque("", Vec::new(), from_wrapper) }
    }

    /// A simple command, on its own or inside of wrappers.
    #[expect(clippy::too_many_arguments, reason = "one command in its place; a struct would be used once")]
    fn simple(
        &mut self,
        model: &Model,
        words: &[Word],
        redirects: &[Redirect],
        span: Range<usize>,
        from_wrapper: bool,
        wrappers: usize,
        places: Places,
    ) -> Places {
        self.copied += words.len() * WORD_BYTES;
        if self.copied > MAX_BYTES * 8 {
            self.found.too_large = true;
        }
        if self.found.too_large {
            return places;
        }
        let (assignments, command) = split(words);
        let name = command.first().and_then(Word::value).unwrap_or_default();
        let moves = matches!(name, "cd" | "pushd" | "popd");
        let role = match (command.is_empty(), moves && assignments.is_empty()) {
            (true, _) => Role::Assignment,
            (_, true) => Role::DirectoryChange,
            _ => Role::Command,
        };
        let look = wrappers::look(command);
        let program_is_open = command.first().is_some_and(|program| program.value().is_none());
        self.emit(Occurrence {
            text: model.slice(span.clone()).trim().to_owned(),
            assignments: assignments.to_vec(),
            words: command.to_vec(),
            redirects: redirects.to_vec(),
            is_wrapper: look.is_wrapper,
            computed: look.is_computed || program_is_open || words.iter().any(Word::is_computed),
            ..self.blank(role, &places, from_wrapper)
        });
        let after = self.through(model, command, look, span.end, wrappers, &places);
        if !moves {
            return if self.movers.contains(name) { Places::unknown() } else { after };
        }
        // A search path of its own could lead anywhere.
        let searched = assignments.iter().any(|word| word.raw.starts_with("CDPATH"));
        if searched { Places::unknown() } else { places.changed(command) }
    }

    /// What a command runs of its arguments.
    fn through(
        &mut self,
        model: &Model,
        words: &[Word],
        look: Look,
        end: usize,
        depth: usize,
        places: &Places,
    ) -> Places {
        let mut after = places.clone();
        for Inner { what, same_shell, place } in look.inner {
            let start = match place {
                Place::Same => places.clone(),
                Place::At(at) => places.moved(words.get(at)),
                Place::Unknown => Places::unknown(),
            };
            if depth >= MAX_WRAPPERS {
                (self.found.too_deep, self.incomplete) = (true, true);
                return after;
            }
            let moved = match what {
                What::Words { start: first, end: last } => {
                    let inner = words.get(first..last).unwrap_or_default();
                    let Some(from) = inner.first().map(|word| word.span.start) else { continue };
                    let cut = inner.last().filter(|_| last < words.len()).map(|word| word.span.end);
                    self.simple(model, inner, &[], from..cut.unwrap_or(end), true, depth + 1, start)
                }
                What::Script { text, dialect } => self.script(&text, dialect, start),
            };
            if same_shell {
                after = moved;
            }
        }
        after
    }

    /// A script given as text.
    fn script(&mut self, text: &str, dialect: Dialect, places: Places) -> Places {
        if text.trim().is_empty() {
            return places;
        }
        if self.scripts >= MAX_SCRIPTS {
            self.found.too_deep = true;
            self.emit(opaque(text, recovered(text, None, self.deadline), true));
            return Places::unknown();
        }
        let Some(model) = parse::parse(text, dialect, self.deadline) else {
            self.found.unreadable_script = true;
            self.emit(opaque(text, recovered(text, None, self.deadline), true));
            return Places::unknown();
        };
        self.words += model.words;
        if self.words > MAX_WORDS {
            self.found.too_large = true;
            return Places::unknown();
        }
        if model.unreadable || model.depth + self.level > MAX_DEPTH {
            self.found.unreadable_script |= model.unreadable;
            self.found.too_deep |= !model.unreadable;
            self.emit(opaque(text, recovered(text, Some(&model), self.deadline), true));
            return Places::unknown();
        }
        self.scripts += 1;
        let outer = std::mem::replace(&mut self.dialect, dialect);
        let first = self.found.occurrences.len();
        let after = self.node(&model, model.root, places);
        self.dialect = outer;
        self.scripts -= 1;
        for occurrence in self.found.occurrences.iter_mut().skip(first) {
            occurrence.from_wrapper = true;
        }
        after
    }

    // --- Parts ---

    fn substitutions(&mut self, model: &Model, substitutions: &[Substitution], places: &Places) {
        for substitution in substitutions {
            match substitution {
                Substitution::Parsed(body) => {
                    self.node(model, *body, places.clone());
                }
                Substitution::Text(text) => {
                    self.script(text, self.dialect, places.clone());
                }
            }
        }
    }

    fn redirects(&mut self, model: &Model, redirects: &[Redirect], places: &Places) {
        for redirect in redirects {
            self.substitutions(model, &redirect.substitutions, places);
        }
        self.plain_redirects(model, redirects, places);
    }

    fn plain_redirects(&mut self, model: &Model, redirects: &[Redirect], places: &Places) {
        let text = redirects.first().map(|redirect| model.slice(redirect.span.clone()).to_owned()).unwrap_or_default();
        self.emit(Occurrence { text, redirects: redirects.to_vec(), ..self.blank(Role::Redirects, places, false) });
    }
}

/// The command ends the shell, so nothing follows where it ran.
fn leaves(model: &Model, id: NodeId) -> bool {
    let Some(Node::Command(at)) = model.node(id) else { return false };
    let program = model.commands.get(*at).and_then(|command| command.words.first()).and_then(Word::value);
    matches!(program, Some("exit" | "return"))
}

fn changes_directory(model: &Model, span: &Range<usize>) -> bool {
    model.commands.iter().any(|command| {
        let inside = span.start <= command.span.start && command.span.end <= span.end;
        let words = split(&command.words).1;
        let changes = words.iter().take(2).any(|word| matches!(word.value(), Some("cd" | "pushd" | "popd" | "eval")));
        inside && changes
    })
}
