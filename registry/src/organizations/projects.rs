//! Which namespaces an organization owns.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use bailiwick_api::{OWNER_LABEL, Owner};
use bailiwick_machinery::{GroupVersion, Object};
use bailiwick_storage::At;

use crate::error::Result;
use crate::read::ListRequest;
use crate::registry::Registry;
use crate::selection::Selection;
use crate::served_kind::ServedKind;

/// Who knows whose a project is, where another server keeps the namespaces.
#[async_trait]
pub trait Projects: Send + Sync + 'static {
    /// The organization that owns a namespace.
    async fn owner_of(&self, namespace: &str) -> Result<Option<String>>;

    /// The same, as far as it is known without asking anyone. Nothing is known while the namespaces cannot be followed.
    fn known_owner_of(&self, namespace: &str) -> Option<String>;

    /// Whether that is what is the case now: the other server is asked, and what it says of this namespace is what is known
    /// here.
    async fn is_known(&self, namespace: &str) -> bool;

    /// The names of the namespaces that an organization owns, in order.
    async fn owned_by(&self, organization: &str) -> Result<Vec<String>>;
}

/// The organization that a namespace with these labels belongs to.
pub fn owner_in_labels(labels: &BTreeMap<String, String>) -> Option<&str> {
    Owner::parse(labels.get(OWNER_LABEL)?)?.organization()
}

/// The names of the namespaces that an organization owns, in order.
pub(crate) async fn owned_by(registry: &Registry, organization: &str, at: At) -> Result<Vec<String>> {
    if let Some(elsewhere) = registry.projects() {
        return elsewhere.owned_by(organization).await;
    }
    let Some(kind) = namespaces(registry) else { return Ok(Vec::new()) };
    let selection = Selection::parse(&kind, &format!("{OWNER_LABEL}={}", Owner::value_of(organization)), "")?;
    let request = ListRequest { namespace: None, selection: &selection, at, after: None, limit: None };
    let list = registry.list(&kind, &request).await?;
    Ok(list.objects.iter().map(|namespace| namespace.key().name().to_owned()).collect())
}

/// The organization that owns a namespace.
pub(super) async fn owner_of(registry: &Registry, namespace: &str, at: At) -> Result<Option<String>> {
    if let Some(elsewhere) = registry.projects() {
        return elsewhere.owner_of(namespace).await;
    }
    let Some(kind) = namespaces(registry) else { return Ok(None) };
    let Ok(key) = kind.key("", namespace) else { return Ok(None) };
    let found = registry.current(&kind, &key, at).await?;
    Ok(found.and_then(|found| organization_of(&found.object).map(str::to_owned)))
}

/// The organization that a namespace says it belongs to.
pub(super) fn organization_of(namespace: &Object) -> Option<&str> {
    Owner::parse(namespace.metadata().label(OWNER_LABEL)?)?.organization()
}

fn namespaces(registry: &Registry) -> Option<Arc<ServedKind>> {
    registry.find(&GroupVersion::new("", "v1"), "namespaces")
}
