//! Says in the status of objects what they come to. Nothing is written that is said already.

use std::time::SystemTime;

use bailiwick_api::{Condition, OrgGroup, OrgRoleBinding};
use k8s_openapi::Metadata;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::FIELD_MANAGER;
use super::index::GroupState;
use super::verdict::Verdict;

/// The condition.
const EFFECTIVE: &str = "Effective";

/// Why a status was not written. It is tried again.
#[derive(Debug, thiserror::Error)]
#[error("the status of {kind} \"{name}\" could not be written")]
pub(super) struct StatusError {
    kind: &'static str,
    name: String,
    source: Box<kube::Error>,
}

/// Says what an OrgGroup comes to.
pub(super) async fn write_group(client: &Client, state: &GroupState, now: SystemTime) -> Result<(), StatusError> {
    let GroupState { group, non_members, verdict } = state;
    let old = group.status.clone().unwrap_or_default();
    let conditions = conditions(&old.conditions, verdict, &group.metadata, now);
    if (&old.non_members, &old.conditions) == (non_members, &conditions) {
        return Ok(());
    }
    let status = json!({ "nonMembers": listed(non_members), "conditions": conditions });
    write(&Api::<OrgGroup>::all(client.clone()), group, status).await
}

/// Says what an OrgRoleBinding comes to, and which RoleBindings there are for it.
pub(super) async fn write_binding(
    client: &Client,
    binding: &OrgRoleBinding,
    verdict: &Verdict,
    role_bindings: Vec<String>,
    now: SystemTime,
) -> Result<(), StatusError> {
    let old = binding.status.clone().unwrap_or_default();
    let conditions = conditions(&old.conditions, verdict, &binding.metadata, now);
    if (&old.role_bindings, &old.conditions) == (&role_bindings, &conditions) {
        return Ok(());
    }
    let status = json!({ "roleBindings": listed(&role_bindings), "conditions": conditions });
    let namespace = binding.namespace().unwrap_or_default();
    write(&Api::<OrgRoleBinding>::namespaced(client.clone(), &namespace), binding, status).await
}

/// Writes to the object that was looked at, and to no later one.
async fn write<K>(api: &Api<K>, object: &K, status: Value) -> Result<(), StatusError>
where
    K: Metadata<Ty = ObjectMeta> + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let ObjectMeta { name, uid, resource_version, .. } = object.metadata().clone();
    let name = name.unwrap_or_default();
    let metadata = json!({ "uid": uid, "resourceVersion": resource_version });
    let patch = json!({ "metadata": metadata, "status": status });
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    match api.patch_status(&name, &params, &Patch::Merge(patch)).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        Err(source) => Err(StatusError { kind: K::KIND, name, source: Box::new(source) }),
        Ok(_) => Ok(()),
    }
}

/// A list in a merge patch: none is not there.
fn listed(names: &[String]) -> Value {
    if names.is_empty() { Value::Null } else { json!(names) }
}

/// What was said last of whether it is effective.
pub(super) fn effective(conditions: &[Condition]) -> Option<&Condition> {
    conditions.iter().find(|condition| condition.condition_type == EFFECTIVE)
}

/// The conditions with this one as it is now. Others are left as they are.
fn conditions(old: &[Condition], verdict: &Verdict, metadata: &ObjectMeta, now: SystemTime) -> Vec<Condition> {
    let since = effective(old).filter(|before| before.status == verdict.status);
    let condition = Condition {
        condition_type: EFFECTIVE.to_owned(),
        status: verdict.status,
        observed_generation: metadata.generation,
        last_transition_time: since.map_or_else(|| text(now), |before| before.last_transition_time.clone()),
        reason: verdict.reason.to_owned(),
        message: verdict.message.clone(),
    };
    let mut conditions = old.to_vec();
    match conditions.iter_mut().find(|condition| condition.condition_type == EFFECTIVE) {
        Some(found) => *found = condition,
        None => conditions.push(condition),
    }
    conditions
}

fn text(now: SystemTime) -> String {
    let since_epoch = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    Timestamp::from_second(i64::try_from(since_epoch).unwrap_or_default()).unwrap_or_default().to_string()
}
