//! Objects are only where there is a namespace for them, also if another server keeps the namespaces.

use async_trait::async_trait;
use bailiwick_machinery::{GroupResource, Object, Scope};
use bailiwick_storage::Txn;

use crate::admission::{Admission, Proposal};
use crate::context::Ctx;
use crate::error::{Error, Result};
use crate::kinds::terminating;
use crate::registry::Registry;

/// Who knows the namespaces.
#[async_trait]
pub trait Namespaces: Send + Sync + 'static {
    /// How a namespace is; `None` if there is none.
    async fn find(&self, name: &str) -> Result<Option<NamespaceState>, NamespacesError>;
}

/// How a namespace is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespaceState {
    /// It can be used.
    Active,
    /// It is about to end, with all that is in it.
    Terminating,
}

/// Why it is not known whether there is a namespace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NamespacesError(pub String);

/// Refuses to write objects where there is no namespace, and to make them where it is about to end. What is about to go may be
/// marked so, and be let go, anywhere: else what has finalizers could never go from where there is no namespace any more.
///
/// Unlike a namespace of our own, the other server's can end between the question and the write. What is left behind then
/// is found by whoever empties the namespace, who looks until nothing is left.
pub struct RemoteNamespaceLifecycle<N>(pub N);

// === impl RemoteNamespaceLifecycle ===

#[async_trait]
impl<N: Namespaces> Admission for RemoteNamespaceLifecycle<N> {
    async fn admit(&self, _: &Ctx<'_>, _: &Registry, proposal: &Proposal<'_>, txn: Txn) -> Result<Txn> {
        if proposal.kind.kind().scope() != Scope::Namespaced || goes(proposal) {
            return Ok(txn);
        }
        let name = proposal.namespace();
        match self.0.find(name).await {
            Ok(Some(NamespaceState::Terminating)) if proposal.old.is_none() => {
                Err(terminating(&proposal.kind.resource(), proposal.name(), name))
            }
            Ok(Some(_)) => Ok(txn),
            Ok(None) => Err(Error::NotFound { resource: GroupResource::new("", "namespaces"), name: name.to_owned() }),
            Err(error) => {
                tracing::error!(%error, namespace = name, "whether there is a namespace is not known");
                Err(Error::NamespaceUnknown { name: name.to_owned() })
            }
        }
    }

    fn precedes_validation(&self) -> bool {
        true
    }
}

/// Whether an object is removed, or is about to be once its finalizers are gone.
fn goes(proposal: &Proposal<'_>) -> bool {
    let is_marked = |new: &Object| proposal.old.is_some() && new.metadata().deletion_timestamp().is_some();
    proposal.new.is_none_or(is_marked)
}
