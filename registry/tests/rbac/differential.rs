//! What Kubernetes' own code answers, and what this one does.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;

use bailiwick_machinery::FieldErrors;
use bailiwick_registry::rbac::{
    LivePolicy, Policy, PolicyChange, PolicyKey, PolicyKind, PolicyObject, RoleSource, aggregate, aggregated,
    confirm_no_escalation, validate_cluster_role, validate_cluster_role_binding_update, validate_role,
    validate_role_binding_update,
};
use bailiwick_registry::{Attributes, AuthorizationTarget, Decision, ResourceAttributes};
use bailiwick_test_host::tool::RBAC_ORACLE;
use k8s_openapi::api::rbac::v1::PolicyRule;
use serde::{Deserialize, Serialize};

use crate::cases;
use crate::random::Random;
use crate::world::{Ask, World};

/// How many questions are asked about each policy.
const ASKS: usize = 80;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Answers {
    #[serde(deserialize_with = "or_empty")]
    asks: Vec<String>,
    #[serde(deserialize_with = "or_empty")]
    reviews: Vec<Reviewed>,
    #[serde(deserialize_with = "or_empty")]
    gifts: Vec<String>,
    #[serde(deserialize_with = "or_empty")]
    aggregates: Vec<Option<Vec<PolicyRule>>>,
    invalid: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Reviewed {
    #[serde(deserialize_with = "or_empty")]
    rules: Vec<PolicyRule>,
    error: String,
}

/// S-21. More than 100,000 questions about generated policies, with reviews, gifts, aggregations and validations beside
/// them: everything is answered in the same words. `BAILIWICK_TEST_RBAC_POLICIES` and `BAILIWICK_TEST_SEED` ask for others.
#[tokio::test(flavor = "multi_thread")]
async fn kubernetes_answers_the_same() {
    let program = RBAC_ORACLE.path().await.unwrap();
    let (seed, policies) = (cases("BAILIWICK_TEST_SEED", 1), cases("BAILIWICK_TEST_RBAC_POLICIES", 1_500));
    let worlds = move || {
        let mut random = Random::new(u64::try_from(seed).unwrap());
        (0..policies).map(move |_| World::new(&mut random, ASKS))
    };

    let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let asking = thread::spawn(move || {
        for world in worlds() {
            writeln!(input, "{}", serde_json::to_string(&world).unwrap()).unwrap();
        }
    });
    let (mut asked, mut allowed, mut refused) = (0, 0, 0);
    let mut lines = output.lines();
    for (number, world) in worlds().enumerate() {
        let line = lines.next().expect("an answer to every question").unwrap();
        let theirs: Answers = serde_json::from_str(&line).unwrap();
        let ours = answer(&world, number);
        compare(&world, &normal(ours), &normal(theirs));
        asked += world.asks.len();
        let line: Answers = serde_json::from_str(&line).unwrap();
        allowed += line.asks.iter().filter(|reason| reason.starts_with('+')).count();
        refused += line.gifts.iter().filter(|refusal| !refusal.is_empty()).count();
    }
    asking.join().unwrap();
    assert!(child.wait().unwrap().success());
    assert!(asked >= policies * ASKS);
    // Questions with one answer would prove little.
    assert!(allowed * 20 > asked && allowed * 2 < asked, "{allowed} of {asked} are allowed");
    assert!(refused > policies, "{refused} gifts are refused");
}

fn compare(world: &World, ours: &Answers, theirs: &Answers) {
    let show = || {
        serde_json::to_string_pretty(&serde_json::json!({
            "roles": world.roles, "clusterRoles": world.cluster_roles,
            "roleBindings": world.role_bindings, "clusterRoleBindings": world.cluster_role_bindings,
        }))
    };
    for ((ask, ours), theirs) in world.asks.iter().zip(&ours.asks).zip(&theirs.asks) {
        assert_eq!(ours, theirs, "{ask:?} of {:?} in {}", world.user(ask.user), show().unwrap());
    }
    for ((review, ours), theirs) in world.reviews.iter().zip(&ours.reviews).zip(&theirs.reviews) {
        assert_eq!(ours, theirs, "{review:?} of {:?} in {}", world.user(review.user), show().unwrap());
    }
    for ((gift, ours), theirs) in world.gifts.iter().zip(&ours.gifts).zip(&theirs.gifts) {
        assert_eq!(ours, theirs, "{gift:?} of {:?} in {}", world.user(gift.user), show().unwrap());
    }
    assert_eq!(ours, theirs, "in {}", show().unwrap());
}

fn answer(world: &World, number: usize) -> Answers {
    let policy = policy(world, number);
    Answers {
        asks: world.asks.iter().map(|ask| decide(&policy, world, ask)).collect(),
        reviews: world
            .reviews
            .iter()
            .map(|review| {
                let (rules, errors) = policy.rules_for(&world.user(review.user), &review.namespace);
                let errors = errors.iter().map(ToString::to_string);
                let error = if errors.len() == 0 { String::new() } else { aggregated(errors) };
                Reviewed { rules: rules.into_iter().cloned().collect(), error }
            })
            .collect(),
        gifts: world
            .gifts
            .iter()
            .map(|gift| {
                let given = confirm_no_escalation(&policy, &world.user(gift.user), &gift.namespace, &gift.rules);
                given.map_or_else(|refusal| refusal.to_string(), |()| String::new())
            })
            .collect(),
        aggregates: world
            .cluster_roles
            .iter()
            .map(|role| aggregate(role, &world.cluster_roles))
            .filter_map(Result::transpose_lossy)
            .collect(),
        invalid: invalid(world),
    }
}

/// None for what is no aggregation, and none inside for one that cannot be read.
trait TransposeLossy {
    fn transpose_lossy(self) -> Option<Option<Vec<PolicyRule>>>;
}

impl<E> TransposeLossy for Result<Option<Vec<PolicyRule>>, E> {
    fn transpose_lossy(self) -> Option<Option<Vec<PolicyRule>>> {
        match self {
            Ok(None) => None,
            Ok(Some(rules)) => Some(Some(rules)),
            Err(_) => Some(None),
        }
    }
}

/// Half of the policies are built at once; the others come about by changes, and things that do not stay.
fn policy(world: &World, number: usize) -> Arc<Policy> {
    let objects = (world.roles.iter().cloned().map(PolicyObject::Role))
        .chain(world.cluster_roles.iter().cloned().map(PolicyObject::ClusterRole))
        .chain(world.role_bindings.iter().cloned().map(PolicyObject::RoleBinding))
        .chain(world.cluster_role_bindings.iter().cloned().map(PolicyObject::ClusterRoleBinding));
    if number.is_multiple_of(2) {
        return Arc::new(objects.collect());
    }
    let live = LivePolicy::default();
    let mut random = Random::new(u64::try_from(number).unwrap());
    let passing = World::new(&mut random, 0);
    live.apply(passing.role_bindings.iter().cloned().map(|one| set(PolicyObject::RoleBinding(one))));
    live.apply(passing.cluster_role_bindings.iter().cloned().map(|one| set(PolicyObject::ClusterRoleBinding(one))));
    live.apply(passing.cluster_roles.iter().cloned().map(|one| set(PolicyObject::ClusterRole(one))));
    for binding in &passing.role_bindings {
        live.apply([remove(binding.metadata.namespace.as_deref().unwrap(), binding.metadata.name.as_deref().unwrap())]);
    }
    let mut objects: Vec<PolicyObject> = objects.collect();
    while !objects.is_empty() {
        live.apply([set(objects.swap_remove(random.below(objects.len())))]);
    }
    for binding in passing.cluster_role_bindings.iter().skip(world.cluster_role_bindings.len()) {
        live.apply([remove("", binding.metadata.name.as_deref().unwrap())]);
    }
    live.policy()
}

fn set(object: PolicyObject) -> PolicyChange {
    PolicyChange::Set(Box::new(object))
}

fn remove(namespace: &str, name: &str) -> PolicyChange {
    let key = PolicyKey { kind: PolicyKind::Binding, namespace: namespace.to_owned(), name: name.to_owned() };
    PolicyChange::Remove(key)
}

fn decide(policy: &Policy, world: &World, ask: &Ask) -> String {
    let target = if ask.path.is_empty() {
        AuthorizationTarget::Resource(ResourceAttributes {
            group: &ask.group,
            resource: &ask.resource,
            subresource: &ask.subresource,
            namespace: &ask.namespace,
            name: &ask.name,
            ..ResourceAttributes::default()
        })
    } else {
        AuthorizationTarget::Path(&ask.path)
    };
    let user = world.user(ask.user);
    match policy.decide(&Attributes { user: &user, verb: &ask.verb, target }) {
        Decision::Allow(reason) => format!("+{reason}"),
        Decision::NoOpinion(reason) => reason,
        Decision::Deny(_) => panic!("roles deny nothing"),
    }
}

/// What is wrong with each object. Bindings take the place of the first of their sort.
fn invalid(world: &World) -> BTreeMap<String, Vec<String>> {
    let mut invalid = BTreeMap::new();
    let mut note = |object: String, check: &dyn Fn(&mut FieldErrors)| {
        let mut errors = FieldErrors::default();
        check(&mut errors);
        if !errors.is_empty() {
            invalid.insert(object, errors.as_slice().iter().map(ToString::to_string).collect());
        }
    };
    let name = |metadata: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta| {
        let name = metadata.name.clone().unwrap();
        metadata.namespace.as_ref().map_or(name.clone(), |namespace| format!("{namespace} {name}"))
    };
    for role in &world.roles {
        note(format!("role {}", name(&role.metadata)), &|errors| validate_role(role, errors));
    }
    for role in &world.cluster_roles {
        note(format!("clusterrole {}", name(&role.metadata)), &|errors| validate_cluster_role(role, errors));
    }
    for binding in &world.role_bindings {
        note(format!("rolebinding {}", name(&binding.metadata)), &|errors| {
            validate_role_binding_update(binding, &world.role_bindings[0], errors);
        });
    }
    for binding in &world.cluster_role_bindings {
        note(format!("clusterrolebinding {}", name(&binding.metadata)), &|errors| {
            validate_cluster_role_binding_update(binding, &world.cluster_role_bindings[0], errors);
        });
    }
    invalid
}

/// Go leaves out empty lists, and reads `null` as one.
fn normal(mut answers: Answers) -> Answers {
    let reviews = answers.reviews.iter_mut().flat_map(|review| &mut review.rules);
    let aggregates = answers.aggregates.iter_mut().flatten().flatten();
    for rule in reviews.chain(aggregates) {
        let lists = [&mut rule.api_groups, &mut rule.resources, &mut rule.resource_names, &mut rule.non_resource_urls];
        for list in lists {
            *list = list.take().filter(|list| !list.is_empty());
        }
    }
    answers
}

fn or_empty<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
