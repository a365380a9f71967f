//! The pattern language: `*`, `?`, everything else literal.

/// How a pattern and the texts it meets are read.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// Shell commands: `\` stays what it is.
    pub shell: bool,
    /// What a leading `~` or `$HOME` stands for; `None` leaves it literal.
    pub home: Option<&'a str>,
    /// Upper and lower case are the same.
    pub fold_case: bool,
}

impl<'a> Reading<'a> {
    /// The reading of resources under one permission key on this platform.
    pub fn of_key(key: &str, home: Option<&'a str>) -> Self {
        Self { shell: key == SHELL, home, fold_case: cfg!(windows) }
    }
}

/// The key whose resources are commands.
pub(super) const SHELL: &str = "shell";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Any,
    One,
    Literal(char),
}

/// A pattern made ready for matching.
#[derive(Clone, Debug)]
pub struct Pattern {
    alternatives: Vec<Vec<Token>>,
    shell: bool,
    fold_case: bool,
}

impl Pattern {
    /// Reads a pattern. Every text is one.
    pub fn new(text: &str, reading: Reading<'_>) -> Self {
        let text = fold(text, reading.shell, reading.fold_case);
        let mut alternatives = Vec::new();
        match home_prefix(&text).zip(reading.home) {
            Some((rest, home)) => {
                alternatives.push(under_home(&fold(home, reading.shell, reading.fold_case), rest));
                // A command may be written with the same `~`; it means the same place.
                if reading.shell {
                    alternatives.push(tokens(&text));
                }
            }
            None => alternatives.push(tokens(&text)),
        }
        if text.ends_with(" *") {
            let without: Vec<_> = alternatives.iter().map(|all| cut(all, 2)).collect();
            alternatives.extend(without);
        }
        Self { alternatives, shell: reading.shell, fold_case: reading.fold_case }
    }

    /// Whether the whole text matches. Takes at most (length of the pattern) × (length of the text) steps.
    pub fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = fold(text, self.shell, self.fold_case).chars().collect();
        self.alternatives.iter().any(|tokens| matches(tokens, &text))
    }
}

fn fold(text: &str, shell: bool, fold_case: bool) -> String {
    let slashed = if shell { text.to_owned() } else { text.replace('\\', "/") };
    if fold_case { slashed.to_lowercase() } else { slashed }
}

/// What follows a leading home word, when the pattern has one.
fn home_prefix(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix('~') {
        return (rest.is_empty() || rest.starts_with('/')).then_some(rest);
    }
    // Folding may have lowered the name.
    let rest = text.strip_prefix("$HOME").or_else(|| text.strip_prefix("$home").filter(|_| cfg!(windows)))?;
    let continues = rest.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_');
    (!continues).then_some(rest)
}

/// The home directory is literal text, whatever characters it holds.
fn under_home(home: &str, rest: &str) -> Vec<Token> {
    let trimmed = home.trim_end_matches('/');
    let home = if trimmed.is_empty() && !rest.starts_with('/') { "/" } else { trimmed };
    home.chars().map(Token::Literal).chain(tokens(rest)).collect()
}

fn tokens(text: &str) -> Vec<Token> {
    text.chars()
        .map(|character| match character {
            '*' => Token::Any,
            '?' => Token::One,
            other => Token::Literal(other),
        })
        .collect()
}

fn cut(tokens: &[Token], count: usize) -> Vec<Token> {
    tokens.iter().copied().take(tokens.len().saturating_sub(count)).collect()
}

/// Only the last `*` is ever tried again: an earlier one cannot help where a later one failed.
fn matches(tokens: &[Token], text: &[char]) -> bool {
    let (mut at_token, mut at_text) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while let Some(&character) = text.get(at_text) {
        match tokens.get(at_token) {
            Some(Token::Any) => {
                at_token += 1;
                retry = Some((at_token, at_text));
            }
            Some(&token) if token == Token::One || token == Token::Literal(character) => {
                at_token += 1;
                at_text += 1;
            }
            _ => {
                let Some((token, from)) = retry else { return false };
                retry = Some((token, from + 1));
                (at_token, at_text) = (token, from + 1);
            }
        }
    }
    tokens.iter().skip(at_token).all(|token| *token == Token::Any)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hit(pattern: &str, text: &str, key: &str) -> bool {
        Pattern::new(pattern, Reading { shell: key == SHELL, home: Some("/home/a*b/"), fold_case: false }).matches(text)
    }

    #[test]
    fn the_language_as_the_table_says() {
        for (pattern, text, key, expected) in [
            ("*", "", "read", true),
            ("*", "a/b", "read", true),
            ("src/*", "src/a/b.rs", "read", true),
            ("src/*", "src", "read", false),
            ("src/**", "src/a", "read", true),
            ("a?c", "abc", "read", true),
            ("a?c", "ac", "read", false),
            ("a?c", "aéc", "read", true),
            ("[ab]", "a", "read", false),
            ("[ab]", "[ab]", "read", true),
            ("git *", "git", "shell", true),
            ("git *", "git ", "shell", true),
            ("git *", "git push", "shell", true),
            ("git *", "gitk", "shell", false),
            ("git*", "gitk", "shell", true),
            ("git status*", "git status && touch x", "shell", true),
            (r"a\b", "a/b", "read", true),
            ("a/b", r"a\b", "read", true),
            (r"g\it", r"g\it", "shell", true),
            (r"g\it", "g/it", "shell", false),
            ("A", "a", "read", false),
            ("~", "/home/a*b", "read", true),
            ("~/x*", "/home/a*b/xy", "read", true),
            ("~/x", "/home/aab/x", "read", false),
            ("$HOME/x", "/home/a*b/x", "read", true),
            ("$HOME", "/home/a*b", "read", true),
            ("$HOMELY", "/home/a*bLY", "read", false),
            ("$HOMELY", "$HOMELY", "read", true),
            ("~user/x", "~user/x", "read", true),
            ("~/bin/x *", "~/bin/x --y", "shell", true),
            ("~/bin/x *", "/home/a*b/bin/x", "shell", true),
            ("", "", "read", true),
            ("", "a", "read", false),
        ] {
            assert_eq!(hit(pattern, text, key), expected, "{pattern:?} against {text:?} under {key}");
        }
    }

    #[test]
    fn a_home_at_the_root_and_no_home() {
        let reading = |home| Reading { shell: false, home, fold_case: false };
        assert!(Pattern::new("~", reading(Some("/"))).matches("/"));
        assert!(Pattern::new("~/x", reading(Some("/"))).matches("/x"));
        assert!(Pattern::new("~/x", reading(None)).matches("~/x"));
    }

    #[test]
    fn case_is_ignored_where_the_platform_ignores_it() {
        let reading = Reading { shell: false, home: Some("C:\\Users\\Ann"), fold_case: true };
        assert!(Pattern::new("~\\Docs\\*", reading).matches("c:/users/ann/DOCS/x"));
    }

    #[test]
    fn many_stars_do_not_explode() {
        let pattern = "a*".repeat(60) + "b";
        assert!(!hit(&pattern, &"a".repeat(4_000), "read"));
    }

    /// The definition, written down without any care for time.
    fn naive(pattern: &[char], text: &[char]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some(('*', rest)) => (0..=text.len()).any(|skip| naive(rest, &text[skip..])),
            Some((wanted, rest)) => {
                text.split_first().is_some_and(|(first, tail)| (*wanted == '?' || wanted == first) && naive(rest, tail))
            }
        }
    }

    proptest! {
        #[test]
        fn any_texts_are_matched_without_a_panic(pattern in ".*", text in ".*", home in ".*", shell: bool) {
            let reading = Reading { shell, home: Some(&home), fold_case: shell };
            Pattern::new(&pattern, reading).matches(&text);
        }

        #[test]
        fn matching_agrees_with_the_definition(pattern in "[ab*?]{0,8}", text in "[ab]{0,8}") {
            let (p, t): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
            prop_assert_eq!(hit(&pattern, &text, "read"), naive(&p, &t));
        }

        #[test]
        fn a_text_without_special_characters_matches_itself(text in "[^~$]{0,40}") {
            prop_assert!(hit(&text, &text, "read"));
        }
    }
}
