//! A path that was resolved once: what it is called, where it leads, and open handles to act through.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, accessat, mkdirat, openat, unlinkat};
use rustix::io::Errno;

pub use super::descent::{Facts, Kind};
use super::path::{Roots, everything_in};
use super::{descent, errors};
use crate::types::ToolError;

/// What a path means, as facts. The handles are in [`Authorized`].
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The path as named, cleaned: relative to the workspace, absolute when outside.
    pub relative: String,
    /// The relative spelling of the final object; differs from `relative` when links were followed.
    pub destination: String,
    /// The path as named: absolute, cleaned, its links not followed.
    pub named: PathBuf,
    /// Canonical path of the final object, which may be missing.
    pub path: PathBuf,
    /// The directory the descent starts from.
    pub root: PathBuf,
    /// The final object lies in the workspace or in a directory that counts as inside.
    pub inside: bool,
    /// The directory that has to be granted when it does not.
    pub external: Option<PathBuf>,
    /// The last name was a symbolic link; it was followed.
    pub through_link: bool,
    /// Spellings only a `deny` rule sees.
    pub deny_only: Vec<String>,
}

impl Resolved {
    /// The pattern of the outside directory that has to be granted.
    pub fn external_pattern(&self) -> Option<String> {
        self.external.as_deref().map(everything_in)
    }
}

/// A resolved path with its handles. Nothing is resolved again: operations go through the handles, so an ancestor
/// that becomes a link can make them fail but cannot redirect them, and a renamed ancestor is still reached.
#[derive(Debug)]
pub struct Authorized {
    /// What the path means.
    pub resolved: Resolved,
    /// The nearest existing directory above the object.
    parent: OwnedFd,
    /// Directories between `parent` and the object that do not exist yet.
    missing: Vec<OsString>,
    name: OsString,
    object: Option<Object>,
}

/// A handle on an existing object that neither opens nor wakes it, and what it is.
#[derive(Debug)]
pub struct Object {
    handle: OwnedFd,
    /// What it is.
    pub facts: Facts,
}

/// Resolves a path and opens the handles. Changes nothing.
pub fn authorize(roots: &Roots, raw: &str) -> Result<Authorized, ToolError> {
    let named = roots.absolute(raw)?;
    let relative = roots.relative(&named);
    // Without a link on the way the cleaned path is canonical, which one descent proves.
    let (place, handles) = match open(roots, &Place::direct(&named)) {
        Ok(handles) if handles.is_final() => (Place::direct(&named), handles),
        _ => {
            let place = follow(&named, &relative)?;
            let handles = open(roots, &place).map_err(|error| errors::through_handles("open", &relative, &error))?;
            (place, handles)
        }
    };
    Ok(handles.into_authorized(describe(roots, raw, &named, &place), place))
}

/// Where a path leads.
#[derive(Clone, Debug)]
struct Place {
    /// Canonical path of the object, existing or not.
    path: PathBuf,
    /// How many of its last segments do not exist.
    absent: usize,
    through_link: bool,
}

impl Place {
    fn direct(path: &Path) -> Self {
        Self { path: path.to_owned(), absent: 0, through_link: false }
    }
}

struct Handles {
    root: PathBuf,
    parent: OwnedFd,
    object: Option<Object>,
}

impl Handles {
    /// An existing object that is not a link.
    fn is_final(&self) -> bool {
        self.object.as_ref().is_some_and(|object| object.facts.kind != Kind::Link)
    }

    fn into_authorized(self, mut resolved: Resolved, place: Place) -> Authorized {
        resolved.root = self.root;
        let is_directory = self.object.as_ref().is_some_and(|object| object.facts.kind == Kind::Directory);
        if !resolved.inside {
            let above = place.path.parent().unwrap_or(&place.path);
            resolved.external = Some(if is_directory { place.path.clone() } else { above.to_owned() });
        }
        let mut tail: Vec<OsString> = Vec::new();
        for part in place.path.components().rev().take(place.absent) {
            tail.push(part.as_os_str().to_owned());
        }
        let name = tail.first().cloned().unwrap_or_else(|| file_name(&place.path).to_owned());
        let missing = tail.into_iter().skip(1).rev().collect();
        Authorized { resolved, parent: self.parent, missing, name, object: self.object }
    }
}

fn file_name(path: &Path) -> &OsStr {
    path.file_name().unwrap_or_else(|| OsStr::new("."))
}

/// Descends to the nearest existing directory above a place, and to the object when it exists.
fn open(roots: &Roots, place: &Place) -> io::Result<Handles> {
    let above = place.path.ancestors().nth(place.absent.max(1)).unwrap_or_else(|| Path::new("/"));
    let root = match roots.holding(above) {
        Some(root) => root,
        // The session directory itself and what lies outside: the directory is its own authority root.
        None => above,
    };
    let mut parent = descent::directory(root)?;
    if let Ok(below) = above.strip_prefix(root)
        && !below.as_os_str().is_empty()
    {
        parent = descent::directory_below(&parent, below)?;
    }
    let object = if place.absent == 0 {
        let handle = descent::object(&parent, file_name(&place.path))?;
        let facts = Facts::of(&handle)?;
        Some(Object { handle, facts })
    } else {
        None
    };
    Ok(Handles { root: root.to_owned(), parent, object })
}

/// Follows links the way the system does, and finds out how much of the path exists.
fn follow(named: &Path, relative: &str) -> Result<Place, ToolError> {
    let failed = |error: io::Error| errors::io("resolve", relative, &error);
    for (absent, ancestor) in named.ancestors().enumerate() {
        let is_link = match ancestor.symlink_metadata() {
            Ok(metadata) => metadata.is_symlink(),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => continue,
            Err(error) if error.kind() == io::ErrorKind::InvalidFilename => return Err(too_long(relative)),
            Err(error) => return Err(failed(error)),
        };
        let real = ancestor.canonicalize().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => dangling(relative),
            _ if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => dangling(relative),
            _ => failed(error),
        })?;
        if absent > 0 && !real.is_dir() {
            return Err(not_found(relative, &format!("{} is not a directory.", ancestor.to_string_lossy()), None));
        }
        let mut path = real;
        for part in named.components().skip(ancestor.components().count()) {
            path.push(part);
        }
        return Ok(Place { path, absent, through_link: absent == 0 && is_link });
    }
    Err(errors::path_gone(relative))
}

fn dangling(relative: &str) -> ToolError {
    ToolError::invalid_field(
        "dangling_link",
        "filePath",
        None,
        format!("{relative} goes through a symbolic link that leads nowhere. Name the file itself."),
    )
}

fn too_long(relative: &str) -> ToolError {
    ToolError::invalid_field("malformed_path", "filePath", None, format!("{relative} is too long for a file name."))
}

/// A path that does not exist, with the nearest name of its directory.
pub fn not_found(relative: &str, more: &str, suggestion: Option<String>) -> ToolError {
    ToolError::invalid_field("not_found", "filePath", suggestion, format!("{relative} does not exist. {more}"))
}

fn describe(roots: &Roots, raw: &str, named: &Path, place: &Place) -> Resolved {
    let relative = roots.relative(named);
    let destination = roots.relative(&place.path);
    let below = named.strip_prefix(&roots.workspace).ok();
    let spellings = [
        Some(raw.to_owned()),
        Some(destination.clone()),
        Some(place.path.to_string_lossy().into_owned()),
        Some(named.to_string_lossy().into_owned()),
        below.map(|rest| roots.spelling.join(rest).to_string_lossy().into_owned()),
    ];
    let mut deny_only = Vec::new();
    for spelling in spellings.into_iter().flatten() {
        if spelling != relative && !deny_only.contains(&spelling) {
            deny_only.push(spelling);
        }
    }
    // A directory that counts as inside is inside itself; its own entries decide the rest.
    let inside = roots.holding(&place.path).is_some();
    Resolved {
        relative,
        destination,
        named: named.to_owned(),
        path: place.path.clone(),
        root: PathBuf::new(),
        inside,
        external: None,
        through_link: place.through_link,
        deny_only,
    }
}

impl Authorized {
    /// The object as it was found; `None` = missing.
    pub fn object(&self) -> Option<&Object> {
        self.object.as_ref()
    }

    /// Whether the object, or a directory above it, does not exist.
    pub fn is_missing(&self) -> bool {
        self.object.is_none()
    }

    /// What the name means now, in the directory that was approved. A link that stands there now is not followed.
    pub fn look(&self, parent: &OwnedFd) -> Result<Option<Object>, ToolError> {
        let failed = |error: io::Error| errors::through_handles("look at", &self.resolved.relative, &error);
        match descent::object(parent, &self.name) {
            Ok(handle) => {
                let facts = Facts::of(&handle).map_err(failed)?;
                Ok(Some(Object { handle, facts }))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let directory = Facts::of(parent).map_err(failed)?;
                if directory.links == 0 { Err(errors::path_gone(&self.resolved.relative)) } else { Ok(None) }
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Opens the approved file for reading, which was not among the forbidden ones when it was resolved. A file that
    /// was replaced in its directory since is read as it is now, and judged by `forbidden` first.
    pub fn open_file(&self, forbidden: impl FnOnce() -> Vec<(u64, u64)>) -> Result<(File, Facts), ToolError> {
        let name = &self.resolved.relative;
        let gone = || errors::path_gone(name);
        let held = self.object.as_ref().ok_or_else(gone)?;
        let facts = Facts::of(&held.handle).map_err(|error| errors::io("look at", name, &error))?;
        if facts.links > 0 {
            return self.open_handle(&held.handle, facts, &self.parent);
        }
        let successor = self.look(&self.parent)?.ok_or_else(gone)?;
        self.open_object(&successor, &self.parent, &forbidden())
    }

    /// Opens one object of the approved directory for reading, after everything that must not be opened is refused.
    pub fn open_object(
        &self,
        object: &Object,
        parent: &OwnedFd,
        forbidden: &[(u64, u64)],
    ) -> Result<(File, Facts), ToolError> {
        self.refuse_unreadable(&object.facts, forbidden)?;
        self.open_handle(&object.handle, object.facts, parent)
    }

    fn open_handle(&self, object: &OwnedFd, facts: Facts, parent: &OwnedFd) -> Result<(File, Facts), ToolError> {
        let name = &self.resolved.relative;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let failed = |error: io::Error| errors::through_handles("open", name, &error);
        match openat(CWD, proc_path(object), flags, Mode::empty()) {
            Ok(handle) => return Ok((File::from(handle), facts)),
            Err(Errno::NOENT) => {}
            Err(error) => return Err(errors::io("open", name, &error.into())),
        }
        // Without /proc the name is opened again; it has to lead to the same object.
        let handle =
            openat(parent, &self.name, flags | OFlags::NOFOLLOW, Mode::empty()).map_err(|e| failed(e.into()))?;
        let opened = Facts::of(&handle).map_err(failed)?;
        if opened.identity() != facts.identity() {
            return Err(errors::path_gone(name));
        }
        Ok((File::from(handle), opened))
    }

    /// Opens the approved directory for listing.
    pub fn open_directory(&self) -> Result<OwnedFd, ToolError> {
        let name = &self.resolved.relative;
        let held = self.object.as_ref().ok_or_else(|| errors::path_gone(name))?;
        descent::readable(&held.handle).map_err(|error| errors::through_handles("open", name, &error.into()))
    }

    /// The names beside the object, for suggestions. Empty when they cannot be read.
    pub fn siblings(&self) -> Vec<String> {
        let listing = descent::readable(&self.parent).map_err(io::Error::from).and_then(super::listing::list);
        listing.map(|listing| listing.names).unwrap_or_default()
    }

    /// Refuses what must not be opened: the store, FIFOs, sockets, devices, and a link that took the file's place.
    pub fn refuse_unreadable(&self, facts: &Facts, forbidden: &[(u64, u64)]) -> Result<(), ToolError> {
        let name = &self.resolved.relative;
        if forbidden.contains(&facts.identity()) {
            return Err(errors::store_file(name));
        }
        match facts.kind {
            Kind::File => Ok(()),
            Kind::Directory | Kind::Link => Err(errors::path_gone(name)),
            Kind::Special(what) => Err(errors::not_regular(name, what)),
        }
    }

    /// Whether this process may write the existing object. Its directory decides whether it can be replaced; its own
    /// mode says whether it should.
    pub fn check_writable(&self) -> Result<(), ToolError> {
        let flags = AtFlags::EACCESS | AtFlags::SYMLINK_NOFOLLOW;
        match accessat(&self.parent, &self.name, Access::WRITE_OK, flags) {
            Err(error @ (Errno::ACCESS | Errno::ROFS)) => {
                Err(errors::io("write", &self.resolved.relative, &error.into()))
            }
            _ => Ok(()),
        }
    }

    /// The directory to publish in and the name to publish under. Creates missing directories, through handles.
    pub fn target(&self) -> Result<Target<'_>, ToolError> {
        let failed =
            |error: io::Error| errors::through_handles("create the directory of", &self.resolved.relative, &error);
        let parent = self.parent.try_clone().map_err(failed)?;
        let mut target = Target { directory: parent, name: &self.name, created: Vec::new() };
        for name in &self.missing {
            target.enter(name).map_err(failed)?;
        }
        Ok(target)
    }

    /// Whether directories have to be created before the object can be.
    pub fn lacks_parents(&self) -> bool {
        !self.missing.is_empty()
    }

    /// The nearest existing directory above the object.
    pub fn parent(&self) -> &OwnedFd {
        &self.parent
    }

    /// The last name of the path.
    pub fn name(&self) -> &OsStr {
        &self.name
    }
}

/// A path that reaches exactly the object of a handle.
pub(crate) fn proc_path(handle: impl AsFd) -> String {
    format!("/proc/self/fd/{}", handle.as_fd().as_raw_fd())
}

/// A directory to publish in. Directories that were created on the way are removed again unless they are kept.
#[derive(Debug)]
pub struct Target<'a> {
    /// The directory.
    pub directory: OwnedFd,
    /// The name in it.
    pub name: &'a OsStr,
    created: Vec<(OwnedFd, OsString)>,
}

impl Target<'_> {
    fn enter(&mut self, name: &OsStr) -> io::Result<()> {
        match mkdirat(&self.directory, name, Mode::from_raw_mode(0o777)) {
            Ok(()) => self.created.push((self.directory.try_clone()?, name.to_owned())),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        self.directory = descent::directory_below(&self.directory, Path::new(name))?;
        Ok(())
    }

    /// Keeps what was created and flushes the directories it was created in.
    pub fn keep(mut self) -> io::Result<()> {
        for (above, _) in std::mem::take(&mut self.created) {
            super::atomic::flush_directory(&above)?;
        }
        Ok(())
    }
}

impl Drop for Target<'_> {
    fn drop(&mut self) {
        for (above, name) in self.created.iter().rev() {
            // Fails when somebody put a file there meanwhile, which is what it should do.
            let _ = unlinkat(above, name, AtFlags::REMOVEDIR);
        }
    }
}
