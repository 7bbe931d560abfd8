//! How much a merge may compare. Looking each item of a long list up in another takes the product of their lengths.

use serde_json::Value;

use super::{Result, StrategicError};
use crate::patch::MAX_WORK;

/// What is left to be done.
pub(super) struct Work {
    left: usize,
}

// === impl Work ===

impl Work {
    pub(super) fn new() -> Self {
        Self { left: MAX_WORK }
    }

    /// So many comparisons more.
    pub(super) fn charge(&mut self, count: usize) -> Result<()> {
        self.left = self.left.checked_sub(count).ok_or(StrategicError::TooMuchWork)?;
        Ok(())
    }
}

/// Whether two values are equal to Go, which does not compare lists and objects.
pub(super) fn equal(left: &Value, right: &Value) -> Result<bool> {
    match (left, right) {
        (Value::Array(_), Value::Array(_)) | (Value::Object(_), Value::Object(_)) => Err(StrategicError::Incomparable),
        _ => Ok(crate::go::same(left, right)),
    }
}

/// Refuses values that cannot be looked up.
pub(super) fn comparable(values: &[Value]) -> Result<()> {
    if values.iter().any(|value| value.is_array() || value.is_object()) {
        return Err(StrategicError::Incomparable);
    }
    Ok(())
}
