//! The roles that every server has are made at its start, and brought back to what they are to be; and roles that are made
//! of others follow them.

use std::sync::Arc;
use std::time::Duration;

use bailiwick_machinery::{GroupVersion, Object};
use bailiwick_storage::At;
use futures::stream::{self, TryStreamExt};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Subject};
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::time::timeout;

use super::aggregate::aggregate;
use super::coverage::uncovered;
use super::defaults::{AUTOUPDATE, binding, cluster_role_bindings, cluster_roles, shipped};
use super::{GROUP, follow, list};
use crate::error::{Error, Result};
use crate::kinds;
use crate::own_writes::{create, remove, write};
use crate::registry::Registry;
use crate::served_kind::ServedKind;
use crate::typed::typed;

const ROLE_REF: &str = "roleRef";

/// How many are made at once. What waits for the disk together becomes durable together, so a first start waits for few syncs.
const AT_ONCE: usize = 64;
/// How long to wait before roles are put together again after a failure, at first and at most.
const PAUSE: Duration = Duration::from_millis(200);
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// Makes the roles and bindings that every server has, where they are missing, and completes them where they have lost
/// something. What has more than it is to have keeps it, and what says that it is not to be updated stays as it is.
pub async fn bootstrap(registry: &Registry) -> Result<()> {
    let (Some(roles), Some(bindings)) = (find(registry, "clusterroles"), find(registry, "clusterrolebindings")) else {
        return Ok(());
    };
    let kinds = registry.kinds();
    let of_kinds = kinds::roles(kinds.kinds().iter().map(AsRef::as_ref));
    let shipped_roles = of_kinds.iter().map(|kind| shipped(kind.role.clone()));
    let wanted = cluster_roles().into_iter().chain(shipped_roles).map(Ok);
    let ensure_role = async |role: ClusterRole| {
        let rules = list(&role.rules).to_vec();
        ensure(registry, &roles, &role, &|found| complete_role(found, &rules)).await
    };
    stream::iter(wanted).try_for_each_concurrent(AT_ONCE, ensure_role).await?;
    let shipped_bindings = of_kinds.iter().filter_map(|kind| {
        let name = kind.role.metadata.name.as_deref().unwrap_or_default();
        Some(binding(name, &[kind.bound_to?]))
    });
    let wanted = cluster_role_bindings().into_iter().chain(shipped_bindings).map(Ok);
    let ensure_binding = async |binding: ClusterRoleBinding| {
        let subjects = list(&binding.subjects).to_vec();
        ensure(registry, &bindings, &binding, &|found| complete_binding(found, &subjects)).await
    };
    stream::iter(wanted).try_for_each_concurrent(AT_ONCE, ensure_binding).await
}

/// Gives roles that are made of others their rules, whenever any role changes.
pub(super) async fn keep_aggregated(registry: Arc<Registry>, mut changed_rx: watch::Receiver<u64>) {
    let Some(kind) = find(&registry, "clusterroles") else { return };
    let mut pause = PAUSE;
    loop {
        let changed = match aggregate_all(&registry, &kind).await {
            Ok(()) => {
                pause = PAUSE;
                changed_rx.changed().await
            }
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "cluster roles cannot be put together");
                let changed = timeout(pause, changed_rx.changed()).await.unwrap_or(Ok(()));
                pause = (pause * 2).min(MAX_PAUSE);
                changed
            }
        };
        if changed.is_err() {
            return;
        }
    }
}

/// Gives each its rules. One that cannot be written does not keep the others; the first failure is told in the end.
async fn aggregate_all(registry: &Registry, kind: &ServedKind) -> Result<()> {
    let all = follow::cluster_roles(registry, kind).await?;
    let mut outcome = Ok(());
    for (role, summed) in all.iter().zip(sum(&all)) {
        if list(&summed.rules) != list(&role.rules) {
            let written = set_rules(registry, kind, role, list(&summed.rules)).await;
            outcome = outcome.and(written);
        }
    }
    outcome
}

/// The roles, those that are made of others with the rules that they are to have: what the roles add up to that are not made
/// of others, by whatever way. So nothing depends on what was written before, and roles that are made of each other do not
/// hand their rules round for ever.
fn sum(all: &[ClusterRole]) -> Vec<ClusterRole> {
    let mut summed = all.to_vec();
    let mut made = Vec::new();
    for (at, role) in all.iter().enumerate() {
        match aggregate(role, []) {
            Ok(None) => {}
            Ok(Some(_)) => made.push(at),
            Err(error) => {
                tracing::warn!(%error, role = role.metadata.name, "a cluster role has selectors that cannot be read");
            }
        }
    }
    for at in &made {
        summed[*at].rules = None;
    }
    // Each round brings rules at least one role further, and no way is longer than there are roles.
    for _ in 0..=made.len() {
        let mut has_changed = false;
        for at in &made {
            let rules = aggregate(&summed[*at], &summed).ok().flatten().unwrap_or_default();
            has_changed |= rules != list(&summed[*at].rules);
            summed[*at].rules = Some(rules);
        }
        if !has_changed {
            break;
        }
    }
    summed
}

/// Gives a role its rules, unless it is not the one any more for which they were put together.
async fn set_rules(registry: &Registry, kind: &ServedKind, role: &ClusterRole, rules: &[PolicyRule]) -> Result<()> {
    let name = role.metadata.name.as_deref().unwrap_or_default();
    let rules = to_value(&rules)?;
    let change = |found: &mut Object| {
        let is_it = |found: ClusterRole| {
            found.metadata.uid == role.metadata.uid && found.aggregation_rule == role.aggregation_rule
        };
        if typed::<ClusterRole>(found).is_ok_and(is_it) {
            found.fields_mut().insert("rules".to_owned(), rules.clone());
        }
    };
    write(registry, kind, name, &change).await
}

/// Makes an object, or completes the one there is.
async fn ensure(
    registry: &Registry,
    kind: &ServedKind,
    wanted: &impl Serialize,
    complete: &(dyn Fn(&mut Object) + Send + Sync),
) -> Result<()> {
    let Value::Object(fields) = to_value(wanted)? else { return Ok(()) };
    let wanted = Object::new(fields);
    let name = wanted.metadata().name().to_owned();
    match registry.get(kind, "", &name, At::Latest).await {
        Ok(found) => {
            let found = kind.read(&found).map_err(|error| error.about(&kind.resource(), &name))?;
            if found.metadata().annotation(AUTOUPDATE) == Some("false") {
                return Ok(());
            }
            if found.fields().get(ROLE_REF) != wanted.fields().get(ROLE_REF) {
                // A binding cannot be given another role; one that should not be as it is is replaced.
                remove(registry, kind, &found).await?;
                return create(registry, kind, wanted).await;
            }
            let change = |found: &mut Object| {
                complete_metadata(found, &wanted);
                complete(found);
            };
            let mut completed = found.clone();
            change(&mut completed);
            if completed.as_value() == found.as_value() { Ok(()) } else { write(registry, kind, &name, &change).await }
        }
        Err(Error::NotFound { .. }) => create(registry, kind, wanted).await,
        Err(error) => Err(error),
    }
}

/// Labels and annotations that are missing.
fn complete_metadata(found: &mut Object, wanted: &Object) {
    for field in ["labels", "annotations"] {
        let Some(Value::Object(wanted)) = wanted.metadata().get(field) else { continue };
        let there = found.metadata_mut().entry(field).or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(there) = there {
            for (name, value) in wanted {
                there.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
    }
}

/// Rules for what the role does not allow.
fn complete_role(found: &mut Object, wanted: &[PolicyRule]) {
    let Ok(role) = typed::<ClusterRole>(found) else { return };
    if role.aggregation_rule.is_some() {
        return;
    }
    let has: Vec<&PolicyRule> = list(&role.rules).iter().collect();
    let missing: Vec<Value> = wanted
        .iter()
        .filter(|rule| !uncovered(&has, std::slice::from_ref(*rule)).is_empty())
        .filter_map(|rule| serde_json::to_value(rule).ok())
        .collect();
    extend(found, "rules", missing);
}

fn complete_binding(found: &mut Object, wanted: &[Subject]) {
    let there = found.fields().get("subjects").and_then(Value::as_array).cloned().unwrap_or_default();
    let wanted = wanted.iter().filter_map(|subject| serde_json::to_value(subject).ok());
    let is_same = |one: &Value, other: &Value| {
        ["kind", "name", "namespace"].iter().all(|field| one.get(field) == other.get(field))
    };
    let missing: Vec<Value> = wanted.filter(|subject| !there.iter().any(|one| is_same(one, subject))).collect();
    extend(found, "subjects", missing);
}

fn extend(found: &mut Object, field: &str, more: Vec<Value>) {
    if more.is_empty() {
        return;
    }
    let there = found.fields_mut().entry(field).or_insert(Value::Null);
    match there {
        Value::Array(there) => there.extend(more),
        other => *other = Value::Array(more),
    }
}

fn find(registry: &Registry, plural: &str) -> Option<Arc<ServedKind>> {
    registry.find(&GroupVersion::new(GROUP, "v1"), plural)
}

fn to_value(value: &impl Serialize) -> Result<Value> {
    serde_json::to_value(value).map_err(|error| Error::Failed { what: "a role", why: error.to_string() })
}

#[cfg(test)]
mod tests;
