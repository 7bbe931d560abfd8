//! Says in the status of objects what they come to. Nothing is written that is said already.

use std::time::SystemTime;

use bailiwick_api::{Condition, OrgGroup, OrgRoleBinding};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::FIELD_MANAGER;
use super::index::GroupState;
use super::verdict::Verdict;
use crate::conditions;
use crate::status::{StatusError, listed, write};

/// The condition.
const EFFECTIVE: &str = "Effective";

/// Says what an OrgGroup comes to.
pub(super) async fn write_group(client: &Client, state: &GroupState, now: SystemTime) -> Result<(), StatusError> {
    let GroupState { group, non_members, verdict } = state;
    let old = group.status.clone().unwrap_or_default();
    let conditions = with_verdict(&old.conditions, verdict, &group.metadata, now);
    if (&old.non_members, &old.conditions) == (non_members, &conditions) {
        return Ok(());
    }
    let status = json!({ "nonMembers": listed(non_members), "conditions": conditions });
    write(&Api::<OrgGroup>::all(client.clone()), group, status, FIELD_MANAGER).await
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
    let conditions = with_verdict(&old.conditions, verdict, &binding.metadata, now);
    if (&old.role_bindings, &old.conditions) == (&role_bindings, &conditions) {
        return Ok(());
    }
    let status = json!({ "roleBindings": listed(&role_bindings), "conditions": conditions });
    let namespace = binding.namespace().unwrap_or_default();
    write(&Api::<OrgRoleBinding>::namespaced(client.clone(), &namespace), binding, status, FIELD_MANAGER).await
}

/// What was said last of whether it is effective.
pub(super) fn effective(conditions: &[Condition]) -> Option<&Condition> {
    conditions::find(conditions, EFFECTIVE)
}

/// The conditions with this one as it is now.
fn with_verdict(old: &[Condition], verdict: &Verdict, metadata: &ObjectMeta, now: SystemTime) -> Vec<Condition> {
    let Verdict { status, reason, message } = verdict;
    let verdict = conditions::Verdict { condition: EFFECTIVE, status: *status, reason, message };
    let mut conditions = old.to_vec();
    conditions::set(&mut conditions, verdict, metadata.generation, now);
    conditions
}
