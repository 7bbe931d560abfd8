//! The namespaces of the cluster, followed by a watch. Where that knows nothing of a namespace, the cluster is asked: the
//! watch may be late, and a namespace that was made a moment ago can be used. It is asked, too, while there is no watch: what was
//! seen before may have gone since.
//!
//! Whose a namespace is, is always asked of the cluster where something is written because of it. Only who has a moment to
//! answer takes what the watch has seen, and that only while there is one.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use async_trait::async_trait;
use bailiwick_api::{OWNER_LABEL, Owner};
use bailiwick_registry::{Error, NamespaceState, Namespaces, NamespacesError, Projects, owner_in_labels};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{ListParams, PartialObjectMeta};
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::watcher::Event;
use kube::{Api, Client, ResourceExt};
use tokio::time::sleep;

use super::following::Following;
use super::question::ask;
use crate::health::{HealthCheck, Unhealthy};

type Metadata = PartialObjectMeta<Namespace>;

/// How often it is looked whether the watch has seen what the cluster says, and after which time.
const LOOKS: u32 = 10;
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The cluster's namespaces. Cheap to clone.
#[derive(Clone)]
pub struct ClusterNamespaces {
    client: Client,
    known: Store<Metadata>,
    following: Following,
}

// === impl ClusterNamespaces ===

impl ClusterNamespaces {
    /// Those of this cluster, and what follows them for as long as it is polled. They are followed by a client of its own, which
    /// may be more attentive than the one that asks.
    pub fn new(client: Client, follower: Client) -> (Self, impl Future<Output = ()> + Send) {
        let (known, mut writer) = reflector::store();
        let namespaces: Api<Metadata> = Api::all(follower);
        let following = Following::default();
        let work = following.follow(namespaces, "namespaces", move |event: Event<Metadata>| {
            writer.apply_watcher_event(&event.modify(forget_details));
        });
        (Self { client, known, following }, work)
    }

    /// The organization that owned a namespace when it was last seen.
    fn seen_owner_of(&self, namespace: &str) -> Option<String> {
        let known = self.known.get(&ObjectRef::new(namespace))?;
        owner(&known.metadata).map(str::to_owned)
    }
}

#[async_trait]
impl Namespaces for ClusterNamespaces {
    async fn find(&self, name: &str) -> Result<Option<NamespaceState>, NamespacesError> {
        if self.following.is_up_to_date()
            && let Some(known) = self.known.get(&ObjectRef::new(name))
        {
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
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let found = ask(|| namespaces.get_metadata_opt(namespace)).await;
        let unknown = |error| {
            tracing::error!(%error, namespace, "whose a namespace is is not known");
            Error::NamespaceUnknown { name: namespace.to_owned() }
        };
        Ok(found.map_err(unknown)?.and_then(|found| owner(&found.metadata).map(str::to_owned)))
    }

    fn known_owner_of(&self, namespace: &str) -> Option<String> {
        if self.following.is_up_to_date() { self.seen_owner_of(namespace) } else { None }
    }

    async fn is_known(&self, namespace: &str) -> bool {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        // Who asks has no time for a second attempt.
        let Ok(found) = namespaces.get_metadata_opt(namespace).await else { return false };
        let there = found.as_ref().and_then(|found| owner(&found.metadata));
        for _ in 0..LOOKS {
            if self.seen_owner_of(namespace).as_deref() == there {
                return self.following.is_up_to_date();
            }
            sleep(LOOK_AGAIN).await;
        }
        tracing::warn!(namespace, "the cluster's namespaces have changed, and the watch of them has not told so");
        false
    }

    async fn owned_by(&self, organization: &str) -> Result<Vec<String>, Error> {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let owned = ListParams::default().labels(&format!("{OWNER_LABEL}={}", Owner::value_of(organization)));
        let found = ask(|| namespaces.list_metadata(&owned)).await;
        let unknown = |error| {
            tracing::error!(%error, organization, "which namespaces an organization owns is not known");
            Error::HostUnknown { why: "the cluster does not say which namespaces the organization owns".to_owned() }
        };
        let mut names: Vec<String> = found.map_err(unknown)?.iter().map(ResourceExt::name_any).collect();
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
