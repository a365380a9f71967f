//! Which program reads the command's text.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::process::find_program;
use crate::text::shell_reading::Dialect;
use crate::types::ToolError;

/// An interpreter by its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Interpreter {
    pub(super) program: PathBuf,
}

/// What can be asked of an interpreter; decided by its file name, never by what a link points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// Its exit status can be authoritative.
    Capable(Shell),
    /// POSIX without pipefail.
    Posix,
    /// PowerShell.
    PowerShell,
    /// Anything else.
    Other,
}

/// The capable ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shell {
    /// bash
    Bash,
    /// ksh
    Ksh,
    /// zsh
    Zsh,
}

impl Interpreter {
    pub(super) fn at(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into() }
    }

    /// The configured one, whatever it is; otherwise the first whose exit status can be authoritative; otherwise sh.
    pub(super) fn choose(configured: Option<&str>, environment: &[(OsString, OsString)]) -> Result<Self, ToolError> {
        let value =
            |name: &str| environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str());
        let path = value("PATH").unwrap_or_else(|| OsStr::new("/usr/local/bin:/usr/bin:/bin"));
        if let Some(named) = configured {
            return Ok(Self::at(configured_program(named, path)));
        }
        let found = |name: &str| find_program(name, path);
        let own =
            || [account_shell(), value("SHELL").map(PathBuf::from)].into_iter().flatten().find(|it| is_usable(it));
        let chosen = found("bash").or_else(own).or_else(|| found("zsh")).or_else(|| found("ksh"));
        chosen.or_else(|| found("sh")).map(Self::at).ok_or_else(|| {
            let text = "There is no shell on `PATH`. Install bash, or set `shell` to the path of an interpreter.";
            ToolError::unavailable("no_interpreter", text)
        })
    }

    pub(super) fn family(&self) -> Family {
        match self.name().to_ascii_lowercase().trim_end_matches(".exe") {
            "bash" => Family::Capable(Shell::Bash),
            "ksh" => Family::Capable(Shell::Ksh),
            "zsh" => Family::Capable(Shell::Zsh),
            "sh" | "dash" | "ash" | "mksh" | "busybox" => Family::Posix,
            "pwsh" | "powershell" => Family::PowerShell,
            _ => Family::Other,
        }
    }

    pub(super) fn dialect(&self) -> Dialect {
        Dialect::of_program(&self.name())
    }

    /// Its file name.
    pub(super) fn name(&self) -> String {
        self.program.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Its arguments for a text, so that no profile is read.
    pub(super) fn arguments(&self, text: &str, environment: &[(OsString, OsString)]) -> Vec<OsString> {
        let before: &[&str] = match self.family() {
            // bash would read the file that BASH_ENV names, which is a profile by another name.
            Family::Capable(Shell::Bash) if environment.iter().any(|(name, _)| name == "BASH_ENV") => &["-p", "-c"],
            Family::Capable(Shell::Zsh) => &["-f", "-c"],
            Family::PowerShell => &["-NoLogo", "-NoProfile", "-NonInteractive", "-Command"],
            Family::Posix if self.name() == "busybox" => &["sh", "-c"],
            _ => &["-c"],
        };
        before.iter().map(OsString::from).chain([OsString::from(text)]).collect()
    }
}

/// A name is looked up; one that is not found stands for a program that does not exist, which the guard then reports.
fn configured_program(named: &str, path: &OsStr) -> PathBuf {
    if Path::new(named).is_absolute() {
        return PathBuf::from(named);
    }
    find_program(named, path).unwrap_or_else(|| Path::new("/usr/bin").join(named))
}

fn is_usable(program: &Path) -> bool {
    matches!(Interpreter::at(program).family(), Family::Capable(Shell::Zsh | Shell::Ksh)) && program.is_file()
}

/// The last field of the account's line.
fn account_shell() -> Option<PathBuf> {
    let accounts = std::fs::read_to_string("/etc/passwd").ok()?;
    let user = rustix::process::getuid().as_raw().to_string();
    let line = accounts.lines().find(|line| line.split(':').nth(2) == Some(&user))?;
    line.rsplit(':').next().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(entries: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        entries.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
    }

    #[test]
    fn the_configured_one_wins_whatever_it_is() {
        let chosen = Interpreter::choose(Some("/nonexistent/fish"), &environment(&[])).unwrap();
        assert_eq!((chosen.program.as_path(), chosen.family()), (Path::new("/nonexistent/fish"), Family::Other));
        let named = Interpreter::choose(Some("sh"), &environment(&[("PATH", "/bin")])).unwrap();
        assert_eq!((named.program.as_path(), named.family()), (Path::new("/bin/sh"), Family::Posix));
    }

    #[test]
    fn bash_is_preferred() {
        let chosen = Interpreter::choose(None, &environment(&[("PATH", "/nonexistent:/bin")])).unwrap();
        assert_eq!(chosen.program, Path::new("/bin/bash"));
    }

    #[test]
    fn no_profile_is_read() {
        let arguments = |program: &str, entries: &[(&str, &str)]| {
            Interpreter::at(program).arguments("x", &environment(entries)).join(OsStr::new(" "))
        };
        assert_eq!(arguments("/bin/bash", &[]), "-c x");
        assert_eq!(arguments("/bin/bash", &[("BASH_ENV", "/x")]), "-p -c x");
        assert_eq!(arguments("/bin/zsh", &[]), "-f -c x");
        assert_eq!(arguments("/bin/busybox", &[]), "sh -c x");
        assert_eq!(arguments("/bin/pwsh", &[]), "-NoLogo -NoProfile -NonInteractive -Command x");
    }
}
