//! Whether a Bundle leaves room for its status: one whose status cannot be stored would be accepted, and never carried out.

use bailiwick_api::bundle::status_room;
use bailiwick_machinery::{FieldError, FieldPath, Object};
use bailiwick_storage::MAX_VALUE_BYTES;

use super::{asks_the_same, spec_of};
use crate::error::Result;
use crate::ruled_write::RuledWrite;

/// Refuses a Bundle that wants so much that its status may not find room beside it. One that goes, or that wants what it wanted
/// before, is left as it is.
pub(super) fn check(write: RuledWrite<'_>, old: Option<&Object>, new: &Object) -> Result<()> {
    let is_going = new.metadata().deletion_timestamp().is_some();
    if is_going || old.is_some_and(|old| asks_the_same(old, new)) {
        return Ok(());
    }
    let Some(spec) = spec_of(new) else { return Ok(()) };
    let room = MAX_VALUE_BYTES.saturating_sub(status_room(&spec));
    let bytes = bytes(new);
    if bytes <= room {
        return Ok(());
    }
    let why = format!(
        "with what is known of it, the Bundle has {bytes} bytes, and at most {room} leave room for the status of its {} \
         resources; make several Bundles of it",
        spec.resources.len()
    );
    Err(write.invalid([FieldError::invalid(FieldPath::new("spec"), "too large", why)]))
}

/// How large a Bundle is without its status.
fn bytes(bundle: &Object) -> usize {
    let mut bundle = bundle.clone();
    bundle.fields_mut().remove("status");
    // What cannot be written down is refused by whoever stores it.
    serde_json::to_vec(bundle.as_value()).map_or(0, |bytes| bytes.len())
}
