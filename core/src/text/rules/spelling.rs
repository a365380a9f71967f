//! Further spellings of one resource. A deny rule sees all of them, an allow or ask rule only the first two.

use super::Place;
use super::pattern::SHELL;

/// Keys whose resources are paths.
const PATH_KEYS: [&str; 5] = ["read", "edit", "lsp", "external_directory", "git_metadata"];

/// The spellings of one resource.
pub(super) struct Spellings {
    /// As named, and cleaned.
    pub(super) named: Vec<String>,
    /// The resource without `..`, when it has any: an allow has to cover this too, or `src/../secret` would pass as
    /// something below `src`.
    pub(super) resolved: Option<String>,
    /// What only a deny rule sees.
    pub(super) deny_only: Vec<String>,
}

impl Spellings {
    /// Spellings of a resource under a key; `further` are the ones the caller found by looking at the machine.
    pub(super) fn of(key: &str, resource: &str, further: &[String], place: &Place) -> Self {
        let mut named = vec![resource.to_owned()];
        let mut deny_only = further.to_vec();
        let mut resolved_name = None;
        if PATH_KEYS.contains(&key) {
            let cleaned = clean(resource, false);
            resolved_name = Some(clean(resource, true)).filter(|resolved| *resolved != cleaned);
            if cleaned != resource {
                named.push(cleaned);
            }
            for spelling in std::iter::once(resource).chain(further.iter().map(String::as_str)) {
                let resolved = clean(spelling, true);
                deny_only.extend(place.roots.iter().flat_map(|root| other_forms(&resolved, root)));
                deny_only.push(resolved);
            }
        }
        Self { named, resolved: resolved_name, deny_only }
    }
}

/// The path without `.`, empty components and a final separator; with `resolve` also without `..`.
fn clean(path: &str, resolve: bool) -> String {
    let slashed = path.replace('\\', "/");
    let absolute = slashed.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in slashed.split('/') {
        match part {
            "" | "." => {}
            ".." if resolve && parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if resolve && absolute => {}
            other => parts.push(other),
        }
    }
    let joined = parts.join("/");
    match (absolute, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || path.as_bytes().get(1) == Some(&b':')
}

/// The relative tail of an absolute path below `root`, or the absolute form of a relative path.
fn other_forms(path: &str, root: &str) -> Option<String> {
    let root = clean(root, false);
    let below = root.trim_end_matches('/');
    if !is_absolute(path) {
        return Some(clean(&format!("{below}/{path}"), true));
    }
    let tail = path.strip_prefix(below)?;
    match tail.strip_prefix('/') {
        Some(rest) if !rest.is_empty() => Some(rest.to_owned()),
        Some(_) => Some(".".to_owned()),
        None => tail.is_empty().then(|| ".".to_owned()),
    }
}

/// Whether a command starts with a program that a deny pattern names alone: `yarn` covers `yarn test`, not `yarnx`.
pub(super) fn runs_bare_program(key: &str, pattern: &str, command: &str) -> bool {
    let bare = !pattern.is_empty() && !pattern.contains(|c: char| c.is_whitespace() || c == '*' || c == '?');
    let ends_word = |next: char| next.is_whitespace() || ";&|<>()".contains(next);
    key == SHELL && bare && command.strip_prefix(pattern).is_some_and(|rest| rest.starts_with(ends_word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cleaning_and_resolving() {
        for (path, cleaned, resolved) in [
            ("a/b", "a/b", "a/b"),
            ("./a//b/", "a/b", "a/b"),
            ("a/../b", "a/../b", "b"),
            ("../b", "../b", "../b"),
            ("/a/../../b", "/a/../../b", "/b"),
            ("a/..", "a/..", "."),
            (".", ".", "."),
            ("", ".", "."),
            ("/", "/", "/"),
            (r"a\.\b", "a/b", "a/b"),
        ] {
            assert_eq!(clean(path, false), cleaned, "{path}");
            assert_eq!(clean(path, true), resolved, "{path}");
        }
    }

    #[test]
    fn both_forms_of_a_path() {
        assert_eq!(other_forms("a/b", "/ws").as_deref(), Some("/ws/a/b"));
        assert_eq!(other_forms("../x", "/ws").as_deref(), Some("/x"));
        assert_eq!(other_forms(".", "/ws").as_deref(), Some("/ws"));
        assert_eq!(other_forms("/ws/a/b", "/ws/").as_deref(), Some("a/b"));
        assert_eq!(other_forms("/ws", "/ws").as_deref(), Some("."));
        assert_eq!(other_forms("/wsx/a", "/ws"), None);
        assert_eq!(other_forms("/a", "/").as_deref(), Some("a"));
    }

    // case: 68
    #[test]
    fn a_bare_program_covers_its_arguments() {
        assert!(runs_bare_program("shell", "yarn", "yarn test"));
        assert!(runs_bare_program("shell", "yarn", "yarn\ttest"));
        assert!(runs_bare_program("shell", "yarn", "yarn>out"));
        assert!(!runs_bare_program("shell", "yarn", "yarnx"));
        assert!(!runs_bare_program("shell", "yarn add", "yarn add x"));
        assert!(!runs_bare_program("read", "yarn", "yarn test"));
    }
}
