//! What Bundles cost: how soon two thousand of them are ready, and one more on top; one of two hundred resources; how soon a
//! dependency that has become ready lets its dependents go on; and what all take when nothing happens.
//!
//! ```sh
//! cargo build --release -p bailiwick -p bailiwick-bench && target/release/bundles [PROGRAM]
//! ```

use std::time::{Duration, Instant};

use bailiwick_bench::Failure;
use bailiwick_bench::client::Client;
use bailiwick_bench::ours::Ours;
use bailiwick_bench::project::{self, config_map, named};
use bailiwick_bench::verdict;
use serde_json::{Value, json};

/// How many Bundles there are, of four objects each, in how many namespaces.
const BUNDLES: usize = 2_000;
const NAMESPACES: usize = 10;
/// How many resources a large Bundle has.
const LARGE: usize = 200;
/// How often something small is repeated.
const TURNS: usize = 50;

const VERSION: &str = "bundle.bailiwick.dev/v1alpha1";

#[tokio::main]
async fn main() -> Result<(), Failure> {
    verdict::head();
    let mut ours = Ours::beside()?;
    ours.start().await?;
    let client = ours.client().await?;
    for number in 0..NAMESPACES {
        project::open(&client, &format!("p{number}"), "builder").await?;
    }
    unblocking(&client).await?;
    large(&client).await?;
    many(&client, &ours).await?;
    on_top(&client).await?;
    verdict::idle(&format!("{BUNDLES} bundles"), &ours).await?;
    println!("| the server then | – | {} | – |", ours.usage()?);
    Ok(())
}

/// Someone makes a dependency ready, and its dependent is made. An object of a kind that says when it is ready stands for what
/// takes its time.
async fn unblocking(client: &Client) -> Result<(), Failure> {
    client.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &slow_kind()).await?;
    let mut role = named("rbac.authorization.k8s.io/v1", "Role", "slow");
    role["rules"] = json!([{"apiGroups": ["bench.example.com"], "resources": ["*"], "verbs": ["*"]}]);
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/p0";
    client.create(&format!("{rbac}/roles"), &role).await?;
    let mut binding = named("rbac.authorization.k8s.io/v1", "RoleBinding", "slow");
    binding["roleRef"] = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "slow"});
    binding["subjects"] = json!([{"kind": "ServiceAccount", "name": "builder", "namespace": "p0"}]);
    client.create(&format!("{rbac}/rolebindings"), &binding).await?;
    let slow = "/apis/bench.example.com/v1/namespaces/p0/slows";
    let mut slows = client.watch(slow).await?;
    let mut maps = client.watch("/api/v1/namespaces/p0/configmaps?labelSelector=bench").await?;
    let mut times = Vec::new();
    for turn in 0..TURNS {
        let name = format!("slow-{turn}");
        let resources = json!([
            {"name": "slow", "spec": named("bench.example.com/v1", "Slow", &name)},
            {"name": "map", "dependsOn": ["slow"], "spec": marked(&format!("after-{turn}"), "$(slow.metadata.name)")},
        ]);
        client.create(&path("p0"), &bundle(&format!("waits-{turn}"), resources)).await?;
        slows.count(1, |object| object["metadata"]["name"] == *name).await?;
        let began = Instant::now();
        let ready = json!({"status": {"state": "Awake"}});
        client.merge(&format!("{slow}/{name}/status"), &ready).await?;
        maps.count(1, |_| true).await?;
        times.push(began.elapsed());
    }
    verdict::p99("a ready dependency lets its dependent be made", Duration::from_millis(100), times);
    Ok(())
}

async fn large(client: &Client) -> Result<(), Failure> {
    let resources: Vec<Value> = (0..LARGE)
        .map(|number| {
            let needs: Vec<String> = (number >= 10).then(|| format!("r{}", number - 10)).into_iter().collect();
            let text = needs.first().map_or_else(|| "none".to_owned(), |before| format!("$({before}.metadata.name)"));
            json!({"name": format!("r{number}"), "dependsOn": needs, "spec": config_map(&format!("large-{number}"), json!({"before": text}))})
        })
        .collect();
    let took = until_ready(client, "p1", "large", json!(resources)).await?;
    verdict::within(format!("a Bundle of {LARGE} resources, twenty deep, is ready"), Duration::from_secs(5), took);
    Ok(())
}

async fn many(client: &Client, ours: &Ours) -> Result<(), Failure> {
    let mut told = client.watch("/apis/bundle.bailiwick.dev/v1alpha1/bundles?labelSelector=many").await?;
    let (began, before) = (Instant::now(), ours.usage()?.processor);
    let bundles = (0..BUNDLES).map(|number| {
        let mut bundle = bundle(&format!("b{number}"), four(&format!("b{number}")));
        bundle["metadata"]["labels"] = json!({"many": "yes"});
        (path(&format!("p{}", number % NAMESPACES)), bundle)
    });
    let (made, ready) = tokio::join!(client.create_all(bundles), told.count(BUNDLES, is_ready));
    made?;
    ready?;
    let used = ours.usage()?.processor - before;
    verdict::within(format!("{BUNDLES} Bundles of 4 objects are ready"), Duration::from_secs(60), began.elapsed());
    println!("| processor time for that | – | {used:.1?} | – |");
    Ok(())
}

async fn on_top(client: &Client) -> Result<(), Failure> {
    let mut times = Vec::new();
    for turn in 0..TURNS {
        let name = format!("top-{turn}");
        times.push(until_ready(client, "p2", &name, four(&name)).await?);
    }
    verdict::p99(&format!("one more on top of {BUNDLES} is ready"), Duration::from_secs(1), times);
    Ok(())
}

/// How long it takes from the POST until it is ready.
async fn until_ready(client: &Client, namespace: &str, name: &str, resources: Value) -> Result<Duration, Failure> {
    let field = format!("{}?fieldSelector=metadata.name%3D{name}", path(namespace));
    let mut told = client.watch(&field).await?;
    let began = Instant::now();
    client.create(&path(namespace), &bundle(name, resources)).await?;
    told.count(1, is_ready).await?;
    Ok(began.elapsed())
}

/// A small application: settings, a password, and two that are made of them.
fn four(name: &str) -> Value {
    let mut secret = named("v1", "Secret", &format!("{name}-key"));
    secret["stringData"] = json!({"password": "a word"});
    json!([
        {"name": "settings", "spec": config_map(&format!("{name}-settings"), json!({"colour": "blue"}))},
        {"name": "key", "spec": secret},
        {"name": "service", "dependsOn": ["settings", "key"], "spec": config_map(
            &format!("{name}-service"), json!({"colour": "$(settings.data.colour)", "key": "$(key.metadata.name)"}),
        )},
        {"name": "route", "dependsOn": ["service"], "spec": config_map(
            &format!("{name}-route"), json!({"to": "$(service.metadata.name)"}),
        )},
    ])
}

fn bundle(name: &str, resources: Value) -> Value {
    let mut bundle = named(VERSION, "Bundle", name);
    bundle["spec"] = json!({"serviceAccountName": "builder", "resources": resources});
    bundle
}

fn marked(name: &str, text: &str) -> Value {
    let mut map = config_map(name, json!({"text": text}));
    map["metadata"]["labels"] = json!({"bench": "after"});
    map
}

fn path(namespace: &str) -> String {
    format!("/apis/{VERSION}/namespaces/{namespace}/bundles")
}

fn is_ready(bundle: &Value) -> bool {
    let conditions = bundle["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    conditions.iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

fn slow_kind() -> Value {
    let mut definition = named("apiextensions.k8s.io/v1", "CustomResourceDefinition", "slows.bench.example.com");
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    // One without a condition counts as ready at once; this one says itself when it is.
    definition["metadata"]["annotations"] = json!({
        "smith.atlassian.com/TprReadyWhenFieldPath": "status.state",
        "smith.atlassian.com/TprReadyWhenFieldValue": "Awake",
    });
    definition["spec"] = json!({
        "group": "bench.example.com", "scope": "Namespaced", "names": {"plural": "slows", "kind": "Slow"},
        "versions": [{
            "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}},
        }],
    });
    definition
}
