//! bubblewrap itself: where it is, whether it can be trusted, and whether it works here.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::cause::{Cause, Unusable};
use super::line::View;
use super::private_tmp::PrivateTmp;
use super::seccomp;
use crate::config::Network;
use crate::process::{CommandSpec, Confinement, Exit, Wrapper, spawn_piped};

const PLACES: [&str; 3] = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"];
/// The first version with everything that is needed.
const OLDEST: (u32, u32) = (0, 8);
/// A probe and a version say little.
const OUTPUT_LIMIT: usize = 4096;

/// A bubblewrap that was seen to work.
#[derive(Clone, Debug)]
pub(super) struct Launcher {
    /// Its canonical path.
    pub(super) program: PathBuf,
    deny: Arc<[u8]>,
    allow: Arc<[u8]>,
}

impl Launcher {
    /// Finds bubblewrap, and runs a command under it that does nothing.
    pub(super) fn probe(configured: Option<&Path>) -> Result<Self, Unusable> {
        let program = locate(configured)?;
        check_version(&program)?;
        let build = |network| seccomp::program(network).map_err(|text| Unusable::new(Cause::SetupFailed, text));
        let launcher = Self { program, deny: build(Network::Deny)?, allow: build(Network::Allow)? };
        launcher.try_out()?;
        Ok(launcher)
    }

    /// What keeps a command inside a view.
    pub(super) fn confine(&self, view: &View) -> Confinement {
        let seccomp = match view.network {
            Network::Deny => &self.deny,
            Network::Allow => &self.allow,
        };
        Confinement {
            wrapper: Some(Wrapper { program: self.program.clone(), args: view.arguments() }),
            ruleset: None,
            seccomp: Arc::clone(seccomp),
            drop_capabilities: true,
            shield: false,
        }
    }

    fn try_out(&self) -> Result<(), Unusable> {
        let failed = |text: String| Unusable::new(Cause::SetupFailed, text);
        let tmp = PrivateTmp::create().map_err(|error| failed(PrivateTmp::explain(&error)))?;
        let view = View {
            network: Network::Deny,
            private_tmp: tmp.path().to_owned(),
            hidden: vec!["/run".into()],
            shown: Vec::new(),
            writable: Vec::new(),
            protected: Vec::new(),
            sockets: Vec::new(),
        };
        let mut spec = CommandSpec::new("/bin/sh", "/");
        spec.args = vec!["-c".into(), ":".into()];
        spec.confinement = self.confine(&view);
        match run(&spec)? {
            (Exit::Code(0), _) => Ok(()),
            (Exit::GuardFailed { message }, _) => Err(explain(&message)),
            (other, output) => Err(failed(format!("A trial run under bubblewrap ended with {other:?}: {output}"))),
        }
    }
}

fn run(spec: &CommandSpec) -> Result<(Exit, String), Unusable> {
    let failed = |text: String| Unusable::new(Cause::SetupFailed, text);
    let collected = spawn_piped(spec).map_err(|error| failed(error.to_string()))?.collect(OUTPUT_LIMIT);
    let collected = collected.map_err(|error| failed(error.to_string()))?;
    Ok((collected.exit, String::from_utf8_lossy(&collected.stdout).trim().to_owned()))
}

fn locate(configured: Option<&Path>) -> Result<PathBuf, Unusable> {
    let named = configured.map(|path| vec![path.to_owned()]);
    let places = named.unwrap_or_else(|| PLACES.iter().map(PathBuf::from).collect());
    let Some(program) = places.iter().find(|path| path.is_file()).and_then(|path| path.canonicalize().ok()) else {
        let listed: Vec<String> = places.iter().map(|path| path.display().to_string()).collect();
        let text = format!(
            "There is no bubblewrap at {}. Install it (version 0.8 or newer), or set `sandbox.bubblewrap_path`.",
            listed.join(", ")
        );
        return Err(Unusable::new(Cause::NoLauncher, text));
    };
    let owner = fs::metadata(&program).map_err(|error| Unusable::new(Cause::NoLauncher, error.to_string()))?;
    if owner.uid() != 0 || owner.mode() & 0o022 != 0 {
        let text = format!(
            "bubblewrap at {} is not trusted: it has to belong to root and must not be writable by others.",
            program.display()
        );
        return Err(Unusable::new(Cause::LauncherUntrusted, text));
    }
    Ok(program)
}

fn check_version(program: &Path) -> Result<(), Unusable> {
    let mut spec = CommandSpec::new(program, "/");
    spec.args = vec![OsString::from("--version")];
    let (_, said) = run(&spec)?;
    match version(&said) {
        Some(found) if found >= OLDEST => Ok(()),
        _ => {
            let text = format!("bubblewrap 0.8 or newer is needed; {} says: {said}", program.display());
            Err(Unusable::new(Cause::LauncherCapability, text))
        }
    }
}

/// Major and minor number from `bubblewrap 0.8.0`.
fn version(said: &str) -> Option<(u32, u32)> {
    let mut numbers = said.split_whitespace().last()?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// bubblewrap explains itself in words only.
fn explain(message: &str) -> Unusable {
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    let cause = if says(&["Unknown option", "unknown option"]) {
        Cause::LauncherCapability
    } else if says(&["namespace", "uid map", "gid map", "Operation not permitted", "Permission denied", "user.max"]) {
        Cause::HostPolicy
    } else {
        Cause::SetupFailed
    };
    let text = match cause {
        Cause::HostPolicy => format!("This machine does not let bubblewrap make namespaces: {message}"),
        _ => format!("bubblewrap does not work here: {message}"),
    };
    Unusable::new(cause, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(version("bubblewrap 0.8.0"), Some((0, 8)));
        assert_eq!(version("bubblewrap 1.0"), Some((1, 0)));
        assert_eq!(version("something else"), None);
        assert!(Some((0, 11)) >= Some(OLDEST));
    }

    #[test]
    fn what_bubblewrap_says_becomes_a_cause() {
        let cause = |text| explain(text).cause;
        assert_eq!(cause("bwrap: Unknown option --disable-userns"), Cause::LauncherCapability);
        assert_eq!(cause("bwrap: No permissions to create new namespace"), Cause::HostPolicy);
        assert_eq!(cause("bwrap: setting up uid map: Permission denied"), Cause::HostPolicy);
        assert_eq!(cause("bwrap: Out of memory"), Cause::SetupFailed);
    }

    #[test]
    fn a_missing_or_foreign_program_is_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let missing = locate(Some(&folder.path().join("bwrap"))).unwrap_err();
        assert_eq!(missing.cause, Cause::NoLauncher);
        let program = folder.path().join("found");
        fs::write(&program, "").unwrap();
        fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        assert_eq!(locate(Some(&program)).unwrap_err().cause, Cause::LauncherUntrusted);
    }
}
