//! What an `always` reply would allow.

use super::constituents::{Constituent, ConstituentKind};

/// Programs whose first argument is a subcommand of its own weight.
const WITH_SUBCOMMANDS: [&str; 21] = [
    "git",
    "cargo",
    "npm",
    "pnpm",
    "yarn",
    "bun",
    "deno",
    "go",
    "docker",
    "podman",
    "kubectl",
    "helm",
    "terraform",
    "gh",
    "make",
    "pip",
    "uv",
    "poetry",
    "dotnet",
    "gradle",
    "mvn",
];

/// Programs that destroy what they are pointed at.
const DESTRUCTIVE: [&str; 16] = [
    "rm",
    "rmdir",
    "shred",
    "unlink",
    "truncate",
    "dd",
    "mkfs",
    "fdisk",
    "parted",
    "wipefs",
    "srm",
    "remove-item",
    "del",
    "erase",
    "rd",
    "format",
];

/// The program destroys its targets.
pub fn is_destructive_program(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    DESTRUCTIVE.contains(&name.as_str()) || name.starts_with("mkfs.")
}

/// The pattern that an `always` reply to this constituent would allow: `<program> *`, or `<program> <word> *` for a
/// plain subcommand. `None` for wrappers, computed words, destructive programs, and whatever the pattern would not
/// cover as it is written.
pub fn always_offers(constituent: &Constituent) -> Option<String> {
    if constituent.kind != ConstituentKind::Command || constituent.is_wrapper || constituent.computed {
        return None;
    }
    let program = constituent.program.as_deref().filter(|program| !is_destructive_program(program))?;
    if program.is_empty() || program.contains(['*', '?']) {
        return None;
    }
    let name = program.rsplit('/').next().unwrap_or(program);
    let second = constituent.words.get(1).and_then(|word| word.value.as_deref());
    let prefix = match second {
        Some(word) if WITH_SUBCOMMANDS.contains(&name) && is_plain(word) => format!("{program} {word}"),
        _ => program.to_owned(),
    };
    let rest = constituent.text.strip_prefix(prefix.as_str())?;
    (rest.is_empty() || rest.starts_with(' ')).then(|| format!("{prefix} *"))
}

fn is_plain(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_alphabetic())
        && word.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | ':'))
}
