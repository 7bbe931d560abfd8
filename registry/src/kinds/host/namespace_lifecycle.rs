//! Objects are only where there is a namespace for them.

use async_trait::async_trait;
use bailiwick_machinery::{Cause, GroupResource, GroupVersion, Scope};
use bailiwick_storage::{Expected, Txn};

use crate::admission::{Admission, Proposal};
use crate::context::Ctx;
use crate::error::{Error, Result};
use crate::registry::Registry;

/// Refuses to make objects where there is no namespace, or one that is about to end.
///
/// The namespace is the same when the object is made: one that was found empty, and goes, never leaves anything behind.
pub struct NamespaceLifecycle;

// === impl NamespaceLifecycle ===

#[async_trait]
impl Admission for NamespaceLifecycle {
    async fn admit(&self, _: &Ctx<'_>, registry: &Registry, proposal: &Proposal<'_>, txn: Txn) -> Result<Txn> {
        let made = proposal.old.is_none() && proposal.kind.kind().scope() == Scope::Namespaced;
        let namespaces = registry.find(&GroupVersion::new("", "v1"), "namespaces");
        let (true, Some(namespaces)) = (made, namespaces) else { return Ok(txn) };
        let name = proposal.namespace();
        let absent = || Error::NotFound { resource: namespaces.resource(), name: name.to_owned() };
        let key = namespaces.key("", name).map_err(|_| absent())?;
        let namespace = registry.current(&namespaces, &key, proposal.at).await?.ok_or_else(absent)?;
        if namespace.object.metadata().deletion_timestamp().is_some() {
            return Err(terminating(&proposal.kind.resource(), proposal.name(), name));
        }
        Ok(txn.require(key, Expected::At(namespace.cached.revision())))
    }

    fn precedes_validation(&self) -> bool {
        true
    }
}

/// The refusal to make an object in a namespace that is about to end.
pub(crate) fn terminating(resource: &GroupResource, name: &str, namespace: &str) -> Error {
    let cause = Cause {
        reason: "NamespaceTerminating".to_owned(),
        message: format!("namespace {namespace} is being terminated"),
        field: "metadata.namespace".to_owned(),
    };
    Error::Forbidden {
        resource: resource.clone(),
        name: name.to_owned(),
        why: format!("unable to create new content in namespace {namespace} because it is being terminated"),
        causes: vec![cause],
    }
}
