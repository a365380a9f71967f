//! The temporary directory of one command.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// A directory of this user alone. Dropping it removes it with everything in it: do so when the command's tree is gone.
#[derive(Debug)]
pub(super) struct PrivateTmp {
    path: PathBuf,
}

impl PrivateTmp {
    pub(super) fn create() -> io::Result<Self> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let name: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let path = std::env::temp_dir().canonicalize()?.join(format!("zuno-tmp-{name}"));
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self { path })
    }

    pub(super) fn explain(error: &io::Error) -> String {
        format!("No private temporary directory could be made ({error}). Check the host's temporary directory.")
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PrivateTmp {
    fn drop(&mut self) {
        // What cannot be removed costs its space; the name is never used again.
        let _ = fs::remove_dir_all(&self.path);
    }
}
