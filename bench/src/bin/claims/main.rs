//! What claims of defined kinds cost: what 500 definitions of bindings occupy, and take when nothing happens; how soon one
//! more definition is a kind that can be used; how soon ten thousand claims are bound, two resources each, and one more on top.
//!
//! ```sh
//! cargo build --release -p bailiwick -p bailiwick-bench && target/release/claims [PROGRAM]
//! ```
//!
//! The resources are of kinds without conditions, which are ready when they are there: what a provider would take is not
//! measured.

use std::time::{Duration, Instant};

use bailiwick_bench::Failure;
use bailiwick_bench::client::Client;
use bailiwick_bench::ours::Ours;
use bailiwick_bench::project::{self, named};
use bailiwick_bench::verdict;
use serde_json::{Value, json};

/// How many definitions of bindings there are, each for a kind of claim of its own.
const DEFINITIONS: usize = 500;
/// How many claims are made, in how many namespaces.
const CLAIMS: usize = 10_000;
const NAMESPACES: usize = 10;
/// How often something small is repeated.
const TURNS: usize = 50;

const API: &str = "/apis/claim.bailiwick.dev/v1alpha1";
const VERSION: &str = "claim.bailiwick.dev/v1alpha1";
const DEFINITIONS_PATH: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const GROUP: &str = "bench.example.com";

#[tokio::main]
async fn main() -> Result<(), Failure> {
    verdict::head();
    definitions().await?;
    claims().await
}

/// Many definitions, which nobody uses yet.
async fn definitions() -> Result<(), Failure> {
    let mut ours = Ours::beside()?;
    ours.start().await?;
    let client = ours.client().await?;
    provide(&client).await?;
    let mut told = client.watch(&format!("{API}/resourcebindingdefinitions")).await?;
    let began = Instant::now();
    let making = async {
        for number in 0..DEFINITIONS {
            let plural = format!("kinds{number}");
            client.create(&format!("{API}/resourceclaimdefinitions"), &claim_definition(&plural)).await?;
            client.create(&format!("{API}/resourcebindingdefinitions"), &binding_definition(&plural)).await?;
        }
        Ok::<(), Failure>(())
    };
    // Who does not read what a watch tells is cut off.
    tokio::try_join!(making, told.count(DEFINITIONS, is_ready))?;
    println!("| {DEFINITIONS} definitions of claims and of bindings are ready | – | {:.1?} | – |", began.elapsed());
    verdict::idle(&format!("{DEFINITIONS} definitions of bindings"), &ours).await?;
    let usage = ours.usage()?;
    let what = format!("resident with {DEFINITIONS} definitions of bindings and as many of claims");
    verdict::at_most(what, 150.0, usage.resident, |mebibytes| format!("{mebibytes:.0} MiB"));
    let mut usable = Vec::new();
    for turn in 0..TURNS {
        let plural = format!("firsts{turn}");
        let began = Instant::now();
        client.create(&format!("{API}/resourceclaimdefinitions"), &claim_definition(&plural)).await?;
        let path = format!("/apis/{GROUP}/v1alpha1/{plural}");
        while !client.send(http::Method::GET, &path, bytes::Bytes::new()).await?.0.is_success() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        usable.push(began.elapsed());
    }
    verdict::p99("a kind of claim can be used after its definition was sent", Duration::from_secs(1), usable);
    Ok(())
}

/// Many claims.
async fn claims() -> Result<(), Failure> {
    let mut ours = Ours::beside()?;
    ours.start().await?;
    let client = ours.client().await?;
    provide(&client).await?;
    let mut told = client.watch(&format!("{API}/resourcebindingdefinitions")).await?;
    client.create(&format!("{API}/resourceclaimdefinitions"), &claim_definition("things")).await?;
    client.create(&format!("{API}/resourcebindingdefinitions"), &binding_definition("things")).await?;
    told.count(1, is_ready).await?;
    for number in 0..NAMESPACES {
        project::open(&client, &format!("p{number}"), "someone").await?;
    }
    let mut told = client.watch(&format!("/apis/{GROUP}/v1alpha1/things")).await?;
    let (began, before) = (Instant::now(), ours.usage()?.processor);
    let claims = (0..CLAIMS).map(|number| (path(number % NAMESPACES), claim(&format!("claim-{number}"))));
    tokio::try_join!(client.create_all(claims), told.count(CLAIMS, is_bound))?;
    let (took, used) = (began.elapsed(), ours.usage()?.processor - before);
    verdict::within(format!("{CLAIMS} claims are bound, two resources each"), Duration::from_secs(120), took);
    println!("| processor time for that | – | {used:.1?} | – |");
    let mut times = Vec::new();
    for turn in 0..TURNS {
        let name = format!("top-{turn}");
        let began = Instant::now();
        client.create(&path(0), &claim(&name)).await?;
        told.count(1, |claim| claim["metadata"]["name"] == *name && is_bound(claim)).await?;
        times.push(began.elapsed());
    }
    verdict::p99(&format!("one more on top of {CLAIMS} is bound"), Duration::from_secs(1), times);
    verdict::idle(&format!("{CLAIMS} claims"), &ours).await?;
    println!("| the server then | – | {} | – |", ours.usage()?);
    Ok(())
}

/// The kinds of two resources and their classes, and a class of each.
async fn provide(client: &Client) -> Result<(), Failure> {
    for kind in ["Server", "Rule"] {
        let (plural, class) = (format!("{}s", kind.to_lowercase()), format!("{kind}Class"));
        client.create(DEFINITIONS_PATH, &kind_of(kind, &plural, "spec")).await?;
        client.create(DEFINITIONS_PATH, &kind_of(&class, &format!("{plural}classes"), "specTemplate")).await?;
        let mut object = named(&format!("{GROUP}/v1"), &class, "standard");
        object["metadata"]["annotations"] = json!({"claim.bailiwick.dev/is-default-class": "true"});
        object["specTemplate"] = json!({"size": "small", "region": "west"});
        client.create(&format!("/apis/{GROUP}/v1/{plural}classes"), &object).await?;
    }
    Ok(())
}

fn claim_definition(plural: &str) -> Value {
    let mut definition = named(VERSION, "ResourceClaimDefinition", plural);
    definition["spec"] = json!({
        "group": GROUP, "version": "v1alpha1", "names": {"kind": kind_name(plural), "plural": plural},
        "validation": {"openAPIV3Schema": {"properties": {"spec": {"properties": {"engine": {"type": "string"}}}}}},
    });
    definition
}

fn binding_definition(plural: &str) -> Value {
    let api_version = format!("{GROUP}/v1");
    let mut definition = named(VERSION, "ResourceBindingDefinition", plural);
    let resource = |kind: &str| {
        json!({
            "resource": {"apiVersion": api_version, "kind": kind},
            "class": {"apiVersion": api_version, "kind": format!("{kind}Class")},
        })
    };
    definition["spec"] = json!({
        "claim": {"apiVersion": format!("{GROUP}/v1alpha1"), "kind": kind_name(plural)},
        "resources": [resource("Server"), resource("Rule")],
    });
    definition
}

fn claim(name: &str) -> Value {
    let mut claim = named(&format!("{GROUP}/v1alpha1"), &kind_name("things"), name);
    claim["spec"] = json!({"engine": "5.7"});
    claim
}

fn path(namespace: usize) -> String {
    format!("/apis/{GROUP}/v1alpha1/namespaces/p{namespace}/things")
}

/// `things` is the plural of `Things`: what a kind is called does not matter here.
fn kind_name(plural: &str) -> String {
    format!("Claim{plural}")
}

/// A kind of the cluster, whose objects say in one field what they are.
fn kind_of(kind: &str, plural: &str, field: &str) -> Value {
    let mut definition = named("apiextensions.k8s.io/v1", "CustomResourceDefinition", &format!("{plural}.{GROUP}"));
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    definition["spec"] = json!({
        "group": GROUP, "scope": "Cluster", "names": {"kind": kind, "plural": plural},
        "versions": [{
            "name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {field: anything}}},
        }],
    });
    definition
}

fn is_ready(object: &Value) -> bool {
    let conditions = object["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    conditions.iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

fn is_bound(claim: &Value) -> bool {
    claim["status"]["bindingPhase"] == "Bound" && is_ready(claim)
}
