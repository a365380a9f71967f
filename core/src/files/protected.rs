//! Paths that file tools treat apart: the runtime's folder and Git metadata.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use super::path::{clean, everything_in};

/// Whether a path lies in, or is, a `.zuno` folder of the worktree, of a directory between it and the workspace, or
/// of another project.
pub fn is_runtime_folder(worktree: &Path, path: &Path) -> bool {
    let below = path.strip_prefix(worktree).unwrap_or(path);
    has_component(below, ".zuno")
}

/// The directory of Git metadata that a path lies in: the part of the path up to a component `.git`, or the Git
/// directory or common directory the worktree's `.git` file points to.
pub fn git_metadata(worktree: &Path, path: &Path) -> Option<PathBuf> {
    let mut prefix = PathBuf::new();
    for component in path.components() {
        prefix.push(component);
        if is_named(component, ".git") {
            return Some(prefix);
        }
    }
    pointed_to(worktree).into_iter().find(|directory| path.starts_with(directory))
}

/// The pattern under which an ask for Git metadata is judged.
pub fn git_pattern(directory: &Path) -> String {
    everything_in(directory)
}

/// Where a `.git` file leads, and the common directory behind that.
fn pointed_to(worktree: &Path) -> Vec<PathBuf> {
    let link = worktree.join(".git");
    if !link.symlink_metadata().is_ok_and(|facts| facts.is_file()) {
        return Vec::new();
    }
    let Some(git) = first_line(&link)
        .as_deref()
        .and_then(|line| line.strip_prefix("gitdir:"))
        .map(str::trim_start)
        .map(|target| resolve(worktree, target))
    else {
        return Vec::new();
    };
    let common = first_line(&git.join("commondir")).map(|target| resolve(&git, &target));
    std::iter::once(git).chain(common).collect()
}

fn first_line(file: &Path) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    text.lines().next().map(str::to_owned)
}

fn resolve(base: &Path, target: &str) -> PathBuf {
    let joined = clean(&base.join(target));
    joined.canonicalize().unwrap_or(joined)
}

fn has_component(path: &Path, name: &str) -> bool {
    path.components().any(|component| is_named(component, name))
}

fn is_named(component: Component<'_>, name: &str) -> bool {
    let Component::Normal(found) = component else { return false };
    if cfg!(any(target_os = "macos", windows)) { found.eq_ignore_ascii_case(name) } else { found == OsStr::new(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_folder_is_found_below_the_worktree_and_elsewhere() {
        let worktree = Path::new("/home/u/.zuno/trees/a");
        for (path, expected) in [
            ("/home/u/.zuno/trees/a/src/x", false),
            ("/home/u/.zuno/trees/a/.zuno/reports/x", true),
            ("/home/u/.zuno/trees/a/pkg/.zuno", true),
            ("/home/u/.zuno/other", true),
            ("/home/u/.zunox/other", false),
        ] {
            assert_eq!(is_runtime_folder(worktree, Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn git_metadata_is_found_by_name_and_through_a_git_file() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let (tree, bare) = (top.join("tree"), top.join("bare"));
        std::fs::create_dir_all(bare.join("worktrees/tree")).unwrap();
        std::fs::create_dir(&tree).unwrap();
        std::fs::write(tree.join(".git"), "gitdir: ../bare/worktrees/tree\n").unwrap();
        std::fs::write(bare.join("worktrees/tree/commondir"), "../..\n").unwrap();
        assert_eq!(git_metadata(&tree, &bare.join("worktrees/tree/HEAD")), Some(bare.join("worktrees/tree")));
        assert_eq!(git_metadata(&tree, &bare.join("config")), Some(bare.clone()));
        assert_eq!(git_metadata(&tree, &tree.join("sub/.git/config")), Some(tree.join("sub/.git")));
        assert_eq!(git_metadata(&tree, &tree.join(".git")), Some(tree.join(".git")));
        assert_eq!(git_metadata(&tree, &tree.join(".gitignore")), None);
    }
}
