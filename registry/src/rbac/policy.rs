//! All roles and bindings at one time, and an index from those who are bound to what binds them.
//!
//! A question costs what the bindings cost that name the user or one of its groups, however many others there are. Names of
//! service accounts are kept as the users they are. Example, of namespace `n`:
//!
//! ```text
//! RoleBinding b of Role r to [Group g, ServiceAccount s]      users:  system:serviceaccount:n:s → [b, subject 1]
//! RoleBinding c of Role r to [Group g]                        groups: g → [b, subject 0] [c, subject 0]
//! ```

use std::borrow::Cow;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use bailiwick_api::OrgGroupName;
use bailiwick_machinery::go;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::SERVICE_ACCOUNT_PREFIX;
use super::error::RoleError;
use super::shared_map::SharedMap;
use crate::User;

/// Where the newest picture comes from.
pub trait RoleSource: Send + Sync + 'static {
    /// The newest picture.
    fn policy(&self) -> Arc<Policy>;

    /// Whether the picture is kept up to date at present, where it is of another server.
    fn is_followed(&self) -> bool {
        true
    }
}

/// All roles and bindings at one time. Copies share what they have in common.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    cluster: Place,
    namespaces: SharedMap<Arc<Place>>,
}

/// A change of the policy.
#[derive(Clone, Debug)]
pub enum PolicyChange {
    /// An object is now like this.
    Set(Box<PolicyObject>),
    /// An object is gone.
    Remove(PolicyKey),
}

/// An object that a policy is made of.
#[derive(Clone, Debug)]
pub enum PolicyObject {
    /// Rules in a namespace.
    Role(Role),
    /// Rules for any namespace, and the cluster.
    ClusterRole(ClusterRole),
    /// Who has the rules of a role, in a namespace.
    RoleBinding(RoleBinding),
    /// Who has the rules of a cluster role, everywhere.
    ClusterRoleBinding(ClusterRoleBinding),
    /// What an OrgRoleBinding comes to: the binding that it stands for. Only in these do groups of organizations count.
    OrgRoleBinding(RoleBinding),
}

/// Which object of a policy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PolicyKey {
    /// What it is.
    pub kind: PolicyKind,
    /// Where it is; empty for the cluster.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// What an object of a policy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PolicyKind {
    /// Rules.
    Role,
    /// Who has them.
    Binding,
    /// Who has them, with groups of organizations.
    OrgBinding,
}

/// Why a rule applies to someone: a binding, and the first of its subjects that names them.
#[derive(Clone, Debug)]
pub struct Grant {
    binding: Arc<Binding>,
    subject: usize,
}

/// The rules of a role, shared by all pictures that have them.
type Rules = Arc<[PolicyRule]>;

/// A namespace, or the cluster.
#[derive(Clone, Debug, Default)]
struct Place {
    roles: SharedMap<Rules>,
    bindings: SharedMap<Arc<Binding>>,
    /// What binds a user, in the order of the bindings' names.
    users: SharedMap<Vec<Grant>>,
    /// What binds a group, in the order of the bindings' names.
    groups: SharedMap<Vec<Grant>>,
}

#[derive(Debug)]
struct Binding {
    /// What it is known by here: its name, but for an OrgRoleBinding, which must not be taken for a RoleBinding.
    id: String,
    source: Source,
    name: String,
    namespace: String,
    role: RoleRef,
    subjects: Vec<Subject>,
}

/// The kind of object that a binding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Rbac,
    Organization,
}

/// Whom a subject names.
enum Bound<'s> {
    User(Cow<'s, str>),
    Group(&'s str),
    /// Nobody that can be known.
    Nobody,
}

// === impl Policy ===

impl Policy {
    /// The policy with a change.
    pub fn apply(&mut self, change: PolicyChange) {
        match change {
            PolicyChange::Set(object) => self.set(*object),
            PolicyChange::Remove(PolicyKey { kind, namespace, name }) => {
                let remove = |place: &mut Place| match kind {
                    PolicyKind::Role => drop(place.roles.remove(&name)),
                    PolicyKind::Binding => place.remove_binding(&Source::Rbac.id(&name)),
                    PolicyKind::OrgBinding => place.remove_binding(&Source::Organization.id(&name)),
                };
                if namespace.is_empty() { remove(&mut self.cluster) } else { self.edit(&namespace, remove) }
            }
        }
    }

    /// Shows every rule that applies to a user in a namespace, or cluster-wide if there is none, with the reason why, and
    /// every failure to find rules; until told to stop. Bindings of the cluster come first, each sort in the order of names.
    pub fn visit<'p>(
        &'p self,
        user: &User,
        namespace: &str,
        mut visitor: impl FnMut(Result<(&'p Grant, &'p PolicyRule), RoleError>) -> ControlFlow<()>,
    ) {
        let cluster = self.cluster.grants(user);
        let local = if namespace.is_empty() { None } else { self.namespaces.get(namespace) };
        let grants = cluster.into_iter().chain(local.map(|place| place.grants(user)).unwrap_or_default());
        for grant in grants {
            let flow = match self.rules(&grant.binding.role, &grant.binding.namespace) {
                Err(error) => visitor(Err(error)),
                Ok(rules) => rules.iter().try_for_each(|rule| visitor(Ok((grant, rule)))),
            };
            if flow.is_break() {
                return;
            }
        }
    }

    /// The rules that a binding in a namespace refers to, or in the cluster if there is none.
    pub fn rules(&self, role: &RoleRef, namespace: &str) -> Result<&[PolicyRule], RoleError> {
        match role.kind.as_str() {
            "Role" => {
                let place = self.namespaces.get(namespace);
                let rules = place.and_then(|place| place.roles.get(&role.name));
                rules.map(AsRef::as_ref).ok_or_else(|| RoleError::NoRole(role.name.clone()))
            }
            "ClusterRole" => {
                let rules = self.cluster.roles.get(&role.name);
                rules.map(AsRef::as_ref).ok_or_else(|| RoleError::NoClusterRole(role.name.clone()))
            }
            other => Err(RoleError::UnsupportedKind(other.to_owned())),
        }
    }

    /// All rules that apply to a user in a namespace, and what went wrong in finding them.
    pub fn rules_for(&self, user: &User, namespace: &str) -> (Vec<&PolicyRule>, Vec<RoleError>) {
        let (mut rules, mut errors) = (Vec::new(), Vec::new());
        self.visit(user, namespace, |found| {
            match found {
                Ok((_, rule)) => rules.push(rule),
                Err(error) => errors.push(error),
            }
            ControlFlow::Continue(())
        });
        (rules, errors)
    }

    fn set(&mut self, object: PolicyObject) {
        match object {
            PolicyObject::Role(role) => {
                let rules = role.rules.unwrap_or_default().into();
                self.edit(namespace(&role.metadata), |place| place.set_role(name(&role.metadata), rules));
            }
            PolicyObject::ClusterRole(role) => {
                let rules = role.rules.unwrap_or_default().into();
                self.cluster.set_role(name(&role.metadata), rules);
            }
            PolicyObject::RoleBinding(binding) => {
                self.set_local(Binding::new(Source::Rbac, binding.metadata, binding.role_ref, binding.subjects));
            }
            PolicyObject::OrgRoleBinding(binding) => {
                self.set_local(Binding::new(
                    Source::Organization,
                    binding.metadata,
                    binding.role_ref,
                    binding.subjects,
                ));
            }
            PolicyObject::ClusterRoleBinding(binding) => {
                // What it binds it binds everywhere, whatever its metadata says.
                let metadata = ObjectMeta { namespace: None, ..binding.metadata };
                self.cluster.set_binding(Binding::new(Source::Rbac, metadata, binding.role_ref, binding.subjects));
            }
        }
    }

    fn set_local(&mut self, binding: Binding) {
        let namespace = binding.namespace.clone();
        self.edit(&namespace, |place| place.set_binding(binding));
    }

    fn edit(&mut self, namespace: &str, change: impl FnOnce(&mut Place)) {
        self.namespaces.edit(namespace, |place| change(Arc::make_mut(place)), |place| place.is_empty());
    }
}

impl FromIterator<PolicyObject> for Policy {
    fn from_iter<I: IntoIterator<Item = PolicyObject>>(objects: I) -> Self {
        let mut policy = Self::default();
        objects.into_iter().for_each(|object| policy.set(object));
        policy
    }
}

// === impl Place ===

impl Place {
    fn is_empty(&self) -> bool {
        self.roles.is_empty() && self.bindings.is_empty()
    }

    fn set_role(&mut self, name: &str, rules: Rules) {
        self.roles.insert(name, rules);
    }

    fn set_binding(&mut self, binding: Binding) {
        self.remove_binding(&binding.id);
        let binding = Arc::new(binding);
        for (subject, bound) in binding.bound().enumerate() {
            let grant = Grant { binding: binding.clone(), subject };
            self.edit_grants(&bound, |grants| insert(grants, grant));
        }
        self.bindings.insert(&binding.id, binding.clone());
    }

    fn remove_binding(&mut self, id: &str) {
        let Some(binding) = self.bindings.remove(id) else { return };
        for bound in binding.bound() {
            self.edit_grants(&bound, |grants| grants.retain(|grant| grant.binding.id != id));
        }
    }

    fn edit_grants(&mut self, bound: &Bound<'_>, change: impl FnOnce(&mut Vec<Grant>)) {
        match bound {
            Bound::User(name) => self.users.edit(name, change, Vec::is_empty),
            Bound::Group(name) => self.groups.edit(name, change, Vec::is_empty),
            Bound::Nobody => {}
        }
    }

    /// What binds a user here, each binding once, by the first subject that names them.
    fn grants(&self, user: &User) -> Vec<&Grant> {
        let mut grants: Vec<&Grant> = self.users.get(&user.name).into_iter().flatten().collect();
        grants.extend(user.groups.iter().filter_map(|group| self.groups.get(group)).flatten());
        grants.sort_unstable_by(|a, b| (&a.binding.id, a.subject).cmp(&(&b.binding.id, b.subject)));
        grants.dedup_by(|later, first| later.binding.id == first.binding.id);
        grants
    }
}

/// Keeps the order of names, and of a binding the first subject.
fn insert(grants: &mut Vec<Grant>, grant: Grant) {
    if let Err(at) = grants.binary_search_by(|old| old.binding.id.cmp(&grant.binding.id)) {
        grants.insert(at, grant);
    }
}

fn bound<'s>(source: Source, subject: &'s Subject, namespace: &str) -> Bound<'s> {
    match subject.kind.as_str() {
        "User" => Bound::User(subject.name.as_str().into()),
        // Nobody can write this any more, but it may be older than the rule.
        "Group" if source == Source::Rbac && subject.name.starts_with(OrgGroupName::PREFIX) => Bound::Nobody,
        "Group" => Bound::Group(&subject.name),
        "ServiceAccount" => match account_namespace(subject, namespace) {
            "" => Bound::Nobody,
            namespace => Bound::User(format!("{SERVICE_ACCOUNT_PREFIX}{namespace}:{}", subject.name).into()),
        },
        _ => Bound::Nobody,
    }
}

/// A service account without a namespace is in that of its binding.
fn account_namespace<'s>(subject: &'s Subject, binding: &'s str) -> &'s str {
    subject.namespace.as_deref().filter(|namespace| !namespace.is_empty()).unwrap_or(binding)
}

// === impl Binding ===

impl Binding {
    fn new(source: Source, metadata: ObjectMeta, role: RoleRef, subjects: Option<Vec<Subject>>) -> Self {
        let name = metadata.name.unwrap_or_default();
        Self {
            id: source.id(&name),
            source,
            name,
            namespace: metadata.namespace.unwrap_or_default(),
            role,
            subjects: subjects.unwrap_or_default(),
        }
    }

    /// Whom its subjects name, in their order.
    fn bound(&self) -> impl Iterator<Item = Bound<'_>> {
        self.subjects.iter().map(|subject| bound(self.source, subject, &self.namespace))
    }
}

// === impl Source ===

impl Source {
    /// No name contains a `/`.
    fn id(self, name: &str) -> String {
        match self {
            Self::Rbac => name.to_owned(),
            Self::Organization => format!("{name}/org"),
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Rbac => "RoleBinding",
            Self::Organization => "OrgRoleBinding",
        }
    }
}

fn name(metadata: &ObjectMeta) -> &str {
    metadata.name.as_deref().unwrap_or_default()
}

fn namespace(metadata: &ObjectMeta) -> &str {
    metadata.namespace.as_deref().unwrap_or_default()
}

// === impl Grant ===

/// `ClusterRoleBinding "b" of ClusterRole "r" to Group "g"`. In a namespace, `RoleBinding "b/n" of …`.
impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Binding { source, name, namespace, role, subjects, .. } = &*self.binding;
        match namespace.as_str() {
            "" => write!(f, "ClusterRoleBinding {}", go::quote(name))?,
            namespace => write!(f, "{} {}", source.kind(), go::quote(&format!("{name}/{namespace}")))?,
        }
        write!(f, " of {} {}", role.kind, go::quote(&role.name))?;
        let Some(subject) = subjects.get(self.subject) else { return Ok(()) };
        let subject_name = match subject.kind.as_str() {
            "ServiceAccount" => format!("{}/{}", subject.name, account_namespace(subject, namespace)),
            _ => subject.name.clone(),
        };
        write!(f, " to {} {}", subject.kind, go::quote(&subject_name))
    }
}

#[cfg(test)]
mod tests;
