//! Where the files are when nobody says otherwise.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The variables of a process, as a value.
pub type Environment = BTreeMap<OsString, OsString>;

/// The global file of this environment.
pub fn global_file(environment: &Environment) -> Option<PathBuf> {
    let folder = named(environment, "ZUNO_CONFIG_DIR").or_else(|| {
        if cfg!(windows) {
            return Some(absolute(environment, "APPDATA")?.join("zuno"));
        }
        let base = absolute(environment, "XDG_CONFIG_HOME");
        Some(base.or_else(|| Some(absolute(environment, "HOME")?.join(".config")))?.join("zuno"))
    });
    Some(folder?.join("zuno.json"))
}

/// The project file of a worktree.
pub fn project_file(worktree: &Path) -> PathBuf {
    worktree.join(".zuno").join("zuno.json")
}

/// The database when `runtime.open` names none. `ZUNO_DB` counts only when the environment is a layer.
pub fn database_file(environment: &Environment, read_environment: bool) -> Option<PathBuf> {
    if let Some(path) = named(environment, "ZUNO_DB").filter(|_| read_environment) {
        return Some(path);
    }
    let base = if cfg!(windows) {
        absolute(environment, "LOCALAPPDATA")
    } else {
        absolute(environment, "XDG_STATE_HOME")
            .or_else(|| Some(absolute(environment, "HOME")?.join(".local").join("state")))
    };
    Some(base?.join("zuno").join("zuno.db"))
}

/// A variable that is set to something.
fn named(environment: &Environment, name: &str) -> Option<PathBuf> {
    environment.get(&OsString::from(name)).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// A base folder; the XDG rules say that a relative one is to be ignored.
fn absolute(environment: &Environment, name: &str) -> Option<PathBuf> {
    named(environment, name).filter(|path| path.is_absolute())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn environment(entries: &[(&str, &str)]) -> Environment {
        entries.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
    }

    #[test]
    fn the_first_set_variable_decides() {
        let all =
            environment(&[("ZUNO_CONFIG_DIR", "/a"), ("XDG_CONFIG_HOME", "/b"), ("HOME", "/c"), ("ZUNO_DB", "/d.db")]);
        assert_eq!(global_file(&all), Some("/a/zuno.json".into()));
        assert_eq!(database_file(&all, true), Some("/d.db".into()));
        assert_eq!(database_file(&all, false), Some("/c/.local/state/zuno/zuno.db".into()));
        let some = environment(&[("ZUNO_CONFIG_DIR", ""), ("XDG_CONFIG_HOME", "/b"), ("XDG_STATE_HOME", "/s")]);
        assert_eq!(global_file(&some), Some("/b/zuno/zuno.json".into()));
        assert_eq!(database_file(&some, true), Some("/s/zuno/zuno.db".into()));
        let home = environment(&[("XDG_CONFIG_HOME", "relative"), ("HOME", "/c")]);
        assert_eq!(global_file(&home), Some("/c/.config/zuno/zuno.json".into()));
        assert_eq!(global_file(&environment(&[])), None);
    }
}
