//! Why `rg` did not answer. An empty result and a refused search must never look alike.

use crate::types::ToolError;

/// Characters of a model's own text that are repeated to it.
const LONGEST_QUOTE: usize = 300;

/// What was asked, to name the part at fault.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asked<'a> {
    /// `glob`
    Glob {
        /// The glob.
        pattern: &'a str,
    },
    /// `grep`
    Grep {
        /// The regular expression.
        pattern: &'a str,
        /// The glob for file names.
        include: Option<&'a str>,
    },
}

/// How `rg` ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ending<'a> {
    /// The exit status; `None` = ended by a signal.
    pub(super) status: Option<i32>,
    /// What it wrote to standard error.
    pub(super) diagnostics: &'a str,
    /// Whether anything was found before it ended.
    pub(super) found: bool,
}

/// The refusal an ending stands for, if it does.
pub(super) fn refusal(asked: Asked<'_>, ending: Ending<'_>) -> Option<ToolError> {
    let diagnostics = ending.diagnostics.trim();
    match ending.status {
        Some(0 | 1) => None,
        // Status 2 without a word: only paths below the root could not be read, and those are not told apart.
        Some(2) if diagnostics.is_empty() => None,
        Some(2) if !ending.found => {
            Some(argument(asked, diagnostics).unwrap_or_else(|| failed(ending.status, diagnostics)))
        }
        status => Some(failed(status, diagnostics)),
    }
}

/// Any end of `rg` that is its own fault.
pub(super) fn failed(status: Option<i32>, diagnostics: &str) -> ToolError {
    let how = match status {
        Some(status) => format!("with status {status}"),
        None => "by a signal".to_owned(),
    };
    let message = match diagnostics.lines().map(str::trim).find(|line| !line.is_empty()) {
        Some(line) => {
            format!("`rg` ended {how}: {}. Nothing was found out; try again or narrow the search.", brief(line))
        }
        None => format!("`rg` ended {how} and said nothing. Nothing was found out; try again or narrow the search."),
    };
    ToolError::failed("rg_failed", message)
}

fn argument(asked: Asked<'_>, diagnostics: &str) -> Option<ToolError> {
    let first = diagnostics.lines().next().unwrap_or_default();
    if let Some(rest) = first.strip_prefix("rg: error parsing glob ") {
        return Some(glob(asked, rest));
    }
    let Asked::Grep { pattern, .. } = asked else { return None };
    let quoted = quote(pattern);
    if first.contains("size limit") {
        let message = format!(
            "The regular expression {quoted} is over ripgrep's limit of compiled size. Use smaller repetition counts."
        );
        return Some(ToolError::invalid_field("pattern_too_large", "pattern", None, message));
    }
    let about_regex = first.contains("regex") || first.contains("literal");
    about_regex.then(|| {
        let reason = reason(diagnostics);
        let message = format!(
            "The regular expression {quoted} cannot be parsed: {reason}. Correct it; a literal character is written \
             with `\\` in front."
        );
        ToolError::invalid_field("bad_pattern", "pattern", None, message)
    })
}

/// `rest` is `'GLOB': reason`.
fn glob(asked: Asked<'_>, rest: &str) -> ToolError {
    let (code, field, given) = match asked {
        Asked::Glob { pattern } => ("bad_pattern", "pattern", pattern),
        Asked::Grep { include, .. } => ("bad_include", "include", include.unwrap_or_default()),
    };
    let reason =
        rest.strip_prefix(&format!("'{given}': ")).or_else(|| rest.split_once("': ").map(|(_, reason)| reason));
    let message = format!(
        "The glob {} in `{field}` cannot be parsed: {}. Correct it; a literal character is written with `\\` in front.",
        quote(given),
        brief(reason.unwrap_or(rest)),
    );
    ToolError::invalid_field(code, field, None, message)
}

/// The sentence in which `rg` says what is wrong with a regular expression.
fn reason(diagnostics: &str) -> String {
    let reason = diagnostics.lines().rev().find_map(|line| line.trim().strip_prefix("error: "));
    let first = diagnostics.lines().next().unwrap_or_default();
    brief(reason.unwrap_or_else(|| first.strip_prefix("rg: ").unwrap_or(first)))
}

fn quote(text: &str) -> String {
    format!("\"{}\"", brief(text))
}

fn brief(text: &str) -> String {
    match text.char_indices().nth(LONGEST_QUOTE) {
        Some((at, _)) => format!("{}…", text.split_at(at).0),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GREP: Asked<'_> = Asked::Grep { pattern: "(", include: Some("{a") };
    const BAD_REGEX: &str = "rg: regex parse error:\n    (?:()\n    ^\nerror: unclosed group\n";
    const BAD_GLOB: &str =
        "rg: error parsing glob '{a': unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)\n";

    fn judge(asked: Asked<'_>, status: Option<i32>, diagnostics: &str, found: bool) -> Option<(String, String)> {
        refusal(asked, Ending { status, diagnostics, found }).map(|error| (error.code, error.message))
    }

    #[test]
    fn ordinary_ends_are_no_refusal() {
        for status in [0, 1, 2] {
            assert_eq!(judge(GREP, Some(status), "", false), None);
        }
    }

    #[test]
    fn the_part_that_rg_quotes_is_named() {
        let (code, message) = judge(GREP, Some(2), BAD_REGEX, false).unwrap();
        assert_eq!(code, "bad_pattern");
        assert!(message.contains("\"(\"") && message.contains("unclosed group"), "{message}");
        let (code, message) = judge(GREP, Some(2), BAD_GLOB, false).unwrap();
        assert_eq!(code, "bad_include");
        assert!(message.contains("\"{a\"") && message.contains("unclosed alternate group"), "{message}");
        let (code, _) = judge(Asked::Glob { pattern: "{a" }, Some(2), BAD_GLOB, false).unwrap();
        assert_eq!(code, "bad_pattern");
    }

    #[test]
    fn a_regex_about_globs_is_still_a_regex() {
        let text = "rg: regex parse error:\n    (?:error parsing glob '()\n    ^\nerror: unclosed group\n";
        assert_eq!(judge(GREP, Some(2), text, false).unwrap().0, "bad_pattern");
    }

    #[test]
    fn other_regex_refusals() {
        let text = "rg: compiled regex exceeds size limit of 104857600\n";
        assert_eq!(judge(GREP, Some(2), text, false).unwrap().0, "pattern_too_large");
        let text = "rg: the literal \"\\n\" is not allowed in a regex\n\nConsider enabling multiline mode\n";
        let (code, message) = judge(GREP, Some(2), text, false).unwrap();
        assert_eq!(code, "bad_pattern");
        assert!(message.contains("the literal \"\\n\" is not allowed in a regex"), "{message}");
    }

    #[test]
    fn everything_else_is_rg_failing() {
        let (code, message) = judge(GREP, Some(2), "\nrg: out of luck\nmore\n", false).unwrap();
        assert_eq!(code, "rg_failed");
        assert!(message.contains("rg: out of luck") && !message.contains("more\n"), "{message}");
        assert_eq!(judge(GREP, None, "", false).unwrap().0, "rg_failed");
        assert_eq!(judge(GREP, Some(101), "panic", true).unwrap().0, "rg_failed");
        assert_eq!(judge(GREP, Some(2), BAD_REGEX, true).unwrap().0, "rg_failed");
        assert_eq!(judge(Asked::Glob { pattern: "a" }, Some(2), BAD_REGEX, false).unwrap().0, "rg_failed");
    }

    #[test]
    fn quotes_are_bounded() {
        let long = "(".repeat(5_000);
        let (_, message) = judge(Asked::Grep { pattern: &long, include: None }, Some(2), BAD_REGEX, false).unwrap();
        assert!(message.len() < 1_000, "{}", message.len());
    }
}
