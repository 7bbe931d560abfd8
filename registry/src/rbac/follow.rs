//! Keeps a policy up to date with the roles and bindings that are stored.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bailiwick_machinery::watch::EventType;
use bailiwick_machinery::{GroupVersion, Object};
use bailiwick_storage::At;
use k8s_openapi::api::rbac::v1::ClusterRole;
use serde::Deserialize;
use tokio::sync::watch;

use super::GROUP;
use super::live::LivePolicy;
use super::policy::{PolicyChange, PolicyKey, PolicyKind, PolicyObject};
use crate::error::{Error, Result};
use crate::registry::Registry;
use crate::selection::Selection;
use crate::served_kind::ServedKind;
use crate::watch::{ObjectWatch, WatchFrom};

/// How long to wait before a kind is followed again whose watch has failed.
const PAUSE: Duration = Duration::from_millis(200);

/// The kinds that a policy is made of.
const PLURALS: [&str; 4] = ["roles", "rolebindings", "clusterroles", "clusterrolebindings"];

/// One kind that is followed.
struct Follower {
    registry: Arc<Registry>,
    policy: Arc<LivePolicy>,
    kind: Arc<ServedKind>,
    plural: &'static str,
    /// What the policy has of this kind: where, and what it is called.
    known: BTreeMap<(String, String), ()>,
    /// follower --how far it has come--> writers
    through_tx: watch::Sender<u64>,
    /// follower --cluster roles changed--> whoever puts roles together
    roles: Option<watch::Sender<u64>>,
}

/// Follows roles and bindings from now on. All there are count when it returns; writers of new ones wait until they do.
pub async fn follow(registry: &Arc<Registry>, policy: &Arc<LivePolicy>) -> Result<()> {
    for plural in PLURALS {
        let version = GroupVersion::new(GROUP, "v1");
        let Some(kind) = registry.find(&version, plural) else { continue };
        let (through_tx, through_rx) = watch::channel(0);
        let group_kind = kind.group_kind();
        let (registry, policy) = (registry.clone(), policy.clone());
        let mut follower = Follower {
            registry: registry.clone(),
            policy,
            kind,
            plural,
            known: BTreeMap::new(),
            through_tx,
            roles: (plural == "clusterroles").then(|| watch::channel(0).0),
        };
        let watch = follower.begin().await?;
        registry.writers_wait_for(group_kind, through_rx);
        if let Some(roles) = &follower.roles {
            tokio::spawn(super::bootstrap::keep_aggregated(registry.clone(), roles.subscribe()));
        }
        tokio::spawn(follower.run(watch));
    }
    Ok(())
}

// === impl Follower ===

impl Follower {
    async fn run(mut self, mut watch: ObjectWatch) {
        loop {
            if let Err(error) = self.follow(&mut watch).await {
                tracing::warn!(error = &error as &dyn std::error::Error, kind = self.plural, "roles are read anew");
            }
            loop {
                tokio::time::sleep(PAUSE).await;
                match self.begin().await {
                    Ok(begun) => {
                        watch = begun;
                        break;
                    }
                    Err(error) => {
                        tracing::warn!(
                            error = &error as &dyn std::error::Error,
                            kind = self.plural,
                            "roles cannot be read"
                        );
                    }
                }
            }
        }
    }

    /// Takes all there are, and forgets what is no more.
    async fn begin(&mut self) -> Result<ObjectWatch> {
        let selection = Selection::everything(&self.kind);
        let mut watch = self.registry.watch(&self.kind, None, selection, WatchFrom::State(At::Latest)).await?;
        let mut gone = std::mem::take(&mut self.known);
        let mut changes = Vec::new();
        for event in watch.initial(usize::MAX)? {
            let object = self.read(&event.object)?;
            gone.remove(&place(&object));
            changes.push(self.set(&object)?);
        }
        changes.extend(gone.into_keys().map(|place| self.removal(place)));
        self.policy.apply(changes);
        self.tell(watch.position());
        Ok(watch)
    }

    async fn follow(&mut self, watch: &mut ObjectWatch) -> Result<()> {
        loop {
            let batch = watch.next().await?;
            let mut changes = Vec::new();
            for event in &batch.events {
                let object = self.read(&event.object)?;
                changes.push(match event.event_type {
                    EventType::Deleted => {
                        self.known.remove(&place(&object));
                        self.removal(place(&object))
                    }
                    _ => self.set(&object)?,
                });
            }
            if !changes.is_empty() {
                self.policy.apply(changes);
            }
            self.tell(batch.through);
        }
    }

    fn tell(&self, through: u64) {
        self.through_tx.send_replace(through);
        if let Some(roles) = &self.roles {
            roles.send_replace(through);
        }
    }

    fn read(&self, encoded: &crate::Encoded) -> Result<Object> {
        self.kind.read(encoded).map_err(|error| error.about(&self.kind.resource(), ""))
    }

    fn set(&mut self, object: &Object) -> Result<PolicyChange> {
        self.known.insert(place(object), ());
        let object = match self.plural {
            "roles" => PolicyObject::Role(typed(object)?),
            "rolebindings" => PolicyObject::RoleBinding(typed(object)?),
            "clusterroles" => PolicyObject::ClusterRole(typed(object)?),
            _ => PolicyObject::ClusterRoleBinding(typed(object)?),
        };
        Ok(PolicyChange::Set(Box::new(object)))
    }

    fn removal(&self, (namespace, name): (String, String)) -> PolicyChange {
        let kind = if self.plural.ends_with("bindings") { PolicyKind::Binding } else { PolicyKind::Role };
        PolicyChange::Remove(PolicyKey { kind, namespace, name })
    }
}

fn place(object: &Object) -> (String, String) {
    (object.metadata().namespace().to_owned(), object.metadata().name().to_owned())
}

/// What is stored was accepted once, so it has the form of its type.
pub(super) fn typed<T: for<'de> Deserialize<'de>>(object: &Object) -> Result<T> {
    T::deserialize(object.as_value()).map_err(|error| Error::Failed { what: "a role", why: error.to_string() })
}

/// All cluster roles there are.
pub(super) async fn cluster_roles(registry: &Registry, kind: &ServedKind) -> Result<Vec<ClusterRole>> {
    let selection = Selection::everything(kind);
    let mut watch = registry.watch(kind, None, selection, WatchFrom::State(At::Latest)).await?;
    let read =
        |event: crate::WatchEvent| typed(&kind.read(&event.object).map_err(|error| error.about(&kind.resource(), ""))?);
    watch.initial(usize::MAX)?.into_iter().map(read).collect()
}
