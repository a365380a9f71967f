//! The file arguments of the file commands.

use super::directory;
use super::model::Word;
use super::paths::PathRole;

/// A file argument.
pub(super) struct Argument {
    pub(super) role: PathRole,
    pub(super) in_home: bool,
    pub(super) path: String,
}

/// How a file command spells its options.
struct Usage {
    writes: bool,
    /// Options whose value is no path: letters, then long names.
    skips: (&'static str, &'static [&'static str]),
    /// Options whose value is a path.
    paths: (&'static str, &'static [&'static str]),
    /// The first operand is no path, such as a mode or a script.
    leading: bool,
}

const READS: Usage = Usage { writes: false, skips: ("", &[]), paths: ("", &[]), leading: false };
const WRITES: Usage = Usage { writes: true, skips: ("", &[]), paths: ("", &[]), leading: false };

fn usage(command: &str) -> Option<Usage> {
    let usage = match command {
        "cat" | "rm" | "rmdir" | "unlink" | "less" | "more" => READS,
        "find" => Usage { skips: ("D", &[]), ..READS },
        "head" | "tail" => Usage { skips: ("nc", &["lines", "bytes", "pid", "sleep-interval"]), ..READS },
        "ls" => Usage { skips: ("ITw", &["ignore", "hide", "width", "tabsize"]), ..READS },
        "tree" => Usage { skips: ("LPI", &["filelimit", "timefmt"]), paths: ("o", &[]), ..READS },
        "stat" => Usage { skips: ("ct", &["format", "printf"]), ..READS },
        "file" => Usage { skips: ("eFP", &["exclude", "separator"]), paths: ("fm", &["files-from"]), ..READS },
        "du" => {
            Usage { skips: ("dBt", &["max-depth", "exclude", "threshold"]), paths: ("X", &["files0-from"]), ..READS }
        }
        "wc" => Usage { paths: ("", &["files0-from"]), ..READS },
        "cmp" => Usage { skips: ("in", &["ignore-initial", "bytes"]), ..READS },
        "diff" => Usage {
            skips: ("CUIxWFL", &["exclude", "label", "width", "ignore-matching-lines", "show-function-line"]),
            paths: ("XS", &["exclude-from", "from-file", "to-file"]),
            ..READS
        },
        "sort" => Usage {
            skips: ("ktS", &["key", "field-separator", "buffer-size", "parallel", "batch-size"]),
            paths: ("oT", &["output", "temporary-directory", "files0-from"]),
            ..READS
        },
        "shred" => Usage { skips: ("ns", &["iterations", "size"]), paths: ("", &["random-source"]), ..READS },
        "truncate" => Usage { skips: ("s", &["size"]), paths: ("r", &["reference"]), ..READS },
        "chmod" | "chown" => Usage { paths: ("", &["reference"]), leading: true, ..READS },
        "cp" | "mv" | "ln" => Usage { skips: ("S", &["suffix"]), paths: ("t", &["target-directory"]), ..WRITES },
        "install" => Usage {
            skips: ("mogS", &["mode", "owner", "group", "suffix"]),
            paths: ("t", &["target-directory"]),
            ..WRITES
        },
        "mkdir" => Usage { skips: ("m", &["mode"]), ..WRITES },
        "touch" => Usage { skips: ("dt", &["date", "time"]), paths: ("r", &["reference"]), ..WRITES },
        "tee" => WRITES,
        "rsync" => Usage {
            skips: ("efMB", &["rsh", "exclude", "include", "filter", "chmod", "bwlimit", "out-format"]),
            paths: ("T", &["exclude-from", "include-from", "files-from", "log-file", "temp-dir", "backup-dir"]),
            ..WRITES
        },
        "tar" => Usage {
            skips: ("bHIFLKN", &["exclude", "transform", "format", "use-compress-program", "owner", "group", "mode"]),
            paths: ("fCTXgV", &["file", "directory", "files-from", "exclude-from", "listed-incremental"]),
            ..WRITES
        },
        "unzip" => Usage { skips: ("xP", &[]), paths: ("d", &[]), ..WRITES },
        "sed" => {
            Usage { skips: ("el", &["expression", "line-length"]), paths: ("f", &["file"]), leading: true, ..READS }
        }
        _ => return None,
    };
    Some(usage)
}

/// The static file arguments of a file command; nothing for any other program.
pub(super) fn arguments(command: &str, words: &[Word]) -> Vec<Argument> {
    if command == "dd" {
        return dd(words);
    }
    let Some(mut usage) = usage(command) else { return Vec::new() };
    match command {
        "sed" => {
            usage.writes = words.iter().any(is_in_place);
            usage.leading = !words.iter().any(|word| {
                let value = word.spelled.as_str();
                let short = value.starts_with('-') && !value.starts_with("--") && value.contains(['e', 'f']);
                (short && !value.starts_with("-i")) || value.starts_with("--expression") || value.starts_with("--file")
            });
        }
        "chmod" | "chown" => usage.leading = !words.iter().any(|word| word.spelled.starts_with("--reference")),
        _ => {}
    }
    let named = collect(command, words, &usage);
    let role = if usage.writes { PathRole::WriteArgument } else { PathRole::ReadArgument };
    named.into_iter().map(|(in_home, path)| Argument { role, in_home, path }).collect()
}

fn is_in_place(word: &Word) -> bool {
    let value = word.spelled.as_str();
    let letters = value.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    value.starts_with("--in-place")
        || letters.is_some_and(|letters| {
            letters.chars().take_while(|letter| !"efl".contains(*letter)).any(|letter| letter == 'i')
        })
}

fn collect(command: &str, words: &[Word], usage: &Usage) -> Vec<(bool, String)> {
    let mut found = Vec::new();
    let mut leading = usage.leading;
    let mut options = true;
    let mut words = words.iter().skip(1).enumerate();
    while let Some((at, word)) = words.next() {
        let value = word.spelled.as_str();
        let bundled = command == "tar" && at == 0 && !value.starts_with('-');
        match value {
            "--" if options && command != "find" => options = false,
            "-" => {}
            "(" | ")" | "!" | "," if command == "find" => break,
            _ if bundled => {
                for _ in value.chars().filter(|letter| "fCTXgbHIFLKNV".contains(*letter)) {
                    found.extend(words.next().and_then(|(_, word)| directory::named_by(word)));
                }
            }
            _ if options && value.starts_with('-') => match option(value, usage) {
                _ if command == "find" && !matches!(value, "-H" | "-L" | "-P" | "-D") => break,
                Value::None => {}
                Value::Here(path) => found.push((false, path.to_owned())),
                Value::NextPath => found.extend(words.next().and_then(|(_, word)| directory::named_by(word))),
                Value::NextOther => {
                    words.next();
                }
            },
            _ if options && value.starts_with('+') && matches!(command, "less" | "more" | "tail") => {}
            _ if leading => leading = false,
            _ => found.extend(directory::named_by(word)),
        }
    }
    found
}

enum Value<'a> {
    None,
    /// A path in the option itself.
    Here(&'a str),
    NextPath,
    NextOther,
}

fn option<'a>(value: &'a str, usage: &Usage) -> Value<'a> {
    if let Some(long) = value.strip_prefix("--") {
        return match long.split_once('=') {
            Some((name, path)) if usage.paths.1.contains(&name) => Value::Here(path),
            Some(_) => Value::None,
            None if usage.paths.1.contains(&long) => Value::NextPath,
            None if usage.skips.1.contains(&long) => Value::NextOther,
            None => Value::None,
        };
    }
    let letters = value.trim_start_matches('-');
    for (at, letter) in letters.char_indices() {
        let rest = letters.get(at + letter.len_utf8()..).unwrap_or_default();
        match (usage.paths.0.contains(letter), usage.skips.0.contains(letter)) {
            (true, _) if rest.is_empty() => return Value::NextPath,
            (true, _) => return Value::Here(rest),
            (_, true) if rest.is_empty() => return Value::NextOther,
            (_, true) => return Value::None,
            _ => {}
        }
    }
    Value::None
}

fn dd(words: &[Word]) -> Vec<Argument> {
    let paths = words
        .iter()
        .skip(1)
        .filter_map(Word::value)
        .filter_map(|value| value.strip_prefix("if=").or_else(|| value.strip_prefix("of=")));
    let role = PathRole::ReadArgument;
    paths.map(|path| Argument { role, in_home: false, path: path.to_owned() }).collect()
}
