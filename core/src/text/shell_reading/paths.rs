//! The paths that a text names.

use super::directory::{self, Location};
use super::files;
use super::model::{Redirect, RedirectKind, Word};
use super::walk::{Occurrence, Role};

/// How a command uses a path it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathRole {
    /// An argument of a file command.
    ReadArgument,
    /// An argument of a command whose grant makes the directory writable: `cp mv ln install mkdir touch tee rsync tar
    /// unzip`, and `sed -i`.
    WriteArgument,
    /// The source of a redirect.
    RedirectRead,
    /// The target of a writing redirect.
    RedirectWrite,
    /// The target of `cd` or `pushd`.
    DirectoryChange,
}

/// A path that a text names statically.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamedPath {
    /// After quote removal; relative to `directory` unless it starts with `/`, or to home with `in_home`.
    pub path: String,
    /// The path is below the home directory.
    pub in_home: bool,
    /// Where the command runs; `None` when only the run knows. With several possible directories the path is listed
    /// once for each.
    pub directory: Option<Location>,
    /// How it is used.
    pub role: PathRole,
    /// The file name of the program, empty for a redirect without one.
    pub command: String,
}

impl NamedPath {
    /// The whole path, when the directory is known or does not count.
    pub fn location(&self) -> Option<Location> {
        if self.in_home {
            return Some(Location { base: directory::Base::Home, path: self.path.clone() });
        }
        match &self.directory {
            Some(directory) => Some(directory.join(&self.path)),
            None => self.path.starts_with('/').then(|| Location::start().join(&self.path)),
        }
    }
}

/// A word that may be a file the run changes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CandidateWord {
    /// As in [`NamedPath`].
    pub path: String,
    /// As in [`NamedPath`].
    pub in_home: bool,
    /// As in [`NamedPath`].
    pub directory: Option<Location>,
}

pub(super) fn named_paths(occurrences: &[Occurrence]) -> Vec<NamedPath> {
    let mut found = Vec::new();
    for occurrence in occurrences {
        let command = occurrence.words.first().and_then(Word::file_name).unwrap_or_default();
        let named = occurrence.redirects.iter().filter_map(redirect_target).chain(arguments(occurrence, command));
        for (role, in_home, path) in named {
            for directory in &occurrence.directories {
                let directory = directory.clone();
                let named = NamedPath { path: path.clone(), in_home, directory, role, command: command.to_owned() };
                found.push(named);
            }
        }
    }
    in_order(found)
}

pub(super) fn candidates(occurrences: &[Occurrence]) -> Vec<CandidateWord> {
    let mut found = Vec::new();
    for occurrence in occurrences {
        for word in occurrence.assignments.iter().chain(&occurrence.words) {
            for (in_home, path) in candidate_texts(word) {
                for directory in &occurrence.directories {
                    found.push(CandidateWord { path: path.clone(), in_home, directory: directory.clone() });
                }
            }
        }
    }
    in_order(found)
}

/// Each entry once, where it appeared first.
fn in_order<T: Clone + Ord>(found: Vec<T>) -> Vec<T> {
    let mut seen = std::collections::BTreeSet::new();
    found.into_iter().filter(|entry| seen.insert(entry.clone())).collect()
}

/// The word itself and the value of `name=value` or `--name=value`.
fn candidate_texts(word: &Word) -> Vec<(bool, String)> {
    let Some(value) = word.value().filter(|value| !value.is_empty()) else { return Vec::new() };
    let mut found: Vec<(bool, String)> = directory::named_by(word).into_iter().collect();
    if let Some((_, tail)) = value.split_once('=').filter(|(_, tail)| !tail.is_empty()) {
        found.push((false, tail.to_owned()));
    }
    found
}

fn redirect_target(redirect: &Redirect) -> Option<(PathRole, bool, String)> {
    let role = match redirect.kind {
        RedirectKind::Read => PathRole::RedirectRead,
        RedirectKind::Write => PathRole::RedirectWrite,
        RedirectKind::Descriptor | RedirectKind::Inline => return None,
    };
    let (in_home, path) = directory::named_by(redirect.target.as_ref()?)?;
    Some((role, in_home, path))
}

fn arguments(occurrence: &Occurrence, command: &str) -> Vec<(PathRole, bool, String)> {
    let words = occurrence.words.as_slice();
    if occurrence.role == Role::DirectoryChange || matches!(command, "cd" | "pushd") {
        return change_target(words);
    }
    let named = files::arguments(command, words);
    named.into_iter().map(|argument| (argument.role, argument.in_home, argument.path)).collect()
}

fn change_target(words: &[Word]) -> Vec<(PathRole, bool, String)> {
    let role = PathRole::DirectoryChange;
    let name = words.first().and_then(Word::value).unwrap_or_default();
    match directory::operands(words).as_slice() {
        [] if name == "cd" => vec![(role, true, String::new())],
        [only] if name != "popd" && !only.value().is_some_and(|value| value == "-" || value.starts_with('+')) => {
            directory::named_by(only).map(|(in_home, path)| (role, in_home, path)).into_iter().collect()
        }
        _ => Vec::new(),
    }
}
