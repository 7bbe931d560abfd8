//! Asks at every write of a role or a binding whether its writer may hand out what it gives.

use std::sync::Arc;

use async_trait::async_trait;
use bailiwick_machinery::Object;
use bailiwick_storage::Txn;
use k8s_openapi::api::rbac::v1::{PolicyRule, RoleRef};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::GROUP;
use super::error::RoleError;
use super::escalation::{EscalationError, RoleWrite, check_binding, check_role};
use super::policy::RoleSource;
use crate::admission::{Admission, Proposal};
use crate::authorization::Authorizer;
use crate::context::Ctx;
use crate::error::{Error, Result};
use crate::registry::Registry;

/// Refuses roles and bindings that give more than their writer holds.
pub struct NoEscalation {
    /// Who says whether someone may escalate or bind.
    pub authorizer: Arc<dyn Authorizer>,
    /// What everyone holds.
    pub roles: Arc<dyn RoleSource>,
}

// === impl NoEscalation ===

#[async_trait]
impl Admission for NoEscalation {
    async fn admit(&self, ctx: &Ctx<'_>, _: &Registry, proposal: &Proposal<'_>, txn: Txn) -> Result<Txn> {
        let gvk = proposal.kind.gvk();
        let Some(new) = proposal.new.filter(|_| gvk.group == GROUP) else { return Ok(txn) };
        if proposal.old.is_some_and(|old| is_upkeep(old, new)) {
            return Ok(txn);
        }
        let checked = match &*gvk.kind {
            "Role" => self.role(ctx, "roles", proposal, new).await?,
            "ClusterRole" => self.role(ctx, "clusterroles", proposal, new).await?,
            _ => self.binding(ctx, proposal, new).await?,
        };
        checked.map_err(|error| refusal(proposal, error))?;
        Ok(txn)
    }
}

impl NoEscalation {
    async fn role(
        &self,
        ctx: &Ctx<'_>,
        resource: &str,
        proposal: &Proposal<'_>,
        new: &Object,
    ) -> Result<Result<(), EscalationError>> {
        const AGGREGATION: &str = "aggregationRule";
        let rules: Vec<PolicyRule> = part(new, "rules")?.unwrap_or_default();
        let has_aggregation = |object: &Object| object.fields().get(AGGREGATION).is_some_and(|rule| !rule.is_null());
        let write = RoleWrite {
            resource,
            namespace: proposal.namespace(),
            name: if proposal.old.is_some() { proposal.name() } else { "" },
            rules: &rules,
            aggregates: has_aggregation(new) || proposal.old.is_some_and(has_aggregation),
        };
        Ok(check_role(&*self.authorizer, &self.roles.policy(), ctx.user, &write).await)
    }

    async fn binding(
        &self,
        ctx: &Ctx<'_>,
        proposal: &Proposal<'_>,
        new: &Object,
    ) -> Result<Result<(), EscalationError>> {
        let role: RoleRef = part(new, "roleRef")?.unwrap_or_default();
        Ok(check_binding(&*self.authorizer, &self.roles.policy(), ctx.user, &role, proposal.namespace()).await)
    }
}

/// What a writer is told. That a role is not there is no matter of rights; Kubernetes tells it as if a binding of that name
/// were missing.
fn refusal(proposal: &Proposal<'_>, error: EscalationError) -> Error {
    let resource = proposal.kind.resource();
    match error {
        EscalationError::Role(RoleError::NoRole(name) | RoleError::NoClusterRole(name)) => {
            Error::NotFound { resource, name }
        }
        error => {
            Error::Forbidden { resource, name: proposal.name().to_owned(), why: error.to_string(), causes: Vec::new() }
        }
    }
}

/// Whether nothing changes but what garbage collection changes, which gives nobody anything. A label does: by its labels a
/// role becomes part of others.
fn is_upkeep(old: &Object, new: &Object) -> bool {
    const UPKEEP: [&str; 3] = ["ownerReferences", "finalizers", "managedFields"];
    let content = |object: &Object| told(object.fields(), &["metadata"]);
    let metadata =
        |object: &Object| object.fields().get("metadata").and_then(Value::as_object).map(|it| told(it, &UPKEEP));
    content(old) == content(new) && metadata(old) == metadata(new)
}

/// All fields but some; absent is as good as empty.
fn told(fields: &Map<String, Value>, except: &[&str]) -> Map<String, Value> {
    let is_told = |name: &str, value: &Value| {
        let empty = match value {
            Value::Null => true,
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        };
        !empty && !except.contains(&name)
    };
    let told = fields.iter().filter(|(name, value)| is_told(name, value));
    told.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn part<T: for<'de> Deserialize<'de>>(object: &Object, field: &str) -> Result<Option<T>> {
    let Some(value) = object.fields().get(field).filter(|value| !value.is_null()) else { return Ok(None) };
    T::deserialize(value).map(Some).map_err(|error| Error::BadRequest(error.to_string()))
}

#[cfg(test)]
mod tests;
