//! The commands of a line as permission patterns.

use super::model::{Redirect, RedirectKind, Word};
use super::spelling;
use super::walk::{Occurrence, Role};

/// What a [`Constituent`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstituentKind {
    /// A command.
    Command,
    /// Assignments without a command: they change what later commands do.
    Assignment,
    /// A redirect that writes a file.
    Redirect,
    /// Text that could not be taken apart.
    Opaque,
}

/// A word of a [`Constituent`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstituentWord {
    /// As written.
    pub text: String,
    /// What the command sees, when that does not depend on the run.
    pub value: Option<String>,
}

/// One pattern of a `shell` ask.
///
/// The text of a command includes its redirects. A redirect that writes a file is a constituent of its own in addition,
/// such as `> x` for `git status > x`: an allow of `git status*` covers the command and leaves the file open. Descriptor
/// copies, here-documents, reading redirects and the devices that store nothing make no constituent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constituent {
    /// What it is.
    pub kind: ConstituentKind,
    /// The pattern: the text as written, without blanks around it; of a here-document only the first line.
    pub text: String,
    /// The program after quote removal, when the text names it.
    pub program: Option<String>,
    /// The spellings a deny rule sees besides `text`.
    pub deny_spellings: Vec<String>,
    /// The program and its arguments.
    pub words: Vec<ConstituentWord>,
    /// Assignments stand in front of the program.
    pub assigns: bool,
    /// It runs a command of its arguments, or an interpreter.
    pub is_wrapper: bool,
    /// It was found inside of a wrapper or an inline script.
    pub from_wrapper: bool,
    /// The run decides on its program, its words or what it runs.
    pub computed: bool,
}

pub(super) fn of(occurrence: &Occurrence) -> Vec<Constituent> {
    let kind = match occurrence.role {
        Role::Command => Some(ConstituentKind::Command),
        Role::Assignment => Some(ConstituentKind::Assignment),
        Role::Opaque => Some(ConstituentKind::Opaque),
        Role::DirectoryChange | Role::Redirects => None,
    };
    let own = kind.map(|kind| Constituent {
        kind,
        text: occurrence.text.clone(),
        program: occurrence.words.first().and_then(Word::value).map(str::to_owned),
        deny_spellings: deny_spellings(occurrence),
        words: occurrence.words.iter().map(constituent_word).collect(),
        assigns: !occurrence.assignments.is_empty(),
        is_wrapper: occurrence.is_wrapper,
        from_wrapper: occurrence.from_wrapper,
        computed: occurrence.computed,
    });
    let redirects = occurrence.redirects.iter().filter(|redirect| writes_a_file(redirect));
    own.into_iter().chain(redirects.map(|redirect| of_redirect(redirect, occurrence.from_wrapper))).collect()
}

fn deny_spellings(occurrence: &Occurrence) -> Vec<String> {
    let mut found = spelling::spellings(&occurrence.assignments, &occurrence.words);
    for words in &occurrence.recovered {
        found.extend(spelling::spellings(&[], words));
    }
    found
}

fn constituent_word(word: &Word) -> ConstituentWord {
    ConstituentWord { text: word.raw.clone(), value: word.value().map(str::to_owned) }
}

fn writes_a_file(redirect: &Redirect) -> bool {
    let target = redirect.target.as_ref().and_then(Word::value).unwrap_or_default();
    let device = matches!(target, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty" | "/dev/zero")
        || target.strip_prefix("/dev/fd/").is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    redirect.kind == RedirectKind::Write && !device
}

fn of_redirect(redirect: &Redirect, from_wrapper: bool) -> Constituent {
    let target = redirect.target.as_ref();
    let spelled = target.map(|word| word.spelled.as_str()).unwrap_or_default();
    let raw = target.map(|word| word.raw.as_str()).unwrap_or_default();
    let mut deny_spellings = Vec::new();
    for operator in [redirect.operator.as_str(), ">"] {
        let spelling = format!("{operator} {spelled}");
        if !deny_spellings.contains(&spelling) {
            deny_spellings.push(spelling);
        }
    }
    Constituent {
        kind: ConstituentKind::Redirect,
        text: format!("{} {raw}", redirect.operator),
        program: None,
        deny_spellings,
        words: target.map(constituent_word).into_iter().collect(),
        assigns: false,
        is_wrapper: false,
        from_wrapper,
        computed: target.is_none_or(Word::is_computed),
    }
}
