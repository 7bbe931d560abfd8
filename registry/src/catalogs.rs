//! Catalogs: who may publish what, who may claim it, and what is known of an entry when it is written.
//!
//! ```text
//! entry ──▶ may its writer get what it exposes? may its account? ──▶ names and UIDs, in the status of the answer
//! claim ──▶ may its writer claim here? is the entry in the catalog? may they act as the account? ──▶ stored
//! ```
//!
//! All of this is asked when something is written, because only then is it known who writes. What follows from it later is
//! done by controllers, as service accounts that were named here.

mod claims;
mod entries;
mod exposure;
mod lists;
mod locate;

use std::sync::Arc;

use async_trait::async_trait;
use bailiwick_machinery::Object;
use bailiwick_storage::Txn;

pub use self::exposure::Exposure;

use crate::admission::{Admission, Proposal};
use crate::context::Ctx;
use crate::error::Result;
use crate::host::Host;
use crate::registry::Registry;
use crate::ruled_write::RuledWrite;
use crate::served_kind::ServedKind;

/// The group of catalogs' kinds.
pub(crate) const GROUP: &str = "catalog.bailiwick.dev";
/// Its version.
pub(crate) const VERSION: &str = "v1alpha1";

/// Holds everyone to the rules of catalogs.
pub struct CatalogRules {
    /// Who says what users may do, and where catalogs can be used.
    pub exposure: Arc<Exposure>,
    /// Where resources are that entries expose.
    pub host: Arc<dyn Host>,
}

// === impl CatalogRules ===

#[async_trait]
impl Admission for CatalogRules {
    async fn prepare(
        &self,
        ctx: &Ctx<'_>,
        registry: &Registry,
        kind: &ServedKind,
        object: &mut Object,
        old: Option<&Object>,
    ) -> Result<()> {
        let Some(stored) = kind.kind().stored_gvk() else { return Ok(()) };
        let (namespace, name) = (object.metadata().namespace().to_owned(), object.metadata().name().to_owned());
        let write = RuledWrite { ctx, kind, namespace: &namespace, name: &name };
        match (&*stored.group, &*stored.kind) {
            (GROUP, "ResourceCatalogEntry") => self.prepare_entry(write, object, old).await,
            (GROUP, "ResourceCatalogClaim") => self.prepare_claim(write, registry, object, old).await,
            _ => Ok(()),
        }
    }

    async fn admit(&self, _: &Ctx<'_>, _: &Registry, _: &Proposal<'_>, txn: Txn) -> Result<Txn> {
        Ok(txn)
    }
}
