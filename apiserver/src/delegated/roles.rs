//! The roles and bindings of the cluster, followed by watches: what users hold there, and so could give away.

use std::collections::HashSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bailiwick_registry::rbac::{LivePolicy, PolicyChange, PolicyKey, PolicyKind, PolicyObject};
use futures::StreamExt;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use crate::health::{HealthCheck, Unhealthy};

/// How many kinds there are to be seen.
const KINDS: usize = 4;

/// The cluster's roles and bindings. Cheap to clone.
#[derive(Clone, Default)]
pub struct ClusterRoles {
    policy: Arc<LivePolicy>,
    /// How many kinds have been seen once.
    seen: Arc<AtomicUsize>,
}

/// A kind that a policy is made of.
trait Part: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug + Send + Sync + 'static {
    const KIND: PolicyKind;

    fn into_object(self) -> PolicyObject;
}

// === impl ClusterRoles ===

impl ClusterRoles {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// What everyone holds, as far as it is known.
    pub fn policy(&self) -> Arc<LivePolicy> {
        self.policy.clone()
    }

    /// Follows them for as long as it is polled.
    pub fn follow(&self, client: Client) -> impl Future<Output = ()> + Send + use<> {
        let this = self.clone();
        async move {
            tokio::join!(
                this.follow_kind::<Role>(Api::all(client.clone())),
                this.follow_kind::<RoleBinding>(Api::all(client.clone())),
                this.follow_kind::<ClusterRole>(Api::all(client.clone())),
                this.follow_kind::<ClusterRoleBinding>(Api::all(client)),
            );
        }
    }

    async fn follow_kind<K: Part>(&self, api: Api<K>) {
        let mut known: HashSet<PolicyKey> = HashSet::new();
        let mut found: Option<Vec<K>> = None;
        let mut is_first = true;
        let changes = watcher(api, watcher::Config::default()).default_backoff();
        let mut changes = std::pin::pin!(changes);
        while let Some(change) = changes.next().await {
            match change {
                Ok(watcher::Event::Init) => found = Some(Vec::new()),
                Ok(watcher::Event::InitApply(object)) => found.get_or_insert_default().push(object),
                Ok(watcher::Event::InitDone) => {
                    let found = found.take().unwrap_or_default();
                    let now: HashSet<PolicyKey> = found.iter().map(key).collect();
                    let gone = known.drain().filter(|key| !now.contains(key)).map(PolicyChange::Remove);
                    self.policy.apply(gone.chain(found.into_iter().map(set)));
                    known = now;
                    if std::mem::take(&mut is_first) {
                        self.seen.fetch_add(1, Ordering::Relaxed);
                    }
                }
                Ok(watcher::Event::Apply(object)) => {
                    known.insert(key(&object));
                    self.policy.apply([set(object)]);
                }
                Ok(watcher::Event::Delete(object)) => {
                    let key = key(&object);
                    known.remove(&key);
                    self.policy.apply([PolicyChange::Remove(key)]);
                }
                Err(error) => tracing::warn!(
                    %error,
                    "the cluster's roles cannot be followed at present; the account that asks must be allowed to get, list and watch them"
                ),
            }
        }
    }
}

/// Whether all of them have been seen once.
impl HealthCheck for ClusterRoles {
    fn check(&self) -> Pin<Box<dyn Future<Output = Result<(), Unhealthy>> + Send + '_>> {
        let are_seen = self.seen.load(Ordering::Relaxed) == KINDS;
        Box::pin(async move {
            if are_seen { Ok(()) } else { Err(Unhealthy::new("the cluster's roles have not been read yet")) }
        })
    }
}

fn set<K: Part>(object: K) -> PolicyChange {
    PolicyChange::Set(Box::new(object.into_object()))
}

fn key<K: Part>(object: &K) -> PolicyKey {
    PolicyKey { kind: K::KIND, namespace: object.namespace().unwrap_or_default(), name: object.name_any() }
}

// === impl Part ===

macro_rules! part {
    ($kind:ident, $policy:ident) => {
        impl Part for $kind {
            const KIND: PolicyKind = PolicyKind::$policy;

            fn into_object(self) -> PolicyObject {
                PolicyObject::$kind(self)
            }
        }
    };
}

part!(Role, Role);
part!(ClusterRole, Role);
part!(RoleBinding, Binding);
part!(ClusterRoleBinding, Binding);
