//! Paths as text: joining, cleaning and spelling. Nothing here looks at the disk.

use std::path::{Component, Path, PathBuf};

use crate::types::ToolError;

/// The directories a session's file tools work from.
#[derive(Clone, Debug)]
pub struct Roots {
    /// The session directory, canonical.
    pub workspace: PathBuf,
    /// The session directory as the host spelled it; may go through links.
    pub spelling: PathBuf,
    /// Further directories that count as inside, canonical.
    pub further: Vec<PathBuf>,
}

impl Roots {
    /// Roots for tools that count the workspace (canonical, and as the host spelled it) and the directories of
    /// `sandbox.writableRoots` as inside.
    pub fn new(workspace: &Path, spelling: &Path, writable: &[PathBuf]) -> Self {
        Self {
            workspace: workspace.to_owned(),
            spelling: clean(spelling),
            further: writable.iter().map(|root| root.canonicalize().unwrap_or_else(|_| clean(root))).collect(),
        }
    }

    /// The same roots for tools that count the whole worktree as inside.
    #[must_use]
    pub fn with_worktree(mut self, worktree: &Path) -> Self {
        self.further.push(worktree.to_owned());
        self
    }

    /// The innermost directory that holds `path` and counts as inside.
    pub fn holding(&self, path: &Path) -> Option<&Path> {
        std::iter::once(&self.workspace)
            .chain(&self.further)
            .filter(|root| path.starts_with(root))
            .max_by_key(|root| root.components().count())
            .map(PathBuf::as_path)
    }

    /// Relative to the workspace with `/`, `.` for the root itself, absolute when outside.
    pub fn relative(&self, path: &Path) -> String {
        match path.strip_prefix(&self.workspace) {
            Ok(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
            Ok(rest) => rest.to_string_lossy().into_owned(),
            Err(_) => path.to_string_lossy().into_owned(),
        }
    }

    /// Makes the path of a tool argument absolute: joined to the workspace, `.` and `..` collapsed by text, and the
    /// host's own spelling of the workspace replaced by the canonical one.
    pub fn absolute(&self, raw: &str) -> Result<PathBuf, ToolError> {
        if raw.is_empty() || raw.contains('\0') {
            let what = if raw.is_empty() { "is empty" } else { "holds a NUL byte" };
            return Err(ToolError::invalid_field(
                "malformed_path",
                "filePath",
                None,
                format!("The path {what}. Send a path relative to the workspace, or an absolute one."),
            ));
        }
        let joined = clean(&self.workspace.join(raw));
        if joined.starts_with(&self.workspace) {
            return Ok(joined);
        }
        Ok(match joined.strip_prefix(&self.spelling) {
            Ok(rest) if rest.as_os_str().is_empty() => self.workspace.clone(),
            Ok(rest) => self.workspace.join(rest),
            Err(_) => joined,
        })
    }
}

/// Collapses `.`, `..` and doubled separators of an absolute path by text.
pub fn clean(path: &Path) -> PathBuf {
    let mut cleaned = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                cleaned.pop();
            }
            other => cleaned.push(other),
        }
    }
    cleaned
}

/// The pattern of everything in a directory: `/*` for the file system root.
pub fn everything_in(directory: &Path) -> String {
    let text = directory.to_string_lossy();
    format!("{}/*", text.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn roots() -> Roots {
        Roots { workspace: "/real/ws".into(), spelling: "/alias".into(), further: vec!["/data".into()] }
    }

    #[test]
    fn relative_paths_are_joined_and_collapsed() {
        for (raw, expected) in [
            ("a.txt", "/real/ws/a.txt"),
            ("./b//c/../d", "/real/ws/b/d"),
            ("..", "/real"),
            ("../../../..", "/"),
            ("/etc/./passwd", "/etc/passwd"),
            (" lead", "/real/ws/ lead"),
            ("-v.txt", "/real/ws/-v.txt"),
            ("a\\b", "/real/ws/a\\b"),
            ("a\nb", "/real/ws/a\nb"),
        ] {
            assert_eq!(roots().absolute(raw).unwrap(), Path::new(expected), "{raw}");
        }
    }

    // case: 71
    #[test]
    fn both_spellings_of_the_workspace_mean_the_same_file() {
        for raw in ["a", "/real/ws/a", "/alias/a", "/alias/x/../a"] {
            assert_eq!(roots().absolute(raw).unwrap(), Path::new("/real/ws/a"), "{raw}");
        }
        assert_eq!(roots().absolute("/alias").unwrap(), Path::new("/real/ws"));
        assert_eq!(roots().absolute("/aliases").unwrap(), Path::new("/aliases"));
    }

    #[test]
    fn empty_and_nul_paths_are_malformed() {
        for raw in ["", "a\0b"] {
            assert_eq!(roots().absolute(raw).unwrap_err().code, "malformed_path");
        }
    }

    #[test]
    fn spellings_and_holders() {
        let roots = roots();
        assert_eq!(roots.relative(Path::new("/real/ws")), ".");
        assert_eq!(roots.relative(Path::new("/real/ws/a/b")), "a/b");
        assert_eq!(roots.relative(Path::new("/real/wsx")), "/real/wsx");
        assert_eq!(roots.holding(Path::new("/data/x")), Some(Path::new("/data")));
        assert_eq!(roots.holding(Path::new("/real/ws")), Some(Path::new("/real/ws")));
        assert_eq!(roots.holding(Path::new("/database")), None);
        assert_eq!(everything_in(Path::new("/")), "/*");
        assert_eq!(everything_in(Path::new("/a")), "/a/*");
    }

    proptest! {
        #[test]
        fn a_cleaned_path_is_absolute_and_stays_as_it_is(raw in "[a./\\\\ ]{1,24}") {
            let path = roots().absolute(&raw).unwrap();
            prop_assert!(path.is_absolute());
            prop_assert!(!path.components().any(|part| part == Component::ParentDir));
            prop_assert_eq!(clean(&path), path);
        }
    }
}
