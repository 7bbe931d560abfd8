//! The namespaces of the cluster, followed by a watch. Where that knows nothing of a namespace, the cluster is asked: the
//! watch may be late, and a namespace that was made a moment ago can be used.

use std::future::Future;
use std::pin::Pin;

use async_trait::async_trait;
use bailiwick_registry::{NamespaceState, Namespaces, NamespacesError};
use futures::StreamExt;
use k8s_openapi::api::core::v1::Namespace;
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
