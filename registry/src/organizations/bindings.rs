//! Who may write an OrgRoleBinding, and with which groups.

use bailiwick_api::{OrgGroupName, OrgRoleBinding};
use bailiwick_machinery::{FieldError, FieldPath};
use bailiwick_storage::{At, Txn};

use super::guard::{OrganizationRules, failed, invalid};
use super::project_bindings;
use super::projects::owner_of;
use crate::admission::Proposal;
use crate::authorization::{Attributes, Decision, Resource, Target};
use crate::context::Ctx;
use crate::error::{Error, Result};
use crate::rbac::{self, check_binding};
use crate::registry::Registry;
use crate::typed::typed;

/// What precedes the names of Kubernetes' own groups.
const SYSTEM: &str = "system:";

// === impl OrganizationRules ===

impl OrganizationRules {
    /// It names groups of the organization that owns the namespace, and its writer could write the RoleBinding that it
    /// stands for.
    pub(super) async fn binding(
        &self,
        ctx: &Ctx<'_>,
        registry: &Registry,
        proposal: &Proposal<'_>,
        txn: Txn,
    ) -> Result<Txn> {
        let Some(new) = proposal.new else { return Ok(txn) };
        let new: OrgRoleBinding = typed(new)?;
        let old: Option<OrgRoleBinding> = proposal.old.map(typed).transpose()?;
        let is_same = |old: &OrgRoleBinding| {
            (&old.role_ref, &old.org_groups, &old.users, &old.groups)
                == (&new.role_ref, &new.org_groups, &new.users, &new.groups)
        };
        // What was there before may stay: nothing is given by it.
        if old.as_ref().is_some_and(is_same) {
            return Ok(txn);
        }
        self.check_rights(ctx, proposal, &new).await?;
        let before = old.unwrap_or_default();
        check_plain_groups(proposal, &new, &before.groups)?;
        check_groups(registry, proposal, &new, &before.org_groups, proposal.at).await?;
        Ok(txn)
    }

    async fn check_rights(&self, ctx: &Ctx<'_>, proposal: &Proposal<'_>, new: &OrgRoleBinding) -> Result<()> {
        let (namespace, verb) = (proposal.namespace(), if proposal.old.is_none() { "create" } else { "update" });
        let forbidden = |why: String| Error::Forbidden {
            resource: proposal.kind.resource(),
            name: proposal.name().to_owned(),
            why,
            causes: Vec::new(),
        };
        let equivalent = Resource {
            group: rbac::GROUP,
            version: "v1",
            resource: "rolebindings",
            namespace,
            name: if proposal.old.is_none() { "" } else { proposal.name() },
            ..Resource::default()
        };
        let question = Attributes { user: ctx.user, verb, target: Target::Resource(equivalent) };
        if !matches!(self.authorizer.authorize(&question).await.map_err(failed)?, Decision::Allow(_)) {
            let user = &ctx.user.name;
            return Err(forbidden(format!(
                "user \"{user}\" may not {verb} rolebindings in the namespace \"{namespace}\", which this stands for"
            )));
        }
        let role = project_bindings::role(&new.role_ref);
        let checked = check_binding(&*self.authorizer, &self.roles.policy(), ctx.user, &role, namespace).await;
        checked.map_err(|error| forbidden(error.to_string()))
    }
}

/// Refuses Kubernetes' own groups, unless they have been named before: a role of a project is not for everyone who is known, and
/// a policy keeps our account from binding it to them.
fn check_plain_groups(proposal: &Proposal<'_>, new: &OrgRoleBinding, before: &[String]) -> Result<()> {
    let added = new.groups.iter().enumerate().filter(|(_, group)| !before.contains(group));
    let wrong: Vec<FieldError> = added
        .filter(|(_, group)| group.starts_with(SYSTEM))
        .map(|(index, group)| {
            let why = "is a group of the system, to which an organization gives nothing: use a RoleBinding";
            FieldError::invalid(FieldPath::new("groups").index(index), group.as_str(), why)
        })
        .collect();
    if wrong.is_empty() { Ok(()) } else { Err(invalid(proposal, wrong)) }
}

/// Refuses groups of organizations that do not own the namespace, unless they have been named before.
async fn check_groups(
    registry: &Registry,
    proposal: &Proposal<'_>,
    new: &OrgRoleBinding,
    before: &[String],
    at: At,
) -> Result<()> {
    let namespace = proposal.namespace();
    let owner = owner_of(registry, namespace, at).await?;
    let belongs = |group: &str| {
        let organization = OrgGroupName::parse(group).map(|name| name.organization);
        // What is no such name has been refused before.
        organization.is_none() || organization == owner.as_deref()
    };
    let why = match &owner {
        Some(owner) => format!("is not a group of \"{owner}\", the organization that owns the project \"{namespace}\""),
        None => format!("no organization owns the project \"{namespace}\""),
    };
    let wrong: Vec<FieldError> = new
        .org_groups
        .iter()
        .enumerate()
        .filter(|(_, group)| !before.contains(group) && !belongs(group))
        .map(|(index, group)| {
            FieldError::invalid(FieldPath::new("orgGroups").index(index), group.as_str(), why.clone())
        })
        .collect();
    if wrong.is_empty() { Ok(()) } else { Err(invalid(proposal, wrong)) }
}
