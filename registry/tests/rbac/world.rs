//! Policies and questions, made up: few names and many stars, so that things meet.

use std::collections::BTreeMap;

use bailiwick_registry::User;
use k8s_openapi::api::rbac::v1::{
    AggregationRule, ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement, ObjectMeta};
use serde::Serialize;

use crate::random::Random;

/// A policy, with questions about it. This is also what the Go program reads.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct World {
    pub(crate) roles: Vec<Role>,
    pub(crate) cluster_roles: Vec<ClusterRole>,
    pub(crate) role_bindings: Vec<RoleBinding>,
    pub(crate) cluster_role_bindings: Vec<ClusterRoleBinding>,
    users: Vec<Named>,
    pub(crate) asks: Vec<Ask>,
    pub(crate) reviews: Vec<Review>,
    pub(crate) gifts: Vec<Gift>,
}

#[derive(Serialize)]
struct Named {
    name: String,
    groups: Vec<String>,
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct Ask {
    pub(crate) user: usize,
    pub(crate) verb: String,
    /// Not empty for a path that names no resource.
    pub(crate) path: String,
    pub(crate) group: String,
    pub(crate) resource: String,
    pub(crate) subresource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct Review {
    pub(crate) user: usize,
    pub(crate) namespace: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct Gift {
    pub(crate) user: usize,
    pub(crate) namespace: String,
    pub(crate) rules: Vec<PolicyRule>,
}

const USERS: [&str; 9] = [
    "alice",
    "bob",
    "system:serviceaccount:n1:sa",
    "system:serviceaccount:n2:sa",
    "system:serviceaccount:n1:a:b",
    "system:serviceaccount::sa",
    "system:anonymous",
    "a\"b\u{200b}é",
    "",
];
const GROUPS: [&str; 6] = ["g1", "g2", "system:authenticated", "system:serviceaccounts:n1", "alice", ""];
const ACCOUNTS: [&str; 4] = ["sa", "b", "a:b", ""];
const NAMESPACES: [&str; 3] = ["n1", "n2", "n3"];
const VERBS: [&str; 7] = ["get", "list", "create", "*", "impersonate", "", "GET"];
const API_GROUPS: [&str; 4] = ["", "apps", "*", "apps.example"];
const RULE_RESOURCES: [&str; 14] = [
    "pods",
    "pods/log",
    "*/log",
    "*",
    "jobs",
    "*/scale",
    "jobs/scale",
    "*/*",
    "pods/*",
    "",
    "a/b/c",
    "*/b/c",
    "*/",
    "/log",
];
const RESOURCES: [&str; 6] = ["pods", "jobs", "*", "", "a", "pods/log"];
const SUBRESOURCES: [&str; 7] = ["", "", "log", "scale", "*", "b/c", "og"];
const NAMES: [&str; 4] = ["x", "y", "", "*"];
const RULE_PATHS: [&str; 9] = ["/healthz", "/healthz/*", "*", "/a*", "/a**", "/api/*/x", "", "/", "/*"];
const PATHS: [&str; 8] = ["/healthz", "/healthz/", "/healthz/etcd", "/a", "/abc", "/api/v1/x", "/", "*"];
const ROLES: [&str; 6] = ["r1", "r2", "r3", "r4", "gone", ""];

// === impl World ===

impl World {
    /// A policy, and questions about it.
    pub(crate) fn new(random: &mut Random, asks: usize) -> Self {
        let mut world = Self::policy(random);
        world.asks = (0..asks).map(|_| ask(random, world.users.len())).collect();
        for _ in 0..8 {
            let (user, namespace) = (random.below(world.users.len()), place(random));
            world.reviews.push(Review { user, namespace });
            let (user, namespace) = (random.below(world.users.len()), place(random));
            world.gifts.push(Gift { user, namespace, rules: rules(random, 3) });
        }
        world
    }

    /// A policy that nobody asks about.
    pub(crate) fn policy(random: &mut Random) -> Self {
        let users = (0..6).map(|_| Named { name: usual(random, &USERS).to_owned(), groups: random.some(&GROUPS, 5) });
        let users: Vec<_> = users.collect();
        let mut world = Self {
            roles: Vec::new(),
            cluster_roles: ROLES[..4].iter().map(|name| cluster_role(random, name)).collect(),
            role_bindings: Vec::new(),
            cluster_role_bindings: (0..1 + random.below(5)).map(|i| cluster_role_binding(random, i)).collect(),
            asks: Vec::new(),
            reviews: Vec::new(),
            gifts: Vec::new(),
            users,
        };
        for namespace in &NAMESPACES[..2] {
            world.roles.extend(ROLES[..3].iter().map(|name| role(random, namespace, name)));
            world.role_bindings.extend((0..1 + random.below(4)).map(|i| role_binding(random, namespace, i)));
        }
        world
    }

    pub(crate) fn user(&self, index: usize) -> User {
        let Named { name, groups } = &self.users[index];
        User { name: name.clone(), groups: groups.clone(), ..User::default() }
    }
}

pub(crate) fn rules(random: &mut Random, most: usize) -> Vec<PolicyRule> {
    (0..random.below(most + 1)).map(|_| rule(random)).collect()
}

/// Mostly of one sort, as they are written; sometimes of both, and with anything missing.
fn rule(random: &mut Random) -> PolicyRule {
    let of_paths = random.once_in(4);
    let mut optional = |texts: &[&str], most: usize, wanted: bool| {
        let there = if random.once_in(12) { !wanted } else { wanted };
        there.then(|| random.some(texts, most))
    };
    let (groups, resources) = (optional(&API_GROUPS, 3, !of_paths), optional(&RULE_RESOURCES, 4, !of_paths));
    let (names, paths) = (optional(&NAMES, 3, false), optional(&RULE_PATHS, 3, of_paths));
    PolicyRule {
        verbs: random.some(&VERBS, 4),
        api_groups: groups,
        resources,
        resource_names: names,
        non_resource_urls: paths,
    }
}

pub(crate) fn role(random: &mut Random, namespace: &str, name: &str) -> Role {
    Role { metadata: metadata(namespace, name), rules: Some(rules(random, 5)) }
}

pub(crate) fn cluster_role(random: &mut Random, name: &str) -> ClusterRole {
    let mut metadata = metadata("", name);
    metadata.labels = Some(labels(random));
    let selectors = |random: &mut Random| (0..random.below(3)).map(|_| selector(random)).collect();
    let aggregation_rule =
        random.once_in(3).then(|| AggregationRule { cluster_role_selectors: Some(selectors(random)) });
    ClusterRole { metadata, rules: Some(rules(random, 6)), aggregation_rule }
}

pub(crate) fn labels(random: &mut Random) -> BTreeMap<String, String> {
    let label = |random: &mut Random| (random.pick(&["a", "b"]).to_owned(), random.pick(&["1", "2"]).to_owned());
    (0..random.below(3)).map(|_| label(random)).collect()
}

fn selector(random: &mut Random) -> LabelSelector {
    let label = (random.pick(&["a", "b", "b", "a b"]).to_owned(), random.pick(&["1", "2", "1", "!"]).to_owned());
    let expression = LabelSelectorRequirement {
        key: random.pick(&["a", "b"]).to_owned(),
        operator: random.pick(&["In", "NotIn", "Exists", "DoesNotExist", "Maybe"]).to_owned(),
        values: Some(random.some(&["1", "2"], 2)),
    };
    LabelSelector {
        match_labels: random.once_in(2).then(|| [label].into()),
        match_expressions: random.once_in(2).then(|| vec![expression]),
    }
}

pub(crate) fn role_binding(random: &mut Random, namespace: &str, number: usize) -> RoleBinding {
    RoleBinding {
        metadata: metadata(namespace, &format!("b{number}")),
        role_ref: role_ref(random),
        subjects: subjects(random),
    }
}

pub(crate) fn cluster_role_binding(random: &mut Random, number: usize) -> ClusterRoleBinding {
    ClusterRoleBinding {
        metadata: metadata("", &format!("b{number}")),
        role_ref: role_ref(random),
        subjects: subjects(random),
    }
}

fn role_ref(random: &mut Random) -> RoleRef {
    RoleRef {
        api_group: Some(random.pick(&["rbac.authorization.k8s.io", "rbac.authorization.k8s.io", ""]).to_owned()),
        kind: random
            .pick(&["Role", "Role", "ClusterRole", "ClusterRole", "ClusterRole", "ClusterRole", "Pod"])
            .to_owned(),
        name: if random.once_in(20) { "a/%".to_owned() } else { random.pick(&ROLES).to_owned() },
    }
}

fn subjects(random: &mut Random) -> Option<Vec<Subject>> {
    if random.once_in(10) {
        return None;
    }
    let subjects = (0..1 + random.below(4)).map(|_| {
        let kind = random.pick(&["User", "Group", "Group", "ServiceAccount", "group"]);
        let name = match kind {
            "User" => usual(random, &USERS),
            "ServiceAccount" => random.pick(&ACCOUNTS),
            _ => random.pick(&GROUPS),
        };
        let optional = |random: &mut Random, texts: &[&str]| Some(random.pick(texts).to_owned()).filter(|it| it != "-");
        Subject {
            kind: kind.to_owned(),
            name: name.to_owned(),
            namespace: optional(random, &["n1", "n2", "", "-", "n1:a"]),
            api_group: optional(random, &["rbac.authorization.k8s.io", "", "-"]),
        }
    });
    Some(subjects.collect())
}

fn ask(random: &mut Random, users: usize) -> Ask {
    let (user, verb) = (random.below(users), usual(random, &VERBS).to_owned());
    if random.once_in(5) {
        return Ask { user, verb, path: random.pick(&PATHS).to_owned(), ..Ask::default() };
    }
    Ask {
        user,
        verb,
        path: String::new(),
        group: usual(random, &API_GROUPS).to_owned(),
        resource: usual(random, &RESOURCES).to_owned(),
        subresource: random.pick(&SUBRESOURCES).to_owned(),
        namespace: place(random),
        name: random.pick(&NAMES).to_owned(),
    }
}

/// One of the texts, mostly one of the first two.
fn usual<'t>(random: &mut Random, texts: &[&'t str]) -> &'t str {
    if random.once_in(3) { random.pick(texts) } else { random.pick(&texts[..2]) }
}

fn place(random: &mut Random) -> String {
    random.pick(&["n1", "n2", "n3", ""]).to_owned()
}

fn metadata(namespace: &str, name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some(namespace.to_owned()).filter(|namespace| !namespace.is_empty()),
        ..ObjectMeta::default()
    }
}
