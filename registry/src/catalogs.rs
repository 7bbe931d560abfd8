//! Catalogs: who may publish what, who may claim it, and what is known of an entry when it is written.
//!
//! ```text
//! entry ──▶ may its writer get what it exposes? may its account? ──▶ names and UIDs, in the status of the answer
//! claim ──▶ may its writer claim here? is the entry in the catalog? may they act as the account? ──▶ stored
//! ```
//!
//! All of this is asked when something is written, because only then is it known who writes. What follows from it later is
//! done by controllers, as service accounts that were named here.

mod accounts;
mod claims;
mod entries;
mod exposure;
mod lists;
mod locate;

use std::sync::Arc;

use async_trait::async_trait;
use bailiwick_machinery::{Cause, FieldError, FieldErrors, Object};
use bailiwick_storage::Txn;
use k8s_openapi::Resource;
use serde::de::DeserializeOwned;

pub use self::exposure::Exposure;

use crate::admission::{Admission, Proposal};
use crate::context::Ctx;
use crate::error::{Error, Result};
use crate::host::Host;
use crate::registry::Registry;
use crate::served_kind::ServedKind;
use crate::typed::typed;

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

/// What is written, and by whom.
#[derive(Clone, Copy)]
struct Write<'w> {
    ctx: &'w Ctx<'w>,
    kind: &'w ServedKind,
    namespace: &'w str,
    name: &'w str,
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
        let write = Write { ctx, kind, namespace: &namespace, name: &name };
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

// === impl Write ===

impl Write<'_> {
    fn invalid(&self, found: impl IntoIterator<Item = FieldError>) -> Error {
        let mut errors = FieldErrors::default();
        found.into_iter().for_each(|error| errors.push(error));
        Error::Invalid { kind: self.kind.group_kind(), name: self.name.to_owned(), errors }
    }

    fn forbidden(&self, why: String, causes: Vec<Cause>) -> Error {
        Error::Forbidden { resource: self.kind.resource(), name: self.name.to_owned(), why, causes }
    }

    fn conflict(&self, why: String) -> Error {
        Error::Conflict { resource: self.kind.resource(), name: self.name.to_owned(), why }
    }

    /// The object as its type. What has not the form of it is refused in the words of its schema.
    fn read<T: Resource + DeserializeOwned>(&self, object: &Object) -> Result<T> {
        typed(object).or_else(|error| self.kind.validate(object).and(Err(error)))
    }
}
