//! What OrgRoleBindings give, for a cluster that asks: its own authorization knows nothing of organizations.
//!
//! Everything is decided from what is in memory. Nobody is asked what someone may do, least of all the cluster, which would ask
//! back. Only whether what is in memory is what is the case is asked now and then: of the store, and of the cluster, whose
//! answer to our own account depends on nobody here.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use async_trait::async_trait;
use bailiwick_api::{OrgGroupName, OrgRoleBinding};
use k8s_openapi::api::rbac::v1::RoleRef;

use super::currency::{Answers, Standing, Stored};
use super::directory::Directory;
use super::projects::Projects;
use super::{Memberships, project_bindings};
use crate::User;
use crate::authorization::{Attributes, AuthorizationError, Authorizer, Decision, Target};
use crate::error::Result;
use crate::follow::{Change, Picture, Place};
use crate::rbac::{Rbac, RoleSource, check_binding, rule_allows};
use crate::typed::typed_or_told;

/// Kubernetes' own groups: a policy of the cluster keeps us from binding them, and so they have nothing here either.
const SYSTEM: &str = "system:";

/// Allows what an OrgRoleBinding gives in a namespace of the organization that owns it. Has no opinion on anything else.
///
/// It gives no more than RoleBindings would that our account makes: the roles that the account may bind, and nothing to
/// itself. And it gives nothing from memory that may be older than a moment: a server that is cut off from its store, or from
/// the cluster, does not know what was taken away.
pub struct ProjectAccess {
    directory: Arc<Directory>,
    roles: Arc<dyn RoleSource>,
    projects: Arc<dyn Projects>,
    /// By namespace and name.
    bindings: RwLock<HashMap<String, BTreeMap<String, Given>>>,
    /// Whom the cluster knows us as. Nothing is given before that is known.
    account: OnceLock<User>,
    /// Whether the cluster is as it is known here.
    cluster: Arc<Answers>,
}

/// What an OrgRoleBinding gives to whom.
struct Given {
    role: RoleRef,
    /// By their whole names.
    org_groups: HashSet<String>,
    users: HashSet<String>,
    groups: HashSet<String>,
}

/// Puts OrgRoleBindings into it.
pub(super) struct Follower {
    access: Arc<ProjectAccess>,
    standing: Standing,
}

// === impl ProjectAccess ===

impl ProjectAccess {
    /// By these memberships, the cluster's roles, and its namespaces.
    pub fn new(directory: Arc<Directory>, roles: Arc<dyn RoleSource>, projects: Arc<dyn Projects>) -> Self {
        Self {
            directory,
            roles,
            projects,
            bindings: RwLock::default(),
            account: OnceLock::new(),
            cluster: Arc::default(),
        }
    }

    /// Says whom the cluster knows us as. Who was said first stays.
    pub fn set_account(&self, account: User) {
        let _ = self.account.set(account);
    }

    pub(super) fn follower(self: &Arc<Self>) -> Follower {
        Follower { access: self.clone(), standing: Standing::default() }
    }

    /// Says what is to be known here before anything is given.
    pub(super) fn set_stored(&self, stored: Arc<dyn Stored>) {
        self.directory.currency().set_stored(stored);
    }

    /// The binding that allows what is asked.
    async fn find(&self, question: &Attributes<'_>) -> Option<String> {
        let account = self.account.get()?;
        let Target::Resource(resource) = question.target else { return None };
        let namespace = resource.namespace;
        if namespace.is_empty() || namespace.starts_with(OrgRoleBinding::RESERVED_NAMESPACES) {
            return None;
        }
        // What we do ourselves is never given by organizations. So whoever decides about it need not wait for us. Nor is anything
        // given where we are: a policy of the cluster keeps our account from binding roles there.
        let ours = home(&account.name);
        let is_neighbour = ours.is_some() && ours == home(&question.user.name);
        if question.user.name == account.name || is_neighbour || ours == Some(namespace) {
            return None;
        }
        let owner = self.projects.known_owner_of(namespace)?;
        let groups = self.directory.groups(question.user).unwrap_or_else(|| question.user.groups.clone());
        let user = User { groups, ..question.user.clone() };
        let question = Attributes { user: &user, ..*question };
        let policy = self.roles.policy();
        let bound = self.bound(namespace, &owner, &user);
        if bound.is_empty() || !self.is_current(namespace).await {
            return None;
        }
        for (name, role) in bound {
            let rules = policy.rules(&role, namespace).unwrap_or_default();
            if rules.iter().any(|rule| rule_allows(rule, &question))
                && check_binding(&Rbac::new(self.roles.clone()), &policy, account, &role, namespace).await.is_ok()
            {
                return Some(format!("OrgRoleBinding \"{name}/{namespace}\" of {} \"{}\"", role.kind, role.name));
            }
        }
        None
    }

    /// Whether what is known here is what is stored, and what the cluster has, except for a moment. Of the cluster's namespaces it
    /// is this one that is compared.
    async fn is_current(&self, namespace: &str) -> bool {
        if !self.roles.is_followed() {
            return false;
        }
        let (projects, namespace) = (self.projects.clone(), namespace.to_owned());
        let cluster = self.cluster.hold(|| async move { projects.is_known(&namespace).await });
        let (is_stored, is_there) = tokio::join!(self.directory.currency().is_current(), cluster);
        is_stored && is_there
    }

    /// The bindings in a namespace that name a user, with their roles, in the order of their names.
    fn bound(&self, namespace: &str, owner: &str, user: &User) -> Vec<(String, RoleRef)> {
        let bindings = self.bindings.read().unwrap_or_else(PoisonError::into_inner);
        let there = bindings.get(namespace).into_iter().flatten();
        there
            .filter(|(_, given)| given.names(user, owner))
            .map(|(name, given)| (name.clone(), given.role.clone()))
            .collect()
    }
}

#[async_trait]
impl Authorizer for ProjectAccess {
    async fn authorize(&self, question: &Attributes<'_>) -> Result<Decision, AuthorizationError> {
        Ok(match self.find(question).await {
            Some(binding) => Decision::Allow(format!("allowed by {binding}")),
            None => Decision::NoOpinion(String::new()),
        })
    }
}

/// The namespace of a service account.
fn home(user: &str) -> Option<&str> {
    const SERVICE_ACCOUNT: &str = "system:serviceaccount:";
    user.strip_prefix(SERVICE_ACCOUNT)?.split_once(':').map(|(namespace, _)| namespace)
}

// === impl Given ===

impl Given {
    fn of(binding: OrgRoleBinding) -> Self {
        Self {
            role: project_bindings::role(&binding.role_ref),
            org_groups: binding.org_groups.into_iter().collect(),
            users: binding.users.into_iter().collect(),
            groups: binding.groups.into_iter().filter(|group| !group.starts_with(SYSTEM)).collect(),
        }
    }

    /// Whether it names a user, in a namespace of this owner. The user's groups of organizations are those of the directory.
    fn names(&self, user: &User, owner: &str) -> bool {
        let has = |group: &String| match group.strip_prefix(OrgGroupName::PREFIX) {
            Some(name) => {
                self.org_groups.contains(name)
                    && OrgGroupName::parse(name).is_some_and(|parsed| parsed.organization == owner)
            }
            None => self.groups.contains(group),
        };
        self.users.contains(&user.name) || user.groups.iter().any(has)
    }
}

// === impl Follower ===

impl Picture for Follower {
    fn apply(&mut self, changes: Vec<Change>) {
        let mut bindings = self.access.bindings.write().unwrap_or_else(PoisonError::into_inner);
        for change in changes {
            let (place, given) = match change {
                Change::Set(object) => (Place::of(&object), typed_or_told(&object).map(Given::of)),
                Change::Removed(place) => (place, None),
            };
            let Place { namespace, name } = place;
            match given {
                Some(given) => drop(bindings.entry(namespace).or_default().insert(name, given)),
                None => {
                    if let Some(there) = bindings.get_mut(&namespace) {
                        there.remove(&name);
                        if there.is_empty() {
                            bindings.remove(&namespace);
                        }
                    }
                }
            }
        }
    }

    fn reached(&mut self, _: u64) {
        self.access.directory.currency().find(&mut self.standing);
    }

    fn lost(&mut self) {
        self.access.directory.currency().lose(&mut self.standing);
    }
}

#[cfg(test)]
mod tests;
