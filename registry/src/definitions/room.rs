//! Whether a definition leaves room for its status: one whose status cannot be stored would be accepted, and never served.

use async_trait::async_trait;
use bailiwick_machinery::crd::{Condition, Definition, Names};
use bailiwick_machinery::{FieldError, FieldPath, Object, encode};
use bailiwick_storage::{MAX_VALUE_BYTES, Txn};
use serde_json::json;

use super::is_definition;
use crate::admission::{Admission, Proposal};
use crate::context::Ctx;
use crate::error::Result;
use crate::registry::Registry;
use crate::ruled_write::RuledWrite;
use crate::update::Part;

/// For what is said of every definition and who says it, from its creation to its end: that is less than half of this.
const FOR_ALL: usize = 8 << 10;
/// For what is said of its names, as many times as these are long: each is granted, or refused in a sentence of its own.
const FOR_NAMES: usize = 8;

/// Refuses definitions that are so large that their status may not find room beside them.
pub(crate) struct RoomForStatus;

#[async_trait]
impl Admission for RoomForStatus {
    async fn admit(&self, ctx: &Ctx<'_>, _: &Registry, proposal: &Proposal<'_>, txn: Txn) -> Result<Txn> {
        let (true, Part::Main, Some(new)) = (is_definition(proposal.kind), proposal.part, proposal.new) else {
            return Ok(txn);
        };
        let write = RuledWrite { ctx, kind: proposal.kind, namespace: "", name: proposal.name() };
        check(write, proposal.old, new)?;
        Ok(txn)
    }
}

/// One that goes, or that becomes no larger, is left as it is.
fn check(write: RuledWrite<'_>, old: Option<&Object>, new: &Object) -> Result<()> {
    let bytes = size(new);
    let is_going = new.metadata().deletion_timestamp().is_some();
    if is_going || old.is_some_and(|old| bytes <= size(old)) {
        return Ok(());
    }
    let Ok(definition) = Definition::from_object(new) else { return Ok(()) };
    let room = MAX_VALUE_BYTES.saturating_sub(status_room(&definition));
    if bytes <= room {
        return Ok(());
    }
    let why = format!(
        "with what is known of it, the definition has {bytes} bytes, and at most {room} leave room for its status; \
         shorten its descriptions"
    );
    Err(write.invalid([FieldError::invalid(FieldPath::new("spec"), "too large", why)]))
}

/// How many bytes the status of a definition may come to have, with what else the server notes in it. Names that it has stand
/// there, too, as long as it cannot have those that it wants.
fn status_room(definition: &Definition) -> usize {
    let bytes = |names: &Names| encode::json_len(&json!(names));
    let names = FOR_NAMES * bytes(&definition.spec.names) + bytes(&definition.status.accepted_names);
    let approval = Condition::approval(definition).map_or(0, |approval| encode::json_len(&json!(approval)));
    FOR_ALL + names + approval
}

/// How many bytes a definition has when it is stored, without its status. In which versions there are objects is noted with
/// the versions, and not later.
fn size(definition: &Object) -> usize {
    let part = |path: &str| definition.as_value().pointer(path).map_or(0, encode::json_len);
    encode::json_len(definition.as_value()) - part("/status") + part("/status/storedVersions")
}
