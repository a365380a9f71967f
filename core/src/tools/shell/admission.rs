//! Everything that can refuse a command before it is asked for, and what has to be asked.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::arguments::Arguments;
use super::environment;
use super::interpreter::Interpreter;
use super::outside::{Outside, Place};
use super::run::{self, Command};
use crate::sandbox::Policy;
use crate::text::shell_reading::{Constituent, Reading, always_offers, read};
use crate::tools::contract::{Body, CallContext, Prepared};
use crate::types::{Access, Ask, JsonMap, ToolError};

/// Admits one call.
pub(super) async fn admit(call: CallContext, arguments: JsonMap) -> Result<Prepared, ToolError> {
    let arguments = Arguments::read(arguments, &call.session)?;
    let inherited = environment::inherited(&call);
    let interpreter = Interpreter::choose(call.session.config.shell.interpreter.as_deref(), &inherited)?;
    let text = arguments.exit_policy.text(&arguments.command, interpreter.family())?;
    let reading = read(&arguments.command, interpreter.dialect());

    let policy = super::policy(&call.session);
    let resolution = call.services.sandbox.resolve(&policy)?;
    let home = home(&inherited);
    let place = Place {
        policy: &policy,
        workdir: &arguments.workdir,
        home: home.as_deref(),
        confined: resolution.facts.confined(),
    };
    let outside = Outside::of(&reading, &place);
    let policy = granted(policy, &outside);
    call.services.sandbox.check(&policy, &resolution)?;

    let constituents = reading.constituents();
    let mut asks = outside.asks();
    asks.extend(command_ask(&reading, &arguments.command, &constituents));
    let preview: Vec<String> = texts(&constituents);
    let mut facts = JsonMap::from_iter([
        ("command".to_owned(), json!(arguments.command)),
        ("workdir".to_owned(), json!(arguments.workdir.to_string_lossy())),
    ]);
    let risk = unjudged(&reading);
    if !risk.is_empty() {
        facts.insert("risk".to_owned(), Value::from(risk));
    }
    let reach = reading.reach(arguments.exit_policy == super::exit_policy::ExitPolicy::All);
    let command = Command { arguments, interpreter, text, reach, policy, resolution, inherited };
    Ok(Prepared {
        asks,
        preview: Some(Box::new(move || Value::from(preview))),
        facts,
        body: Body::run(move || run::run(call, command)),
    })
}

fn home(environment: &[(OsString, OsString)]) -> Option<PathBuf> {
    let named = environment.iter().find(|(name, _)| name == "HOME").map(|(_, value)| PathBuf::from(value))?;
    named.is_absolute().then_some(named)
}

/// The body runs only when everything asked for was allowed.
fn granted(policy: Policy, outside: &Outside) -> Policy {
    let reading = outside.read.iter().map(|directory| (directory, Access::Read));
    let writing = outside.write.iter().map(|directory| (directory, Access::Write));
    reading
        .chain(writing)
        .fold(policy, |policy, (directory, access): (&PathBuf, _)| policy.granting(Path::new(directory), access))
}

/// Why the commands of the text are not all known. Such a text counts as one command, and an allow of what it begins
/// with must not carry the rest: only a fresh confirmation does.
fn unjudged(reading: &Reading) -> Vec<Value> {
    let findings = [
        (reading.is_unreadable() || reading.has_unreadable_script(), "unreadable"),
        (reading.is_too_deep(), "too_deep"),
        (reading.is_too_large(), "too_large"),
    ];
    let found = findings.into_iter().filter(|(is_so, _)| *is_so);
    found.map(|(_, finding)| json!({ "level": "confirm", "finding": finding, "target": null })).collect()
}

/// The ask of key `shell`; none for a line that only changes directories.
fn command_ask(reading: &Reading, command: &str, constituents: &[Constituent]) -> Option<Ask> {
    if reading.only_directory_changes() {
        return None;
    }
    let mut patterns = texts(constituents);
    if patterns.is_empty() {
        patterns.push(command.trim().to_owned());
    }
    let mut deny_only: Vec<String> = Vec::new();
    for spelling in constituents.iter().flat_map(|constituent| &constituent.deny_spellings) {
        if !deny_only.contains(spelling) {
            deny_only.push(spelling.clone());
        }
    }
    let mut always: Vec<String> = Vec::new();
    for offer in constituents.iter().filter_map(always_offers) {
        if !always.contains(&offer) {
            always.push(offer);
        }
    }
    Some(Ask { key: "shell".to_owned(), patterns, always, access: None, deny_only, implicit: false })
}

/// The commands of the line, each once.
fn texts(constituents: &[Constituent]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for constituent in constituents {
        if !found.contains(&constituent.text) {
            found.push(constituent.text.clone());
        }
    }
    found
}
