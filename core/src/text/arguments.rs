//! Checking the arguments of a call against a schema. Pure; every refusal names the field and what to do.

use jsonschema::Validator;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::{Value, json};

use super::nearest::nearest;
use crate::types::{JsonMap, ToolError};

/// Longest label for the user interface, in characters.
const INTENT: usize = 200;

/// Whose schema it is: they treat upper limits differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A tool of the library: a `maximum` is published for the model and reduces the value instead of refusing it.
    Library,
    /// A tool of the host or of a service: its `maximum` refuses.
    Foreign,
}

/// A schema ready for checking.
#[derive(Debug)]
pub struct ArgumentSchema {
    owner: Owner,
    own: Value,
    published: Value,
    validator: Validator,
    intent_added: bool,
    large_output_added: bool,
}

/// Arguments that passed, without the common ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The tool's own arguments.
    pub arguments: JsonMap,
    /// Label for the user interface.
    pub intent: Option<String>,
    /// The caller asked for the complete output inline.
    pub accept_large_output: bool,
    /// Values that were reduced to a published maximum.
    pub effective: JsonMap,
}

impl ArgumentSchema {
    /// Compiles a schema. References outside the document are not followed.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn compile(schema: &Value, owner: Owner) -> Result<Self, String> {
        let object = schema.as_object().ok_or("The schema has to be an object.")?;
        if object.get("type").and_then(Value::as_str) != Some("object") {
            return Err("The schema has to describe an object: \"type\": \"object\".".to_owned());
        }
        let own = closed(object);
        let validator = jsonschema::options()
            .offline()
            .build(&own)
            .map_err(|error| format!("The schema cannot be used: {error}."))?;
        let declares = |name: &str| property(&own, name).is_some();
        let (intent_added, large_output_added) = (!declares("intent"), !declares("accept_large_output"));
        let published = publish(&own, intent_added, large_output_added);
        Ok(Self { owner, own, published, validator, intent_added, large_output_added })
    }

    /// What models are shown: the schema with the common arguments.
    pub fn published(&self) -> &Value {
        &self.published
    }

    /// Checks the arguments of one call.
    ///
    /// # Errors
    /// `InvalidArgs` for the first thing that is wrong.
    pub fn check(&self, arguments: &Value) -> Result<Checked, ToolError> {
        let mut map = as_object(arguments)?;
        let intent = self.take_intent(&mut map)?;
        let accept_large_output = self.take_large_output(&mut map)?;
        let mut effective = JsonMap::new();
        if self.owner == Owner::Library {
            self.reduce(&mut map, &mut effective);
        }
        let value = Value::Object(map);
        if let Some(error) = self.validator.iter_errors(&value).min_by_key(|error| rank(error.kind())) {
            return Err(self.refusal(&error));
        }
        let Value::Object(arguments) = value else { return Err(not_an_object(&value)) };
        Ok(Checked { arguments, intent, accept_large_output, effective })
    }

    fn take_intent(&self, map: &mut JsonMap) -> Result<Option<String>, ToolError> {
        if !self.intent_added {
            return Ok(None);
        }
        match map.shift_remove("intent") {
            None => Ok(None),
            Some(Value::String(text)) if text.chars().count() <= INTENT => Ok(Some(text)),
            Some(_) => {
                let message = format!("`intent` has to be a text of at most {INTENT} characters.");
                Err(ToolError::invalid_field("invalid_value", "intent", None, message))
            }
        }
    }

    fn take_large_output(&self, map: &mut JsonMap) -> Result<bool, ToolError> {
        if !self.large_output_added {
            return Ok(false);
        }
        match map.shift_remove("accept_large_output") {
            None => Ok(false),
            Some(Value::Bool(accepted)) => Ok(accepted),
            Some(_) => {
                let message = "`accept_large_output` has to be true or false.";
                Err(ToolError::invalid_field("wrong_type", "accept_large_output", None, message))
            }
        }
    }

    /// Brings integers above a published maximum down to it.
    fn reduce(&self, map: &mut JsonMap, effective: &mut JsonMap) {
        for (name, value) in map.iter_mut() {
            let maximum = property(&self.own, name).and_then(|field| field.get("maximum")).and_then(Value::as_f64);
            let Some(maximum) = maximum else { continue };
            if value.as_f64().is_some_and(|number| number > maximum) {
                *value = property(&self.own, name).and_then(|field| field.get("maximum")).cloned().unwrap_or_default();
                effective.insert(name.clone(), value.clone());
            }
        }
    }

    fn refusal(&self, error: &jsonschema::ValidationError<'_>) -> ToolError {
        let place = field_name(error.instance_path().as_str());
        let named = |place: &str| if place.is_empty() { "The arguments".to_owned() } else { format!("`{place}`") };
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                let field = unexpected.first().cloned().unwrap_or_default();
                self.unknown_field(&place, &field)
            }
            ValidationErrorKind::Required { property } => {
                let field = property.as_str().unwrap_or_default().to_owned();
                let message = format!("The field `{}` is missing.", join(&place, &field));
                ToolError::invalid_field("missing_field", &join(&place, &field), None, message)
            }
            ValidationErrorKind::Type { kind } => {
                let message =
                    format!("{} has to be {}, not {}.", named(&place), types(kind), kind_of(error.instance()));
                ToolError::invalid_field("wrong_type", &place, None, message)
            }
            ValidationErrorKind::Enum { options } => {
                let words: Vec<&str> = options.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                let given = error.instance().as_str().unwrap_or_default();
                let suggestion = nearest(given, words.iter().copied()).map(str::to_owned);
                let message = format!("{} has to be one of {}.", named(&place), words.join(", "));
                ToolError::invalid_field("invalid_value", &place, suggestion, message)
            }
            _ => {
                let message = format!("{} is not acceptable: {}.", named(&place), error.masked());
                ToolError::invalid_field("invalid_value", &place, None, message)
            }
        }
    }

    fn unknown_field(&self, place: &str, field: &str) -> ToolError {
        let known = schema_at(&self.own, place).and_then(|schema| schema.get("properties")).and_then(Value::as_object);
        let names: Vec<&str> = known.into_iter().flat_map(|map| map.keys().map(String::as_str)).collect();
        let suggestion = nearest(field, names.iter().copied()).map(str::to_owned);
        let hint = match &suggestion {
            Some(name) => format!(" Did you mean `{name}`?"),
            None => format!(" Known fields: {}.", names.join(", ")),
        };
        let message = format!("The field `{field}` is not known.{hint}");
        ToolError::invalid_field("unknown_field", &join(place, field), suggestion, message)
    }
}

/// An unknown field is told before a missing one: it is usually the missing one under another name.
fn rank(kind: &ValidationErrorKind) -> u8 {
    match kind {
        ValidationErrorKind::AdditionalProperties { .. } => 0,
        ValidationErrorKind::Required { .. } => 1,
        _ => 2,
    }
}

fn as_object(arguments: &Value) -> Result<JsonMap, ToolError> {
    match arguments {
        Value::Object(map) => Ok(map.clone()),
        // Provider wires carry the arguments as a text that holds the document.
        Value::String(text) => match serde_json::from_str(text) {
            Ok(Value::Object(map)) => Ok(map),
            Ok(other) => Err(not_an_object(&other)),
            Err(error) => Err(ToolError::invalid("not_json", format!("The arguments are not JSON: {error}."))),
        },
        Value::Null => Ok(JsonMap::new()),
        other => Err(not_an_object(other)),
    }
}

fn not_an_object(value: &Value) -> ToolError {
    let message = format!("The arguments have to be a JSON object, not {}.", kind_of(value));
    ToolError::invalid("not_an_object", message)
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => format!("of type {one}"),
        TypeKind::Multiple(set) => {
            format!("of type {}", set.iter().map(|one| one.to_string()).collect::<Vec<_>>().join(" or "))
        }
    }
}

/// A JSON pointer as people write it.
fn field_name(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".").replace("~1", "/").replace("~0", "~")
}

fn join(place: &str, field: &str) -> String {
    if place.is_empty() { field.to_owned() } else { format!("{place}.{field}") }
}

fn property<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    schema.get("properties")?.get(name)
}

/// The schema of a nested place, through properties and array items.
fn schema_at<'a>(schema: &'a Value, place: &str) -> Option<&'a Value> {
    place.split('.').filter(|step| !step.is_empty()).try_fold(schema, |schema, step| {
        if step.bytes().all(|byte| byte.is_ascii_digit()) { schema.get("items") } else { property(schema, step) }
    })
}

/// A schema that says nothing about further fields is closed when it names properties.
fn closed(object: &JsonMap) -> Value {
    let mut own = object.clone();
    own.shift_remove("$schema");
    own.shift_remove("title");
    if own.contains_key("properties") && !own.contains_key("additionalProperties") {
        own.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    Value::Object(own)
}

fn publish(own: &Value, intent: bool, large_output: bool) -> Value {
    let mut published = own.clone();
    if let Some(object) = published.as_object_mut() {
        let properties = object.entry("properties").or_insert_with(|| json!({}));
        if let Some(properties) = properties.as_object_mut() {
            if intent {
                let text = "A few words for the person who watches; no instruction.";
                properties
                    .insert("intent".to_owned(), json!({ "type": "string", "maxLength": INTENT, "description": text }));
            }
            if large_output {
                let text = "Ask for the complete output inline even above the output limits; runs the call again.";
                properties.insert(
                    "accept_large_output".to_owned(),
                    json!({ "type": "boolean", "default": false, "description": text }),
                );
            }
        }
    }
    published
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{BlockKind, ErrorKind};

    fn schema(owner: Owner) -> ArgumentSchema {
        let schema = json!({
            "type": "object", "additionalProperties": false, "required": ["filePath"],
            "properties": {
                "filePath": { "type": "string", "minLength": 1 },
                "limit": { "type": "integer", "minimum": 1, "maximum": 2000 },
                "mode": { "enum": ["fast", "slow"] },
                "items": { "type": "array", "items": { "type": "object", "additionalProperties": false,
                    "properties": { "header": { "type": "string" } } } },
            },
        });
        ArgumentSchema::compile(&schema, owner).unwrap()
    }

    fn refused(arguments: Value) -> (String, Option<String>, Option<String>) {
        let error = schema(Owner::Library).check(&arguments).unwrap_err();
        assert_eq!(error.kind.block_kind(), Some(BlockKind::InvalidArguments));
        match error.kind {
            ErrorKind::InvalidArgs { field, suggestion } => (error.code, field, suggestion),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_unknown_field_names_the_nearest_known_one() {
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(refused(json!({ "filepath": "a" })), ("unknown_field".into(), text("filepath"), text("filePath")));
        assert_eq!(
            refused(json!({ "filePath": "a", "zzzzzzzz": 1 })),
            ("unknown_field".into(), text("zzzzzzzz"), None)
        );
        let nested = json!({ "filePath": "a", "items": [{ "headr": "x" }] });
        assert_eq!(refused(nested), ("unknown_field".into(), text("items.0.headr"), text("header")));
    }

    #[test]
    fn missing_wrong_and_odd_values_are_refused() {
        assert_eq!(refused(json!({})).0, "missing_field");
        assert_eq!(refused(json!({ "filePath": 3 })).0, "wrong_type");
        assert_eq!(refused(json!({ "filePath": "" })).0, "invalid_value");
        assert_eq!(refused(json!({ "filePath": "a", "limit": 0 })).0, "invalid_value");
        assert_eq!(refused(json!({ "filePath": "a", "limit": 1.5 })).0, "wrong_type");
        assert_eq!(refused(json!({ "filePath": "a", "mode": "fats" })).2.as_deref(), Some("fast"));
        assert_eq!(refused(json!({ "filePath": "a", "intent": "x".repeat(201) })).0, "invalid_value");
        assert_eq!(refused(json!("{\"filePath\":")).0, "not_json");
        assert_eq!(refused(json!([1])).0, "not_an_object");
        assert_eq!(refused(json!("[1]")).0, "not_an_object");
    }

    #[test]
    fn a_maximum_reduces_for_the_library_and_refuses_for_a_host() {
        let arguments = json!({ "filePath": "a", "limit": 1e9 as i64 });
        let checked = schema(Owner::Library).check(&arguments).unwrap();
        assert_eq!(checked.arguments["limit"], 2000);
        assert_eq!(checked.effective["limit"], 2000);
        assert!(schema(Owner::Foreign).check(&arguments).is_err());
    }

    #[test]
    fn common_arguments_are_taken_away_unless_the_tool_declares_them() {
        let checked = schema(Owner::Library)
            .check(&json!({ "filePath": "a", "intent": "look", "accept_large_output": true }))
            .unwrap();
        assert_eq!(checked.intent.as_deref(), Some("look"));
        assert!(checked.accept_large_output);
        assert_eq!(Value::Object(checked.arguments), json!({ "filePath": "a" }));

        let own = json!({ "type": "object", "properties": { "intent": { "type": "integer" } } });
        let own = ArgumentSchema::compile(&own, Owner::Foreign).unwrap();
        let checked = own.check(&json!({ "intent": 5 })).unwrap();
        assert_eq!(checked.arguments["intent"], 5);
        assert_eq!(own.published()["properties"]["intent"], json!({ "type": "integer" }));
    }

    #[test]
    fn a_text_that_holds_the_document_is_read() {
        let checked = schema(Owner::Library).check(&json!("{\"filePath\":\"a\"}")).unwrap();
        assert_eq!(checked.arguments["filePath"], "a");
    }
}
