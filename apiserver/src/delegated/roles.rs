//! The roles and bindings of the cluster, followed by watches: what users hold there, and so could give away.

use std::collections::HashSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bailiwick_registry::rbac::{LivePolicy, Policy, PolicyChange, PolicyKey, PolicyKind, PolicyObject, RoleSource};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::runtime::watcher::Event;
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use super::following::Following;
use crate::health::{HealthCheck, Unhealthy};

/// How many kinds there are to be seen.
const KINDS: usize = 4;

/// The cluster's roles and bindings. Cheap to clone.
#[derive(Clone, Default)]
pub struct ClusterRoles {
    policy: Arc<LivePolicy>,
    /// How many kinds have been seen once.
    seen: Arc<AtomicUsize>,
    following: Following,
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
        let roles = self.follow_kind::<Role>(Api::all(client.clone()));
        let bindings = self.follow_kind::<RoleBinding>(Api::all(client.clone()));
        let cluster_roles = self.follow_kind::<ClusterRole>(Api::all(client.clone()));
        let cluster_bindings = self.follow_kind::<ClusterRoleBinding>(Api::all(client));
        async move {
            tokio::join!(roles, bindings, cluster_roles, cluster_bindings);
        }
    }

    fn follow_kind<K: Part>(&self, api: Api<K>) -> impl Future<Output = ()> + Send + use<K> {
        let (policy, seen) = (self.policy.clone(), self.seen.clone());
        let mut known: HashSet<PolicyKey> = HashSet::new();
        let mut found: Vec<K> = Vec::new();
        let mut is_first = true;
        self.following.follow(api, "roles and bindings", move |event| match event {
            Event::Init => found.clear(),
            Event::InitApply(object) => found.push(object),
            Event::InitDone => {
                let now: HashSet<PolicyKey> = found.iter().map(key).collect();
                let gone = known.drain().filter(|key| !now.contains(key)).map(PolicyChange::Remove);
                policy.apply(gone.chain(found.drain(..).map(set)));
                known = now;
                if std::mem::take(&mut is_first) {
                    seen.fetch_add(1, Ordering::Relaxed);
                }
            }
            Event::Apply(object) => {
                known.insert(key(&object));
                policy.apply([set(object)]);
            }
            Event::Delete(object) => {
                let key = key(&object);
                known.remove(&key);
                policy.apply([PolicyChange::Remove(key)]);
            }
        })
    }
}

impl RoleSource for ClusterRoles {
    fn policy(&self) -> Arc<Policy> {
        RoleSource::policy(&*self.policy)
    }

    fn is_followed(&self) -> bool {
        self.following.is_up_to_date()
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
