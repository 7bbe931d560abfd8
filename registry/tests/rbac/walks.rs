//! Whatever someone who may write roles and bindings writes, in whatever order: they never get more rights than they had.

use std::collections::BTreeSet;
use std::sync::Arc;

use bailiwick_registry::rbac::{
    LivePolicy, PolicyChange, PolicyObject, Rbac, RoleSource, RoleWrite, check_binding, check_role,
};
use bailiwick_registry::{Attributes, AuthorizationTarget, Decision, ResourceAttributes, User};
use k8s_openapi::api::rbac::v1::PolicyRule;

use crate::cases;
use crate::random::Random;
use crate::world::{World, rules};

const STEPS: usize = 12;

/// S-21. Writes that are not refused are made, by users who may neither `bind` nor `escalate`, and after each all rights of
/// the writer are compared with those it began with. `BAILIWICK_TEST_RBAC_WALKS` asks for more walks.
#[tokio::test]
async fn nobody_writes_themselves_more_rights() {
    let (mut granted, mut refused) = (0, 0);
    for walk in 0..cases("BAILIWICK_TEST_RBAC_WALKS", 400) {
        let mut random = Random::new(u64::try_from(walk).unwrap());
        let world = World::new(&mut random, 0);
        let live = Arc::new(LivePolicy::default());
        live.replace(objects(&world).collect());
        let rbac = Rbac::new(live.clone());
        let user = world.user(random.below(6));
        let before = rights(&live, &user);
        for _ in 0..STEPS {
            match write(&mut random, &rbac, &live, &user).await {
                Some(change) => {
                    live.apply([PolicyChange::Set(Box::new(change))]);
                    granted += 1;
                    let after = rights(&live, &user);
                    let more: Vec<_> = after.difference(&before).collect();
                    assert!(more.is_empty(), "walk {walk} of {user:?} gains {more:?}");
                }
                None => refused += 1,
            }
        }
    }
    assert!(granted > 100 && refused > 100, "{granted} writes are granted, {refused} refused");
}

/// Something that the user wants to write, unless it is refused.
async fn write(random: &mut Random, rbac: &Rbac, live: &LivePolicy, user: &User) -> Option<PolicyObject> {
    let policy = live.policy();
    let mut other = World::new(random, 0);
    match random.below(4) {
        0 => {
            let mut role = other.roles.swap_remove(random.below(other.roles.len()));
            role.rules = Some(rules(random, 2));
            let namespace = role.metadata.namespace.clone().unwrap();
            let name = role.metadata.name.clone().unwrap();
            let rules = role.rules.as_deref().unwrap();
            let write = RoleWrite { resource: "roles", namespace: &namespace, name: &name, rules, aggregates: false };
            check_role(rbac, &policy, user, &write).await.ok()?;
            Some(PolicyObject::Role(role))
        }
        1 => {
            let mut role = other.cluster_roles.swap_remove(random.below(other.cluster_roles.len()));
            role.rules = Some(rules(random, 2));
            let (name, rules) = (role.metadata.name.clone().unwrap(), role.rules.as_deref().unwrap());
            let write = RoleWrite { resource: "clusterroles", namespace: "", name: &name, rules, aggregates: false };
            check_role(rbac, &policy, user, &write).await.ok()?;
            Some(PolicyObject::ClusterRole(role))
        }
        2 => {
            let binding = other.role_bindings.pop()?;
            let namespace = binding.metadata.namespace.clone().unwrap();
            check_binding(rbac, &policy, user, &binding.role_ref, &namespace).await.ok()?;
            Some(PolicyObject::RoleBinding(binding))
        }
        _ => {
            let binding = other.cluster_role_bindings.pop()?;
            check_binding(rbac, &policy, user, &binding.role_ref, "").await.ok()?;
            Some(PolicyObject::ClusterRoleBinding(binding))
        }
    }
}

/// Everything that rules of the generated worlds can give, asked one by one.
fn rights(live: &LivePolicy, user: &User) -> BTreeSet<String> {
    let policy = live.policy();
    let mut rights = BTreeSet::new();
    let mut ask = |verb: &str, target: AuthorizationTarget<'_>| {
        if let Decision::Allow(_) = policy.decide(&Attributes { user, verb, target }) {
            rights.insert(format!("{verb} {target:?}"));
        }
    };
    for verb in ["get", "impersonate", "other"] {
        for path in ["/healthz", "/healthz/etcd", "/abc", "/", "/other"] {
            ask(verb, AuthorizationTarget::Path(path));
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
                    ask(verb, AuthorizationTarget::Resource(wanted));
                }
            }
        }
    }
    rights
}

fn objects(world: &World) -> impl Iterator<Item = PolicyObject> {
    // Who may do everything may `bind` and `escalate`, and is meant to.
    let limit = |rules: &mut Option<Vec<PolicyRule>>| {
        rules.as_mut().unwrap().retain(|rule| !rule.verbs.iter().any(|verb| verb == "*"));
    };
    let roles = world.roles.iter().cloned().map(move |mut role| {
        limit(&mut role.rules);
        PolicyObject::Role(role)
    });
    let cluster_roles = world.cluster_roles.iter().cloned().map(move |mut role| {
        limit(&mut role.rules);
        PolicyObject::ClusterRole(role)
    });
    let bindings = world.role_bindings.iter().cloned().map(PolicyObject::RoleBinding);
    let cluster_bindings = world.cluster_role_bindings.iter().cloned().map(PolicyObject::ClusterRoleBinding);
    roles.chain(cluster_roles).chain(bindings).chain(cluster_bindings)
}
