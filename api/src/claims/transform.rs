//! What is done with a claim's value before it is compared or handed on.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How many transforms there may be one after the other.
const MAX_TRANSFORMS: usize = 16;
/// How long a text may become.
const MAX_TEXT: usize = 32 * 1_024;

/// Transforms as they are written: an object of several, which are carried out in a fixed order (toupper, tolower, replace,
/// map, prefix, suffix), or a list of objects with one each, which are carried out in the order of the list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Transforms(pub Value);

/// One transform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transform {
    /// To upper case.
    ToUpper,
    /// To lower case.
    ToLower,
    /// Each occurrence of a text becomes another.
    Replace {
        /// The text.
        string: String,
        /// The other.
        with: String,
    },
    /// The value becomes the one that stands behind it.
    Map(BTreeMap<String, String>),
    /// Something stands before it.
    Prefix(String),
    /// Something stands behind it.
    Suffix(String),
}

/// Why transforms make no sense, or cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransformError {
    /// They are not written as transforms.
    #[error("{0}")]
    Unreadable(String),
    /// There is not exactly one in an item of the list.
    #[error("item {0} must hold exactly one of toupper, tolower, replace, map, prefix and suffix")]
    NotOne(usize),
    /// There are too many.
    #[error("must be no more than {MAX_TRANSFORMS} transforms")]
    TooMany,
    /// A text is replaced everywhere that has no letters.
    #[error("replace.string must not be empty")]
    ReplacesNothing,
    /// The value has no text.
    #[error("{transform} cannot be applied to {kind}")]
    NotText {
        /// Which transform.
        transform: &'static str,
        /// What the value is.
        kind: &'static str,
    },
    /// The map has no such value.
    #[error("map has no entry for \"{0}\"")]
    NotMapped(String),
    /// The text became too long.
    #[error("the text becomes longer than {MAX_TEXT} bytes")]
    TooLong,
}

/// Several transforms, as an object states them.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
struct Written {
    toupper: bool,
    tolower: bool,
    replace: Option<WrittenReplace>,
    map: Option<BTreeMap<String, String>>,
    prefix: Option<String>,
    suffix: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenReplace {
    string: String,
    #[serde(default)]
    with: String,
}

// === impl Transforms ===

impl Transforms {
    /// The transforms in the order in which they are carried out.
    pub fn steps(&self) -> Result<Vec<Transform>, TransformError> {
        let steps = match &self.0 {
            Value::Null => Vec::new(),
            Value::Array(items) => {
                if items.len() > MAX_TRANSFORMS {
                    return Err(TransformError::TooMany);
                }
                let one = |(index, item): (usize, &Value)| match <[Transform; 1]>::try_from(read(item)?) {
                    Ok([transform]) => Ok(transform),
                    Err(_) => Err(TransformError::NotOne(index)),
                };
                items.iter().enumerate().map(one).collect::<Result<_, _>>()?
            }
            map => read(map)?,
        };
        let is_empty =
            |transform: &Transform| matches!(transform, Transform::Replace { string, .. } if string.is_empty());
        if steps.iter().any(is_empty) { Err(TransformError::ReplacesNothing) } else { Ok(steps) }
    }
}

/// What is written in one object, in the fixed order.
fn read(value: &Value) -> Result<Vec<Transform>, TransformError> {
    let written = Written::deserialize(value).map_err(|error| TransformError::Unreadable(error.to_string()))?;
    let steps = [
        written.toupper.then_some(Transform::ToUpper),
        written.tolower.then_some(Transform::ToLower),
        written.replace.map(|WrittenReplace { string, with }| Transform::Replace { string, with }),
        written.map.map(Transform::Map),
        written.prefix.map(Transform::Prefix),
        written.suffix.map(Transform::Suffix),
    ];
    Ok(steps.into_iter().flatten().collect())
}

impl JsonSchema for Transforms {
    fn schema_name() -> Cow<'static, str> {
        "Transforms".into()
    }

    fn inline_schema() -> bool {
        true
    }

    // An object or a list: a structural schema has no word for that but to leave it open. What it holds is checked when it is
    // written.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "x-kubernetes-preserve-unknown-fields": true })
    }
}

// === impl Transform ===

impl Transform {
    /// The value behind all of them.
    pub fn apply_all(steps: &[Self], value: &Value) -> Result<Value, TransformError> {
        let Some(first) = steps.first() else { return Ok(value.clone()) };
        let mut text = first.text_of(value)?;
        for step in steps {
            text = step.apply(text)?;
            if text.len() > MAX_TEXT {
                return Err(TransformError::TooLong);
            }
        }
        Ok(Value::String(text))
    }

    fn apply(&self, text: String) -> Result<String, TransformError> {
        Ok(match self {
            Self::ToUpper => text.to_uppercase(),
            Self::ToLower => text.to_lowercase(),
            Self::Replace { string, with } => {
                let growth = with.len().saturating_mul(text.matches(string.as_str()).count());
                if growth > MAX_TEXT {
                    return Err(TransformError::TooLong);
                }
                text.replace(string.as_str(), with)
            }
            Self::Map(map) => map.get(&text).cloned().ok_or(TransformError::NotMapped(text))?,
            Self::Prefix(prefix) => format!("{prefix}{text}"),
            Self::Suffix(suffix) => text + suffix,
        })
    }

    /// A value as text: numbers and truth as they are written.
    fn text_of(&self, value: &Value) -> Result<String, TransformError> {
        let kind = match value {
            Value::String(text) => return Ok(text.clone()),
            Value::Number(_) | Value::Bool(_) => return Ok(value.to_string()),
            Value::Null => "null",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        Err(TransformError::NotText { transform: self.name(), kind })
    }

    fn name(&self) -> &'static str {
        match self {
            Self::ToUpper => "toupper",
            Self::ToLower => "tolower",
            Self::Replace { .. } => "replace",
            Self::Map(_) => "map",
            Self::Prefix(_) => "prefix",
            Self::Suffix(_) => "suffix",
        }
    }
}

#[cfg(test)]
mod tests;
