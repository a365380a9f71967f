//! Reading `git` command lines.

use super::model::Word;

/// Global options whose value may be the next word.
const WITH_VALUE: [&str; 8] =
    ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--attr-source"];

/// Where the subcommand stands in the words of a `git` command, the program being word 0.
pub(super) fn subcommand(words: &[Word]) -> Option<usize> {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        match word.spelled.as_str() {
            option if WITH_VALUE.contains(&option) => at += 2,
            option if option.starts_with('-') => at += 1,
            _ => return Some(at),
        }
    }
    None
}
