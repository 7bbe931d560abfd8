//! What a cluster is told that organizations give.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bailiwick_machinery::Object;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};

use super::ProjectAccess;
use crate::User;
use crate::authorization::{Attributes, Authorizer, Decision, Resource, Target};
use crate::error::Result;
use crate::follow::{Change, Picture, Place};
use crate::organizations::currency::Stored;
use crate::organizations::directory::Part;
use crate::organizations::{Directory, GroupsCount, Projects};
use crate::rbac::{LivePolicy, Policy, PolicyChange, PolicyObject, RoleSource};

const ACCOUNT: &str = "system:serviceaccount:bailiwick-system:bailiwick";

/// Whose the namespaces are, in a cluster that can be cut off.
#[derive(Default)]
struct Owners(Mutex<HashMap<String, String>>, AtomicBool);

#[async_trait]
impl Projects for Owners {
    async fn owner_of(&self, namespace: &str) -> Result<Option<String>> {
        panic!("nobody is asked about {namespace}")
    }

    fn known_owner_of(&self, namespace: &str) -> Option<String> {
        self.0.lock().unwrap().get(namespace).cloned()
    }

    async fn is_known(&self, _: &str) -> bool {
        !self.1.load(Ordering::Relaxed)
    }

    async fn owned_by(&self, organization: &str) -> Result<Vec<String>> {
        panic!("nobody is asked about {organization}")
    }
}

/// A store that can be cut off.
#[derive(Default)]
struct Store {
    is_gone: AtomicBool,
}

#[async_trait]
impl Stored for Store {
    async fn is_known(&self) -> bool {
        !self.is_gone.load(Ordering::Relaxed)
    }
}

/// Acme with bob, who is in its group, and its project `web`; a cluster with the roles `edit`, which our account may bind, and
/// `secret`, which it may not.
struct World {
    access: Arc<ProjectAccess>,
    directory: Arc<Directory>,
    owners: Arc<Owners>,
    store: Arc<Store>,
}

impl World {
    fn new() -> Self {
        let directory = Arc::new(Directory::new(GroupsCount::ForOrganizations));
        let (roles, owners) = (Arc::new(LivePolicy::default()), Arc::new(Owners::default()));
        roles.apply([
            role("edit", &["configmaps"], "create", &[]),
            role("secret", &["secrets"], "create", &[]),
            role("account", &["clusterroles"], "bind", &["edit"]),
            bound("account", ACCOUNT),
        ]);
        let access = Arc::new(ProjectAccess::new(directory.clone(), roles, owners.clone()));
        access.set_account(user(ACCOUNT, &[]));
        let store = Arc::<Store>::default();
        access.set_stored(store.clone());
        let world = Self { access, directory, owners, store };
        world.set(Part::Organizations, "Acme", json!({ "memberUsers": ["bob", "carol"] }));
        world.set(Part::OrgGroups, "Acme:dev", json!({ "users": ["bob"] }));
        for namespace in ["web", "kube-web", "bailiwick-system"] {
            world.own(namespace, Some("Acme"));
            world.bind(namespace, "dev", "edit", json!({ "orgGroups": ["Acme:dev", "Beta:dev"] }));
        }
        world
    }

    fn set(&self, part: Part, name: &str, fields: Value) {
        self.directory.follower(part).apply(vec![Change::Set(object(json!({ "name": name }), fields))]);
    }

    fn own(&self, namespace: &str, owner: Option<&str>) {
        let mut owners = self.owners.0.lock().unwrap();
        match owner {
            Some(owner) => drop(owners.insert(namespace.to_owned(), owner.to_owned())),
            None => drop(owners.remove(namespace)),
        }
    }

    fn bind(&self, namespace: &str, name: &str, role: &str, mut to: Value) {
        to["roleRef"] = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role });
        let binding = object(json!({ "name": name, "namespace": namespace }), to);
        self.access.follower().apply(vec![Change::Set(binding)]);
    }

    async fn allows(&self, user: &User, resource: &str, namespace: &str) -> bool {
        let target = Target::Resource(Resource { resource, namespace, ..Resource::default() });
        let question = Attributes { user, verb: "create", target };
        match self.access.authorize(&question).await.unwrap() {
            Decision::Allow(_) => true,
            Decision::NoOpinion(_) => false,
            Decision::Deny(why) => panic!("others may allow it: {why}"),
        }
    }

    async fn bob_may(&self) -> bool {
        self.allows(&user("bob", &[]), "configmaps", "web").await
    }
}

fn object(metadata: Value, mut fields: Value) -> Object {
    fields["metadata"] = metadata;
    Object::try_from(fields).unwrap()
}

fn user(name: &str, groups: &[&str]) -> User {
    let groups = groups.iter().map(|group| (*group).to_owned()).collect();
    User { name: name.to_owned(), groups, ..User::default() }
}

fn role(name: &str, resources: &[&str], verb: &str, names: &[&str]) -> PolicyChange {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<String>>();
    let group = if verb == "bind" { "rbac.authorization.k8s.io" } else { "" };
    let rule = PolicyRule {
        api_groups: Some(texts(&[group])),
        resources: Some(texts(resources)),
        resource_names: Some(texts(names)).filter(|names| !names.is_empty()),
        verbs: texts(&[verb]),
        non_resource_urls: None,
    };
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let role = ClusterRole { metadata, rules: Some(vec![rule]), aggregation_rule: None };
    PolicyChange::Set(Box::new(PolicyObject::ClusterRole(role)))
}

fn bound(role: &str, user: &str) -> PolicyChange {
    let group = || Some("rbac.authorization.k8s.io".to_owned());
    let subject = Subject { api_group: group(), kind: "User".to_owned(), name: user.to_owned(), namespace: None };
    let binding = ClusterRoleBinding {
        metadata: ObjectMeta { name: Some(role.to_owned()), ..ObjectMeta::default() },
        role_ref: RoleRef { api_group: group(), kind: "ClusterRole".to_owned(), name: role.to_owned() },
        subjects: Some(vec![subject]),
    };
    PolicyChange::Set(Box::new(PolicyObject::ClusterRoleBinding(binding)))
}

/// ORG-2, ORG-8: what the role says, in the organization's project, for those who are in its groups.
#[tokio::test]
async fn members_have_what_their_groups_are_given() {
    let world = World::new();
    assert!(world.bob_may().await);
    assert!(!world.allows(&user("bob", &[]), "secrets", "web").await, "the role does not say so");
    assert!(!world.allows(&user("carol", &[]), "configmaps", "web").await, "not in the group");
    for elsewhere in ["other", "kube-web", "bailiwick-system", ""] {
        assert!(!world.allows(&user("bob", &[]), "configmaps", elsewhere).await, "{elsewhere}");
    }
    let bob = user("bob", &[]);
    let path = Attributes { user: &bob, verb: "create", target: Target::Path("/configmaps") };
    assert!(matches!(world.access.authorize(&path).await, Ok(Decision::NoOpinion(_))));
}

/// ORG-44: whatever ends it ends it with the next question.
#[tokio::test]
async fn what_ends_ends_at_once() {
    let world = World::new();
    world.set(Part::OrgGroups, "Acme:dev", json!({ "users": ["carol"] }));
    assert!(!world.bob_may().await && world.allows(&user("carol", &[]), "configmaps", "web").await);
    world.set(Part::OrgGroups, "Acme:dev", json!({ "users": ["bob"] }));
    world.set(Part::Organizations, "Acme", json!({ "memberUsers": ["carol"] }));
    assert!(!world.bob_may().await, "no member");
    world.set(Part::Organizations, "Acme", json!({ "memberUsers": ["bob"] }));
    assert!(world.bob_may().await);
    world.own("web", Some("Beta"));
    assert!(!world.bob_may().await, "given to another organization");
    world.own("web", None);
    assert!(!world.bob_may().await, "nobody's");
    world.own("web", Some("Acme"));
    assert!(world.bob_may().await);
    let place = Place { namespace: "web".to_owned(), name: "dev".to_owned() };
    world.access.follower().apply(vec![Change::Removed(place)]);
    assert!(!world.bob_may().await, "unbound");
    world.bind("web", "dev", "edit", json!({ "users": ["bob"] }));
    assert!(world.bob_may().await);
    world.bind("web", "dev", "edit", json!({ "users": { "bob": true } }));
    assert!(!world.bob_may().await, "bound by something that is no binding");
}

/// Nobody is in a group of an organization because they, or the cluster, say so.
#[tokio::test]
async fn groups_of_organizations_are_believed_of_nobody() {
    let world = World::new();
    let liar = user("mallory", &["org:Acme:dev", "org:Beta:dev"]);
    assert!(!world.allows(&liar, "configmaps", "web").await);
    world.bind("web", "all", "edit", json!({ "groups": ["org:Acme:dev", "system:authenticated", "painters"] }));
    assert!(!world.allows(&liar, "configmaps", "web").await);
    assert!(!world.allows(&user("dave", &["system:authenticated"]), "configmaps", "web").await);
    assert!(world.allows(&user("dave", &["painters"]), "configmaps", "web").await);
}

/// O-05: no more than RoleBindings that our account could make, and nothing to our own.
#[tokio::test]
async fn only_what_our_account_may_bind_is_given() {
    let world = World::new();
    world.bind("web", "secrets", "secret", json!({ "users": ["bob"] }));
    assert!(!world.allows(&user("bob", &[]), "secrets", "web").await);
    let ours = ["bailiwick", "provisioner"].map(|name| format!("system:serviceaccount:bailiwick-system:{name}"));
    world.bind("web", "ours", "edit", json!({ "users": [&ours[0], &ours[1], "system:serviceaccount:web:robot"] }));
    for account in &ours {
        assert!(!world.allows(&user(account, &[]), "configmaps", "web").await, "{account}");
    }
    assert!(world.allows(&user("system:serviceaccount:web:robot", &[]), "configmaps", "web").await);
}

/// Until it is known who we are, nobody has anything.
#[tokio::test]
async fn nothing_is_given_before_we_know_who_we_are() {
    let World { access, directory, owners, .. } = World::new();
    let unknown = ProjectAccess::new(directory, access.roles.clone(), owners);
    let bob = user("bob", &[]);
    let target = Target::Resource(Resource { resource: "configmaps", namespace: "web", ..Resource::default() });
    let question = Attributes { user: &bob, verb: "create", target };
    assert!(matches!(unknown.authorize(&question).await, Ok(Decision::NoOpinion(_))));
}

/// O-06: a server that is cut off from what is stored gives nothing from memory, and gives again when it is not.
#[tokio::test(start_paused = true)]
async fn nothing_is_given_by_who_cannot_know_what_was_taken() {
    let world = World::new();
    assert!(world.bob_may().await);
    world.store.is_gone.store(true, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!world.bob_may().await);
    world.store.is_gone.store(false, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(world.bob_may().await);
    let mut follower = world.directory.follower(Part::OrgGroups);
    follower.lost();
    assert!(!world.bob_may().await, "the groups are not followed");
    follower.reached(1);
    assert!(world.bob_may().await);
}

/// O-06: nor by one that is cut off from the cluster, whose namespaces and roles may have changed.
#[tokio::test(start_paused = true)]
async fn nothing_is_given_by_who_cannot_know_whose_a_project_is() {
    let world = World::new();
    let is_gone = &world.owners.1;
    assert!(world.bob_may().await);
    is_gone.store(true, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!world.bob_may().await);
    is_gone.store(false, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(world.bob_may().await);
    let unfollowed = Arc::new(Unfollowed(world.access.roles.clone()));
    let access = Arc::new(ProjectAccess::new(world.directory.clone(), unfollowed, world.owners.clone()));
    access.set_account(user(ACCOUNT, &[]));
    let world = World { access, ..world };
    world.bind("web", "dev", "edit", json!({ "orgGroups": ["Acme:dev"] }));
    assert!(!world.bob_may().await, "the roles are not followed");
}

/// Roles that nobody follows at present.
struct Unfollowed(Arc<dyn RoleSource>);

impl RoleSource for Unfollowed {
    fn policy(&self) -> Arc<Policy> {
        self.0.policy()
    }

    fn is_followed(&self) -> bool {
        false
    }
}
