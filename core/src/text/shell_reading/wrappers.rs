//! Programs that run another command, and where that command stands in their words.

use std::collections::BTreeSet;

use super::Dialect;
use super::model::Word;

/// What a command runs besides itself.
#[derive(Debug, Default)]
pub(super) struct Look {
    /// It runs a command of its arguments, or an interpreter.
    pub(super) is_wrapper: bool,
    /// What it runs is not all in the text.
    pub(super) is_computed: bool,
    pub(super) inner: Vec<Inner>,
}

/// A command inside of a wrapper.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) what: What,
    /// It runs in the same shell, so its directory changes last.
    pub(super) same_shell: bool,
    pub(super) place: Place,
}

#[derive(Debug)]
pub(super) enum What {
    /// Words `start..end` of the wrapper.
    Words {
        start: usize,
        end: usize,
    },
    Script {
        text: String,
        dialect: Dialect,
    },
}

/// Where it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Same,
    /// The directory that this word names.
    At(usize),
    Unknown,
}

/// The options of a program that runs its operands as a command.
struct Options {
    /// Letters without a value.
    flags: &'static str,
    /// Letters with one.
    values: &'static str,
    /// Long options whose value may be the next word.
    long_values: &'static [&'static str],
    /// Operands before the command.
    operands: usize,
    /// `name=value` words stand before the command.
    assigns: bool,
}

const PLAIN: Options = Options { flags: "", values: "", long_values: &[], operands: 0, assigns: false };

fn options(program: &str) -> Option<Options> {
    let found = match program {
        "sudo" => Options {
            flags: "ABbEeHKklNnPSsVvi",
            values: "CDghpRrTtUu",
            long_values: &[
                "user",
                "group",
                "host",
                "prompt",
                "close-from",
                "role",
                "type",
                "command-timeout",
                "other-user",
                "chdir",
                "chroot",
            ],
            assigns: true,
            ..PLAIN
        },
        "doas" => Options { flags: "nLs", values: "uC", ..PLAIN },
        "env" => Options {
            flags: "i0v",
            values: "uCPS",
            long_values: &["unset", "chdir", "split-string"],
            assigns: true,
            ..PLAIN
        },
        "nice" => Options { flags: "0123456789", values: "n", long_values: &["adjustment"], ..PLAIN },
        "ionice" => {
            Options { flags: "t", values: "cnpPu", long_values: &["class", "classdata", "pid", "pgid", "uid"], ..PLAIN }
        }
        "time" => Options { flags: "apvlhq", values: "fo", long_values: &["format", "output"], assigns: true, ..PLAIN },
        "timeout" => {
            Options { flags: "fpv", values: "ks", long_values: &["kill-after", "signal"], operands: 1, ..PLAIN }
        }
        "xargs" => Options {
            flags: "0prtxoiel",
            values: "IEdnPLsaRSJ",
            long_values: &["arg-file", "delimiter", "max-args", "max-procs", "max-chars", "process-slot-var"],
            ..PLAIN
        },
        "command" => Options { flags: "pvV", ..PLAIN },
        "exec" => Options { flags: "cl", values: "a", ..PLAIN },
        "setsid" => Options { flags: "cfw", ..PLAIN },
        "stdbuf" => Options { values: "ioe", long_values: &["input", "output", "error"], ..PLAIN },
        "chroot" => Options { values: "ugG", long_values: &["userspec", "groups"], operands: 1, ..PLAIN },
        "watch" => {
            Options { flags: "bcCdegprtwx", values: "nqs", long_values: &["interval", "equexit", "shotsdir"], ..PLAIN }
        }
        "chrt" => Options {
            flags: "abdefGimoRrv",
            values: "TPDp",
            long_values: &["sched-runtime", "sched-period", "sched-deadline", "pid"],
            operands: 1,
            ..PLAIN
        },
        "taskset" => Options { flags: "ac", values: "p", long_values: &["pid"], operands: 1, ..PLAIN },
        "flock" => Options {
            flags: "ensuxoFv",
            values: "wE",
            long_values: &["timeout", "wait", "conflict-exit-code"],
            operands: 1,
            ..PLAIN
        },
        "nohup" | "builtin" | "coproc" => PLAIN,
        _ => return None,
    };
    Some(found)
}

/// Looks through a command. Its first word is the program; assignments are cut off.
pub(super) fn look(words: &[Word]) -> Look {
    let Some(name) = words.first().and_then(Word::file_name) else { return Look::default() };
    let name = name.strip_suffix(".exe").unwrap_or(name);
    match name {
        "eval" => eval(words),
        "su" => switch_user(words),
        "find" => find(words),
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "fish" => shell(words, Dialect::of_program(name)),
        "pwsh" | "powershell" => powershell(words),
        _ => match options(name) {
            Some(options) => wrapper(name, words, &options),
            None => Look::default(),
        },
    }
}

// --- Operands that are a command ---

fn wrapper(name: &str, words: &[Word], options: &Options) -> Look {
    let (starts, is_computed) = starts(words, options);
    let same_shell = matches!(name, "command" | "builtin" | "exec");
    let place = match name {
        "env" => place_option(words, 'C', "--chdir"),
        "sudo" => place_option(words, 'D', "--chdir"),
        "chroot" => Place::Unknown,
        _ => Place::Same,
    };
    let end = words.len();
    let mut look = Look { is_wrapper: true, is_computed, inner: Vec::new() };
    for start in starts {
        let flag = words.get(start).and_then(Word::value);
        if name == "flock" && matches!(flag, Some("-c" | "--command")) {
            look.inner.push(Inner { what: script(words, start + 1, Dialect::Sh), same_shell: false, place });
            continue;
        }
        look.inner.push(Inner { what: What::Words { start, end }, same_shell, place });
        if name == "watch" {
            look.inner.push(Inner { what: script(words, start, Dialect::Sh), same_shell: false, place });
        }
    }
    if name == "env"
        && let Some(inner) = split_string(words)
    {
        look.inner.push(Inner { what: inner, same_shell: false, place });
    }
    look
}

/// Where the command may start. A word that cannot be judged is read in every way it can be meant.
fn starts(words: &[Word], options: &Options) -> (BTreeSet<usize>, bool) {
    const MOST: usize = 8;
    let mut found = BTreeSet::new();
    let mut computed = false;
    let mut open = vec![(1, options.operands)];
    let mut seen = BTreeSet::new();
    while let Some((at, operands)) = open.pop() {
        if !seen.insert((at, operands)) || found.len() >= MOST {
            continue;
        }
        let Some(word) = words.get(at) else { continue };
        match word.value() {
            None if operands > 0 => open.push((at + 1, operands - 1)),
            None => {
                computed = true;
                found.insert(at);
                open.push((at + 1, 0));
            }
            Some("--") => match operands {
                0 => {
                    let assignments =
                        words.iter().skip(at + 1).take_while(|word| options.assigns && word.is_assignment());
                    found.insert(at + 1 + assignments.count());
                }
                _ => open.push((at + 1, operands)),
            },
            Some(value) if value.starts_with('-') && operands == options.operands => {
                let reading = option_length(value, options);
                computed |= reading == Length::Either;
                if reading != Length::Two {
                    open.push((at + 1, operands));
                }
                if reading != Length::One {
                    open.push((at + 2, operands));
                }
            }
            Some(_) if options.assigns && word.is_assignment() => open.push((at + 1, operands)),
            Some(_) if operands > 0 => open.push((at + 1, operands - 1)),
            Some(_) => {
                found.insert(at);
            }
        }
    }
    found.retain(|start| *start < words.len());
    (found, computed)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Length {
    One,
    Two,
    Either,
}

/// How many words an option takes.
fn option_length(value: &str, options: &Options) -> Length {
    if let Some(long) = value.strip_prefix("--") {
        return match long.split_once('=') {
            Some(_) => Length::One,
            None if options.long_values.contains(&long) => Length::Two,
            // A shortened long option takes its value as the full one does.
            None if options.long_values.iter().any(|known| known.starts_with(long)) => Length::Either,
            None => Length::One,
        };
    }
    let letters = value.trim_start_matches('-');
    for (at, letter) in letters.char_indices() {
        if options.values.contains(letter) {
            return if at + letter.len_utf8() == letters.len() { Length::Two } else { Length::One };
        }
        if !options.flags.contains(letter) {
            return Length::Either;
        }
    }
    Length::One
}

fn place_option(words: &[Word], letter: char, long: &str) -> Place {
    for (at, word) in words.iter().enumerate().skip(1) {
        match word.value() {
            Some(value) if value == long || value.strip_prefix('-').is_some_and(|rest| rest == letter.to_string()) => {
                return Place::At(at + 1);
            }
            Some(value) if value.starts_with(long) || value.starts_with(&format!("-{letter}")) => {
                return Place::Unknown;
            }
            Some(value) if value.starts_with('-') || word.is_assignment() => {}
            _ => {}
        }
    }
    Place::Same
}

// --- Arguments that are a script ---

/// The words from `start` on, joined as a shell would read them again.
fn script(words: &[Word], start: usize, dialect: Dialect) -> What {
    let spelled: Vec<&str> = words.iter().skip(start).map(|word| word.spelled.as_str()).collect();
    What::Script { text: spelled.join(" "), dialect }
}

fn one_script(words: &[Word], at: usize, dialect: Dialect, same_shell: bool) -> Look {
    let Some(word) = words.get(at) else { return Look { is_wrapper: true, is_computed: true, inner: Vec::new() } };
    let what = What::Script { text: word.spelled.clone(), dialect };
    let inner = vec![Inner { what, same_shell, place: Place::Same }];
    Look { is_wrapper: true, is_computed: word.value().is_none(), inner }
}

fn eval(words: &[Word]) -> Look {
    let start = if words.get(1).and_then(Word::value) == Some("--") { 2 } else { 1 };
    let is_computed = words.iter().skip(start).any(|word| word.value().is_none());
    let what = script(words, start, Dialect::Bash);
    Look { is_wrapper: true, is_computed, inner: vec![Inner { what, same_shell: true, place: Place::Same }] }
}

fn split_string(words: &[Word]) -> Option<What> {
    for (at, word) in words.iter().enumerate().skip(1) {
        let value = word.spelled.as_str();
        if value == "--split-string" {
            return Some(script(words, at + 1, Dialect::Bash));
        }
        let letters = value.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let short = letters
            .and_then(|rest| rest.split_once('S'))
            .filter(|(before, _)| before.chars().all(|letter| "i0v".contains(letter)));
        let text = value.strip_prefix("--split-string=").or(short.map(|(_, text)| text));
        if let Some(text) = text {
            let What::Script { text: rest, dialect } = script(words, at + 1, Dialect::Bash) else { return None };
            return Some(What::Script { text: format!("{text} {rest}").trim().to_owned(), dialect });
        }
        if !value.starts_with('-') && !word.is_assignment() {
            return None;
        }
    }
    None
}

fn switch_user(words: &[Word]) -> Look {
    for (at, word) in words.iter().enumerate().skip(1) {
        let value = word.spelled.as_str();
        let attached = ["--command=", "--session-command="].iter().find_map(|name| value.strip_prefix(name));
        let short = value.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let attached = attached.or_else(|| short?.strip_prefix('c').filter(|text| !text.is_empty()));
        if let Some(text) = attached {
            let what = What::Script { text: text.to_owned(), dialect: Dialect::Bash };
            let inner = vec![Inner { what, same_shell: false, place: Place::Unknown }];
            return Look { is_wrapper: true, is_computed: word.value().is_none(), inner };
        }
        let names_script = matches!(value, "--command" | "--session-command")
            || short.is_some_and(|letters| letters.ends_with('c') && letters.chars().all(char::is_alphabetic));
        if names_script {
            return one_script(words, at + 1, Dialect::Bash, false);
        }
    }
    Look { is_wrapper: true, is_computed: true, inner: Vec::new() }
}

fn shell(words: &[Word], dialect: Dialect) -> Look {
    let mut at = 1;
    let mut has_script = false;
    let mut unsure = false;
    while let Some(word) = words.get(at) {
        let value = match word.value() {
            Some(value) => value,
            None if has_script => break,
            None => {
                (unsure, at) = (true, at + 1);
                continue;
            }
        };
        if let Some(text) = value.strip_prefix("--command=") {
            let what = What::Script { text: text.to_owned(), dialect };
            let inner = vec![Inner { what, same_shell: false, place: Place::Same }];
            return Look { is_wrapper: true, is_computed: false, inner };
        }
        match value {
            "--" => {
                at += 1;
                break;
            }
            "--command" => has_script = true,
            "--rcfile" | "--init-file" | "--init-command" => at += 1,
            _ if value.starts_with("--") => {}
            _ if value.starts_with(['-', '+']) && value.len() > 1 => {
                has_script |= value.starts_with('-') && value.contains('c');
                at += usize::from(value.ends_with(['o', 'O']));
            }
            _ => break,
        }
        at += 1;
    }
    if has_script || unsure {
        let mut look = one_script(words, at, dialect, false);
        look.is_computed |= unsure;
        return look;
    }
    // A script file, or commands from standard input.
    Look { is_wrapper: true, is_computed: true, inner: Vec::new() }
}

fn powershell(words: &[Word]) -> Look {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let value = word.spelled.to_ascii_lowercase();
        let name = value.trim_start_matches(['-', '/']);
        let is_option = value.len() > name.len();
        if !is_option || (!name.is_empty() && "commandwithargs".starts_with(name)) {
            let start = if is_option { at + 1 } else { at };
            let is_computed = words.iter().skip(start).any(|word| word.value().is_none());
            let what = script(words, start, Dialect::PowerShell);
            return Look {
                is_wrapper: true,
                is_computed,
                inner: vec![Inner { what, same_shell: false, place: Place::Unknown }],
            };
        }
        if matches!(name, "executionpolicy" | "ep" | "ex" | "outputformat" | "inputformat" | "workingdirectory" | "wd")
        {
            at += 1;
        }
        at += 1;
    }
    Look { is_wrapper: true, is_computed: true, inner: Vec::new() }
}

fn find(words: &[Word]) -> Look {
    let mut look = Look::default();
    let mut end = words.len();
    for (at, word) in words.iter().enumerate().rev() {
        let place = match word.value() {
            Some(";") => {
                end = at;
                continue;
            }
            Some("+")
                if words.get(at.wrapping_sub(1)).and_then(Word::value).is_some_and(|word| word.ends_with("{}")) =>
            {
                end = at;
                continue;
            }
            Some("-exec" | "-ok") => Place::Same,
            Some("-execdir" | "-okdir") => Place::Unknown,
            _ => continue,
        };
        look.is_wrapper = true;
        if at + 1 < end {
            look.inner.push(Inner { what: What::Words { start: at + 1, end }, same_shell: false, place });
        }
    }
    look.inner.reverse();
    look
}
