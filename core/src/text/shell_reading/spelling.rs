//! The spellings of a command that a `deny` rule sees.

use super::git;
use super::model::Word;

/// Every spelling that means the same command: quotes and backslashes removed, and from there on without assignments,
/// with the program reduced to its file name, and without global git options. A rule needs to match one of them.
pub(super) fn spellings(assignments: &[Word], words: &[Word]) -> Vec<String> {
    let mut found = Vec::new();
    let all: Vec<String> = assignments.iter().chain(words).map(|word| word.spelled.clone()).collect();
    add(&mut found, &all);
    let stripped: Vec<String> = words.iter().map(|word| word.raw.replace(['\'', '"', '\\'], "")).collect();
    for mut form in [texts(words), stripped] {
        add(&mut found, &form);
        let Some(program) = form.first_mut() else { continue };
        if let Some((_, name)) = program.rsplit_once('/') {
            *program = name.to_owned();
        }
        let is_git = matches!(program.as_str(), "git" | "git.exe");
        add(&mut found, &form);
        if is_git && let Some(at) = git::subcommand(words).filter(|at| *at > 1) {
            form.drain(1..at.min(form.len()));
            add(&mut found, &form);
        }
    }
    // An expansion may be empty, and an unquoted word of it is then no word.
    if words.iter().any(|word| word.expands && word.raw != word.literal) {
        let emptied = words.iter().map(|word| {
            let is_open = word.expands && word.tilde.is_none();
            let text = if is_open { word.literal.clone() } else { word.spelled.clone() };
            Word { spelled: text.clone(), raw: text, expands: false, ..word.clone() }
        });
        let emptied: Vec<Word> = emptied.filter(|word| !word.spelled.is_empty()).collect();
        if !emptied.is_empty() {
            found.extend(spellings(&[], &emptied));
        }
    }
    found.dedup();
    found
}

/// What stands in the words; an alternative in braces becomes the words it makes.
fn texts(words: &[Word]) -> Vec<String> {
    let text = |word: &Word| match word.spelled.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        Some(inner) if word.braces => inner.replace(['{', '}'], "").replace(',', " "),
        _ => word.spelled.clone(),
    };
    words.iter().map(text).collect()
}

fn add(found: &mut Vec<String>, words: &[String]) {
    let text = words.join(" ");
    if !text.is_empty() && !found.contains(&text) {
        found.push(text);
    }
}
