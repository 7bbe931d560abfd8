//! Who may say whose a project is.

use bailiwick_api::{OWNER_LABEL, Owner};
use bailiwick_machinery::{Cause, FieldError, FieldErrors, FieldPath};
use bailiwick_storage::{Expected, Txn};

use super::guard::{OrganizationRules, failed, find_organization};
use super::ledger::Row;
use super::{GROUP, VERSION};
use crate::admission::Proposal;
use crate::authorization::{Attributes, Decision, Resource, Target};
use crate::context::Ctx;
use crate::error::{Error, Result};
use crate::registry::Registry;

// === impl OrganizationRules ===

impl OrganizationRules {
    /// Whoever changes the owner of a namespace may `own` in the name of both organizations, and the new one exists.
    pub(super) async fn ownership(
        &self,
        ctx: &Ctx<'_>,
        registry: &Registry,
        proposal: &Proposal<'_>,
        txn: Txn,
    ) -> Result<Txn> {
        let value = |object: Option<&bailiwick_machinery::Object>| {
            object.and_then(|object| object.metadata().label(OWNER_LABEL)).map(str::to_owned)
        };
        let (old, new) = (value(proposal.old), value(proposal.new));
        // Whoever may delete a namespace may end its ownership.
        if proposal.new.is_none() || old == new {
            return Ok(txn);
        }
        let wanted = new.as_deref().map(|new| organization(proposal, new)).transpose()?;
        let left = old.as_deref().and_then(Owner::parse).and_then(|owner| owner.organization());
        for organization in left.into_iter().chain(wanted) {
            self.check_own(ctx, proposal, organization).await?;
        }
        match wanted {
            Some(wanted) => self.give(registry, proposal, wanted, txn).await,
            None => Ok(txn),
        }
    }

    async fn check_own(&self, ctx: &Ctx<'_>, proposal: &Proposal<'_>, organization: &str) -> Result<()> {
        if self.may_own(ctx, organization).await? {
            return Ok(());
        }
        let message = format!("user \"{}\" may not \"own\" organizations \"{organization}\"", ctx.user.name);
        Err(Error::Forbidden {
            resource: proposal.kind.resource(),
            name: proposal.name().to_owned(),
            why: format!("the label {OWNER_LABEL} cannot be changed: {message}"),
            causes: vec![Cause { reason: "NotOwner".to_owned(), message, field: label().as_str().to_owned() }],
        })
    }

    /// Whether a user may `own` in the name of an organization.
    pub(super) async fn may_own(&self, ctx: &Ctx<'_>, organization: &str) -> Result<bool> {
        let resource = Resource {
            group: GROUP,
            version: VERSION,
            resource: Owner::ORGANIZATIONS,
            name: organization,
            ..Resource::default()
        };
        let question = Attributes { user: ctx.user, verb: "own", target: Target::Resource(resource) };
        Ok(matches!(self.authorizer.authorize(&question).await.map_err(failed)?, Decision::Allow(_)))
    }

    /// The organization exists when the namespace becomes one of its projects, and does not go meanwhile.
    async fn give(&self, registry: &Registry, proposal: &Proposal<'_>, wanted: &str, txn: Txn) -> Result<Txn> {
        let Some(found) = find_organization(registry, wanted, proposal.at).await? else {
            return Err(invalid(proposal, &Owner::value_of(wanted), &format!("there is no organization \"{wanted}\"")));
        };
        let row = Row::of(registry, wanted, proposal.at).await?;
        Ok(row.write(txn.require(found.cached.key().clone(), Expected::At(found.cached.revision())), wanted))
    }
}

/// The organization that a label's value names.
fn organization<'v>(proposal: &Proposal<'_>, value: &'v str) -> Result<&'v str> {
    let owner = Owner::parse(value).and_then(|owner| owner.organization());
    owner.ok_or_else(|| invalid(proposal, value, "must be \"organizations__<name>\", the owning organization"))
}

fn invalid(proposal: &Proposal<'_>, value: &str, why: &str) -> Error {
    let mut errors = FieldErrors::default();
    errors.push(FieldError::invalid(label(), value, why));
    Error::Invalid { kind: proposal.kind.group_kind(), name: proposal.name().to_owned(), errors }
}

fn label() -> FieldPath {
    FieldPath::new("metadata").child("labels").key(OWNER_LABEL)
}
