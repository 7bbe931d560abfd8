//! Whatever someone who may write roles and bindings writes, in whatever order: they never get more rights than they had.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bailiwick_registry::rbac::{
    LivePolicy, Policy, PolicyChange, PolicyObject, Rbac, RoleSource, RoleWrite, aggregate, check_binding, check_role,
};
use bailiwick_registry::{Attributes, AuthorizationTarget, Decision, ResourceAttributes, User};
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};
use tokio::task::JoinSet;

use crate::cases;
use crate::random::Random;
use crate::world::{World, cluster_role, cluster_role_binding, labels, role, role_binding, rules};

const STEPS: usize = 12;
const NAMESPACES: [&str; 2] = ["n1", "n2"];
/// One of them is bound and does not exist.
const ROLES: [&str; 5] = ["r1", "r2", "r3", "r4", "gone"];
/// Roles that are made of others can be made of one another, though not for ever.
const MAX_AGGREGATIONS: usize = 64;

/// S-21. Writes that are not refused are made, by users who may neither `bind` nor `escalate`, and after each all rights of
/// the writer are compared with those it began with. `BAILIWICK_TEST_RBAC_WALKS` asks for more walks.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_writes_themselves_more_rights() {
    let walks = cases("BAILIWICK_TEST_RBAC_WALKS", 5_000);
    let next = Arc::new(AtomicUsize::new(0));
    let mut walkers = JoinSet::new();
    for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
        let next = next.clone();
        walkers.spawn(async move {
            let questions = questions();
            let mut count = Count::default();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= walks {
                    return count;
                }
                walk(number, &questions, &mut count).await;
            }
        });
    }
    let mut all = Count::default();
    while let Some(count) = walkers.join_next().await {
        all.add(&count.unwrap());
    }
    println!("{walks} walks: {all:?}");
    let enough = walks / 4;
    assert!(all.granted > enough && all.refused > enough && all.told > enough && all.collected > enough / 4, "{all:?}");
}

/// What came of the steps.
#[derive(Debug, Default)]
struct Count {
    granted: usize,
    refused: usize,
    /// After which other rules applied to the writer.
    told: usize,
    /// After which a role that is made of others had other rules.
    collected: usize,
}

// === impl Count ===

impl Count {
    fn add(&mut self, other: &Self) {
        self.granted += other.granted;
        self.refused += other.refused;
        self.told += other.told;
        self.collected += other.collected;
    }
}

async fn walk(number: usize, questions: &[Question], count: &mut Count) {
    let mut random = Random::new(u64::try_from(number).unwrap());
    let mut place = Place::new(World::policy(&mut random));
    let user = place.user(&mut random);
    let mut applying = applying(&place.live.policy(), &user);
    let before = rights(&place.live.policy(), &user, questions);
    for _ in 0..STEPS {
        let Some(change) = place.write(&mut random, &user).await else {
            count.refused += 1;
            continue;
        };
        count.granted += 1;
        count.collected += place.make(change);
        let policy = place.live.policy();
        // Rights follow from the rules that apply: as long as these are the same, so are those.
        let now = self::applying(&policy, &user);
        if now == applying {
            continue;
        }
        (applying, count.told) = (now, count.told + 1);
        let after = rights(&policy, &user, questions);
        let more: Vec<_> = (0..questions.len()).filter(|at| after[*at] && !before[*at]).collect();
        let more: Vec<_> = more.into_iter().map(|at| &questions[at]).collect();
        assert!(more.is_empty(), "walk {number} of {user:?} gains {more:?}");
    }
}

/// All there is, and what it comes to.
struct Place {
    world: World,
    live: Arc<LivePolicy>,
    rbac: Rbac,
    cluster_roles: BTreeMap<String, ClusterRole>,
}

// === impl Place ===

impl Place {
    fn new(mut world: World) -> Self {
        // Who may do everything may `bind` and `escalate`, and is meant to.
        let roles = world.roles.iter_mut().map(|role| &mut role.rules);
        for rules in roles.chain(world.cluster_roles.iter_mut().map(|role| &mut role.rules)) {
            rules.as_mut().unwrap().retain(|rule| !rule.verbs.iter().any(|verb| verb == "*"));
        }
        let live = Arc::new(LivePolicy::default());
        let named = |role: ClusterRole| (role.metadata.name.clone().unwrap(), role);
        let cluster_roles = world.cluster_roles.drain(..).map(named).collect();
        let mut place = Self { world, rbac: Rbac::new(live.clone()), live, cluster_roles };
        let mut objects: Vec<_> = place.cluster_roles.values().cloned().map(PolicyObject::ClusterRole).collect();
        objects.extend(place.world.roles.drain(..).map(PolicyObject::Role));
        objects.extend(place.world.role_bindings.drain(..).map(PolicyObject::RoleBinding));
        objects.extend(place.world.cluster_role_bindings.drain(..).map(PolicyObject::ClusterRoleBinding));
        place.live.replace(objects.into_iter().collect());
        place.collect();
        place
    }

    fn user(&self, random: &mut Random) -> User {
        self.world.user(random.below(6))
    }

    /// Something that the user wants to write, unless it is refused.
    async fn write(&self, random: &mut Random, user: &User) -> Option<PolicyObject> {
        let (policy, namespace) = (self.live.policy(), random.pick(&NAMESPACES));
        match random.below(5) {
            0 => {
                let name = random.pick(&ROLES);
                let mut role = role(random, namespace, name);
                role.rules = Some(rules(random, 2));
                let rules = role.rules.as_deref().unwrap();
                let write = RoleWrite { resource: "roles", namespace, name, rules, aggregates: false };
                check_role(&self.rbac, &policy, user, &write).await.ok()?;
                Some(PolicyObject::Role(role))
            }
            1 => {
                let name = random.pick(&ROLES);
                let mut role = cluster_role(random, name);
                role.rules = Some(rules(random, 2));
                self.write_cluster_role(user, name, role).await
            }
            2 => {
                // A label makes a role part of others.
                let name = random.pick(&ROLES);
                let mut role = self.cluster_roles.get(name)?.clone();
                role.metadata.labels = Some(labels(random));
                self.write_cluster_role(user, name, role).await
            }
            3 => {
                let number = random.below(4);
                let binding = role_binding(random, namespace, number);
                check_binding(&self.rbac, &policy, user, &binding.role_ref, namespace).await.ok()?;
                Some(PolicyObject::RoleBinding(binding))
            }
            _ => {
                let number = random.below(5);
                let binding = cluster_role_binding(random, number);
                check_binding(&self.rbac, &policy, user, &binding.role_ref, "").await.ok()?;
                Some(PolicyObject::ClusterRoleBinding(binding))
            }
        }
    }

    async fn write_cluster_role(&self, user: &User, name: &str, role: ClusterRole) -> Option<PolicyObject> {
        let old = self.cluster_roles.get(name);
        let aggregates = old.into_iter().chain([&role]).any(|role| role.aggregation_rule.is_some());
        let rules = role.rules.as_deref().unwrap();
        let write = RoleWrite { resource: "clusterroles", namespace: "", name, rules, aggregates };
        check_role(&self.rbac, &self.live.policy(), user, &write).await.ok()?;
        Some(PolicyObject::ClusterRole(role))
    }

    /// Makes a change, and all that follows from it. How many roles have other rules now that nobody wrote.
    fn make(&mut self, change: PolicyObject) -> usize {
        let written = match &change {
            PolicyObject::ClusterRole(role) => Some((role.metadata.name.clone().unwrap(), role.clone())),
            _ => None,
        };
        self.live.apply([PolicyChange::Set(Box::new(change))]);
        match written {
            Some((name, role)) => {
                self.cluster_roles.insert(name, role);
                self.collect()
            }
            None => 0,
        }
    }

    /// Gives roles that are made of others their rules, as the server does whenever a role changes.
    fn collect(&mut self) -> usize {
        for collected in 0..MAX_AGGREGATIONS {
            let rules = |role: &ClusterRole| aggregate(role, self.cluster_roles.values()).ok().flatten();
            let differ = |role: &&ClusterRole| rules(role).is_some_and(|rules| role.rules.as_ref() != Some(&rules));
            let Some(mut role) = self.cluster_roles.values().find(differ).cloned() else { return collected };
            role.rules = rules(&role);
            self.cluster_roles.insert(role.metadata.name.clone().unwrap(), role.clone());
            self.live.apply([PolicyChange::Set(Box::new(PolicyObject::ClusterRole(role)))]);
        }
        panic!("roles are made of one another for ever: {:?}", self.cluster_roles)
    }
}

/// What someone can ask to do.
#[derive(Debug)]
struct Question {
    verb: &'static str,
    target: AuthorizationTarget<'static>,
}

/// Everything that rules of the generated worlds can give.
fn questions() -> Vec<Question> {
    let mut questions = Vec::new();
    for verb in ["get", "impersonate", "other"] {
        for path in ["/healthz", "/healthz/etcd", "/abc", "/", "/other"] {
            questions.push(Question { verb, target: AuthorizationTarget::Path(path) });
        }
        for (group, namespace) in ["", "apps", "other"]
            .into_iter()
            .flat_map(|group| ["", "n1", "n2"].into_iter().map(move |namespace| (group, namespace)))
        {
            for (resource, subresource) in
                [("pods", ""), ("pods", "log"), ("jobs", "scale"), ("a", "b/c"), ("other", "")]
            {
                for name in ["", "x", "other"] {
                    let wanted = ResourceAttributes {
                        group,
                        resource,
                        subresource,
                        namespace,
                        name,
                        ..ResourceAttributes::default()
                    };
                    questions.push(Question { verb, target: AuthorizationTarget::Resource(wanted) });
                }
            }
        }
    }
    questions
}

/// Which questions are answered with yes.
fn rights(policy: &Policy, user: &User, questions: &[Question]) -> Vec<bool> {
    let allows = |question: &Question| {
        let Question { verb, target } = *question;
        matches!(policy.decide(&Attributes { user, verb, target }), Decision::Allow(_))
    };
    questions.iter().map(allows).collect()
}

/// All rules that apply to a user, everywhere and in each namespace.
fn applying(policy: &Policy, user: &User) -> Vec<Vec<PolicyRule>> {
    let rules = |namespace: &str| policy.rules_for(user, namespace).0.into_iter().cloned().collect();
    [""].into_iter().chain(NAMESPACES).map(rules).collect()
}
