//! Keeps a policy up to date with the roles and bindings that are stored.

use std::sync::Arc;

use bailiwick_machinery::GroupVersion;
use bailiwick_storage::At;
use k8s_openapi::api::rbac::v1::ClusterRole;
use tokio::sync::watch;

use super::GROUP;
use super::live::LivePolicy;
use super::policy::{PolicyChange, PolicyKey, PolicyKind, PolicyObject};
use crate::error::Result;
use crate::follow::{Change, Picture, Place};
use crate::registry::Registry;
use crate::selection::Selection;
use crate::served_kind::ServedKind;
use crate::typed::typed_or_told;
use crate::watch::WatchFrom;

/// The kinds that a policy is made of.
const PLURALS: [&str; 4] = ["roles", "rolebindings", "clusterroles", "clusterrolebindings"];

/// What the objects of one kind are in a policy.
struct Part {
    policy: Arc<LivePolicy>,
    plural: &'static str,
    /// follower --cluster roles changed--> whoever puts roles together
    roles: Option<watch::Sender<u64>>,
}

/// Follows roles and bindings from now on. All there are count when it returns; writers of new ones wait until they do.
pub async fn follow(registry: &Arc<Registry>, policy: &Arc<LivePolicy>) -> Result<()> {
    for plural in PLURALS {
        let version = GroupVersion::new(GROUP, "v1");
        let Some(kind) = registry.find(&version, plural) else { continue };
        let roles = (plural == "clusterroles").then(|| watch::channel(0).0);
        let changed_rx = roles.as_ref().map(watch::Sender::subscribe);
        crate::follow::follow(registry, &kind, Part { policy: policy.clone(), plural, roles }).await?;
        if let Some(changed_rx) = changed_rx {
            registry.spawn(super::bootstrap::keep_aggregated(registry.clone(), changed_rx));
        }
    }
    Ok(())
}

// === impl Part ===

impl Picture for Part {
    fn apply(&mut self, changes: Vec<Change>) {
        let changes: Vec<PolicyChange> = changes.into_iter().map(|change| self.change(change)).collect();
        self.policy.apply(changes);
    }

    fn reached(&mut self, through: u64) {
        if let Some(roles) = &self.roles {
            roles.send_replace(through);
        }
    }
}

impl Part {
    fn change(&self, change: Change) -> PolicyChange {
        let object = match change {
            Change::Removed(place) => return self.removal(place),
            Change::Set(object) => object,
        };
        let found = match self.plural {
            "roles" => typed_or_told(&object).map(PolicyObject::Role),
            "rolebindings" => typed_or_told(&object).map(PolicyObject::RoleBinding),
            "clusterroles" => typed_or_told(&object).map(PolicyObject::ClusterRole),
            _ => typed_or_told(&object).map(PolicyObject::ClusterRoleBinding),
        };
        match found {
            Some(found) => PolicyChange::Set(Box::new(found)),
            None => self.removal(Place::of(&object)),
        }
    }

    fn removal(&self, Place { namespace, name }: Place) -> PolicyChange {
        let kind = if self.plural.ends_with("bindings") { PolicyKind::Binding } else { PolicyKind::Role };
        PolicyChange::Remove(PolicyKey { kind, namespace, name })
    }
}

/// All cluster roles there are, but those that are none.
pub(super) async fn cluster_roles(registry: &Registry, kind: &ServedKind) -> Result<Vec<ClusterRole>> {
    let selection = Selection::everything(kind);
    let mut watch = registry.watch(kind, None, selection, WatchFrom::State(At::Latest)).await?;
    Ok(watch.initial_readable().iter().filter_map(typed_or_told).collect())
}

#[cfg(test)]
mod tests;
