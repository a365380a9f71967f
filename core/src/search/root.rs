//! Where a search starts: resolved once, links included, before anything is asked or run.

use std::fs::Metadata;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::types::ToolError;

/// The directories of a session that a search may start in without asking.
#[derive(Clone, Debug)]
pub struct Places {
    /// The session directory, canonical.
    pub workspace: PathBuf,
    /// The same directory as the host spelled it.
    pub spelling: PathBuf,
    /// Further directories that count as inside: the worktree, `sandbox.writableRoots`.
    pub further: Vec<PathBuf>,
}

/// What the path of a search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Searched with everything below it.
    Directory,
    /// Searched alone.
    File,
}

/// A resolved start of a search.
#[derive(Clone, Debug)]
pub struct SearchRoot {
    path: PathBuf,
    named: PathBuf,
    kind: Kind,
    workspace: PathBuf,
    outside: Option<PathBuf>,
    identity: Option<(u64, u64)>,
}

impl SearchRoot {
    /// Resolves the `path` argument; the workspace when there is none.
    pub fn resolve(places: &Places, path: Option<&str>) -> Result<Self, ToolError> {
        let named = match path {
            Some(path) => absolute(places, path)?,
            None => places.workspace.clone(),
        };
        let path = named.canonicalize().map_err(|error| not_found(&named, &error))?;
        let metadata = path.metadata().map_err(|error| not_found(&named, &error))?;
        let kind = kind_of(&named, &metadata)?;
        let directory = match (kind, path.parent()) {
            (Kind::File, Some(parent)) => parent,
            _ => path.as_path(),
        };
        let outside = (!is_inside(places, directory)).then(|| directory.to_owned());
        let identity = identity(&metadata);
        Ok(Self { named, kind, outside, identity, workspace: places.workspace.clone(), path })
    }

    /// The canonical path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Directory or file.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The directory a person has to be asked about, when the search starts outside every place of the session.
    pub fn outside(&self) -> Option<&Path> {
        self.outside.as_deref()
    }

    /// The path as it was named, cleaned: relative to the workspace, `.` for the workspace, absolute outside.
    pub fn named_spelling(&self) -> String {
        self.spell(&self.named)
    }

    /// The canonical path in the same spelling.
    pub fn spelling(&self) -> String {
        self.spell(&self.path)
    }

    /// The workspace, as far as it can be written as text.
    pub(super) fn workspace_text(&self) -> std::borrow::Cow<'_, str> {
        self.workspace.to_string_lossy()
    }

    /// Working directory of the search.
    pub(super) fn directory(&self) -> &Path {
        match (self.kind, self.path.parent()) {
            (Kind::File, Some(parent)) => parent,
            _ => &self.path,
        }
    }

    /// Whether the directory can be entered; what lies behind a closed door is not told apart from nothing.
    pub(super) fn is_closed(&self) -> bool {
        let inside = self.directory().join(".");
        matches!(inside.metadata(), Err(error) if error.kind() == io::ErrorKind::PermissionDenied)
    }

    /// Refuses when the path no longer leads to the object that was approved.
    pub(super) fn still_there(&self) -> Result<(), ToolError> {
        let same = self.path.canonicalize().is_ok_and(|now| now == self.path)
            && self.path.metadata().is_ok_and(|now| identity(&now) == self.identity);
        if same {
            return Ok(());
        }
        let message = format!(
            "{} was removed or replaced while the call was on its way. Look at the path, then search again.",
            self.path.display()
        );
        Err(ToolError::failed("path_gone", message))
    }

    fn spell(&self, path: &Path) -> String {
        super::names::relative(&path.to_string_lossy(), &self.workspace_text()).to_owned()
    }
}

fn absolute(places: &Places, path: &str) -> Result<PathBuf, ToolError> {
    if path.is_empty() || path.contains('\0') {
        let what = if path.is_empty() { "is empty" } else { "holds a NUL byte" };
        let message = format!("The path {what}. Send a path relative to the workspace, or an absolute one.");
        return Err(ToolError::invalid_field("malformed_path", "path", None, message));
    }
    Ok(clean(&places.spelling_resolved(&clean(&places.workspace.join(path)))))
}

impl Places {
    /// The host's own spelling of the workspace replaced by the canonical one.
    fn spelling_resolved(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.spelling) {
            Ok(rest) if !path.starts_with(&self.workspace) => self.workspace.join(rest),
            _ => path.to_owned(),
        }
    }
}

/// `.` and `..` collapsed by text.
fn clean(path: &Path) -> PathBuf {
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

fn is_inside(places: &Places, directory: &Path) -> bool {
    directory.starts_with(&places.workspace)
        || places.further.iter().any(|place| {
            let canonical = place.canonicalize();
            directory.starts_with(canonical.as_deref().unwrap_or(place))
        })
}

fn kind_of(named: &Path, metadata: &Metadata) -> Result<Kind, ToolError> {
    if metadata.is_dir() {
        return Ok(Kind::Directory);
    }
    if metadata.is_file() {
        return Ok(Kind::File);
    }
    let message = format!(
        "{} is neither a directory nor a regular file. Name a directory, or a file with content to search.",
        named.display()
    );
    Err(ToolError::invalid_field("not_regular", "path", None, message))
}

/// Missing and unreachable are one answer.
fn not_found(named: &Path, error: &io::Error) -> ToolError {
    if error.kind() == io::ErrorKind::OutOfMemory {
        return ToolError::failed("io", format!("Could not look at {}: {error}.", named.display()));
    }
    let message = format!(
        "{} does not exist or cannot be reached. Name an existing path, or leave `path` out to search the workspace.",
        named.display()
    );
    ToolError::invalid_field("not_found", "path", None, message)
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> Option<(u64, u64)> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    struct Tree {
        _folder: tempfile::TempDir,
        base: PathBuf,
        places: Places,
    }

    fn tree() -> Tree {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for directory in ["tree/ws/sub", "tree/other", "granted", "away"] {
            std::fs::create_dir_all(base.join(directory)).unwrap();
        }
        for file in ["tree/ws/sub/a.txt", "tree/other/b.txt", "away/c.txt"] {
            std::fs::write(base.join(file), "x").unwrap();
        }
        std::os::unix::fs::symlink(base.join("tree/ws"), base.join("alias")).unwrap();
        std::os::unix::fs::symlink(base.join("away"), base.join("tree/ws/out")).unwrap();
        std::os::unix::fs::symlink("nowhere", base.join("tree/ws/dangling")).unwrap();
        let places = Places {
            workspace: base.join("tree/ws"),
            spelling: base.join("alias"),
            further: vec![base.join("tree"), base.join("granted")],
        };
        Tree { _folder: folder, base, places }
    }

    fn resolve(tree: &Tree, path: &str) -> Result<SearchRoot, ToolError> {
        SearchRoot::resolve(&tree.places, Some(path))
    }

    #[test]
    fn what_is_inside_asks_nobody() {
        let tree = tree();
        let alias = tree.base.join("alias/sub");
        let worktree = tree.base.join("tree/other/b.txt");
        let granted = tree.base.join("granted");
        for (path, spelling) in [
            (".", ".".to_owned()),
            ("sub/../sub/a.txt", "sub/a.txt".to_owned()),
            (alias.to_str().unwrap(), "sub".to_owned()),
            (worktree.to_str().unwrap(), worktree.display().to_string()),
            (granted.to_str().unwrap(), granted.display().to_string()),
        ] {
            let root = resolve(&tree, path).unwrap();
            assert_eq!(root.outside(), None, "{path}");
            assert_eq!(root.spelling(), spelling);
        }
        assert_eq!(SearchRoot::resolve(&tree.places, None).unwrap().path(), tree.places.workspace);
    }

    // spec: SEARCH-06
    #[test]
    fn links_are_resolved_before_the_question_what_is_outside() {
        let tree = tree();
        for path in ["out", "out/c.txt", "../../away", "../../away/c.txt"] {
            let root = resolve(&tree, path).unwrap();
            assert_eq!(root.outside(), Some(tree.base.join("away").as_path()), "{path}");
            assert!(root.spelling().starts_with('/'));
        }
        let root = resolve(&tree, "out/c.txt").unwrap();
        assert_eq!((root.named_spelling().as_str(), root.kind()), ("out/c.txt", Kind::File));
        assert_eq!(resolve(&tree, "/").unwrap().outside(), Some(Path::new("/")));
    }

    // spec: SEARCH-06
    #[test]
    fn malformed_and_missing_paths_are_refused() {
        let tree = tree();
        for (path, code) in [
            ("", "malformed_path"),
            ("a\0b", "malformed_path"),
            ("none", "not_found"),
            ("dangling", "not_found"),
            ("sub/a.txt/below", "not_found"),
            ("/dev/null", "not_regular"),
        ] {
            let error = resolve(&tree, path).unwrap_err();
            assert_eq!((error.code.as_str(), error.outcome()), (code, crate::types::Outcome::Blocked), "{path:?}");
        }
    }

    #[test]
    fn a_replaced_root_is_noticed() {
        let tree = tree();
        let root = resolve(&tree, "sub").unwrap();
        root.still_there().unwrap();
        let sub = tree.base.join("tree/ws/sub");
        std::fs::rename(&sub, tree.base.join("tree/ws/moved")).unwrap();
        assert_eq!(root.still_there().unwrap_err().code, "path_gone");
        std::os::unix::fs::symlink(tree.base.join("away"), &sub).unwrap();
        assert_eq!(root.still_there().unwrap_err().code, "path_gone");
        std::fs::remove_file(&sub).unwrap();
        std::fs::create_dir(&sub).unwrap();
        assert_eq!(root.still_there().unwrap_err().code, "path_gone");
    }
}
