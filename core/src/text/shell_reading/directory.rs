//! The directory a command runs in, followed through `cd`, `pushd` and `popd`.

use super::model::Word;

/// Where a relative path starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Base {
    /// The directory the text starts in.
    Start,
    /// The home directory.
    Home,
    /// The file system root.
    Root,
}

/// A directory or file as the text names it: nothing is looked up and no `..` is resolved.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// Where `path` starts.
    pub base: Base,
    /// Components joined by `/`, without a leading one; empty for the base itself.
    pub path: String,
}

impl Location {
    /// The directory the text starts in.
    pub fn start() -> Self {
        Self { base: Base::Start, path: String::new() }
    }

    /// A path seen from this directory.
    pub fn join(&self, path: &str) -> Self {
        if let Some(absolute) = path.strip_prefix('/') {
            return Self { base: Base::Root, path: absolute.trim_start_matches('/').to_owned() };
        }
        let path = match (self.path.is_empty(), path.is_empty()) {
            (true, _) => path.to_owned(),
            (false, true) => self.path.clone(),
            (false, false) => format!("{}/{path}", self.path.trim_end_matches('/')),
        };
        Self { base: self.base, path }
    }
}

/// A word that names a place: text, and whether it is below the home directory.
pub(super) fn named_by(word: &Word) -> Option<(bool, String)> {
    if let Some(tail) = word.value().and(word.tilde.as_ref()).or(word.home.as_ref()) {
        return Some((true, tail.trim_start_matches('/').to_owned()));
    }
    word.value().map(|value| (false, value.to_owned()))
}

/// One possible state of a shell's directories. `None` is a directory that only the run knows.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    current: Option<Location>,
    previous: Option<Location>,
    stack: Vec<Option<Location>>,
}

/// Every directory the shell can be in at one point of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Places(Vec<State>);

impl Places {
    /// More states than this become an unknown one.
    const MOST: usize = 8;

    pub(super) fn start() -> Self {
        Self(vec![State { current: Some(Location::start()), previous: None, stack: Vec::new() }])
    }

    pub(super) fn unknown() -> Self {
        Self(vec![State { current: None, previous: None, stack: Vec::new() }])
    }

    pub(super) fn none() -> Self {
        Self(Vec::new())
    }

    pub(super) fn or(mut self, other: &Self) -> Self {
        for state in &other.0 {
            if !self.0.contains(state) {
                self.0.push(state.clone());
            }
        }
        if self.0.len() > Self::MOST {
            self.0.truncate(Self::MOST - 1);
            self.0.extend(Self::unknown().0);
        }
        self
    }

    /// The possible directories, each once.
    pub(super) fn directories(&self) -> Vec<Option<Location>> {
        let mut found = Vec::new();
        for state in &self.0 {
            if !found.contains(&state.current) {
                found.push(state.current.clone());
            }
        }
        found
    }

    /// The places after a move to what a word names.
    pub(super) fn moved(&self, word: Option<&Word>) -> Self {
        let moved = self.0.iter().map(|state| {
            let current = word.and_then(|word| target(state, word));
            State { previous: state.current.clone(), current, stack: state.stack.clone() }
        });
        Self::none().or(&Self(moved.collect()))
    }

    /// The places after `cd`, `pushd` or `popd` with these words.
    pub(super) fn changed(&self, words: &[Word]) -> Self {
        let name = words.first().and_then(Word::value).unwrap_or_default();
        let operands = operands(words);
        let states = self.0.iter().map(|state| match name {
            "popd" => popped(state, &operands),
            "pushd" => pushed(state, &operands),
            _ => entered(state, &operands),
        });
        Self::none().or(&Self(states.collect()))
    }
}

/// The operands of a directory command; a word that only the run knows stays one.
pub(super) fn operands(words: &[Word]) -> Vec<&Word> {
    let mut operands = Vec::new();
    let mut options = true;
    for word in words.iter().skip(1) {
        match word.value() {
            Some("--") if options => options = false,
            Some(value) if options && value.len() > 1 && value.starts_with('-') => {}
            _ => {
                options = false;
                operands.push(word);
            }
        }
    }
    operands
}

fn target(state: &State, word: &Word) -> Option<Location> {
    match named_by(word)? {
        (true, path) => Some(Location { base: Base::Home, path }),
        (false, path) if path.starts_with('/') => Some(Location::start().join(&path)),
        (false, path) => state.current.as_ref().map(|current| current.join(&path)),
    }
}

fn entered(state: &State, operands: &[&Word]) -> State {
    let current = match operands {
        [] => Some(Location { base: Base::Home, path: String::new() }),
        [only] if only.value() == Some("-") => state.previous.clone(),
        [only] => target(state, only),
        _ => None,
    };
    State { previous: state.current.clone(), current, stack: state.stack.clone() }
}

fn pushed(state: &State, operands: &[&Word]) -> State {
    let mut stack = state.stack.clone();
    let current = match operands {
        [] => stack.pop().flatten(),
        [only] if only.value().is_some_and(|value| value.starts_with('+')) => None,
        [only] => target(state, only),
        _ => None,
    };
    stack.push(state.current.clone());
    State { previous: state.current.clone(), current, stack }
}

fn popped(state: &State, operands: &[&Word]) -> State {
    let mut stack = state.stack.clone();
    let top = stack.pop().flatten();
    let current = if operands.is_empty() { top } else { None };
    State { previous: state.current.clone(), current, stack }
}
