//! Measures what it costs to read a request and to find out whether it is allowed, in a cluster of many roles and bindings,
//! and what it costs to change one of them.
//!
//! Everything runs on one thread. Each figure is the median of several rounds.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bailiwick_apiserver::Request;
use bailiwick_registry::rbac::{LivePolicy, Policy, PolicyChange, PolicyObject, Rbac};
use bailiwick_registry::{
    AllowGroup, AllowPaths, Attributes, AuthorizationTarget, Authorizer, AuthorizerChain, Decision, ResourceAttributes,
    User,
};
use http::Method;
use serde_json::{Value, json};

const NAMESPACES: usize = 500;
const BINDINGS_OF_A_NAMESPACE: usize = 20;
const CLUSTER_BINDINGS: usize = 2_000;
const CLUSTER_ROLES: usize = 100;
const RULES_OF_A_ROLE: usize = 20;
const GROUPS_OF_THE_USER: usize = 10;
const ROUNDS: usize = 7;
const TURNS: u32 = 50_000;

/// A figure, and how it is to be read.
struct Figure {
    what: &'static str,
    each: Duration,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let live = Arc::new(LivePolicy::default());
    let objects: Vec<PolicyObject> = objects().collect::<Result<_, _>>()?;
    let changes: Vec<PolicyObject> = objects.iter().filter(|one| is_binding(one)).take(500).cloned().collect();
    let count = objects.len();
    live.replace(objects.into_iter().collect::<Policy>());
    let chain = AuthorizerChain::new(vec![
        Box::new(AllowGroup::MASTERS),
        Box::new(AllowPaths::new(["/healthz", "/readyz", "/livez"])?),
        Box::new(Rbac::new(live.clone())),
    ]);
    let groups = (0..GROUPS_OF_THE_USER).map(|number| format!("group-{number}")).collect();
    let user = User { name: "someone".to_owned(), groups, ..User::default() };

    println!("{count} roles and bindings; a user in {GROUPS_OF_THE_USER} groups, each bound twice");
    let allowed = "/apis/g19.example/v1/namespaces/namespace-7/things/one";
    let refused = "/apis/other.example/v1/namespaces/namespace-7/things/one";
    for figure in [
        measure("read a request", async || drop(black_box(Request::parse(&Method::GET, black_box(allowed))))).await,
        measure("read a request and allow it", async || ask(&chain, &user, allowed, true).await).await,
        measure("read a request and refuse it", async || ask(&chain, &user, refused, false).await).await,
    ] {
        println!("{:<30} {:>8.2} µs", figure.what, figure.each.as_secs_f64() * 1e6);
    }
    let began = Instant::now();
    let changed = u32::try_from(changes.len())?;
    for change in changes {
        live.apply([PolicyChange::Set(Box::new(change))]);
    }
    println!("{:<30} {:>8.2} µs", "change a binding", (began.elapsed() / changed).as_secs_f64() * 1e6);
    Ok(())
}

async fn measure(what: &'static str, turn: impl AsyncFn()) -> Figure {
    let mut rounds = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let began = Instant::now();
        for _ in 0..TURNS {
            turn().await;
        }
        rounds.push(began.elapsed() / TURNS);
    }
    rounds.sort_unstable();
    Figure { what, each: rounds.get(ROUNDS / 2).copied().unwrap_or_default() }
}

async fn ask(chain: &AuthorizerChain, user: &User, target: &str, expected: bool) {
    let request = Request::parse(&Method::GET, black_box(target));
    let allowed = match &request {
        Err(_) => false,
        Ok(request) => {
            let info = request.info();
            let target = AuthorizationTarget::Resource(ResourceAttributes {
                group: info.api_group(),
                version: info.api_version(),
                resource: info.resource(),
                subresource: info.subresource(),
                namespace: info.namespace(),
                name: info.name(),
                field_selector: info.field_selector(),
                label_selector: info.label_selector(),
            });
            let question = Attributes { user, verb: info.verb().as_str(), target };
            matches!(chain.authorize(&question).await, Ok(Decision::Allow(_)))
        }
    };
    assert_eq!(allowed, expected, "a measurement of the wrong answer says nothing");
}

fn is_binding(object: &PolicyObject) -> bool {
    matches!(object, PolicyObject::RoleBinding(_) | PolicyObject::ClusterRoleBinding(_))
}

/// Every role allows the same, and the last of its rules is the one that is asked for.
fn objects() -> impl Iterator<Item = serde_json::Result<PolicyObject>> {
    let rules: Value = (0..RULES_OF_A_ROLE)
        .map(|number| {
            let resources = ["widgets", "gadgets", "things", "things/status"];
            json!({ "verbs": ["list", "watch", "get"], "apiGroups": [format!("g{number}.example")], "resources": resources })
        })
        .collect();
    let roles = (0..CLUSTER_ROLES).map(move |number| {
        let role = json!({ "metadata": { "name": format!("role-{number}") }, "rules": rules });
        serde_json::from_value(role).map(PolicyObject::ClusterRole)
    });
    let cluster_bindings = (0..CLUSTER_BINDINGS).map(|number| {
        // Those of the user's groups lead to roles that do not exist any more, as some always do.
        let role =
            if number < GROUPS_OF_THE_USER { "gone".to_owned() } else { format!("role-{}", number % CLUSTER_ROLES) };
        let binding = binding("", number, &role);
        serde_json::from_value(binding).map(PolicyObject::ClusterRoleBinding)
    });
    let bindings = (0..NAMESPACES).flat_map(|place| {
        (0..BINDINGS_OF_A_NAMESPACE).map(move |number| {
            let binding = binding(&format!("namespace-{place}"), number, &format!("role-{number}"));
            serde_json::from_value(binding).map(PolicyObject::RoleBinding)
        })
    });
    roles.chain(cluster_bindings).chain(bindings)
}

fn binding(namespace: &str, number: usize, role: &str) -> Value {
    json!({
        "metadata": { "name": format!("binding-{number}"), "namespace": namespace },
        "roleRef": { "kind": "ClusterRole", "name": role },
        "subjects": [{ "kind": "Group", "name": format!("group-{number}") }],
    })
}
