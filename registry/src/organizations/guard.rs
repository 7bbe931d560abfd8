//! The rules of organizations that concern more than one object.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use bailiwick_api::{OWNER_LABEL, OrgGroup, OrgGroupName, counted, some_of};
use bailiwick_machinery::{Cause, FieldError, FieldErrors, FieldPath, GroupVersion, Object};
use bailiwick_storage::{At, Expected, Txn};

use super::administrators::{manages, not_an_administrator};
use super::directory::Directory;
use super::ledger::Row;
use super::members::Members;
use super::{GROUP, VERSION, projects, subjects};
use crate::admission::{Admission, Proposal};
use crate::authorization::{AuthorizationError, Authorizer};
use crate::context::Ctx;
use crate::error::{Error, Result};
use crate::rbac::{self, RoleSource};
use crate::registry::Registry;
use crate::typed::typed;
use crate::write::Current;

/// Holds everyone to the rules of organizations.
pub struct OrganizationRules {
    /// Who says what users may do.
    pub authorizer: Arc<dyn Authorizer>,
    /// Who administers what.
    pub directory: Arc<Directory>,
    /// What everyone holds, and could give.
    pub roles: Arc<dyn RoleSource>,
}

// === impl OrganizationRules ===

#[async_trait]
impl Admission for OrganizationRules {
    async fn admit(&self, ctx: &Ctx<'_>, registry: &Registry, proposal: &Proposal<'_>, txn: Txn) -> Result<Txn> {
        match proposal.kind.kind().home() {
            Some((GROUP, "Organization")) => self.organization(ctx, registry, proposal, txn).await,
            Some((GROUP, "OrgGroup")) => self.org_group(ctx, registry, proposal, txn).await,
            Some((GROUP, "OrgRoleBinding")) => self.binding(ctx, registry, proposal, txn).await,
            Some(("", "Namespace")) => self.ownership(ctx, registry, proposal, txn).await,
            Some((rbac::GROUP, "RoleBinding" | "ClusterRoleBinding")) => {
                proposal.new.map_or(Ok(()), |binding| subjects::check(proposal, binding)).map(|()| txn)
            }
            _ => Ok(txn),
        }
    }
}

impl OrganizationRules {
    /// An organization has no double, takes over nothing that is called like it, and does not go while it has groups or projects.
    async fn organization(&self, ctx: &Ctx<'_>, registry: &Registry, proposal: &Proposal<'_>, txn: Txn) -> Result<Txn> {
        let name = proposal.name();
        match (proposal.old, proposal.new) {
            (None, Some(_)) => {
                let row = Row::of(registry, name, proposal.at).await?;
                if let Some(double) = row.holder().filter(|holder| holder != name) {
                    let why = format!("differs from the organization \"{double}\" in capitals only");
                    return Err(invalid(proposal, [FieldError::invalid(name_path(), name, why)]));
                }
                self.check_takeover(ctx, registry, proposal).await?;
                Ok(row.write(txn, name))
            }
            (Some(old), new) if is_going(old, new) => {
                let row = Row::of(registry, name, proposal.at).await?;
                check_unused(registry, proposal).await?;
                Ok(if new.is_none() { row.remove(txn) } else { txn })
            }
            _ => Ok(txn),
        }
    }

    /// In a cluster, projects can carry the name of an organization that does not exist yet. Whoever makes it takes them over, and
    /// needs what giving them to it would need.
    async fn check_takeover(&self, ctx: &Ctx<'_>, registry: &Registry, proposal: &Proposal<'_>) -> Result<()> {
        let name = proposal.name();
        let projects = projects::owned_by(registry, name, proposal.at).await?;
        if projects.is_empty() || self.may_own(ctx, name).await? {
            return Ok(());
        }
        let message = format!(
            "it would take over {}, by the label {OWNER_LABEL}: {}; that needs the verb \"own\" on this organization",
            counted(projects.len(), "project"),
            some_of(projects.iter())
        );
        Err(Error::Forbidden {
            resource: proposal.kind.resource(),
            name: name.to_owned(),
            why: message.clone(),
            causes: vec![Cause {
                reason: "TakesOverProjects".to_owned(),
                message,
                field: name_path().as_str().to_owned(),
            }],
        })
    }

    /// A group is made by those who administer its organization, which exists, out of its members.
    async fn org_group(&self, ctx: &Ctx<'_>, registry: &Registry, proposal: &Proposal<'_>, txn: Txn) -> Result<Txn> {
        let Some(new) = proposal.new else { return Ok(txn) };
        // What is called otherwise has been refused before.
        let Some(name) = OrgGroupName::parse(proposal.name()) else { return Ok(txn) };
        if proposal.old.is_none() {
            self.check_manages(ctx, proposal, name.organization).await?;
        }
        let added = added_users(proposal.old, new)?;
        if proposal.old.is_some() && added.is_empty() {
            return Ok(txn);
        }
        let found = find_organization(registry, name.organization, proposal.at).await?;
        let Some(organization) = found else {
            let why = format!("there is no organization \"{}\"", name.organization);
            return Err(invalid(proposal, [FieldError::invalid(name_path(), proposal.name(), why)]));
        };
        let members = Members::of(registry, typed(&organization.object)?, proposal.at).await?;
        check_members(proposal, name.organization, &members, new, &added)?;
        if proposal.old.is_some() {
            return Ok(txn);
        }
        let row = Row::of(registry, name.organization, proposal.at).await?;
        let seen = Expected::At(organization.cached.revision());
        Ok(row.write(txn.require(organization.cached.key().clone(), seen), name.organization))
    }

    async fn check_manages(&self, ctx: &Ctx<'_>, proposal: &Proposal<'_>, organization: &str) -> Result<()> {
        if manages(&*self.authorizer, &self.directory, ctx.user, organization).await.map_err(failed)? {
            return Ok(());
        }
        let message = not_an_administrator(ctx.user, organization);
        Err(Error::Forbidden {
            resource: proposal.kind.resource(),
            name: proposal.name().to_owned(),
            why: message.clone(),
            causes: vec![Cause {
                reason: "NotAdministrator".to_owned(),
                message,
                field: name_path().as_str().to_owned(),
            }],
        })
    }
}

/// Whether an object is removed by this, or marked to be.
fn is_going(old: &Object, new: Option<&Object>) -> bool {
    new.is_none_or(|new| new.metadata().deletion_timestamp().is_some() && old.metadata().deletion_timestamp().is_none())
}

async fn check_unused(registry: &Registry, proposal: &Proposal<'_>) -> Result<()> {
    let name = proposal.name();
    let groups = groups_of(registry, name, proposal.at).await?;
    let projects = projects::owned_by(registry, name, proposal.at).await?;
    let cause = |what: &str, names: &[String]| Cause {
        reason: "InUse".to_owned(),
        message: format!("it has {}: {}", counted(names.len(), what), some_of(names.iter())),
        field: String::new(),
    };
    let mut causes = Vec::new();
    if !groups.is_empty() {
        causes.push(cause("group", &groups));
    }
    if !projects.is_empty() {
        causes.push(cause("project", &projects));
    }
    if causes.is_empty() {
        return Ok(());
    }
    let reasons: Vec<&str> = causes.iter().map(|cause| cause.message.as_str()).collect();
    Err(Error::Forbidden {
        resource: proposal.kind.resource(),
        name: name.to_owned(),
        why: format!("{}; delete its groups, and give its projects away, first", reasons.join("; ")),
        causes,
    })
}

/// The whole names of an organization's groups, in order.
async fn groups_of(registry: &Registry, organization: &str, at: At) -> Result<Vec<String>> {
    let Some(kind) = registry.find(&GroupVersion::new(GROUP, VERSION), "orggroups") else { return Ok(Vec::new()) };
    let beginning = format!("{organization}{}", OrgGroupName::SEPARATOR);
    let (_, groups) = registry.list_beginning_with(&kind, &beginning, at).await?;
    Ok(groups.iter().map(|group| group.key().name().to_owned()).collect())
}

pub(super) async fn find_organization(registry: &Registry, name: &str, at: At) -> Result<Option<Current>> {
    find(registry, "organizations", name, at).await
}

/// An object of ours that is of the cluster.
pub(super) async fn find(registry: &Registry, plural: &str, name: &str, at: At) -> Result<Option<Current>> {
    let Some(kind) = registry.find(&GroupVersion::new(GROUP, VERSION), plural) else { return Ok(None) };
    // What no object can be called is not there.
    let Ok(key) = kind.key("", name) else { return Ok(None) };
    registry.current(&kind, &key, at).await
}

/// Users who were not in the group before.
fn added_users(old: Option<&Object>, new: &Object) -> Result<Vec<String>> {
    let before = old.map(typed::<OrgGroup>).transpose()?.unwrap_or_default().users;
    let before: std::collections::HashSet<String> = before.into_iter().collect();
    let now = typed::<OrgGroup>(new)?.users;
    Ok(now.into_iter().filter(|user| !before.contains(user)).collect())
}

/// Refuses users who are no members. Those who have been in the group before may stay in it, where they count for nothing.
fn check_members(
    proposal: &Proposal<'_>,
    organization: &str,
    members: &Members,
    new: &Object,
    added: &[String],
) -> Result<()> {
    let strangers = members.strangers(added.iter().map(String::as_str));
    if strangers.is_empty() {
        return Ok(());
    }
    let users = typed::<OrgGroup>(new)?.users;
    let places: HashMap<&str, usize> = users.iter().enumerate().map(|(index, user)| (user.as_str(), index)).collect();
    let error = |user: &&str| {
        let why = format!("is not a member of the organization \"{organization}\"");
        let index = places.get(*user).copied().unwrap_or_default();
        FieldError::invalid(FieldPath::new("users").index(index), *user, why)
    };
    Err(invalid(proposal, strangers.iter().map(error)))
}

pub(super) fn invalid(proposal: &Proposal<'_>, found: impl IntoIterator<Item = FieldError>) -> Error {
    let mut errors = FieldErrors::default();
    found.into_iter().for_each(|error| errors.push(error));
    Error::Invalid { kind: proposal.kind.group_kind(), name: proposal.name().to_owned(), errors }
}

/// Whoever cannot be asked has allowed nothing.
pub(super) fn failed(error: AuthorizationError) -> Error {
    Error::Failed { what: "authorization", why: error.0 }
}

fn name_path() -> FieldPath {
    FieldPath::new("metadata").child("name")
}
