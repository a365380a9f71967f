//! Reads the layers, in their order, and resolves them.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::document::Document;
use super::locations::Environment;
use super::merged::Merged;
use super::narrow::{Ignored, narrow};
use super::origin::{Layer, Origin};
use super::{Config, cross, jsonc, typed};
use crate::text::rules::Diagnostic;
use crate::types::{Error, JsonMap};

/// A configuration file larger than this is no configuration file.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// What is read. Whoever opens the runtime decides which layers there are.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The global file; one that does not exist is an empty layer.
    pub global: Option<PathBuf>,
    /// The variables, when the environment is a layer.
    pub environment: Option<Environment>,
    /// `config` of `runtime.open`.
    pub runtime: Option<Value>,
    /// `config` of `session.create`.
    pub session: Option<Value>,
    /// The project file; one that does not exist is an empty layer.
    pub project: Option<PathBuf>,
    /// The home directory, for patterns that begin with `~`.
    pub home: Option<String>,
}

/// The resolved layers. Keeps the documents, so that a session can lay its own on top.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub(super) config: Arc<Config>,
    pub(super) merged: Merged,
    pub(super) ignored: Vec<Ignored>,
    trusted: Vec<Document>,
    project: Option<Document>,
    home: Option<String>,
}

/// Reads and resolves all layers. The first fault is the error, and then nothing has been opened.
pub fn load(sources: &Sources) -> Result<Loaded, Error> {
    let home = sources.home.as_deref();
    let mut trusted = Vec::new();
    if let Some(path) = &sources.global {
        trusted.extend(read_file(path, Layer::Global, home)?);
    }
    if let Some(environment) = &sources.environment {
        read_environment(environment, home, &mut trusted)?;
    }
    for (layer, value) in [(Layer::Runtime, &sources.runtime), (Layer::Session, &sources.session)] {
        if let Some(value) = value {
            trusted.push(Document::read(value, Origin::new(layer), home)?);
        }
    }
    let project = match &sources.project {
        Some(path) => read_file(path, Layer::Project, home)?,
        None => None,
    };
    resolve(trusted, project, sources.home.clone())
}

impl Loaded {
    /// The typed values.
    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// The effective document with everything in it, secrets too: for the rooms that read their own keys.
    pub fn values(&self) -> &Value {
        &self.merged.values
    }

    /// What the project file says about agents; known agents are only narrowed by it.
    pub fn project_agents(&self) -> Option<&JsonMap> {
        self.project.as_ref().and_then(|document| document.values.get("agents")).and_then(Value::as_object)
    }

    /// Values of the project file that had no effect.
    pub fn ignored(&self) -> &[Ignored] {
        &self.ignored
    }

    /// What was odd about the rules, layer by layer.
    pub fn diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        self.trusted.iter().chain(&self.project).flat_map(|document| &document.diagnostics)
    }

    /// The configuration of one session: its own `config` on top, its project file as the restriction.
    pub fn for_session(&self, project: Option<&Path>, config: Option<&Value>) -> Result<Self, Error> {
        let mut trusted = self.trusted.clone();
        if let Some(value) = config {
            trusted.push(Document::read(value, Origin::new(Layer::Session), self.home.as_deref())?);
        }
        let project = match project {
            Some(path) => read_file(path, Layer::Project, self.home.as_deref())?,
            None => self.project.clone(),
        };
        resolve(trusted, project, self.home.clone())
    }
}

fn resolve(trusted: Vec<Document>, project: Option<Document>, home: Option<String>) -> Result<Loaded, Error> {
    let mut merged = Merged::new();
    merged.add(&defaults()?);
    for document in &trusted {
        merged.add(document);
        if let Value::Object(values) = &merged.values {
            document.check_complete(values)?;
        }
    }
    cross::check_trusted(&merged)?;
    let ignored = match &project {
        Some(document) => narrow(&mut merged, document)?,
        None => Vec::new(),
    };
    settle_sandbox(&mut merged)?;
    let rules = trusted.iter().flat_map(|document| document.rules.iter().cloned()).collect();
    let narrowing = project.as_ref().map(|document| document.rules.clone()).unwrap_or_default();
    let config = Arc::new(typed::build(&merged, rules, narrowing));
    Ok(Loaded { config, merged, ignored, trusted, project, home })
}

/// Says what holds after the restriction: full access has the host's network, and read-only has no writable roots.
fn settle_sandbox(merged: &mut Merged) -> Result<(), Error> {
    cross::check_confinement(merged)?;
    let origin = merged.origin("sandbox.mode");
    match merged.get::<String>("/sandbox/mode").as_deref() {
        Some("danger-full-access") => merged.set(&["sandbox", "network"], json!("allow"), &origin),
        Some("read-only")
            if merged.get::<Vec<String>>("/sandbox/writableRoots").is_some_and(|roots| !roots.is_empty()) =>
        {
            merged.set(&["sandbox", "writableRoots"], json!([]), &origin);
        }
        _ => {}
    }
    Ok(())
}

fn defaults() -> Result<Document, Error> {
    let origin = Origin::new(Layer::Default);
    let value = jsonc::parse(include_str!("defaults.json")).map_err(|what| origin.error("", what))?;
    Document::read(&value, origin, None)
}

fn read_environment(environment: &Environment, home: Option<&str>, trusted: &mut Vec<Document>) -> Result<(), Error> {
    let variable = |name: &'static str| {
        environment
            .get(&OsString::from(name))
            .filter(|value| !value.is_empty())
            .map(|value| (Origin::variable(name), value))
    };
    if let Some((origin, path)) = variable("ZUNO_CONFIG") {
        let path = Path::new(path);
        let missing = || origin.error("", format!("it names {}, which does not exist.", path.display()));
        trusted.push(read_file(path, Layer::Environment, home)?.ok_or_else(missing)?);
    }
    if let Some((origin, content)) = variable("ZUNO_CONFIG_CONTENT") {
        let text = content.to_str().ok_or_else(|| origin.error("", "it is not UTF-8."))?;
        trusted.push(read_text(text, origin, home)?);
    }
    for (name, key) in [
        ("ZUNO_SANDBOX_MODE", "mode"),
        ("ZUNO_SANDBOX_NETWORK", "network"),
        ("ZUNO_SANDBOX_ON_UNAVAILABLE", "onUnavailable"),
    ] {
        if let Some((origin, value)) = variable(name) {
            trusted.push(Document::read(&json!({ "sandbox": { key: value.to_string_lossy() } }), origin, home)?);
        }
    }
    Ok(())
}

fn read_file(path: &Path, layer: Layer, home: Option<&str>) -> Result<Option<Document>, Error> {
    let origin = Origin::file(layer, path);
    match read_bounded(path) {
        Ok(Some(text)) => read_text(&text, origin, home).map(Some),
        Ok(None) => Ok(None),
        Err(error) => Err(origin.error("", format!("the file cannot be read: {error}."))),
    }
}

fn read_text(text: &str, origin: Origin, home: Option<&str>) -> Result<Document, Error> {
    let value =
        jsonc::parse(text).map_err(|place| origin.error("", format!("this is not JSON; the fault is at {place}.")))?;
    Document::read(&value, origin, home)
}

/// The text of a regular file. The project file comes with a checkout: a pipe or an endless file there must not hang
/// or fill the host.
fn read_bounded(path: &Path) -> std::io::Result<Option<String>> {
    let file = match open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        Err(error) => return Err(error),
    };
    let length =
        file.metadata().and_then(|facts| if facts.is_file() { Ok(facts.len()) } else { Err(not_regular()) })?;
    if length > MAX_FILE_BYTES {
        return Err(std::io::Error::new(ErrorKind::FileTooLarge, format!("it is larger than {MAX_FILE_BYTES} bytes")));
    }
    let mut text = String::new();
    file.take(MAX_FILE_BYTES).read_to_string(&mut text)?;
    Ok(Some(text))
}

fn not_regular() -> std::io::Error {
    std::io::Error::new(ErrorKind::InvalidInput, "it is not a regular file")
}

#[cfg(unix)]
fn open(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).open(path)
}
