//! What everyone may do with organizations comes to something for their administrators only.
//!
//! One role, bound to all who are known, allows to manage the groups of organizations. Asked by name, it is narrowed here to
//! those who administer that organization: so there is no role or binding for each of them. Whoever may list all groups of
//! all organizations is not narrowed.

use std::sync::Arc;

use async_trait::async_trait;
use bailiwick_api::OrgGroupName;

use super::{Directory, GROUP, VERSION};
use crate::User;
use crate::authorization::{Attributes, AuthorizationError, Authorizer, Decision, Resource, Target};

/// What can be reached below an organization by those who administer it.
const BELOW: [&str; 3] = ["groups", "members", "projects"];

/// Asks another, and narrows what it allows.
pub struct AdministratorsOnly {
    asked: Arc<dyn Authorizer>,
    directory: Arc<Directory>,
}

// === impl AdministratorsOnly ===

impl AdministratorsOnly {
    /// Narrows what `asked` allows.
    pub fn new(asked: Arc<dyn Authorizer>, directory: Arc<Directory>) -> Self {
        Self { asked, directory }
    }
}

#[async_trait]
impl Authorizer for AdministratorsOnly {
    async fn authorize(&self, question: &Attributes<'_>) -> Result<Decision, AuthorizationError> {
        let decision = self.asked.authorize(question).await?;
        let (Decision::Allow(_), Some(organization)) = (&decision, organization(question)) else {
            return Ok(decision);
        };
        if manages(&*self.asked, &self.directory, question.user, organization).await? {
            return Ok(decision);
        }
        Ok(Decision::NoOpinion(not_an_administrator(question.user, organization)))
    }
}

/// Whether a user administers an organization, or all of them.
pub(super) async fn manages(
    authorizer: &dyn Authorizer,
    directory: &Directory,
    user: &User,
    organization: &str,
) -> Result<bool, AuthorizationError> {
    if directory.is_administrator(user, organization) {
        return Ok(true);
    }
    let all = Resource { group: GROUP, version: VERSION, resource: "orggroups", ..Resource::default() };
    let question = Attributes { user, verb: "list", target: Target::Resource(all) };
    Ok(matches!(authorizer.authorize(&question).await?, Decision::Allow(_)))
}

pub(super) fn not_an_administrator(user: &User, organization: &str) -> String {
    format!("\"{}\" is not an administrator of the organization \"{organization}\"", user.name)
}

/// The organization that a question is about, if it is one that its administrators may ask. What is made has no name in
/// the question: the name is looked at when the object is.
fn organization<'q>(question: &Attributes<'q>) -> Option<&'q str> {
    let Target::Resource(resource) = question.target else { return None };
    if resource.group != GROUP || resource.name.is_empty() {
        return None;
    }
    match (resource.resource, resource.subresource) {
        ("organizations", below) if BELOW.contains(&below) => Some(resource.name),
        // A list can have a name, too, and is a list nonetheless.
        ("orggroups", _) if !matches!(question.verb, "list" | "watch" | "deletecollection") => {
            Some(OrgGroupName::parse(resource.name).map_or("", |name| name.organization))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
