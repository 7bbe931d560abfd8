//! Objects are only where there is a definition for them.

use std::sync::atomic::Ordering;

use async_trait::async_trait;
use bailiwick_machinery::GroupVersion;
use bailiwick_storage::{Expected, Txn};

use super::{GROUP, PLURAL, VERSION};
use crate::admission::{Admission, Proposal};
use crate::context::Ctx;
use crate::error::{Error, Result};
use crate::read::{encoded, failed};
use crate::registry::Registry;

/// Refuses to make objects of a kind whose definition is gone, or about to go.
///
/// A kind is found before the object is read, which takes as long as its sender likes. The definition is the same when the
/// object is made: one that was found to have no objects, and goes, never leaves any behind.
pub(crate) struct DefinitionLifecycle;

// === impl DefinitionLifecycle ===

#[async_trait]
impl Admission for DefinitionLifecycle {
    async fn admit(&self, _: &Ctx<'_>, registry: &Registry, proposal: &Proposal<'_>, txn: Txn) -> Result<Txn> {
        let (None, Some(definition)) = (proposal.old, proposal.kind.kind().definition()) else { return Ok(txn) };
        let gone = || Error::KindGone { resource: proposal.kind.resource() };
        let definitions = registry.find(&GroupVersion::new(GROUP, VERSION), PLURAL).ok_or_else(gone)?;
        let key = definitions.key("", &definition.name).map_err(|_| gone())?;
        let found = registry.cache().get_object(&key, proposal.at).await;
        let (_, found) = found.map_err(|error| failed("create", &definitions, error))?;
        let found = found.ok_or_else(gone)?;
        let revision = found.revision();
        if definition.alive_at.load(Ordering::Relaxed) != revision.get() {
            let object = definitions.read(&encoded(&definitions, &found)?);
            let object = object.map_err(|error| error.about(&definitions.resource(), &definition.name))?;
            if object.metadata().uid() != definition.uid {
                return Err(gone());
            }
            if object.metadata().deletion_timestamp().is_some() {
                return Err(Error::KindTerminating { resource: proposal.kind.resource() });
            }
            definition.alive_at.store(revision.get(), Ordering::Relaxed);
        }
        Ok(txn.require(key, Expected::At(revision)))
    }
}
