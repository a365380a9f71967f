//! Directories outside the workspace that a command names.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::config::SandboxMode;
use crate::sandbox::Policy;
use crate::text::shell_reading::{Base, NamedPath, PathRole, Reading};
use crate::types::{Access, Ask};

const KEY: &str = "external_directory";
const DEVICES: [&str; 7] =
    ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/stdout", "/dev/stderr", "/dev/tty"];
/// Links that lead to links.
const MAX_LINKS: usize = 16;

/// Where a command runs.
pub(super) struct Place<'a> {
    pub(super) policy: &'a Policy,
    pub(super) workdir: &'a Path,
    pub(super) home: Option<&'a Path>,
    /// `/tmp` is the command's own.
    pub(super) confined: bool,
}

/// The directories a command needs permission for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outside {
    pub(super) read: BTreeSet<PathBuf>,
    pub(super) write: BTreeSet<PathBuf>,
    /// Other spellings of the same directories.
    spelled: BTreeSet<PathBuf>,
}

impl Outside {
    pub(super) fn of(reading: &Reading, place: &Place<'_>) -> Self {
        let mut found = Self::default();
        let writes = place.policy.mode() == SandboxMode::WorkspaceWrite;
        if !place.policy.is_inside(place.workdir) {
            found.add(place.workdir.to_owned(), writes);
        }
        for named in reading.named_paths() {
            let Some(path) = spelled(&named, place) else { continue };
            if is_device(&path) || (place.confined && path.starts_with("/tmp") && !leads_up(&path)) {
                continue;
            }
            let resolved = resolve(&path);
            let directory = match resolved.is_dir() {
                true => resolved.clone(),
                false => resolved.parent().unwrap_or(&resolved).to_owned(),
            };
            let private = place.confined && directory.starts_with("/tmp");
            if place.policy.is_inside(&resolved)
                || place.policy.is_inside(&directory)
                || private
                || is_device(&resolved)
            {
                continue;
            }
            found.spelled.extend(path.parent().map(Path::to_owned));
            found.spelled.insert(path);
            found.add(directory, writes && is_writing(named.role));
        }
        found.read = found.read.difference(&found.write).cloned().collect();
        found
    }

    fn add(&mut self, directory: PathBuf, writes: bool) {
        if writes {
            self.write.insert(directory)
        } else {
            self.read.insert(directory)
        };
    }

    /// One ask per kind of access.
    pub(super) fn asks(&self) -> Vec<Ask> {
        let of = |directories: &BTreeSet<PathBuf>, access| {
            let patterns: Vec<String> = directories.iter().map(|directory| pattern(directory)).collect();
            (!patterns.is_empty()).then(|| Ask {
                key: KEY.to_owned(),
                always: patterns.clone(),
                patterns,
                access: Some(access),
                deny_only: self.spelled.iter().map(|directory| pattern(directory)).collect(),
                implicit: false,
            })
        };
        [of(&self.write, Access::Write), of(&self.read, Access::Read)].into_iter().flatten().collect()
    }
}

fn is_writing(role: PathRole) -> bool {
    matches!(role, PathRole::WriteArgument | PathRole::RedirectWrite)
}

fn pattern(directory: &Path) -> String {
    let text = directory.to_string_lossy();
    format!("{}/*", text.trim_end_matches('/'))
}

fn is_device(path: &Path) -> bool {
    DEVICES.iter().any(|device| path == Path::new(device)) || path.starts_with("/dev/fd")
}

fn leads_up(path: &Path) -> bool {
    path.components().any(|part| part == Component::ParentDir)
}

/// The path as the command means it, absolute, with nothing looked up; `None` when only the run knows.
fn spelled(named: &NamedPath, place: &Place<'_>) -> Option<PathBuf> {
    let location = named.location()?;
    Some(match location.base {
        Base::Start => place.workdir.join(&location.path),
        Base::Home => place.home?.join(&location.path),
        Base::Root => Path::new("/").join(&location.path),
    })
}

/// Follows every link, also where the end of the path does not exist yet.
fn resolve(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::from("/");
    let mut rest: Vec<PathBuf> = vec![path.to_owned()];
    let mut links = 0;
    while let Some(next) = rest.pop() {
        let mut parts = next.components();
        let Some(part) = parts.next() else { continue };
        let after = parts.as_path().to_owned();
        if !after.as_os_str().is_empty() {
            rest.push(after);
        }
        match part {
            Component::RootDir => resolved = PathBuf::from("/"),
            Component::ParentDir => drop(resolved.pop()),
            Component::Normal(name) => {
                let step = resolved.join(name);
                match fs::read_link(&step) {
                    Ok(target) if links < MAX_LINKS => {
                        links += 1;
                        rest.push(target);
                    }
                    _ => resolved = step,
                }
            }
            Component::CurDir | Component::Prefix(_) => {}
        }
    }
    resolved
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SandboxConfig;
    use crate::text::shell_reading::{Dialect, read};

    fn outside(text: &str, workspace: &Path, mode: SandboxMode, confined: bool) -> Outside {
        let config = SandboxConfig { mode, ..SandboxConfig::default() };
        let policy = Policy::new(&config, workspace, workspace);
        let place = Place { policy: &policy, workdir: workspace, home: Some(Path::new("/home/x")), confined };
        Outside::of(&read(text, Dialect::Bash), &place)
    }

    fn set(paths: &[&str]) -> BTreeSet<PathBuf> {
        paths.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn directories_outside_are_asked_for_by_access() {
        let workspace = Path::new("/usr/share");
        let of = |text| outside(text, workspace, SandboxMode::WorkspaceWrite, true);
        assert_eq!(of("cat a ./b /usr/share/c; touch d; echo > e"), Outside::default());
        assert_eq!(of("cat /etc/passwd").read, set(&["/etc"]));
        assert_eq!(of("ls /etc").read, set(&["/etc"]));
        assert_eq!(of("cat ../x").read, set(&["/usr"]));
        assert_eq!(of("cat ~/.profile").read, set(&["/home/x"]));
        let both = of("cp /etc/passwd /opt/new && echo x > /srv/y && cat /opt/z");
        assert_eq!((both.read, both.write), (set(&[]), set(&["/etc", "/opt", "/srv"])));
        assert_eq!(of("cat /nofile").read, set(&["/"]));
        assert_eq!(of("cat /nofile").asks()[0].patterns, ["/*"]);
        assert_eq!(of("echo > /dev/null 2> /dev/stderr < /dev/fd/0"), Outside::default());
        let read_only = outside("touch /etc/x", workspace, SandboxMode::ReadOnly, true);
        assert_eq!((read_only.read, read_only.write), (set(&["/etc"]), set(&[])));
    }

    #[test]
    fn the_temporary_directory_is_free_only_where_it_is_private() {
        let workspace = Path::new("/usr/share");
        assert_eq!(outside("touch /tmp/a/b", workspace, SandboxMode::WorkspaceWrite, true), Outside::default());
        let open = outside("touch /tmp/x", workspace, SandboxMode::WorkspaceWrite, false);
        assert_eq!(open.write, set(&["/tmp"]));
        let up = outside("cat /tmp/../etc/passwd", workspace, SandboxMode::WorkspaceWrite, true);
        assert_eq!(up.read, set(&["/etc"]));
    }

    #[test]
    fn links_count_where_they_lead() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::os::unix::fs::symlink("/etc", root.join("link")).unwrap();
        std::os::unix::fs::symlink("/etc/none", root.join("dangling")).unwrap();
        let of = |text| outside(text, &root, SandboxMode::WorkspaceWrite, false);
        assert_eq!(of("cat link/passwd").read, set(&["/etc"]));
        assert_eq!(of("touch dangling").write, set(&["/etc"]));
        assert_eq!(of("ls link").read, set(&["/etc"]));
    }
}
