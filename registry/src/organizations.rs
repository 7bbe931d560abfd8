//! Organizations: whom they consist of, what their groups may do, and who may say so.
//!
//! ```text
//! Groups, Organizations, OrgGroups ──▶ Directory ──▶ the groups of whoever asks (Memberships)
//!                                            └─────▶ who administers an organization (AdministratorsOnly)
//! Namespaces, OrgRoleBindings ──▶ bindings of the policy, where the organization owns the namespace
//! ```
//!
//! What a group comes to is decided when it is asked for, from what is the case then: a user who is no member any more has
//! lost the groups, whether or not anyone has taken them out, and a namespace that changed hands knows no groups of its
//! former owner.

mod added_groups;
mod administrators;
mod bindings;
mod currency;
mod directory;
mod guard;
mod ledger;
mod members;
mod ownership;
mod project_access;
mod project_bindings;
mod projects;
mod sets;
mod subjects;

use std::sync::Arc;

use bailiwick_machinery::GroupVersion;

pub use added_groups::{AddedTo, tell_added_groups};
pub use administrators::AdministratorsOnly;
pub use directory::{Directory, GroupsCount};
pub use guard::OrganizationRules;
pub use project_access::ProjectAccess;
pub use projects::{Projects, owner_in_labels};

use self::directory::Part;
use self::project_bindings::{ProjectBindings, Side};
use crate::User;
use crate::error::Result;
use crate::follow;
use crate::rbac::LivePolicy;
use crate::registry::Registry;

pub(crate) use self::members::Members;
pub(crate) use self::projects::owned_by;

/// The group of organizations' kinds.
pub(crate) const GROUP: &str = "org.bailiwick.dev";
/// Its version.
pub(crate) const VERSION: &str = "v1alpha1";

/// Who knows of groups beyond those that authentication finds.
pub trait Memberships: Send + Sync + 'static {
    /// The groups of a user, instead of those that came with them; `None` if those are right.
    fn groups(&self, user: &User) -> Option<Vec<String>>;

    /// A user in the groups that are theirs now, whoever says what of them.
    fn in_groups(&self, user: User) -> User {
        match self.groups(&user) {
            Some(groups) => user.in_groups(groups),
            None => user,
        }
    }
}

/// Keeps the directory up to date from now on. All there is counts when it returns, and writers wait until what they write
/// does.
pub async fn follow_organizations(registry: &Arc<Registry>, directory: &Arc<Directory>) -> Result<()> {
    let ours = GroupVersion::new(GROUP, VERSION);
    for part in Part::ALL {
        if let Some(kind) = registry.find(&ours, part.plural()) {
            follow::follow(registry, &kind, directory.follower(part)).await?;
        }
    }
    Ok(())
}

/// Keeps up to date what a cluster is told that OrgRoleBindings give, in the same way.
pub async fn follow_bindings(registry: &Arc<Registry>, access: &Arc<ProjectAccess>) -> Result<()> {
    let ours = GroupVersion::new(GROUP, VERSION);
    match registry.find(&ours, Side::Bindings.plural()) {
        Some(kind) => {
            access.set_stored(registry.clone());
            follow::follow(registry, &kind, access.follower()).await
        }
        None => Ok(()),
    }
}

/// Keeps the policy up to date with what OrgRoleBindings come to, in the same way.
pub async fn follow_projects(registry: &Arc<Registry>, policy: &Arc<LivePolicy>) -> Result<()> {
    let bindings = ProjectBindings::new(policy.clone());
    for (version, side) in
        [(GroupVersion::new("", "v1"), Side::Namespaces), (GroupVersion::new(GROUP, VERSION), Side::Bindings)]
    {
        if let Some(kind) = registry.find(&version, side.plural()) {
            follow::follow(registry, &kind, bindings.follower(side)).await?;
        }
    }
    Ok(())
}
