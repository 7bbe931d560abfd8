//! Field selectors: `metadata.name=a,spec.size!=b`.
//!
//! Reading and writing follow `k8s.io/apimachinery/pkg/fields` to the letter, and so do the errors. Which fields a kind
//! can be selected by is the kind's business.

use std::fmt;

/// The most bytes of a selector's text.
pub const MAX_SELECTOR_BYTES: usize = 16 * 1024;
/// The most terms of a selector.
pub const MAX_TERMS: usize = 1_000;

/// What fields of an object must be. Without requirements it matches every object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FieldSelector {
    requirements: Vec<FieldRequirement>,
}

/// What one field must be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldRequirement {
    /// The field, such as `metadata.name`.
    pub field: String,
    /// How it relates to the value.
    pub operator: FieldOperator,
    /// The value.
    pub value: String,
}

/// How a field relates to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldOperator {
    /// `field=value` or `field==value`.
    Equals,
    /// `field!=value`.
    NotEquals,
}

/// Why a selector makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldSelectorError {
    /// It has too many bytes.
    #[error("invalid field selector: must be no more than {MAX_SELECTOR_BYTES} bytes")]
    TooLong,
    /// It has too many terms.
    #[error("invalid field selector: must have no more than {MAX_TERMS} terms")]
    TooMany,
    /// A term has no operator.
    #[error("invalid selector: '{selector}'; can't understand '{term}'")]
    NoOperator {
        /// The whole.
        selector: String,
        /// The term.
        term: String,
    },
    /// A backslash is followed by what needs none, or by nothing.
    #[error("invalid field selector: invalid escape sequence: \\{}", .0.map(String::from).unwrap_or_default())]
    InvalidEscape(Option<char>),
    /// A value has a character in it that needs a backslash. It is told by its number, as upstream does.
    #[error("invalid field selector: unescaped character in value: {}", u32::from(*.0))]
    Unescaped(char),
}

// === impl FieldSelector ===

impl FieldSelector {
    /// Matches every object.
    pub fn everything() -> Self {
        Self::default()
    }

    /// Reads the text form. In values, a backslash stands before `\`, `,` and `=`.
    pub fn parse(text: &str) -> Result<Self, FieldSelectorError> {
        if text.len() > MAX_SELECTOR_BYTES {
            return Err(FieldSelectorError::TooLong);
        }
        let mut terms = split_terms(text);
        terms.retain(|term| !term.is_empty());
        if terms.len() > MAX_TERMS {
            return Err(FieldSelectorError::TooMany);
        }
        terms.sort_unstable();
        let mut requirements = Vec::with_capacity(terms.len());
        for term in terms {
            let Some((field, operator, value)) = split_term(term) else {
                let (selector, term) = (text.to_owned(), term.to_owned());
                return Err(FieldSelectorError::NoOperator { selector, term });
            };
            let value = unescape(value)?;
            // A term of neither a field nor a value says nothing.
            if !(field.is_empty() && value.is_empty()) {
                requirements.push(FieldRequirement { field: field.to_owned(), operator, value });
            }
        }
        Ok(Self { requirements })
    }

    /// A selector of these requirements.
    pub fn new(requirements: Vec<FieldRequirement>) -> Self {
        Self { requirements }
    }

    /// Whether it matches every object.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// What must hold, all of it.
    pub fn requirements(&self) -> &[FieldRequirement] {
        &self.requirements
    }

    /// The value that a field must have, if one is required.
    pub fn requires_exact_match(&self, field: &str) -> Option<&str> {
        let mut exact = self.requirements.iter().filter(|requirement| requirement.operator == FieldOperator::Equals);
        exact.find(|requirement| requirement.field == field).map(|requirement| requirement.value.as_str())
    }

    /// Whether an object matches whose fields can be looked up. One that is not there is as good as empty.
    pub fn matches<V: AsRef<str>>(&self, lookup: impl Fn(&str) -> Option<V>) -> bool {
        self.requirements.iter().all(|requirement| {
            let value = lookup(&requirement.field);
            let equal = value.as_ref().map_or("", AsRef::as_ref) == requirement.value;
            equal == (requirement.operator == FieldOperator::Equals)
        })
    }
}

/// The canonical form.
impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, requirement) in self.requirements.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}

impl std::str::FromStr for FieldSelector {
    type Err = FieldSelectorError;

    fn from_str(text: &str) -> Result<Self, FieldSelectorError> {
        Self::parse(text)
    }
}

// === impl FieldRequirement ===

impl fmt::Display for FieldRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator = match self.operator {
            FieldOperator::Equals => "=",
            FieldOperator::NotEquals => "!=",
        };
        write!(f, "{}{operator}{}", self.field, escape_value(&self.value))
    }
}

/// A value as it is written into a selector.
pub fn escape_value(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for c in value.chars() {
        if is_special(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

fn unescape(value: &str) -> Result<String, FieldSelectorError> {
    let mut plain = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(escaped) if is_special(escaped) => plain.push(escaped),
                other => return Err(FieldSelectorError::InvalidEscape(other)),
            },
            c if is_special(c) => return Err(FieldSelectorError::Unescaped(c)),
            c => plain.push(c),
        }
    }
    Ok(plain)
}

fn is_special(c: char) -> bool {
    matches!(c, '\\' | ',' | '=')
}

/// What stands between commas. A backslash keeps what follows it from being one.
fn split_terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b',' => {
                terms.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

/// The field before the first operator, and the value after it. Fields have no escapes.
fn split_term(term: &str) -> Option<(&str, FieldOperator, &str)> {
    let at = term.find('=')?;
    let (before, after) = (&term[..at], &term[at + 1..]);
    Some(match before.strip_suffix('!') {
        Some(field) => (field, FieldOperator::NotEquals, after),
        None => (before, FieldOperator::Equals, after.strip_prefix('=').unwrap_or(after)),
    })
}

#[cfg(test)]
mod tests;
