//! Reading shell text as a syntax tree.
//!
//! One parse makes an owned `model` of the text, one `walk` turns it into the commands that would run, and
//! each question about a text is a file of its own: `constituents` for permission patterns, `offer` for `always`,
//! `paths` for the files it names. Nothing here touches the file system, and nothing here panics on any text.

mod constituents;
mod directory;
mod files;
mod git;
mod lower;
mod model;
mod offer;
mod parse;
mod paths;
mod reach;
mod recover;
mod spelling;
mod syntax;
mod trust;
mod walk;
mod word;
mod wrappers;

pub use constituents::{Constituent, ConstituentKind, ConstituentWord};
pub use directory::{Base, Location};
pub use offer::{always_offers, is_destructive_program};
pub use paths::{CandidateWord, NamedPath, PathRole};
pub use reach::{Limitation, Reach};

use walk::{Found, Role};

/// The language a text is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// bash.
    Bash,
    /// zsh.
    Zsh,
    /// ksh and mksh.
    Ksh,
    /// sh, dash, ash and busybox.
    Sh,
    /// PowerShell.
    PowerShell,
    /// Anything else.
    Other,
}

impl Dialect {
    /// The dialect of an interpreter, by its file name.
    pub fn of_program(program: &str) -> Self {
        let name = program.rsplit(['/', '\\']).next().unwrap_or(program).to_ascii_lowercase();
        match name.strip_suffix(".exe").unwrap_or(&name) {
            "bash" => Self::Bash,
            "zsh" => Self::Zsh,
            "ksh" | "mksh" => Self::Ksh,
            "sh" | "dash" | "ash" | "busybox" => Self::Sh,
            "pwsh" | "powershell" => Self::PowerShell,
            _ => Self::Other,
        }
    }

    /// There is a grammar for it.
    pub fn has_grammar(self) -> bool {
        matches!(self, Self::Bash | Self::Zsh | Self::Ksh | Self::Sh)
    }
}

/// A text as it was understood.
#[derive(Debug)]
pub struct Reading {
    found: Found,
}

/// Reads a text. Never fails: what cannot be understood is [unreadable](Reading::is_unreadable).
pub fn read(text: &str, dialect: Dialect) -> Reading {
    Reading { found: walk::walk(text, dialect) }
}

impl Reading {
    /// The text could not be taken apart, so it counts as one command.
    pub fn is_unreadable(&self) -> bool {
        self.found.unreadable
    }

    /// A script inside of the text could not be taken apart, so it counts as one command.
    pub fn has_unreadable_script(&self) -> bool {
        self.found.unreadable_script
    }

    /// The text has more words than are judged one by one, so it counts as one command.
    pub fn is_too_large(&self) -> bool {
        self.found.too_large
    }

    /// Something is nested deeper than is followed.
    pub fn is_too_deep(&self) -> bool {
        self.found.too_deep
    }

    /// How far the exit status of the text reaches. `stops` = the shell stops at the first command that fails.
    pub fn reach(&self, stops: bool) -> Reach {
        match &self.found.model {
            Some(model) if !(self.found.unreadable || self.found.too_large || self.found.too_deep) => {
                reach::of(model, stops)
            }
            _ => Reach::unreadable("the text"),
        }
    }

    /// Every command of the text, one pattern each, in order; equal patterns once. Pure directory changes are left out.
    pub fn constituents(&self) -> Vec<Constituent> {
        let mut found: Vec<Constituent> = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        for constituent in self.found.occurrences.iter().flat_map(constituents::of) {
            if seen.insert((constituent.text.clone(), constituent.deny_spellings.clone(), constituent.from_wrapper)) {
                found.push(constituent);
            }
        }
        found
    }

    /// The line changes directories and does nothing else, so it raises no ask.
    pub fn only_directory_changes(&self) -> bool {
        let occurrences = &self.found.occurrences;
        !occurrences.is_empty()
            && occurrences
                .iter()
                .all(|occurrence| occurrence.role == Role::DirectoryChange && constituents::of(occurrence).is_empty())
    }

    /// The paths the text names statically: redirect targets, directory changes and arguments of file commands. Devices
    /// are included.
    pub fn named_paths(&self) -> Vec<NamedPath> {
        paths::named_paths(&self.found.occurrences)
    }

    /// The words that may be files the run changes, in order, without redirect targets and here-documents.
    pub fn candidate_words(&self) -> Vec<CandidateWord> {
        paths::candidates(&self.found.occurrences)
    }
}
