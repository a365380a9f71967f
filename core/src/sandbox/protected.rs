//! Which paths stay read-only inside what a command may write.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use super::cause::{Cause, Unusable};
use super::policy::Policy;

/// Folders that are looked through for nested repositories, and how deep; a command start has to stay cheap.
const SCAN_FOLDERS: usize = 512;
const SCAN_DEPTH: usize = 3;
/// Folders of other people's files, many of them.
const SCAN_SKIPPED: [&str; 4] = [".git", ".zuno", "node_modules", "target"];

/// Protected paths that lie inside the writable directories.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Protected {
    /// They exist.
    pub(super) existing: Vec<PathBuf>,
    /// They do not, and the command must not create them either.
    pub(super) missing: Vec<PathBuf>,
    /// Git directories outside the writable directories that the command may write.
    pub(super) git_writable: Vec<PathBuf>,
    /// Git directories the command has to see.
    pub(super) git_visible: Vec<PathBuf>,
}

/// Finds the protected paths of a policy.
pub(super) fn find(policy: &Policy, launcher: &Path) -> Result<Protected, Unusable> {
    let writable = policy.writable();
    let inside = |path: &Path| writable.iter().any(|root| path.starts_with(root));
    let mut found = Protected::default();
    let mut existing = BTreeSet::new();

    for folder in chain(&policy.workspace, &policy.worktree) {
        for name in [".zuno", ".agents"] {
            let path = folder.join(name);
            if inside(&path) && !add(&path, &mut existing)? {
                found.missing.push(path);
            }
        }
    }
    for path in policy.protected.iter().filter(|path| inside(path)) {
        // One that vanished after the configuration was read has nothing left to protect.
        add(path, &mut existing)?;
    }
    for git in git_paths(policy, &writable) {
        match (policy.git_metadata, inside(&git)) {
            (false, true) => drop(add(&git, &mut existing)?),
            (true, false) => found.git_writable.push(git),
            (false, false) => found.git_visible.push(git),
            (true, true) => {}
        }
    }
    if inside(launcher) {
        add(launcher, &mut existing)?;
    }
    found.existing = existing.into_iter().collect();
    Ok(found)
}

/// Adds a path that exists; `false` = it does not. A link cannot be protected: a mount would cover its target, and the
/// link itself could still be replaced.
fn add(path: &Path, existing: &mut BTreeSet<PathBuf>) -> Result<bool, Unusable> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => Err(Unusable::new(
            Cause::PolicyInvalid,
            format!(
                "The protected path `{}` is a symbolic link, which cannot be kept read-only. Replace it by what it \
                 points to.",
                path.display()
            ),
        )),
        Ok(_) => {
            existing.insert(path.to_owned());
            Ok(true)
        }
        Err(_) => Ok(false),
    }
}

/// From the workspace up to the worktree, both included.
fn chain<'a>(workspace: &'a Path, worktree: &'a Path) -> impl Iterator<Item = &'a Path> {
    let within = workspace.starts_with(worktree);
    workspace.ancestors().take_while(move |folder| *folder == workspace || (within && folder.starts_with(worktree)))
}

/// `.git` of the worktree, of the folders below it and of the writable directories, and the directories it points to.
fn git_paths(policy: &Policy, writable: &[PathBuf]) -> BTreeSet<PathBuf> {
    let mut found: BTreeSet<PathBuf> = chain(&policy.workspace, &policy.worktree).map(|it| it.join(".git")).collect();
    for root in writable {
        found.insert(root.join(".git"));
        found.extend(nested(root));
    }
    found.retain(|path| fs::symlink_metadata(path).is_ok());
    let pointed: Vec<PathBuf> = found.iter().flat_map(|path| pointed_to(path)).collect();
    found.extend(pointed);
    found
}

/// The Git directory that a `.git` file names, and the common directory of a linked work tree.
fn pointed_to(path: &Path) -> Vec<PathBuf> {
    let directory = match fs::read_to_string(path) {
        Ok(text) => match text.trim().strip_prefix("gitdir:") {
            Some(named) => path.parent().unwrap_or(path).join(named.trim()),
            None => return Vec::new(),
        },
        Err(_) => path.to_owned(),
    };
    let common = fs::read_to_string(directory.join("commondir")).ok().map(|named| directory.join(named.trim()));
    let found = common.into_iter().chain((directory != path).then_some(directory));
    found.filter_map(|path| path.canonicalize().ok()).collect()
}

fn nested(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = VecDeque::from([(root.to_owned(), 0)]);
    let mut looked_at = 0;
    while let Some((folder, depth)) = waiting.pop_front() {
        looked_at += 1;
        if looked_at > SCAN_FOLDERS {
            break;
        }
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if name.eq(".git") {
                found.push(entry.path());
            }
            let skipped = SCAN_SKIPPED.iter().any(|skipped| name == *skipped);
            if depth < SCAN_DEPTH && !skipped && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                waiting.push_back((entry.path(), depth + 1));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{SandboxConfig, SandboxMode};

    fn policy(workspace: &Path, worktree: &Path) -> Policy {
        Policy::new(&SandboxConfig::default(), workspace, worktree)
    }

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        (folder, path)
    }

    #[test]
    fn existing_and_missing_ones_are_told_apart() {
        let (_folder, root) = folder();
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::create_dir_all(root.join("vendor/lib/.git")).unwrap();
        fs::create_dir_all(root.join(".agents")).unwrap();
        let found = find(&policy(&root, &root), Path::new("/usr/bin/bwrap")).unwrap();
        assert_eq!(found.existing, [root.join(".agents"), root.join(".git"), root.join("vendor/lib/.git")]);
        assert_eq!(found.missing, [root.join(".zuno")]);
    }

    #[test]
    fn what_lies_outside_the_writable_directories_needs_no_mount() {
        let (_folder, root) = folder();
        fs::create_dir_all(root.join("sub/.zuno")).unwrap();
        fs::create_dir_all(root.join(".git")).unwrap();
        let sub = root.join("sub");
        let found = find(&policy(&sub, &root), Path::new("/usr/bin/bwrap")).unwrap();
        assert_eq!(found.existing, [sub.join(".zuno")]);
        assert_eq!(found.missing, [sub.join(".agents")]);
        assert_eq!(found.git_visible, [root.join(".git")]);

        let read_only = policy(&sub, &root).narrowed(SandboxMode::ReadOnly);
        let found = find(&read_only, Path::new("/usr/bin/bwrap")).unwrap();
        assert!(found.existing.is_empty() && found.missing.is_empty());
    }

    #[test]
    fn links_cannot_be_protected() {
        let (_folder, root) = folder();
        std::os::unix::fs::symlink("/etc", root.join(".agents")).unwrap();
        let refused = find(&policy(&root, &root), Path::new("/usr/bin/bwrap")).unwrap_err();
        assert_eq!(refused.cause, Cause::PolicyInvalid);
        assert!(refused.message.contains(".agents"));
    }

    #[test]
    fn a_linked_work_tree_leads_to_its_directories() {
        let (_folder, root) = folder();
        let (main, linked) = (root.join("main"), root.join("linked"));
        fs::create_dir_all(main.join(".git/worktrees/linked")).unwrap();
        fs::create_dir_all(&linked).unwrap();
        fs::write(main.join(".git/worktrees/linked/commondir"), "../..\n").unwrap();
        let named = main.join(".git/worktrees/linked");
        fs::write(linked.join(".git"), format!("gitdir: {}\n", named.display())).unwrap();
        let found = find(&policy(&linked, &linked), Path::new("/usr/bin/bwrap")).unwrap();
        assert_eq!(found.existing, [linked.join(".git")]);
        assert_eq!(found.git_visible, [main.join(".git"), named.clone()]);

        let granted = policy(&linked, &linked).with_git_metadata();
        let found = find(&granted, Path::new("/usr/bin/bwrap")).unwrap();
        assert_eq!(found.git_writable, [main.join(".git"), named]);
        assert!(found.existing.is_empty());
    }
}
