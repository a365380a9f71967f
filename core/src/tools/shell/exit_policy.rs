//! Which failures inside of a command count, and how far its exit code therefore reaches.

use serde::{Deserialize, Serialize};

use super::interpreter::{Family, Interpreter};
use crate::process::MAX_ARGUMENT;
use crate::text::shell_reading::{Limitation, Reach};
use crate::types::ToolError;

/// `exitPolicy`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ExitPolicy {
    /// A failing stage of a pipeline is the command's failure.
    #[default]
    Pipefail,
    /// The first failing command stops it.
    All,
    /// The last stage decides.
    Last,
}

impl ExitPolicy {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Pipefail => "pipefail",
            Self::All => "all",
            Self::Last => "last",
        }
    }

    /// The text as it is handed to the interpreter: the command as written, behind a first line of its own.
    pub(super) fn text(self, command: &str, family: Family) -> Result<String, ToolError> {
        let text = match (self, family) {
            (Self::Pipefail, Family::Capable(_)) => format!("set -o pipefail\n{command}"),
            (Self::All, Family::Capable(_)) => format!("set -eo pipefail\n{command}"),
            (Self::All, Family::Posix) => format!("set -e\n{command}"),
            (Self::All, Family::PowerShell) => {
                format!("$ErrorActionPreference = 'Stop'\n{command}\nexit $LASTEXITCODE")
            }
            _ => command.to_owned(),
        };
        if text.len() > MAX_ARGUMENT {
            let message = format!(
                "The command has {} bytes; at most {} can be run. Put the text into a file and run that.",
                command.len(),
                MAX_ARGUMENT - (text.len() - command.len())
            );
            return Err(ToolError::invalid_field("command_too_long", "command", None, message));
        }
        Ok(text)
    }

    /// Whether a failing stage of a pipeline counts.
    pub(super) fn counts_stages(self, family: Family) -> bool {
        self != Self::Last && matches!(family, Family::Capable(_))
    }

    /// Why the exit code is not the verdict of the whole command; `None` when it is.
    pub(super) fn limitation(self, interpreter: &Interpreter, reach: &Reach) -> Option<Limitation> {
        if self == Self::Last {
            let remedy = "use `pipefail` or `all` if the status has to count";
            return Some(Limitation::new("exit_policy_last", "exitPolicy `last`", remedy));
        }
        match interpreter.family() {
            Family::Capable(_) => reach.limitation.clone(),
            Family::PowerShell if self == Self::Pipefail => {
                Some(Limitation::new("powershell_policy", "PowerShell with exitPolicy `pipefail`", "use `all`"))
            }
            Family::PowerShell => {
                let remedy = "send simpler text, or split the call";
                Some(Limitation::new("unreadable", "PowerShell text", remedy))
            }
            Family::Posix | Family::Other => {
                let remedy = "set `shell` to bash, ksh or zsh";
                Some(Limitation::new("unknown_interpreter", interpreter.name(), remedy))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::shell_reading::{Dialect, read};

    fn code(policy: ExitPolicy, program: &str, text: &str) -> Option<String> {
        let reach = read(text, Dialect::Bash).reach(policy == ExitPolicy::All);
        policy.limitation(&Interpreter::at(program), &reach).map(|limitation| limitation.code)
    }

    // spec: EXIT-04 EXIT-06 EXIT-08 EXIT-12 EXIT-13 EXIT-14
    #[test]
    fn only_capable_interpreters_with_a_policy_are_authoritative() {
        for shell in ["/bin/bash", "/usr/bin/zsh", "/opt/ksh"] {
            assert_eq!(code(ExitPolicy::Pipefail, shell, "make"), None);
            assert_eq!(code(ExitPolicy::All, shell, "make"), None);
            assert_eq!(code(ExitPolicy::Last, shell, "make").as_deref(), Some("exit_policy_last"));
        }
        for shell in ["/bin/sh", "/bin/dash", "/usr/bin/fish", "/bin/mksh"] {
            assert_eq!(code(ExitPolicy::Pipefail, shell, "make").as_deref(), Some("unknown_interpreter"));
        }
        assert_eq!(code(ExitPolicy::Pipefail, "/bin/pwsh", "make").as_deref(), Some("powershell_policy"));
        assert!(code(ExitPolicy::All, "/bin/pwsh", "make").is_some());
    }

    // spec: EXIT-01 EXIT-05 EXIT-12
    #[test]
    fn the_prologue_stands_on_a_line_of_its_own() {
        let text = |policy: ExitPolicy, program| policy.text("make", Interpreter::at(program).family()).unwrap();
        assert_eq!(text(ExitPolicy::Pipefail, "/bin/bash"), "set -o pipefail\nmake");
        assert_eq!(text(ExitPolicy::All, "/bin/bash"), "set -eo pipefail\nmake");
        assert_eq!(text(ExitPolicy::Last, "/bin/bash"), "make");
        assert_eq!(text(ExitPolicy::Pipefail, "/bin/dash"), "make");
        assert_eq!(text(ExitPolicy::All, "/bin/dash"), "set -e\nmake");
    }

    #[test]
    fn the_limit_counts_the_prologue() {
        let fits = "x".repeat(MAX_ARGUMENT - "set -o pipefail\n".len());
        let family = Interpreter::at("/bin/bash").family();
        assert!(ExitPolicy::Pipefail.text(&fits, family).is_ok());
        let refused = ExitPolicy::Pipefail.text(&(fits + "x"), family).unwrap_err();
        assert_eq!(refused.code, "command_too_long");
    }
}
