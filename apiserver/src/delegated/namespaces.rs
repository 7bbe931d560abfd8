//! The namespaces of the cluster, followed by a watch. Where that knows nothing of a namespace, the cluster is asked: the
//! watch may be late, and a namespace that was made a moment ago can be used.

use std::future::Future;
use std::pin::Pin;

use async_trait::async_trait;
use bailiwick_registry::{Error, NamespaceState, Namespaces, NamespacesError, Projects, owner_in_labels};
use futures::StreamExt;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::PartialObjectMeta;
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};

use super::question::ask;
use crate::health::{HealthCheck, Unhealthy};

type Metadata = PartialObjectMeta<Namespace>;

/// The cluster's namespaces. Cheap to clone.
#[derive(Clone)]
pub struct ClusterNamespaces {
    client: Client,
    known: Store<Metadata>,
}

// === impl ClusterNamespaces ===

impl ClusterNamespaces {
    /// Those of this cluster, and what follows them for as long as it is polled.
    pub fn new(client: Client) -> (Self, impl Future<Output = ()> + Send) {
        let (known, writer) = reflector::store();
        let namespaces: Api<Metadata> = Api::all(client.clone());
        let changes = watcher(namespaces, watcher::Config::default()).default_backoff();
        let changes = changes.modify(forget_details).reflect(writer);
        let following = changes.for_each(async |change| {
            if let Err(error) = change {
                tracing::warn!(%error, "the cluster's namespaces cannot be followed at present; the account that asks must be allowed to get, list and watch them");
            }
        });
        (Self { client, known }, following)
    }
}

#[async_trait]
impl Namespaces for ClusterNamespaces {
    async fn find(&self, name: &str) -> Result<Option<NamespaceState>, NamespacesError> {
        if let Some(known) = self.known.get(&ObjectRef::new(name)) {
            return Ok(Some(state(&known)));
        }
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let found = ask(|| namespaces.get_metadata_opt(name)).await;
        let found = found.map_err(|error| NamespacesError(error.to_string()))?;
        Ok(found.as_ref().map(state))
    }
}

#[async_trait]
impl Projects for ClusterNamespaces {
    async fn owner_of(&self, namespace: &str) -> Result<Option<String>, Error> {
        let known = match self.known.get(&ObjectRef::new(namespace)) {
            Some(known) => Some(known.metadata.clone()),
            None => {
                let namespaces: Api<Namespace> = Api::all(self.client.clone());
                let found = ask(|| namespaces.get_metadata_opt(namespace)).await;
                let unknown = |error| {
                    tracing::error!(%error, namespace, "whose a namespace is is not known");
                    Error::NamespaceUnknown { name: namespace.to_owned() }
                };
                found.map_err(unknown)?.map(|found| found.metadata)
            }
        };
        Ok(known.and_then(|metadata| owner(&metadata).map(str::to_owned)))
    }

    fn known_owner_of(&self, namespace: &str) -> Option<String> {
        let known = self.known.get(&ObjectRef::new(namespace))?;
        owner(&known.metadata).map(str::to_owned)
    }

    async fn owned_by(&self, organization: &str) -> Result<Vec<String>, Error> {
        let known = self.known.state();
        let owned = known.iter().filter(|namespace| owner(&namespace.metadata) == Some(organization));
        let mut names: Vec<String> = owned.map(|namespace| namespace.name_any()).collect();
        names.sort_unstable();
        Ok(names)
    }
}

/// The organization that a namespace says it belongs to.
fn owner(metadata: &ObjectMeta) -> Option<&str> {
    owner_in_labels(metadata.labels.as_ref()?)
}

/// Whether all namespaces have been seen once.
impl HealthCheck for ClusterNamespaces {
    fn check(&self) -> Pin<Box<dyn Future<Output = Result<(), Unhealthy>> + Send + '_>> {
        let seen = self.known.wait_until_ready();
        Box::pin(async { seen.await.map_err(|_| Unhealthy::new("the cluster's namespaces are not followed")) })
    }
}

fn state(namespace: &Metadata) -> NamespaceState {
    match namespace.metadata.deletion_timestamp {
        None => NamespaceState::Active,
        Some(_) => NamespaceState::Terminating,
    }
}

/// There may be many namespaces, and nobody here asks who set what in them.
fn forget_details(namespace: &mut Metadata) {
    namespace.managed_fields_mut().clear();
    namespace.annotations_mut().clear();
}
