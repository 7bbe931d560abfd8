//! Label selectors: from text and from their structured form, back to text, and whether they match.
//!
//! Reading and writing follow `k8s.io/apimachinery/pkg/labels` to the letter, and so do the errors.

mod parse;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::field::{FieldError, FieldErrors, FieldPath};
use crate::go;
use crate::metadata::{MAX_ERRORS, validate_labels};
use crate::name::{MAX_DNS_SUBDOMAIN_BYTES, MAX_LABEL_BYTES, Messages, label_value, qualified_name};

/// The most bytes of a selector's text.
pub const MAX_SELECTOR_BYTES: usize = 16 * 1024;
/// The most requirements of a selector.
pub const MAX_REQUIREMENTS: usize = 1_000;

/// What labels an object must have. Without requirements it matches every object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Selector {
    /// Sorted by key; those of one key in the order in which they were given.
    requirements: Vec<Requirement>,
}

/// What one label must be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Requirement {
    key: String,
    operator: Operator,
    /// Sorted.
    values: Vec<String>,
}

/// How a label's value relates to those of a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `key`: it is there.
    Exists,
    /// `!key`: it is not there.
    DoesNotExist,
    /// `key=value`.
    Equals,
    /// `key==value`, which means the same.
    DoubleEquals,
    /// `key!=value`: another value or none.
    NotEquals,
    /// `key in (a,b)`.
    In,
    /// `key notin (a,b)`: another value or none.
    NotIn,
    /// `key>1`: an integer that is greater.
    GreaterThan,
    /// `key<1`: an integer that is less.
    LessThan,
}

/// A label selector as it is written into objects: `LabelSelector` of `meta/v1`. An object that has none at all selects
/// nothing; one that is empty selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// Labels with the values they must have.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// What else must hold.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<LabelSelectorRequirement>,
}

/// One of the `matchExpressions`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LabelSelectorRequirement {
    /// The label's key.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// The values, for `In` and `NotIn`.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

/// Why a selector makes no sense.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// It has too many bytes.
    #[error("label selector must be no more than {MAX_SELECTOR_BYTES} bytes")]
    TooLong,
    /// It has too many requirements.
    #[error("label selector must have no more than {MAX_REQUIREMENTS} requirements")]
    TooMany,
    /// There is something else than a requirement, a comma or the end.
    #[error("{0}")]
    Syntax(Unexpected),
    /// A requirement is not written as one.
    #[error("unable to parse requirement: {0}")]
    RequirementSyntax(Unexpected),
    /// A requirement's key or value cannot be one.
    #[error("unable to parse requirement: {0}")]
    RequirementInvalid(FieldErrors),
    /// A key, or the values, of the structured form cannot be right.
    #[error("{0}")]
    Invalid(FieldErrors),
    /// An operator of the structured form does not exist.
    #[error("{} is not a valid label selector operator", go::quote(.0))]
    UnknownOperator(String),
}

/// Something that should not stand where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unexpected {
    /// What stands there.
    pub found: String,
    /// What could.
    pub expected: Expected,
}

/// What could stand at some place of a selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// A requirement, or nothing.
    RequirementOrEnd,
    /// Another requirement, or nothing.
    CommaOrEnd,
    /// A requirement.
    RequirementAfterComma,
    /// A key or a value.
    Identifier,
    /// An operator between a key and a value.
    Operator,
    /// The start of a list of values.
    OpenParenthesis,
    /// The rest of a list of values.
    ValuesOrEnd,
    /// Another value.
    CommaOrIdentifier,
    /// Another value, or the end of the list.
    CommaOrClose,
}

// === impl Selector ===

impl Selector {
    /// Matches every object.
    pub fn everything() -> Self {
        Self::default()
    }

    /// Reads the text form: `a=b,c!=d,e in (x,y),f notin (z),g,!h,i>1,j<2`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        if text.len() > MAX_SELECTOR_BYTES {
            return Err(Error::TooLong);
        }
        parse::Parser::new(text).selector()
    }

    /// A selector of these requirements.
    pub fn new(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Self { requirements }
    }

    /// Whether it matches every object.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// What must hold, all of it, sorted by key.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// The only value that a label may have, if the first requirement about it says so.
    pub fn requires_exact_match(&self, key: &str) -> Option<&str> {
        let first = self.requirements.get(self.requirements.partition_point(|requirement| *requirement.key < *key))?;
        match (&*first.key == key, first.operator, first.values.as_slice()) {
            (true, Operator::Equals | Operator::DoubleEquals | Operator::In, [value]) => Some(value),
            _ => None,
        }
    }

    /// Whether labels that can be looked up match.
    pub fn matches<'l>(&self, lookup: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.requirements.iter().all(|requirement| requirement.matches(lookup(&requirement.key)))
    }

    /// Whether labels that can be walked through match; no key may occur twice.
    pub fn matches_all<'l>(&self, labels: impl IntoIterator<Item = (&'l str, &'l str)>) -> bool {
        if self.is_empty() {
            return true;
        }
        // Each label decides the requirements on its key. What is left was about labels that are not there.
        let mut decided = 0;
        for (key, value) in labels {
            let start = self.requirements.partition_point(|requirement| *requirement.key < *key);
            for requirement in self.requirements[start..].iter().take_while(|requirement| requirement.key == key) {
                if !requirement.matches(Some(value)) {
                    return false;
                }
                decided += usize::from(!requirement.matches(None));
            }
        }
        decided == self.requirements.iter().filter(|requirement| !requirement.matches(None)).count()
    }
}

/// The canonical form.
impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, requirement) in self.requirements.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}

impl std::str::FromStr for Selector {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text)
    }
}

// === impl Requirement ===

impl Requirement {
    /// A requirement, if its key, its operator and its values go together.
    pub fn new(key: impl Into<String>, operator: Operator, mut values: Vec<String>) -> Result<Self, FieldErrors> {
        let key = key.into();
        let mut errors = FieldErrors::default();
        check_key(&key, FieldPath::new("key"), &mut errors);
        // The key is repeated with every value that is wrong: one that no label can have is all that is told.
        if key.len() > MAX_DNS_SUBDOMAIN_BYTES + "/".len() + MAX_LABEL_BYTES {
            return Err(errors);
        }

        let path = FieldPath::new("values");
        let count = match operator {
            Operator::In | Operator::NotIn if values.is_empty() => {
                Some("for 'in', 'notin' operators, values set can't be empty")
            }
            Operator::In | Operator::NotIn => None,
            Operator::Equals | Operator::DoubleEquals | Operator::NotEquals => {
                (values.len() != 1).then_some("exact-match compatibility requires one single value")
            }
            Operator::Exists | Operator::DoesNotExist => {
                (!values.is_empty()).then_some("values set must be empty for exists and does not exist")
            }
            Operator::GreaterThan | Operator::LessThan => {
                (values.len() != 1).then_some("for 'Gt', 'Lt' operators, exactly one value is required")
            }
        };
        if let Some(detail) = count {
            // How Go writes a list that was never given.
            let shown = if values.is_empty() { Value::Null } else { values.clone().into() };
            errors.push(FieldError::invalid(path.clone(), shown, detail));
        }
        if matches!(operator, Operator::GreaterThan | Operator::LessThan) {
            for (i, value) in values.iter().enumerate().filter(|(_, value)| value.parse::<i64>().is_err()) {
                let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
                errors.push(FieldError::invalid(path.index(i), value.as_str(), detail));
            }
        }
        for (i, value) in values.iter().enumerate() {
            let messages = label_value(value);
            if !messages.is_empty() {
                errors.push(FieldError::invalid(path.index(i).key(&key), value.as_str(), joined(&messages)));
            }
            if errors.as_slice().len() >= MAX_ERRORS {
                break;
            }
        }
        errors.into_result()?;
        values.sort_unstable();
        Ok(Self { key, operator, values })
    }

    /// The label's key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// How the label relates to the values.
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// The values, sorted.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// Whether a label matches that has this value or is not there.
    pub fn matches(&self, value: Option<&str>) -> bool {
        match self.operator {
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::Equals | Operator::DoubleEquals | Operator::In => value.is_some_and(|value| self.has(value)),
            Operator::NotEquals | Operator::NotIn => value.is_none_or(|value| !self.has(value)),
            Operator::GreaterThan => self.compare(value).is_some_and(|(value, bound)| value > bound),
            Operator::LessThan => self.compare(value).is_some_and(|(value, bound)| value < bound),
        }
    }

    fn has(&self, value: &str) -> bool {
        self.values.binary_search_by(|known| known.as_str().cmp(value)).is_ok()
    }

    /// The label and the bound, if both are integers.
    fn compare(&self, value: Option<&str>) -> Option<(i64, i64)> {
        Some((value?.parse().ok()?, self.values.first()?.parse().ok()?))
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, values) = (&self.key, self.values.join(","));
        match self.operator {
            Operator::Exists => write!(f, "{key}"),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::Equals => write!(f, "{key}={values}"),
            Operator::DoubleEquals => write!(f, "{key}=={values}"),
            Operator::NotEquals => write!(f, "{key}!={values}"),
            Operator::In => write!(f, "{key} in ({values})"),
            Operator::NotIn => write!(f, "{key} notin ({values})"),
            Operator::GreaterThan => write!(f, "{key}>{values}"),
            Operator::LessThan => write!(f, "{key}<{values}"),
        }
    }
}

// === impl LabelSelector ===

impl LabelSelector {
    /// The selector to match with. The first error is told.
    pub fn to_selector(&self) -> Result<Selector, Error> {
        if self.match_labels.len().saturating_add(self.match_expressions.len()) > MAX_REQUIREMENTS {
            return Err(Error::TooMany);
        }
        let mut requirements = Vec::with_capacity(self.match_labels.len() + self.match_expressions.len());
        for (key, value) in &self.match_labels {
            let requirement = Requirement::new(key, Operator::Equals, vec![value.clone()]);
            requirements.push(requirement.map_err(Error::Invalid)?);
        }
        for LabelSelectorRequirement { key, operator, values } in &self.match_expressions {
            let operator = match operator.as_str() {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                other => return Err(Error::UnknownOperator(other.to_owned())),
            };
            requirements.push(Requirement::new(key, operator, values.clone()).map_err(Error::Invalid)?);
        }
        Ok(Selector::new(requirements))
    }

    /// Checks it where it is a part of an object. All errors are told.
    pub fn validate(&self, path: &FieldPath, errors: &mut FieldErrors) {
        let count = self.match_labels.len().saturating_add(self.match_expressions.len());
        if count > MAX_REQUIREMENTS {
            errors.push(FieldError::too_many(path.clone(), count, MAX_REQUIREMENTS));
            return;
        }
        let labels = self.match_labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        validate_labels(labels, &path.child("matchLabels"), errors);
        for (i, expression) in self.match_expressions.iter().enumerate() {
            expression.validate(&path.child("matchExpressions").index(i), errors);
        }
    }
}

impl LabelSelectorRequirement {
    fn validate(&self, path: &FieldPath, errors: &mut FieldErrors) {
        let values = path.child("values");
        match (self.operator.as_str(), self.values.is_empty()) {
            ("In" | "NotIn", true) => {
                errors
                    .push(FieldError::required(values.clone(), "must be specified when `operator` is 'In' or 'NotIn'"));
            }
            ("Exists" | "DoesNotExist", false) => {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(FieldError::forbidden(values.clone(), detail));
            }
            ("In" | "NotIn" | "Exists" | "DoesNotExist", _) => {}
            (other, _) => {
                let detail = "not a valid selector operator";
                errors.push(FieldError::invalid_json(path.child("operator"), &other, detail));
            }
        }
        let key = path.child("key");
        let invalid = |path: FieldPath, value: &str, message| FieldError::invalid(path, value, message);
        errors.extend(qualified_name(&self.key).into_iter().map(|message| invalid(key.clone(), &self.key, message)));
        for (i, value) in self.values.iter().enumerate() {
            errors.extend(label_value(value).into_iter().map(|message| invalid(values.index(i), value, message)));
            if errors.as_slice().len() >= MAX_ERRORS {
                return;
            }
        }
    }
}

// === impl Unexpected ===

impl fmt::Display for Unexpected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expected = match self.expected {
            Expected::RequirementOrEnd => ", expected: !, identifier, or 'end of string'",
            Expected::CommaOrEnd => ", expected: ',' or 'end of string'",
            Expected::RequirementAfterComma => ", expected: identifier after ','",
            Expected::Identifier => ", expected: identifier",
            Expected::Operator => ", expected: in, notin, =, ==, !=, gt, lt",
            Expected::OpenParenthesis => " expected: '('",
            Expected::ValuesOrEnd => ", expected: ',', ')' or identifier",
            Expected::CommaOrIdentifier => ", expected: ',', or identifier",
            Expected::CommaOrClose => ", expected: ',' or ')'",
        };
        write!(f, "found '{}'{expected}", self.found)
    }
}

fn check_key(key: &str, path: FieldPath, errors: &mut FieldErrors) {
    let messages = qualified_name(key);
    if !messages.is_empty() {
        errors.push(FieldError::invalid(path, key, joined(&messages)));
    }
}

fn joined(messages: &Messages) -> String {
    messages.join("; ")
}

fn null_as_default<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Deserialize<'de> + Default,
    D: Deserializer<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests;
