//! Finding a program by name, for the rooms that may: the guard itself looks nothing up.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::Access;

/// The first executable file called `name` in the absolute directories of `path` (a `PATH` value). Relative entries are
/// skipped: with them a workspace could decide which program the host runs.
pub fn find_program(name: &str, path: &OsStr) -> Option<PathBuf> {
    if name.is_empty() || name.contains('/') {
        return None;
    }
    std::env::split_paths(path)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(|candidate| is_executable(candidate))
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn finds_the_first_executable_file_and_skips_relative_directories() {
        let folder = tempfile::tempdir().unwrap();
        let (plain, executable) = (folder.path().join("a"), folder.path().join("b"));
        for directory in [&plain, &executable] {
            std::fs::create_dir(directory).unwrap();
            std::fs::write(directory.join("tool"), "#!/bin/sh\n").unwrap();
        }
        std::fs::set_permissions(executable.join("tool"), std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::create_dir(plain.join("folder")).unwrap();

        let path = std::env::join_paths([Path::new("."), Path::new(""), &plain, &executable]).unwrap();
        assert_eq!(find_program("tool", &path), Some(executable.join("tool")));
        assert_eq!(find_program("folder", &path), None);
        assert_eq!(find_program("../a/tool", &path), None);
        assert_eq!(find_program("", &path), None);
    }
}
