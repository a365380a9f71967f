//! Holds one document against the table of keys.

use serde_json::Value;

use super::origin::{Origin, join};
use super::shape::{Key, Shape};
use crate::text::nearest::nearest;
use crate::types::{Error, JsonMap};

/// Checks a value and everything below it. The first fault is the error.
pub(super) fn check(value: &Value, shape: &Shape, key: &str, origin: &Origin) -> Result<(), Error> {
    match (shape, value) {
        (Shape::Object(keys), Value::Object(map)) => check_object(map, keys, key, origin),
        (Shape::Named(item), Value::Object(map)) => {
            map.iter().try_for_each(|(name, entry)| check_entry(name, entry, item, key, origin))
        }
        (Shape::List(item, min, max), Value::Array(items)) => {
            if items.len() < *min || items.len() > *max {
                return Err(unfit(value, shape, key, origin));
            }
            let each = |(index, entry): (usize, &Value)| check(entry, item, &format!("{key}[{index}]"), origin);
            items.iter().enumerate().try_for_each(each)
        }
        (Shape::Short(short), Value::Object(_)) => check(value, &short.object, key, origin),
        (Shape::Short(short), scalar) if fits(scalar, &short.scalar) => Ok(()),
        _ if fits(value, shape) => Ok(()),
        _ => Err(unfit(value, shape, key, origin)),
    }
}

fn check_object(map: &JsonMap, keys: &[Key], key: &str, origin: &Origin) -> Result<(), Error> {
    map.iter().try_for_each(|(name, entry)| match keys.iter().find(|known| known.name == name) {
        Some(known) => check(entry, &known.shape, &join(key, name), origin),
        None => Err(unknown(name, keys, key, origin)),
    })
}

fn check_entry(name: &str, entry: &Value, item: &Shape, key: &str, origin: &Origin) -> Result<(), Error> {
    if name.is_empty() {
        return Err(origin.error(key, format!("`{key}` holds an entry without a name; give it one.")));
    }
    check(entry, item, &join(key, name), origin)
}

fn unknown(name: &str, keys: &[Key], parent: &str, origin: &Origin) -> Error {
    let path = join(parent, name);
    match nearest(name, keys.iter().map(|known| known.name)).map(|near| join(parent, near)) {
        Some(near) => origin
            .error(&path, format!("`{path}` is not a known key; the nearest known key is `{near}`."))
            .with("suggestion", near),
        None => origin.error(&path, format!("`{path}` is not a known key; remove it.")),
    }
}

/// Whether a value without known keys below it has the form.
fn fits(value: &Value, shape: &Shape) -> bool {
    match shape {
        Shape::Bool => value.is_boolean(),
        Shape::Int(min, max) => value.as_u64().is_some_and(|number| (*min..=*max).contains(&number)),
        Shape::Number(min, max) => value.as_f64().is_some_and(|number| (*min..=*max).contains(&number)),
        Shape::Text(min, max) => text(value).is_some_and(|text| (*min..=*max).contains(&text.len())),
        Shape::Secret => text(value).is_some(),
        Shape::Word(words) => text(value).is_some_and(|text| words.contains(&text)),
        Shape::AbsolutePath => text(value).is_some_and(|text| std::path::Path::new(text).is_absolute()),
        Shape::Route => text(value)
            .and_then(|text| text.split_once('/'))
            .is_some_and(|(provider, model)| !provider.is_empty() && !model.is_empty()),
        Shape::Free => value.is_object(),
        // The rule parser reads the inside.
        Shape::Rules => value.is_object() || value.is_array(),
        Shape::List(..) | Shape::Object(_) | Shape::Named(_) | Shape::Short(_) => false,
    }
}

/// Text that can be a name, a path or an argument: the operating system takes none with NUL.
fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.contains('\0'))
}

fn unfit(value: &Value, shape: &Shape, key: &str, origin: &Origin) -> Error {
    let message = format!("`{key}` has to be {}, not {}.", expected(shape), found(value, shape));
    let error = origin.error(key, message);
    match (shape, value) {
        (Shape::Word(words), Value::String(text)) => match nearest(text, words.iter().copied()) {
            Some(near) => error.with("suggestion", near),
            None => error,
        },
        _ => error,
    }
}

fn expected(shape: &Shape) -> String {
    match shape {
        Shape::Bool => "true or false".to_owned(),
        Shape::Int(min, u64::MAX) => format!("an integer of at least {min}"),
        Shape::Int(min, max) => format!("an integer from {min} to {max}"),
        Shape::Number(f64::MIN, _) => "a number".to_owned(),
        Shape::Number(min, max) => format!("a number from {min} to {max}"),
        Shape::Text(0, usize::MAX) | Shape::Secret => "a string".to_owned(),
        Shape::Text(_, usize::MAX) => "a string that is not empty".to_owned(),
        Shape::Text(min, max) => format!("a string of {min} to {max} bytes"),
        Shape::Word(words) => format!("one of {}", words.join(", ")),
        Shape::AbsolutePath => "an absolute path".to_owned(),
        Shape::Route => "of the form provider/model".to_owned(),
        Shape::List(_, 0, usize::MAX) => "an array".to_owned(),
        Shape::List(_, min, usize::MAX) => format!("an array of at least {min}"),
        Shape::List(_, min, max) => format!("an array of {min} to {max}"),
        Shape::Object(_) | Shape::Named(_) | Shape::Free => "an object".to_owned(),
        Shape::Rules => "an object or an array of rules".to_owned(),
        Shape::Short(short) => format!("{} or an object", expected(&short.scalar)),
    }
}

/// Names what was found. Only numbers and words of a closed list are quoted: anything else may be a secret in the
/// wrong place.
fn found(value: &Value, shape: &Shape) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => value.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) if matches!(shape, Shape::Word(_)) && text.len() <= 64 => format!("{text:?}"),
        Value::String(text) => format!("a string of {} bytes", text.len()),
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// Checks that the objects of a merged document have their required keys.
pub(super) fn check_complete(value: &Value, shape: &Shape, key: &str, origin: &Origin) -> Result<(), Error> {
    match value {
        Value::Object(map) => {
            if let Some(missing) = shape.keys().iter().find(|known| known.required && !map.contains_key(known.name)) {
                let path = join(key, missing.name);
                return Err(origin.error(&path, format!("`{key}` needs `{}`; add it.", missing.name)));
            }
            map.iter().try_for_each(|(name, entry)| match shape.child(name) {
                Some(child) => check_complete(entry, child, &join(key, name), origin),
                None => Ok(()),
            })
        }
        Value::Array(items) => match shape {
            Shape::List(item, ..) => {
                let each = |(index, entry)| check_complete(entry, item, &format!("{key}[{index}]"), origin);
                items.iter().enumerate().try_for_each(each)
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}
