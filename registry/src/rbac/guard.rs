//! Asks at every write of a role or a binding whether its writer may hand out what it gives.

use std::sync::Arc;

use async_trait::async_trait;
use bailiwick_machinery::Object;
use bailiwick_storage::Txn;
use k8s_openapi::api::rbac::v1::{PolicyRule, RoleRef};
use serde::Deserialize;
use serde_json::Value;

use super::GROUP;
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
        let checked = match &*gvk.kind {
            "Role" => self.role(ctx, "roles", proposal, new).await?,
            "ClusterRole" => self.role(ctx, "clusterroles", proposal, new).await?,
            _ => self.binding(ctx, proposal, new).await?,
        };
        checked.map_err(|error| Error::Forbidden {
            resource: proposal.kind.resource(),
            name: proposal.name().to_owned(),
            why: error.to_string(),
            causes: Vec::new(),
        })?;
        Ok(txn)
    }
}

impl NoEscalation {
    /// What was there before may stay: nothing is given by it.
    async fn role(
        &self,
        ctx: &Ctx<'_>,
        resource: &str,
        proposal: &Proposal<'_>,
        new: &Object,
    ) -> Result<Result<(), EscalationError>> {
        const AGGREGATION: &str = "aggregationRule";
        if is_same(proposal.old, new, &["rules", AGGREGATION]) {
            return Ok(Ok(()));
        }
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
        if is_same(proposal.old, new, &["roleRef", "subjects"]) {
            return Ok(Ok(()));
        }
        let role: RoleRef = part(new, "roleRef")?.unwrap_or_default();
        Ok(check_binding(&*self.authorizer, &self.roles.policy(), ctx.user, &role, proposal.namespace()).await)
    }
}

/// Whether fields are as they were; absent is as good as empty.
fn is_same(old: Option<&Object>, new: &Object, fields: &[&str]) -> bool {
    let value = |object: &Object, field: &str| {
        let found = object.fields().get(field).cloned();
        found.filter(|value| !value.is_null() && *value != Value::Array(Vec::new()))
    };
    old.is_some_and(|old| fields.iter().all(|field| value(old, field) == value(new, field)))
}

fn part<T: for<'de> Deserialize<'de>>(object: &Object, field: &str) -> Result<Option<T>> {
    let Some(value) = object.fields().get(field).filter(|value| !value.is_null()) else { return Ok(None) };
    T::deserialize(value).map(Some).map_err(|error| Error::BadRequest(error.to_string()))
}
