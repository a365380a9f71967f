//! Where a command's output goes: first every byte into a file, then the newest of them into memory, then to whoever
//! listens. Memory stays bounded whatever a command writes.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};

use super::execution::OutputSink;

/// The newest bytes kept in memory.
pub const WINDOW: usize = 2 << 20;

/// Is given every chunk after it was saved, with the offset of its first byte.
pub type Observer = Box<dyn FnMut(u64, &[u8]) + Send>;

/// Makes the file of a capture, and says where it is.
pub type Maker = Box<dyn FnOnce() -> io::Result<(PathBuf, File)> + Send>;

/// A sink that saves every byte. The file comes into being with the first one.
pub struct CaptureFile {
    /// Until the first byte.
    maker: Option<Maker>,
    file: Option<File>,
    broken: bool,
    state: Arc<Mutex<State>>,
    observer: Option<Observer>,
}

/// What has been captured so far; stays readable after the end.
#[derive(Clone, Debug)]
pub struct CaptureView {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    total: u64,
    path: Option<PathBuf>,
    window: VecDeque<u8>,
    digest: Sha256,
    error: Option<String>,
}

impl CaptureFile {
    /// Captures into a new file at `path`. Nothing is created before the first byte; what is there already is not
    /// touched and makes the capture fail.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self::made_by(Box::new(move || {
            let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
            Ok((path, file))
        }))
    }

    /// Captures into a file that is made with the first byte.
    pub fn made_by(maker: Maker) -> Self {
        Self { maker: Some(maker), file: None, broken: false, state: Arc::default(), observer: None }
    }

    /// The same with a listener.
    #[must_use]
    pub fn observed(mut self, observer: Observer) -> Self {
        self.observer = Some(observer);
        self
    }

    /// A view of what is captured.
    pub fn view(&self) -> CaptureView {
        CaptureView { state: Arc::clone(&self.state) }
    }

    fn save(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(maker) = self.maker.take() {
            let (path, file) = maker()?;
            lock(&self.state).path = Some(path);
            self.file = Some(file);
        }
        match &mut self.file {
            Some(file) => file.write_all(bytes),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

impl OutputSink for CaptureFile {
    /// Fails once, with the first error. The bytes after it are still counted, kept and observed.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let saved = if self.broken { Ok(()) } else { self.save(bytes) };
        let offset = lock(&self.state).take(bytes, saved.as_ref().err());
        if let Some(observer) = &mut self.observer {
            observer(offset, bytes);
        }
        self.broken |= saved.is_err();
        saved
    }
}

impl State {
    /// Adds a chunk and returns where it starts.
    fn take(&mut self, bytes: &[u8], error: Option<&io::Error>) -> u64 {
        let offset = self.total;
        self.total += bytes.len() as u64;
        self.digest.update(bytes);
        let newest = bytes.get(bytes.len().saturating_sub(WINDOW)..).unwrap_or_default();
        let overflow = (self.window.len() + newest.len()).saturating_sub(WINDOW);
        self.window.drain(..overflow);
        self.window.extend(newest);
        if let Some(error) = error {
            self.error = Some(error.to_string());
        }
        offset
    }
}

impl CaptureView {
    /// How many bytes the command has written.
    pub fn bytes(&self) -> u64 {
        lock(&self.state).total
    }

    /// The file; `None` as long as the command has written nothing.
    pub fn file(&self) -> Option<PathBuf> {
        lock(&self.state).path.clone()
    }

    /// The newest bytes, at most [`WINDOW`].
    pub fn window(&self) -> Vec<u8> {
        self.newest(WINDOW)
    }

    /// The newest bytes, at most `limit`.
    pub fn newest(&self, limit: usize) -> Vec<u8> {
        let state = lock(&self.state);
        let skipped = state.window.len().saturating_sub(limit);
        state.window.iter().skip(skipped).copied().collect()
    }

    /// SHA-256 of every byte so far, in lower-case hexadecimal.
    pub fn digest(&self) -> String {
        let digest = lock(&self.state).digest.clone().finalize();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Why the file does not hold every byte.
    pub fn error(&self) -> Option<String> {
        lock(&self.state).error.clone()
    }
}

impl std::fmt::Debug for CaptureFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CaptureFile").field("broken", &self.broken).finish_non_exhaustive()
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn nothing_is_created_before_the_first_byte() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut capture = CaptureFile::new(&path);
        let view = capture.view();
        capture.write(b"").unwrap();
        assert!(!path.exists());
        assert_eq!(view.file(), None);
        assert_eq!(view.digest(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");

        capture.write(b"a\xff").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"a\xff");
        assert_eq!(view.file(), Some(path.clone()));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn only_the_newest_bytes_stay_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        let mut capture = CaptureFile::new(folder.path().join("out"));
        let view = capture.view();
        let big = vec![b'x'; WINDOW + 5];
        capture.write(b"first").unwrap();
        capture.write(&big).unwrap();
        capture.write(b"last").unwrap();
        let window = view.window();
        assert_eq!(window.len(), WINDOW);
        assert!(window.starts_with(b"x") && window.ends_with(b"xlast"));
        assert_eq!(view.newest(5), b"xlast");
        assert_eq!(view.bytes(), (WINDOW + 14) as u64);
    }

    #[test]
    fn what_is_there_already_is_not_overwritten_and_the_rest_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        std::fs::write(&path, "mine").unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let listener = Arc::clone(&seen);
        let mut capture = CaptureFile::new(&path)
            .observed(Box::new(move |offset, bytes| listener.lock().unwrap().push((offset, bytes.to_vec()))));
        let view = capture.view();
        assert!(capture.write(b"ab").is_err());
        assert!(capture.write(b"c").is_ok());
        assert_eq!(std::fs::read(&path).unwrap(), b"mine");
        assert_eq!(view.window(), b"abc");
        assert!(view.error().is_some());
        assert_eq!(*seen.lock().unwrap(), [(0, b"ab".to_vec()), (2, b"c".to_vec())]);
    }
}
