//! The project file: applied last, as a restriction. A key it may not set is an error; a looser value has no effect and
//! is reported.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::document::Document;
use super::keys::ROOT;
use super::merged::Merged;
use super::origin::{Layer, Origin};
use super::shape::{Key, Mark, Shape};
use crate::types::{Error, JsonMap};

/// A value of the project file that had no effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ignored {
    /// The dotted key.
    pub key: String,
    /// Why, as a sentence.
    pub reason: String,
}

/// Applies the project file to what the trusted layers decided.
pub(super) fn narrow(merged: &mut Merged, project: &Document) -> Result<Vec<Ignored>, Error> {
    let mut pass = Pass { merged, origin: &project.origin, ignored: Vec::new() };
    pass.object(&project.values, ROOT.keys(), &mut Vec::new())?;
    Ok(pass.ignored)
}

struct Pass<'a> {
    merged: &'a mut Merged,
    origin: &'a Origin,
    ignored: Vec<Ignored>,
}

impl<'a> Pass<'a> {
    fn object(&mut self, map: &'a JsonMap, keys: &[Key], path: &mut Vec<&'a str>) -> Result<(), Error> {
        for (name, value) in map {
            path.push(name);
            if let Some(key) = keys.iter().find(|key| key.name == name) {
                self.key(value, key, path)?;
            }
            path.pop();
        }
        Ok(())
    }

    fn key(&mut self, value: &'a Value, key: &Key, path: &mut Vec<&'a str>) -> Result<(), Error> {
        if !key.narrows() {
            return Err(self.refuse(&path.join(".")));
        }
        match (key.mark, value) {
            (Mark::Closed, Value::Object(map)) => self.object(map, key.shape.keys(), path),
            (Mark::Agents, Value::Object(map)) => self.agents(map),
            (mark, Value::Object(map)) if matches!(key.shape, Shape::Named(_)) => {
                for (name, entry) in map {
                    path.push(name);
                    self.value(entry, mark, path)?;
                    path.pop();
                }
                Ok(())
            }
            (mark, value) => self.value(value, mark, path),
        }
    }

    fn refuse(&self, key: &str) -> Error {
        let what = format!("`{key}` cannot be set by the project file; set it in the global file or in `config`.");
        self.origin.error(key, what)
    }

    fn value(&mut self, wanted: &Value, mark: Mark, path: &[&'a str]) -> Result<(), Error> {
        if let Mark::Adds = mark {
            return self.add(wanted, path);
        }
        let key = path.join(".");
        let current = self.merged.at(path);
        // A default the project asks for is a restriction from now on, not a default any more.
        let claims_default = current == Some(wanted) && self.merged.origin(&key).layer == Layer::Default;
        if claims_default || is_stricter(mark, current, wanted) {
            self.merged.set(path, wanted.clone(), self.origin);
        } else if current != Some(wanted) {
            let reason = "The project file may only make this stricter; its value has no effect.".to_owned();
            self.ignored.push(Ignored { key, reason });
        }
        Ok(())
    }

    /// Appends the items that are not there yet.
    fn add(&mut self, wanted: &Value, path: &[&'a str]) -> Result<(), Error> {
        let mut items = self.merged.at(path).and_then(Value::as_array).cloned().unwrap_or_default();
        let before = items.len();
        for item in wanted.as_array().into_iter().flatten() {
            let item = if path == ["sandbox", "protectedPaths"] { self.protected_path(item)? } else { item.clone() };
            if !items.contains(&item) {
                items.push(item);
            }
        }
        if items.len() > before {
            self.merged.set(path, Value::Array(items), self.origin);
        }
        Ok(())
    }

    /// A committed file cannot know absolute paths: a relative one is meant from the worktree.
    fn protected_path(&self, item: &Value) -> Result<Value, Error> {
        let named = Path::new(item.as_str().unwrap_or_default());
        let path = match self.worktree() {
            Some(worktree) => worktree.join(named),
            None => named.to_owned(),
        };
        match path.to_str() {
            Some(text) if path.is_absolute() && path.symlink_metadata().is_ok() => Ok(Value::from(text)),
            _ => Err(self.origin.error(
                "sandbox.protectedPaths",
                format!("`sandbox.protectedPaths` names {}, which does not exist.", named.display()),
            )),
        }
    }

    fn worktree(&self) -> Option<PathBuf> {
        // `<worktree>/.zuno/zuno.json`
        self.origin.file.as_deref().and_then(Path::parent).and_then(Path::parent).map(Path::to_owned)
    }

    /// New agents are taken; what the file says about known ones is applied by the agents' own room.
    fn agents(&mut self, agents: &'a JsonMap) -> Result<(), Error> {
        for (name, agent) in agents {
            for key in ["model", "options"] {
                if agent.get(key).is_some() {
                    return Err(self.refuse(&format!("agents.{name}.{key}")));
                }
            }
            if self.merged.at(&["agents", name]).is_none() {
                self.merged.set(&["agents", name], agent.clone(), self.origin);
            }
        }
        Ok(())
    }
}

fn is_stricter(mark: Mark, current: Option<&Value>, wanted: &Value) -> bool {
    let number = |value: Option<&Value>| value.and_then(Value::as_u64);
    match mark {
        Mark::Only(word) => wanted.as_str() == Some(word) && current != Some(wanted),
        Mark::Rank(words) => {
            let rank = |value: &Value| words.iter().position(|word| value.as_str() == Some(word));
            rank(wanted) > current.and_then(rank)
        }
        Mark::False => wanted.as_bool() == Some(false) && current != Some(wanted),
        Mark::Smaller => number(Some(wanted)) < number(current),
        Mark::SmallerLimit => {
            let limit = |value| number(value).filter(|number| *number > 0).unwrap_or(u64::MAX);
            limit(Some(wanted)) < limit(current)
        }
        // Rules are kept apart and judged beside the trusted ones.
        Mark::Rules | Mark::Closed | Mark::Adds | Mark::Agents => false,
    }
}
