//! One `rg` per runtime: found by the first search, asked for its version once, run for every search.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::arguments::{GlobQuery, GrepQuery};
use super::collect::{Collect, Garbled, Lines, Naming, Paths};
use super::locate;
use super::names::Style;
use super::refusal::{Asked, Ending, failed, refusal};
use super::render::{self, Rendered};
use super::root::{Kind, SearchRoot};
use super::run::{Ended, RunError, Stop, cancellable, command, run};
use super::split::Splitter;
use crate::types::ToolError;

/// Says whether a file, in relative spelling, may not be shown.
pub type Denied = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// What a session's configuration says about searching.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `search.ripgrep_path`
    pub ripgrep_path: Option<PathBuf>,
    /// `env.withhold_prefixes`
    pub withhold_prefixes: Vec<String>,
}

/// The `rg` of a runtime. Nothing is looked for until something is searched.
#[derive(Debug, Default)]
pub struct Ripgrep {
    /// The program that proved good, and the setting it was found by.
    good: Mutex<Option<Good>>,
}

#[derive(Clone, Debug)]
struct Good {
    configured: Option<PathBuf>,
    program: PathBuf,
}

impl Ripgrep {
    /// A runtime's `rg`, not yet looked for.
    pub fn new() -> Self {
        Self::default()
    }

    /// Where the `rg` is that a search would use, for diagnostics.
    ///
    /// # Errors
    /// `rg_missing`, `rg_too_old`.
    pub async fn locate(&self, settings: &Settings) -> Result<PathBuf, ToolError> {
        self.program(settings, &CancellationToken::new()).await
    }

    /// Lists the files whose names match.
    pub async fn glob(
        &self,
        settings: &Settings,
        root: SearchRoot,
        query: GlobQuery,
        denied: Denied,
        cancel: &CancellationToken,
    ) -> Result<Rendered, ToolError> {
        let search = self.search(settings, root, cancel).await?;
        cancellable(cancel, move |stop| {
            let workspace = search.root.workspace_text().into_owned();
            let mut paths = Paths::new(naming(&workspace, &denied));
            let arguments = query.arguments(search.root.path());
            search.run(stop, arguments, b'\0', Asked::Glob { pattern: query.pattern() }, &mut paths)?;
            let (paths, dropped) = paths.finish();
            Ok(render::paths(&search.root, &paths, &dropped))
        })
        .await?
    }

    /// Lists the lines that match.
    pub async fn grep(
        &self,
        settings: &Settings,
        root: SearchRoot,
        query: GrepQuery,
        denied: Denied,
        cancel: &CancellationToken,
    ) -> Result<Rendered, ToolError> {
        let search = self.search(settings, root, cancel).await?;
        cancellable(cancel, move |stop| {
            let workspace = search.root.workspace_text().into_owned();
            let mut lines = Lines::new(naming(&workspace, &denied));
            let arguments = query.arguments(search.root.path());
            let asked = Asked::Grep { pattern: query.pattern(), include: query.include() };
            search.run(stop, arguments, b'\n', asked, &mut lines)?;
            if search.root.kind() == Kind::File && !lines.found() && lines.searches() != Some(1) {
                return Err(path_unreadable(search.root.path()));
            }
            let (hits, dropped) = lines.finish();
            Ok(render::lines(&search.root, &hits, &dropped))
        })
        .await?
    }

    async fn search(
        &self,
        settings: &Settings,
        root: SearchRoot,
        cancel: &CancellationToken,
    ) -> Result<Search, ToolError> {
        let program = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(cancelled()),
            program = self.program(settings, cancel) => program?,
        };
        Ok(Search { program, settings: settings.clone(), root })
    }

    /// The program to run. Callers that come at once wait for one look-up.
    async fn program(&self, settings: &Settings, cancel: &CancellationToken) -> Result<PathBuf, ToolError> {
        let mut good = self.good.lock().await;
        if let Some(known) = good.as_ref().filter(|known| known.configured == settings.ripgrep_path) {
            return Ok(known.program.clone());
        }
        let settings = settings.clone();
        let found = cancellable(cancel, move |stop| look_up(settings, stop)).await??;
        let program = found.program.clone();
        *good = Some(found);
        Ok(program)
    }
}

/// Finds the program and reads its version.
fn look_up(settings: Settings, stop: &Stop) -> Result<Good, ToolError> {
    let configured = settings.ripgrep_path;
    let program = locate::locate(configured.as_deref(), std::env::var_os("PATH").as_deref())?;
    let arguments = vec!["--version".into()];
    let directory = program.parent().unwrap_or(&program);
    let spec = command(&program, arguments, directory, &settings.withhold_prefixes);
    let mut output = Vec::new();
    let ended = run(&spec, stop, &mut |bytes| {
        output.extend_from_slice(bytes);
        Ok::<(), Garbled>(())
    });
    let ended = ended.map_err(|error| run_failed(&program, configured.as_deref(), error))?;
    if ended.status != Some(0) {
        return Err(failed(ended.status, &ended.diagnostics));
    }
    locate::accept(&program, &String::from_utf8_lossy(&output))?;
    Ok(Good { configured, program })
}

/// One search, ready to run.
struct Search {
    program: PathBuf,
    settings: Settings,
    root: SearchRoot,
}

impl Search {
    /// Runs `rg` and hands every record to `collect`.
    fn run(
        &self,
        stop: &Stop,
        arguments: Vec<std::ffi::OsString>,
        delimiter: u8,
        asked: Asked<'_>,
        collect: &mut dyn Collect,
    ) -> Result<(), ToolError> {
        self.root.still_there()?;
        if self.root.is_closed() {
            return self.closed();
        }
        let spec = command(&self.program, arguments, self.root.directory(), &self.settings.withhold_prefixes);
        let mut splitter = Splitter::new(delimiter);
        let ended = run(&spec, stop, &mut |bytes| splitter.feed(bytes, &mut |piece| collect.take(piece)));
        if matches!(ended, Err(RunError::Missing | RunError::Start(_))) {
            // A working directory that is gone looks like a program that is gone.
            self.root.still_there()?;
        }
        let configured = self.settings.ripgrep_path.as_deref();
        let Ended { status, diagnostics } = ended.map_err(|error| run_failed(&self.program, configured, error))?;
        let found = collect.found();
        if let Some(error) = refusal(asked, Ending { status, diagnostics: &diagnostics, found }) {
            return Err(error);
        }
        if splitter.is_midway() {
            return Err(garbled());
        }
        self.root.still_there()
    }

    /// A directory that cannot be entered holds nothing; a file in one cannot be read.
    fn closed(&self) -> Result<(), ToolError> {
        match self.root.kind() {
            Kind::Directory => Ok(()),
            Kind::File => Err(path_unreadable(self.root.path())),
        }
    }
}

fn naming<'a>(workspace: &'a str, denied: &'a Denied) -> Naming<'a> {
    Naming { style: Style::HERE, workspace, is_denied: &**denied }
}

fn run_failed(program: &Path, configured: Option<&Path>, error: RunError<Garbled>) -> ToolError {
    match error {
        RunError::Missing => locate::missing(configured),
        RunError::Start(why) => {
            let message =
                format!("{} could not be started: {why}. Check that it is an `rg` that runs here.", program.display());
            ToolError::failed("rg_failed", message)
        }
        RunError::Read(error) => {
            ToolError::failed("rg_failed", format!("The output of `rg` could not be read: {error}. Try again."))
        }
        RunError::TooMuch => ToolError::failed(
            "output_too_large",
            "The search found more than 64 MiB, and no stable order can be told from a part of it. Narrow the pattern, \
             the path or the include.",
        ),
        RunError::Reader(Garbled) => garbled(),
        RunError::Stopped => cancelled(),
    }
}

fn garbled() -> ToolError {
    let message = "`rg` wrote something that is not its format. Check that the program is an unmodified ripgrep.";
    ToolError::failed("rg_failed", message)
}

fn cancelled() -> ToolError {
    ToolError::cancelled(true, "The search was cancelled; nothing of it is shown.")
}

fn path_unreadable(path: &Path) -> ToolError {
    let message = format!(
        "{} could not be read, so whether it matches is unknown. Check its permissions, or search another path.",
        path.display()
    );
    ToolError::failed("path_unreadable", message)
}
