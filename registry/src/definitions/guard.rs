//! No definition takes the place of what the program itself serves.

use async_trait::async_trait;
use bailiwick_storage::Txn;

use super::is_definition;
use crate::admission::{Admission, Proposal};
use crate::context::Ctx;
use crate::error::{Error, Result};
use crate::registry::Registry;

/// Refuses definitions in groups that the program itself serves.
pub(crate) struct NoShadowing;

#[async_trait]
impl Admission for NoShadowing {
    async fn admit(&self, _: &Ctx<'_>, registry: &Registry, proposal: &Proposal<'_>, txn: Txn) -> Result<Txn> {
        let (true, None, Some(new)) = (is_definition(proposal.kind), proposal.old, proposal.new) else {
            return Ok(txn);
        };
        let group = new.as_value().pointer("/spec/group").and_then(serde_json::Value::as_str).unwrap_or_default();
        if !registry.serves_natively(group) {
            return Ok(txn);
        }
        Err(Error::Forbidden {
            resource: proposal.kind.resource(),
            name: proposal.name().to_owned(),
            why: format!("the group \"{group}\" is served by this server itself: define the kind in another group"),
            causes: Vec::new(),
        })
    }
}
