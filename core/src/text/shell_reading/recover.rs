//! Commands of a text that can only be judged as a whole, for the eyes of `deny` rules.
//!
//! A rule that denies must not be escaped by a line that nobody can parse. What is found here never allows anything, so
//! it may be too much: text in quotes counts here.

use std::time::Instant;

use super::Dialect;
use super::model::{Model, Word};
use super::parse;
use super::walk::{MAX_BYTES, MAX_SCRIPTS, split};
use super::word;
use super::wrappers::{self, What};

/// The words of every command that may stand in a text, and of what these run.
pub(super) fn recovered(text: &str, model: Option<&Model>, deadline: Instant) -> Vec<Vec<Word>> {
    let mut recovery = Recovery { open: Vec::new(), found: Vec::new(), bytes: 0 };
    if let Some(model) = model {
        recovery.add_model(model, 0);
    }
    recovery.add_pieces(text, &SEPARATORS);
    recovery.add_pieces(text, &[&SEPARATORS[..], &['\'', '"']].concat());
    while let Some((words, depth)) = recovery.open.pop() {
        recovery.run(&words, depth, deadline);
        recovery.found.push(words);
    }
    recovery.found
}

/// Where a command can end or begin.
const SEPARATORS: [char; 9] = ['\n', ';', '&', '|', '(', ')', '{', '}', '`'];

struct Recovery {
    /// Words of a command, and how many inline scripts are around it.
    open: Vec<(Vec<Word>, usize)>,
    found: Vec<Vec<Word>>,
    bytes: usize,
}

impl Recovery {
    fn add(&mut self, words: &[Word], depth: usize) {
        if self.bytes >= MAX_BYTES * 8 {
            return;
        }
        self.bytes += words.iter().map(|word| word.raw.len() + 64).sum::<usize>();
        if self.bytes < MAX_BYTES * 8 {
            self.open.push((split(words).1.to_vec(), depth));
        }
    }

    fn add_model(&mut self, model: &Model, depth: usize) {
        for command in &model.commands {
            self.add(&command.words, depth);
        }
    }

    fn add_pieces(&mut self, text: &str, separators: &[char]) {
        for piece in text.split(separators) {
            let plain = |text: &str| word::word(text, 0..text.len(), &[], Vec::new());
            let words: Vec<Word> = piece.split([' ', '\t']).filter(|text| !text.is_empty()).map(plain).collect();
            let keywords = words.iter().take_while(|word| {
                matches!(word.raw.as_str(), "if" | "then" | "else" | "elif" | "while" | "until" | "do" | "!" | "time")
            });
            let first = keywords.count();
            if let Some(words) = words.get(first..).filter(|words| !words.is_empty()) {
                self.add(words, MAX_SCRIPTS);
            }
        }
    }

    fn run(&mut self, words: &[Word], depth: usize, deadline: Instant) {
        for inner in wrappers::look(words).inner {
            match inner.what {
                What::Words { start, end } => self.add(words.get(start..end).unwrap_or_default(), depth),
                What::Script { text, dialect } if depth < MAX_SCRIPTS && dialect != Dialect::Other => {
                    if let Some(model) = parse::parse(&text, dialect, deadline) {
                        self.add_model(&model, depth + 1);
                    }
                }
                What::Script { .. } => {}
            }
        }
    }
}
