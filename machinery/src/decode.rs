//! From the bytes of a request to a JSON value.
//!
//! JSON and YAML are read as kube-apiserver reads them, down to its mistakes: the last of several equal keys wins, bytes
//! that are no UTF-8 become U+FFFD, whole numbers beyond 64 bits lose their last digits, and in YAML `yes` is true. What a
//! strict reader would refuse is kept beside the value, and `FieldValidation` says what becomes of it.
//!
//! What is read takes at most `MAX_DECODED` bytes of memory, however short the text is.
//!
//! Nothing here recurses deeper than `MAX_DEPTH`, and no value is made that does, so that whoever walks, clones or drops
//! a decoded value may recurse.

mod budget;
mod json;
mod yaml;

use std::fmt;

use serde_json::Value;

use crate::go;
use crate::media::MediaType;
use crate::object::Object;

pub(crate) use budget::Budget;
pub use budget::MAX_DECODED;
pub use json::from_json;
pub(crate) use json::{MAX_PATH, object_or_error};
pub(crate) use yaml::cut;
pub(crate) use yaml::resolve::looks_like_text;
pub use yaml::{MAX_ALIASED, from_yaml};

/// How deep objects and lists may be nested, in every encoding and after every patch.
///
/// Go stops at 10,000. Everything built on serde_json, clients in Rust among them, stops at 127, so an object deeper than
/// that could be written and then not be read by them; a few levels are left for the lists, watch events and reviews
/// that objects travel in. The deepest objects people write, schemas inside definitions, have about 40 levels.
pub const MAX_DEPTH: usize = 120;

/// How many duplicate fields are told of; upstream stops at the same number.
pub const MAX_PROBLEMS: usize = 100;

/// A value, and what is questionable about how it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// The value.
    pub value: Value,
    /// The fields that occur more than once in one object, each once, at most `MAX_PROBLEMS`.
    pub duplicates: Vec<Duplicate>,
}

/// A field that occurs more than once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// Where: `spec.parts[2].name`.
    pub path: String,
    /// In YAML: the line of the value, and the key as Go prints it.
    pub yaml: Option<(usize, String)>,
}

/// What becomes of fields that are unknown or occur twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FieldValidation {
    /// Nothing.
    Ignore,
    /// The client is warned of each.
    #[default]
    Warn,
    /// The request fails.
    Strict,
}

/// The fields that a strict reader refuses: `strict decoding error: unknown field "spec.foo"`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("strict decoding error: {}", problems.join(", "))]
pub struct StrictDecodingError {
    /// One text for each problem.
    pub problems: Vec<String>,
}

/// Why bytes are no value. The texts are those of Go's JSON and YAML packages, where these have one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// JSON that stops early.
    #[error("unexpected end of JSON input")]
    UnexpectedEnd,
    /// A byte that cannot stand where it stands.
    #[error("invalid character {} {expected}", quote_byte(*found))]
    UnexpectedByte {
        /// The byte; a space where the end was found inside a word.
        found: u8,
        /// What was being read.
        expected: &'static str,
    },
    /// A number that no 64-bit floating-point number comes near.
    #[error("json: cannot unmarshal number {number} into Go value of type float64")]
    NumberOutOfRange {
        /// The number as it was written, cut if it is long.
        number: String,
    },
    /// More values than there is memory for.
    #[error("the values in the body take more than {MAX_DECODED} bytes of memory")]
    TooManyValues,
    /// A value where an object must be.
    #[error("json: cannot unmarshal {found} into Go value of type map[string]interface {{}}")]
    NotAnObject {
        /// What it is.
        found: &'static str,
    },
    /// YAML that is malformed.
    #[error("yaml: {}{problem}", Line(*line))]
    Yaml {
        /// The line, if it is not the first.
        line: Option<usize>,
        /// What is wrong, in the words of the parser.
        problem: String,
    },
    /// YAML that is nested too deep.
    #[error("yaml: exceeded max depth of {MAX_DEPTH}")]
    YamlTooDeep,
    /// YAML whose aliases make it too large.
    #[error("yaml: document contains excessive aliasing")]
    ExcessiveAliasing,
    /// An alias inside of what it stands for.
    #[error("yaml: anchor '{anchor}' value contains itself")]
    SelfAlias {
        /// The name of the anchor.
        anchor: String,
    },
    /// A merge of something that is no mapping.
    #[error("yaml: map merge requires map or sequence of maps as the value")]
    BadMerge,
    /// A mapping or a sequence as a key.
    #[error("yaml: invalid map key: {kind}")]
    CollectionKey {
        /// Which of the two.
        kind: &'static str,
    },
    /// A key that JSON has no place for.
    #[error("unsupported map key of type: {kind}")]
    UnsupportedKey {
        /// The type of the key.
        kind: &'static str,
    },
    /// A scalar that is not what its tag says.
    #[error("yaml: cannot decode {actual} `{value}` as a {tag}")]
    WrongTag {
        /// The type that the scalar looks like.
        actual: &'static str,
        /// The scalar, cut if it is long.
        value: String,
        /// The tag.
        tag: &'static str,
    },
    /// A `!!binary` that is no base64.
    #[error("yaml: !!binary value contains invalid base64 data")]
    BadBinary,
    /// Infinity, or not a number: JSON has neither.
    #[error("json: unsupported value: {number}")]
    NotFinite {
        /// As Go writes it.
        number: &'static str,
    },
    /// A body in an encoding that this function does not read.
    #[error("no reader for {0}")]
    Unreadable(MediaType),
}

/// Reads a request body. `MediaType::Protobuf` is not read here: it needs the kind's descriptor.
pub fn decode(media_type: MediaType, body: &[u8]) -> Result<Decoded, DecodeError> {
    match media_type {
        MediaType::Json => from_json(body),
        MediaType::Yaml => from_yaml(body),
        MediaType::Protobuf => Err(DecodeError::Unreadable(media_type)),
    }
}

// === impl Decoded ===

impl Decoded {
    /// The value as an object, and the duplicates.
    pub fn into_object(self) -> Result<(Object, Vec<Duplicate>), DecodeError> {
        let object = object_or_error(self.value)?;
        Ok((Object::new(object), self.duplicates))
    }

    /// One text for each problem with how the value was written. YAML's are one text together, as upstream has it.
    pub fn problems(&self) -> Vec<String> {
        problems(&self.duplicates)
    }
}

/// One text for each problem; those of YAML are one text together.
pub fn problems(duplicates: &[Duplicate]) -> Vec<String> {
    let mut texts = Vec::new();
    let mut lines = String::new();
    for duplicate in duplicates {
        match &duplicate.yaml {
            None => texts.push(format!("duplicate field {}", go::quote(&duplicate.path))),
            Some((line, key)) => lines.push_str(&format!("\n  line {line}: key {key} already set in map")),
        }
    }
    if !lines.is_empty() {
        texts.push(format!("yaml: unmarshal errors:{lines}"));
    }
    texts
}

// === impl FieldValidation ===

impl FieldValidation {
    /// Reads the request parameter; an empty one is the default. `None` if it is none of the three.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "" | "Warn" => Some(Self::Warn),
            "Ignore" => Some(Self::Ignore),
            "Strict" => Some(Self::Strict),
            _ => None,
        }
    }

    /// What becomes of a value in which `problems` were found while reading it and the fields `unknown` are not part of
    /// the schema: the warnings to send along, or the failure. Upstream tells of what it found while reading first.
    pub fn apply(self, problems: Vec<String>, unknown: &[String]) -> Result<Vec<String>, StrictDecodingError> {
        let mut problems = problems;
        problems.extend(unknown.iter().map(|path| format!("unknown field \"{path}\"")));
        match self {
            Self::Ignore => Ok(Vec::new()),
            Self::Warn => Ok(problems),
            Self::Strict if problems.is_empty() => Ok(Vec::new()),
            Self::Strict => Err(StrictDecodingError { problems }),
        }
    }
}

struct Line(Option<usize>);

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |line| write!(f, "line {line}: "))
    }
}

/// A byte as Go's JSON package shows it: as the character of that number, in single quotes.
fn quote_byte(byte: u8) -> String {
    match byte {
        b'\'' => "'\\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        // These print as `\u00ad` and `\u00a0` in Go, being neither letters nor marks nor symbols.
        0xa0 | 0xad => format!("'\\u{byte:04x}'"),
        byte => {
            let quoted = go::quote(&char::from(byte).to_string());
            format!("'{}'", quoted.trim_matches('"'))
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
