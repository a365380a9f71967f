//! Finding `rg` and reading its version.

use std::path::{Path, PathBuf};

use crate::process::find_program;
use crate::types::ToolError;

/// The oldest major version that is driven.
const REQUIRED: u64 = 14;

/// Both ways to provide it, in every message about it.
const PROVIDE: &str = "Install ripgrep 14 or newer so that `rg` is on the host's `PATH`, or set \
                       `search.ripgrep_path` to its absolute path";

/// Where `rg` is: the configured path and nothing else, or the first on `PATH`.
pub(super) fn locate(configured: Option<&Path>, search_path: Option<&std::ffi::OsStr>) -> Result<PathBuf, ToolError> {
    if let Some(path) = configured {
        return if is_program(path) { Ok(path.to_owned()) } else { Err(missing(configured)) };
    }
    find_program("rg", search_path.unwrap_or_default()).ok_or_else(|| missing(None))
}

/// No `rg` to run.
pub(super) fn missing(configured: Option<&Path>) -> ToolError {
    let what = match configured {
        Some(path) => format!("`search.ripgrep_path` is {}, and no `rg` program is there", path.display()),
        None => "`rg` (ripgrep) was not found on the host's `PATH`".to_owned(),
    };
    ToolError::failed("rg_missing", format!("{what}. {PROVIDE}; glob and grep then work without a restart."))
}

/// Accepts what `rg --version` wrote, or says what is wrong with it.
pub(super) fn accept(program: &Path, output: &str) -> Result<(), ToolError> {
    let first = output.lines().next().unwrap_or_default();
    let version = first.strip_prefix("ripgrep ").and_then(|rest| rest.split_whitespace().next());
    let major = version.and_then(|version| version.split('.').next()).and_then(|major| major.parse::<u64>().ok());
    match (major, version) {
        (Some(major), _) if major >= REQUIRED => Ok(()),
        (Some(_), Some(version)) => {
            let message = format!(
                "{} is ripgrep {version}; glob and grep need {REQUIRED} or newer. {PROVIDE}.",
                program.display()
            );
            Err(ToolError::failed("rg_too_old", message))
        }
        _ => {
            let message = format!("{} did not say which ripgrep it is. {PROVIDE}.", program.display());
            Err(ToolError::failed("rg_failed", message))
        }
    }
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(output: &str) -> Option<String> {
        accept(Path::new("/x/rg"), output).err().map(|error| error.code)
    }

    #[test]
    fn versions() {
        for good in ["ripgrep 14.0.0\n", "ripgrep 15.1.0 (rev af60c2de9d)\nfeatures:+pcre2", "ripgrep 100.1"] {
            assert_eq!(verdict(good), None, "{good}");
        }
        assert_eq!(verdict("ripgrep 13.0.0\n-SIMD").unwrap(), "rg_too_old");
        for odd in ["", "grep (GNU grep) 3.8", "ripgrep", "ripgrep x.y", "\nripgrep 14.0.0"] {
            assert_eq!(verdict(odd).unwrap(), "rg_failed", "{odd}");
        }
        let message = accept(Path::new("/x/rg"), "ripgrep 13.0.0").unwrap_err().message;
        assert!(message.contains("13.0.0") && message.contains("14 or newer"), "{message}");
    }

    #[cfg(unix)]
    #[test]
    fn the_first_program_of_the_path_is_taken() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        for (directory, mode) in [("plain", 0o644), ("good", 0o755), ("later", 0o755)] {
            let directory = folder.path().join(directory);
            std::fs::create_dir(&directory).unwrap();
            std::fs::write(directory.join("rg"), "").unwrap();
            std::fs::set_permissions(directory.join("rg"), std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let directories = ["", ".", "none", "plain", "good", "later"].map(|name| match name {
            "" | "." => PathBuf::from(name),
            name => folder.path().join(name),
        });
        let path = std::env::join_paths(&directories).unwrap();
        assert_eq!(locate(None, Some(&path)).unwrap(), folder.path().join("good/rg"));
        assert_eq!(locate(None, None).unwrap_err().code, "rg_missing");
        let configured = folder.path().join("plain/rg");
        let error = locate(Some(&configured), Some(&path)).unwrap_err();
        assert_eq!(error.code, "rg_missing");
        assert!(error.message.contains("search.ripgrep_path") && error.message.contains("PATH"), "{}", error.message);
    }
}
