//! A server that is all there is, beside Kubernetes': how soon it is ready, on an empty folder and with many objects; what it
//! occupies when idle; how soon a namespace full of objects is gone.
//!
//! ```sh
//! cargo build --release -p bailiwick -p bailiwick-bench && target/release/host [PROGRAM]
//! ```
//!
//! PROGRAM is a built `bailiwick`; without it, the one beside this program. The peer is kube-apiserver with
//! kube-controller-manager and an etcd of one member. Both are called in the same way, by an administrator's certificate over
//! HTTP/2, and measured one after the other in each round, so that what disturbs one disturbs both.

mod kubernetes;

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, StatusCode};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::sleep;

use bailiwick_bench::Failure;
use bailiwick_bench::client::Client;
use bailiwick_bench::ours::Ours;
use bailiwick_bench::process::Usage;

use kubernetes::Kubernetes;

/// How often each figure is taken; the median counts.
const ROUNDS: usize = 5;
/// How many objects a server is started with.
const MANY: usize = 100_000;
/// How many objects are in a namespace that is to go.
const IN_NAMESPACE: usize = 1_000;
/// How long nobody asks for anything before memory is looked at.
const QUIET: Duration = Duration::from_secs(10);
/// How many create at once.
const CREATORS: usize = 32;
const POLL: Duration = Duration::from_millis(5);
/// After this, what was to happen did not happen.
const LIMIT: Duration = Duration::from_secs(120);

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let load = std::fs::read_to_string("/proc/loadavg")?;
    println!("load average before: {}", load.split(' ').next().unwrap_or_default());
    let mut ours = first_starts().await?;
    let kubernetes = Kubernetes::start().await?;
    starts(&mut ours, &kubernetes, "next to no objects").await?;
    idle(&ours, &kubernetes).await?;
    namespaces(&ours, &kubernetes).await?;
    for (name, client) in [("Bailiwick", ours.client().await?), ("kube-apiserver", kubernetes.client().await?)] {
        let began = Instant::now();
        fill(&client, "many", MANY).await?;
        println!("{name}: {MANY} objects made in {:.0?}", began.elapsed());
    }
    starts(&mut ours, &kubernetes, &format!("{MANY} objects")).await
}

/// How soon it is ready on an empty folder, where it makes its certificates. The last one goes on.
async fn first_starts() -> Result<Ours, Failure> {
    let (mut ours, mut times) = (Ours::beside()?, Vec::new());
    times.push(ours.start().await?);
    while times.len() < ROUNDS {
        ours.stop().await?;
        ours = Ours::beside()?;
        times.push(ours.start().await?);
    }
    report_one("Bailiwick", "ready after its first start, on an empty folder,", &mut times);
    Ok(ours)
}

/// How soon each is ready that was started again.
async fn starts(ours: &mut Ours, kubernetes: &Kubernetes, with: &str) -> Result<(), Failure> {
    let (mut own, mut other) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.stop().await?;
        own.push(ours.start().await?);
        other.push(kubernetes.restart().await?);
    }
    report(&format!("ready after a start with {with}"), &mut own, &mut other);
    Ok(())
}

/// What each occupies when nothing happens.
async fn idle(ours: &Ours, kubernetes: &Kubernetes) -> Result<(), Failure> {
    sleep(QUIET).await;
    println!("Bailiwick, idle: {}", ours.usage()?);
    for (name, id) in kubernetes.processes() {
        println!("{name}, idle: {}", Usage::of(id)?);
    }
    Ok(())
}

/// How soon a namespace with many objects is gone.
async fn namespaces(ours: &Ours, kubernetes: &Kubernetes) -> Result<(), Failure> {
    let (mut own, mut other) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        own.push(end_namespace(&ours.client().await?, round).await?);
        other.push(end_namespace(&kubernetes.client().await?, round).await?);
    }
    report(&format!("a namespace with {IN_NAMESPACE} objects is gone after"), &mut own, &mut other);
    Ok(())
}

async fn end_namespace(client: &Client, round: usize) -> Result<Duration, Failure> {
    let name = format!("full-{round}");
    fill(client, &name, IN_NAMESPACE).await?;
    let (path, began) = (format!("/api/v1/namespaces/{name}"), Instant::now());
    client.expect(Method::DELETE, &path, Bytes::new()).await?;
    while client.send(Method::GET, &path, Bytes::new()).await?.0 != StatusCode::NOT_FOUND {
        if began.elapsed() > LIMIT {
            return Err(format!("the namespace {name} is still there after {LIMIT:?}").into());
        }
        sleep(POLL).await;
    }
    Ok(began.elapsed())
}

/// Makes a namespace with so many config maps.
async fn fill(client: &Client, namespace: &str, objects: usize) -> Result<(), Failure> {
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    client.expect(Method::POST, "/api/v1/namespaces", body.to_string().into()).await?;
    let path = format!("/api/v1/namespaces/{namespace}/configmaps");
    let mut creators = JoinSet::new();
    for first in 0..CREATORS {
        let (client, path) = (client.clone(), path.clone());
        creators.spawn(async move {
            for number in (first..objects).step_by(CREATORS) {
                let body = json!({"apiVersion": "v1", "kind": "ConfigMap",
                    "metadata": {"name": format!("map-{number:06}"), "labels": {"app": format!("app-{}", number % 100)}},
                    "data": {"key": "a value of some length, as people have them in such objects"}});
                client.expect(Method::POST, &path, body.to_string().into()).await?;
            }
            Ok::<(), Failure>(())
        });
    }
    while let Some(made) = creators.join_next().await {
        made??;
    }
    Ok(())
}

fn report(what: &str, own: &mut [Duration], other: &mut [Duration]) {
    report_one("Bailiwick", what, own);
    report_one("kube-apiserver", what, other);
}

fn report_one(name: &str, what: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let at = |index: usize| times.get(index).copied().unwrap_or_default();
    println!("{name}: {what} {:.0?} ({:.0?} to {:.0?})", at(ROUNDS / 2), at(0), at(ROUNDS - 1));
}
