//! Values in texts that people read: whatever someone has written, it is not repeated at length.

use std::fmt;

use serde_json::Value;

/// How many bytes of a value are shown.
const MAX_SHOWN: usize = 256;

/// A value as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown(String);

// === impl Shown ===

impl Shown {
    /// A value, as JSON.
    pub fn of(value: &Value) -> Self {
        Self::text(&value.to_string())
    }

    /// A text, as it is.
    pub fn text(text: &str) -> Self {
        if text.len() <= MAX_SHOWN {
            return Self(text.to_owned());
        }
        let end = text.floor_char_boundary(MAX_SHOWN);
        Self(format!("{}… ({} bytes)", text.get(..end).unwrap_or_default(), text.len()))
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests;
