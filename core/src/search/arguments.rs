//! The command lines. Pattern, include and path are data: they travel as `--name=value` or behind `--`, so nothing a
//! model writes can become another flag.

use std::ffi::OsString;
use std::path::Path;

use crate::types::ToolError;

/// What both tools always pass: no configuration file, no per-path diagnostics, hidden files searched, ignore files
/// honoured outside a Git work tree too.
const COMMON: [&str; 4] = ["--no-config", "--no-messages", "--hidden", "--no-require-git"];

/// Stands behind every other glob, so that none of them brings `.git` back.
const NO_GIT: &str = "--glob=!.git";

/// The longest argument a program can be started with on Linux, without its final NUL.
const LONGEST_ARGUMENT: usize = 131_071;

/// What `glob` looks for.
#[derive(Clone, Debug)]
pub struct GlobQuery {
    pattern: String,
}

/// What `grep` looks for.
#[derive(Clone, Debug)]
pub struct GrepQuery {
    pattern: String,
    include: Option<String>,
}

impl GlobQuery {
    /// Takes a pattern that can be handed to `rg`; whether it parses is for `rg` to say.
    pub fn new(pattern: &str) -> Result<Self, ToolError> {
        if pattern.starts_with('!') {
            let message = "A glob that starts with `!` would exclude instead of find. Name the files to find; a \
                           literal `!` at the start is written `\\!`.";
            return Err(ToolError::invalid_field("bad_pattern", "pattern", None, message));
        }
        passable("bad_pattern", "bad_pattern", "pattern", "--glob=", pattern)?;
        Ok(Self { pattern: pattern.to_owned() })
    }

    /// The glob as given.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    pub(super) fn arguments(&self, root: &Path) -> Vec<OsString> {
        let mut line = common();
        line.extend(["--null", "--files"].map(OsString::from));
        // A glob of everything is no wish for ignored files, which an explicit glob would be.
        if !is_everything(&self.pattern) {
            line.push(format!("--glob={}", self.pattern).into());
        }
        finish(line, None, root)
    }
}

impl GrepQuery {
    /// Takes a pattern and an include that can be handed to `rg`; whether they parse is for `rg` to say.
    pub fn new(pattern: &str, include: Option<&str>) -> Result<Self, ToolError> {
        passable("bad_pattern", "pattern_too_large", "pattern", "--regexp=", pattern)?;
        if let Some(include) = include {
            passable("bad_include", "bad_include", "include", "--glob=", include)?;
        }
        Ok(Self { pattern: pattern.to_owned(), include: include.map(str::to_owned) })
    }

    /// The regular expression as given.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// The glob that file names must match.
    pub fn include(&self) -> Option<&str> {
        self.include.as_deref()
    }

    pub(super) fn arguments(&self, root: &Path) -> Vec<OsString> {
        let mut line = common();
        line.push("--json".into());
        if let Some(include) = self.include().filter(|include| !is_everything(include)) {
            line.push(format!("--glob={include}").into());
        }
        finish(line, Some(&self.pattern), root)
    }
}

fn common() -> Vec<OsString> {
    COMMON.map(OsString::from).to_vec()
}

fn finish(mut line: Vec<OsString>, regex: Option<&str>, root: &Path) -> Vec<OsString> {
    line.push(NO_GIT.into());
    if let Some(regex) = regex {
        line.push(format!("--regexp={regex}").into());
    }
    line.push("--".into());
    line.push(root.into());
    line
}

/// Made only of `*` and `/`.
fn is_everything(glob: &str) -> bool {
    !glob.is_empty() && glob.bytes().all(|byte| matches!(byte, b'*' | b'/'))
}

/// Whether the text can be an argument of a program at all.
fn passable(malformed: &str, too_long: &str, field: &str, flag: &str, text: &str) -> Result<(), ToolError> {
    if text.is_empty() {
        let message = format!("`{field}` is empty. Say what to look for.");
        return Err(ToolError::invalid_field(malformed, field, None, message));
    }
    if text.contains('\0') {
        let message = format!("`{field}` holds a NUL character, which no program can be given. Take it out.");
        return Err(ToolError::invalid_field(malformed, field, None, message));
    }
    if flag.len() + text.len() > LONGEST_ARGUMENT {
        let message = format!("`{field}` has {} bytes, more than a program can be given. Make it shorter.", text.len());
        return Err(ToolError::invalid_field(too_long, field, None, message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: Vec<OsString>) -> Vec<String> {
        line.into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn glob_line_is_the_one_of_the_reference() {
        let line = GlobQuery::new("src/**/*.rs").unwrap().arguments(Path::new("/w"));
        assert_eq!(
            words(line).join(" "),
            "--no-config --no-messages --hidden --no-require-git --null --files --glob=src/**/*.rs --glob=!.git -- /w"
        );
    }

    #[test]
    fn grep_line_is_the_one_of_the_reference() {
        let line = GrepQuery::new("a b", Some("*.ts")).unwrap().arguments(Path::new("/w"));
        assert_eq!(
            words(line).join(" "),
            "--no-config --no-messages --hidden --no-require-git --json --glob=*.ts --glob=!.git --regexp=a b -- /w"
        );
    }

    // spec: SEARCH-02
    #[test]
    fn hostile_text_stays_inside_one_word() {
        let nasty = "--pre=/bin/sh; $(id) `id` \" ' | &";
        let line = words(GrepQuery::new(nasty, Some("--files")).unwrap().arguments(Path::new("-x")));
        assert!(line.contains(&format!("--regexp={nasty}")));
        assert!(line.contains(&"--glob=--files".to_owned()));
        assert_eq!(line[line.len() - 2..], ["--", "-x"]);
    }

    #[test]
    fn everything_runs_without_its_glob() {
        for glob in ["*", "**", "**/*", "/**/"] {
            let line = words(GlobQuery::new(glob).unwrap().arguments(Path::new("/w")));
            assert!(!line.contains(&format!("--glob={glob}")), "{glob}");
            let line = words(GrepQuery::new("x", Some(glob)).unwrap().arguments(Path::new("/w")));
            assert!(!line.contains(&format!("--glob={glob}")), "{glob}");
        }
        assert!(!is_everything("*.*"));
    }

    #[test]
    fn what_no_program_can_be_given_is_refused() {
        let long = "a".repeat(LONGEST_ARGUMENT);
        let codes = [
            GlobQuery::new("!a").unwrap_err().code,
            GlobQuery::new("a\0").unwrap_err().code,
            GlobQuery::new(&long).unwrap_err().code,
            GrepQuery::new("a\0", None).unwrap_err().code,
            GrepQuery::new(&long, None).unwrap_err().code,
            GrepQuery::new("a", Some("a\0")).unwrap_err().code,
            GrepQuery::new("a", Some(&long)).unwrap_err().code,
        ];
        assert_eq!(
            codes,
            [
                "bad_pattern",
                "bad_pattern",
                "bad_pattern",
                "bad_pattern",
                "pattern_too_large",
                "bad_include",
                "bad_include"
            ]
        );
        assert!(GrepQuery::new("a", Some("!a")).is_ok());
    }
}
