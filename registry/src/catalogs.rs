//! Catalogs: who may publish what, who may claim it, and what is known of an entry when it is written.
//!
//! ```text
//! entry ──▶ may its writer get what it exposes? may its account? ──▶ names and UIDs, in the status of the answer
//! claim ──▶ may its writer claim here? is the entry in the catalog? may they act as the account? ──▶ stored
//! ```
//!
//! All of this is asked when something is written, because only then is it known who writes. What follows from it later is
//! done by controllers, as service accounts that were named here.

mod ancestry;
mod claims;
mod entries;
mod exposure;
mod lists;
mod locate;

use std::sync::Arc;

use async_trait::async_trait;
use bailiwick_machinery::Object;

pub use self::exposure::Exposure;

use crate::admission::{Admission, Completion};
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
const ENTRY: &str = "ResourceCatalogEntry";
const CLAIM: &str = "ResourceCatalogClaim";

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
    fn completion(&self, kind: &ServedKind) -> Option<&dyn Completion> {
        let (group, kind) = kind.kind().home()?;
        (group == GROUP && [ENTRY, CLAIM].contains(&kind)).then_some(self)
    }
}

#[async_trait]
impl Completion for CatalogRules {
    async fn complete(
        &self,
        ctx: &Ctx<'_>,
        registry: &Registry,
        kind: &ServedKind,
        object: &mut Object,
        old: Option<&Object>,
    ) -> Result<()> {
        let (namespace, name) = (object.metadata().namespace().to_owned(), object.metadata().name().to_owned());
        let write = RuledWrite { ctx, kind, namespace: &namespace, name: &name };
        match kind.kind().home() {
            Some((GROUP, ENTRY)) => self.prepare_entry(write, object, old).await,
            Some((GROUP, CLAIM)) => self.prepare_claim(write, registry, object, old).await,
            _ => Ok(()),
        }
    }
}
