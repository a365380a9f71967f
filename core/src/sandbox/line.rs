//! The arguments of bubblewrap. Pure: what is on the machine was looked at before.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::config::Network;

/// What a command sees.
#[derive(Debug)]
pub(super) struct View {
    /// Whether the network is reachable.
    pub(super) network: Network,
    /// The directory that is `/tmp` inside.
    pub(super) private_tmp: PathBuf,
    /// Further directories of the host that the command sees empty.
    pub(super) hidden: Vec<PathBuf>,
    /// What lies in hidden places and is shown read-only.
    pub(super) shown: Vec<PathBuf>,
    /// What can be written.
    pub(super) writable: Vec<PathBuf>,
    /// What inside of that cannot.
    pub(super) protected: Vec<PathBuf>,
    /// Sockets that are covered.
    pub(super) sockets: Vec<PathBuf>,
}

/// Every namespace, no capability, no way to make further namespaces, death with the guard outside.
const FIXED: [&str; 10] = [
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--disable-userns",
    "--die-with-parent",
    "--as-pid-1",
    "--cap-drop",
    "ALL",
];

impl View {
    /// The arguments, in the one order that works: a mount hides what was mounted below its place before.
    pub(super) fn arguments(&self) -> Vec<OsString> {
        let mut line = Line(FIXED.iter().map(OsString::from).collect());
        if self.network == Network::Deny {
            line.add("--unshare-net", &[]);
        }
        let whole = Path::new("/");
        if self.writable.iter().any(|root| root == whole) {
            line.bind("--bind", whole);
            line.bind("--ro-bind", Path::new("/sys"));
        } else {
            line.bind("--ro-bind", whole);
        }
        line.add("--dev", &["/dev".as_ref()]);
        line.add("--proc", &["/proc".as_ref()]);
        // bubblewrap leaves the settings below /proc/sys writable for a root host.
        line.add("--remount-ro", &["/proc".as_ref()]);
        for hidden in &self.hidden {
            line.add("--tmpfs", &[hidden.as_os_str()]);
        }
        if !self.writable.iter().any(|root| root == Path::new("/tmp")) {
            line.add("--bind", &[self.private_tmp.as_os_str(), "/tmp".as_ref()]);
        }
        by_depth(&self.shown).for_each(|path| line.bind("--ro-bind", path));
        by_depth(&self.writable).filter(|path| *path != whole).for_each(|path| line.bind("--bind", path));
        by_depth(&self.protected).for_each(|path| line.bind("--ro-bind", path));
        for socket in &self.sockets {
            line.add("--ro-bind", &["/dev/null".as_ref(), socket.as_os_str()]);
        }
        line.0
    }
}

struct Line(Vec<OsString>);

impl Line {
    fn add(&mut self, option: &str, values: &[&OsStr]) {
        self.0.push(option.into());
        self.0.extend(values.iter().map(OsString::from));
    }

    fn bind(&mut self, option: &str, path: &Path) {
        self.add(option, &[path.as_os_str(), path.as_os_str()]);
    }
}

fn by_depth(paths: &[PathBuf]) -> impl Iterator<Item = &Path> {
    let mut sorted: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    sorted.sort_by_key(|path| path.components().count());
    sorted.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view() -> View {
        View {
            network: Network::Deny,
            private_tmp: "/tmp/private".into(),
            hidden: vec!["/run".into()],
            shown: vec!["/tmp/a/b".into(), "/run/wrappers".into()],
            writable: vec!["/tmp/w/s".into()],
            protected: vec!["/tmp/w/s/.git".into()],
            sockets: vec!["/srv/db.sock".into()],
        }
    }

    fn text(view: &View) -> String {
        view.arguments().join(OsStr::new(" ")).into_string().unwrap()
    }

    #[test]
    fn mounts_come_in_the_order_that_works() {
        let text = text(&view());
        let places = [
            "--unshare-net",
            "--ro-bind / /",
            "--proc /proc --remount-ro /proc",
            "--tmpfs /run",
            "--bind /tmp/private /tmp",
            "--ro-bind /run/wrappers /run/wrappers",
            "--ro-bind /tmp/a/b /tmp/a/b",
            "--bind /tmp/w/s /tmp/w/s",
            "--ro-bind /tmp/w/s/.git /tmp/w/s/.git",
            "--ro-bind /dev/null /srv/db.sock",
        ];
        let found: Vec<usize> = places.iter().map(|part| text.find(part).unwrap_or_else(|| panic!("{part}"))).collect();
        assert!(found.is_sorted(), "{text}");
    }

    #[test]
    fn the_whole_file_system_and_the_network_can_be_opened() {
        let mut view = view();
        view.network = Network::Allow;
        view.writable = vec!["/".into()];
        let text = text(&view);
        assert!(
            text.contains("--bind / / --ro-bind /sys /sys --dev /dev") && !text.contains("--unshare-net"),
            "{text}"
        );
        assert_eq!(text.matches(" / /").count(), 1);
    }
}
