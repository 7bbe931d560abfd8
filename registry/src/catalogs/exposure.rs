//! Who may use a catalog, and where: asked in one place, by everything that shows or uses catalogs.

use std::collections::BTreeMap;
use std::sync::Arc;

use bailiwick_api::{AcceptancePolicy, Requester, ResourceCatalog, ResourceCatalogEntry, ServiceAccountRef};
use bailiwick_machinery::GroupVersion;

use super::{GROUP, VERSION};
use crate::User;
use crate::authorization::{Authorizer, Resource};
use crate::error::{Error, Result};
use crate::host::{Host, HostKind};
use crate::named_account::user_of;
use crate::organizations::Memberships;
use crate::registry::Registry;
use crate::requester::Extra;

/// Who may use which catalog, and where.
pub struct Exposure {
    authorizer: Arc<dyn Authorizer>,
    memberships: Arc<dyn Memberships>,
    host: Arc<dyn Host>,
}

// === impl Exposure ===

impl Exposure {
    /// As the first says what users may do, the second knows in which groups they are, and the third knows namespaces.
    pub fn new(authorizer: Arc<dyn Authorizer>, memberships: Arc<dyn Memberships>, host: Arc<dyn Host>) -> Self {
        Self { authorizer, memberships, host }
    }

    /// The labels of a namespace; `None` if there is no such namespace.
    pub(crate) async fn namespace_labels(&self, namespace: &str) -> Result<Option<BTreeMap<String, String>>> {
        let found = self.host.get_own(&namespaces(), "", namespace).await?;
        let labels = |found: bailiwick_machinery::Object| {
            found.metadata().labels().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
        };
        Ok(found.map(labels))
    }

    /// Whether someone may claim from a catalog in a namespace.
    pub(crate) async fn may_claim(&self, user: &User, catalog: &str, namespace: &str) -> Result<bool> {
        self.may_use(user, ResourceCatalog::CLAIM, catalog, namespace).await
    }

    /// Whether an entry is in a catalog: it says so, the catalog selects it, and would accept it still.
    pub(crate) async fn contains(
        &self,
        registry: &Registry,
        catalog: &ResourceCatalog,
        entry: &ResourceCatalogEntry,
    ) -> Result<bool> {
        let name = catalog.metadata.name.as_deref().unwrap_or_default();
        let labels = entry.metadata.labels.clone().unwrap_or_default();
        if entry.metadata.deletion_timestamp.is_some() || !entry.is_in(name) || !catalog.selects(&labels) {
            return Ok(false);
        }
        let namespace = entry.metadata.namespace.as_deref().unwrap_or_default();
        match catalog.policy() {
            AcceptancePolicy::All => Ok(true),
            AcceptancePolicy::NamespaceSelector => {
                let labels = self.namespace_labels(namespace).await?;
                Ok(labels.is_some_and(|labels| catalog.accepts_namespace(&labels)))
            }
            AcceptancePolicy::Authorization => {
                let Some(publisher) = entry.status.as_ref().and_then(|status| status.requester.as_ref()) else {
                    return Ok(false);
                };
                let user = self.user(publisher, extra(registry, entry).await?);
                self.may_use(&user, ResourceCatalog::PUBLISH, name, namespace).await
            }
        }
    }

    /// Someone who wrote an object, in the groups that are theirs now.
    fn user(&self, requester: &Requester, extra: Extra) -> User {
        let Requester { username, uid, groups, .. } = requester.clone();
        self.memberships.in_groups(User { name: username, uid, groups, extra, ..User::default() })
    }

    /// A service account, in the same way.
    pub(super) fn account(&self, account: &ServiceAccountRef) -> User {
        user_of(&*self.memberships, account)
    }

    async fn may_use(&self, user: &User, verb: &str, catalog: &str, namespace: &str) -> Result<bool> {
        let resource = Resource {
            group: GROUP,
            version: VERSION,
            resource: "resourcecatalogs",
            namespace,
            name: catalog,
            ..Resource::default()
        };
        self.authorizer.may(user, verb, resource).await
    }

    /// Who says what users may do.
    pub(super) fn authorizer(&self) -> &dyn Authorizer {
        &*self.authorizer
    }
}

/// What came with who published an entry.
async fn extra(registry: &Registry, entry: &ResourceCatalogEntry) -> Result<Extra> {
    let absent = || Error::Failed { what: "who published an entry", why: "the kind is not served".to_owned() };
    let kind = registry.find(&GroupVersion::new(GROUP, VERSION), "resourcecatalogentries").ok_or_else(absent)?;
    let metadata = &entry.metadata;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let version = text(&metadata.resource_version).parse().unwrap_or(0);
    registry.requester_extra(&kind, &text(&metadata.namespace), &text(&metadata.name), version).await
}

/// The namespaces of the host, which every host has.
fn namespaces() -> HostKind {
    HostKind {
        group: String::new(),
        version: "v1".to_owned(),
        kind: "Namespace".to_owned(),
        plural: "namespaces".to_owned(),
        namespaced: false,
        verbs: vec!["get".to_owned()],
    }
}
