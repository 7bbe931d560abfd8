//! What a kube-apiserver waits for that asks before a ResourceQuota is written: 500 questions a second over connections that
//! stay, each of which reserves something. The floor is what a question costs that nothing is decided about.

use std::path::Path;
use std::time::Duration;

use bailiwick_bench::Failure;
use bailiwick_bench::behind::Behind;
use bailiwick_bench::client::Client;
use bailiwick_bench::webhook::{self, Load};
use bailiwick_test_host::Cluster;
use http::Method;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::{MOST, allocation, namespace};

const GOAL: Duration = Duration::from_millis(5);
const RATE: u32 = 500;
/// An apiserver keeps few connections to a webhook, as it speaks HTTP/2.
const CONNECTIONS: usize = 2;
/// What fits into the cluster's own limits of time.
const PROJECTS: usize = 1_000;
/// Later than any version that the cluster has given out.
const VERSION: usize = 1 << 40;
const SETTLING: Duration = Duration::from_secs(10);
const LIMIT: Duration = Duration::from_secs(120);

const ALLOCATIONS: &str = "/apis/quota.bailiwick.dev/v1alpha1/resourcequotaallocations";
const REVIEWS: &str = "/apis/admission.bailiwick.dev/v1alpha1/quotareviews";

pub(crate) async fn measure(program: &Path) -> Result<(), Failure> {
    let cluster = Cluster::start().await?;
    let ours = Behind::start(program, &cluster).await?;
    let host = Client::open(&std::fs::read_to_string(cluster.kubeconfig())?).await?;
    let made = (0..PROJECTS).map(|number| ("/api/v1/namespaces".to_owned(), project(number)));
    host.create_all(made).await.map_err(|error| format!("the projects cannot be made: {error}"))?;

    // As an apiserver calls itself, whose question is handed on.
    let caller = cluster.tls().user("system:apiserver", &["system:masters"])?;
    let (authority, ca) = (format!("127.0.0.1:{}", ours.port()), ours.ca().as_bytes());
    let connect = || Client::connect(&authority, ca, caller.certificate.as_bytes(), caller.key.as_bytes());
    let client = connect().await?;
    let mut all = allocation("all", json!({"owner": "a"}), PROJECTS * MOST);
    all["apiVersion"] = json!("quota.bailiwick.dev/v1alpha1");
    all["kind"] = json!("ResourceQuotaAllocation");
    client.create(ALLOCATIONS, &all).await.map_err(|error| format!("the allocation cannot be made: {error}"))?;
    is_counted(&client).await?;
    check(&client).await?;
    // What a cluster does when it has just begun is not what is measured.
    sleep(SETTLING).await;
    // None waits for its first question: a server does not keep those who say nothing.
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        let client = connect().await?;
        check(&client).await?;
        clients.push(client);
    }

    let load = Load { what: "a review of a ResourceQuota", goal: GOAL, rate: RATE, seconds: 20 };
    webhook::measure(load, &ours, &clients, |client, number| review(client, number as usize)).await
}

/// Waits until all projects are known and counted.
async fn is_counted(client: &Client) -> Result<(), Failure> {
    let began = Instant::now();
    while client.get(&format!("{ALLOCATIONS}/all")).await?["status"]["projectCount"] != PROJECTS {
        if began.elapsed() > LIMIT {
            return Err("the projects are not counted".into());
        }
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// What fits is allowed, and what does not is refused: nothing is measured that does not decide.
async fn check(client: &Client) -> Result<(), Failure> {
    for (cpu, expected) in [(1, true), (PROJECTS * MOST + 1, false)] {
        let answer = ask(client, 0, 0, cpu).await?;
        if answer["response"]["allowed"] != expected {
            return Err(format!("{cpu} of {} CPUs: {answer}", PROJECTS * MOST).into());
        }
    }
    Ok(())
}

/// Each time that it comes to a project again, its quota is what was asked for before, and is to be more.
async fn review(client: Client, number: usize) -> Result<(), Failure> {
    let (project, round) = (number % PROJECTS, number / PROJECTS);
    let answer = ask(&client, project, round, round + 1).await?;
    if answer["response"]["allowed"] == true { Ok(()) } else { Err(format!("what fits is refused: {answer}").into()) }
}

/// Asks for a quota to be made, or for one that has some CPUs to get others.
async fn ask(client: &Client, project: usize, from: usize, to: usize) -> Result<Value, Failure> {
    let namespace = format!("p{project}");
    let quota = |cpu: usize, version: usize| {
        let metadata =
            json!({"namespace": namespace, "name": "q", "uid": namespace, "resourceVersion": version.to_string()});
        json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": {"cpu": cpu.to_string()}}})
    };
    let (operation, old, version) = match from {
        0 => ("CREATE", Value::Null, 0),
        from => ("UPDATE", quota(from, VERSION + from), VERSION + from),
    };
    let request = json!({"uid": "1", "operation": operation, "namespace": namespace, "name": "q", "oldObject": old,
        "object": quota(to, version), "userInfo": {"username": "alice", "groups": ["system:authenticated"]}, "dryRun": false});
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    let (status, answer) = client.send(Method::POST, REVIEWS, review.to_string().into()).await?;
    match status.is_success() {
        true => Ok(serde_json::from_slice(&answer)?),
        false => Err(format!("{status}: {}", String::from_utf8_lossy(&answer)).into()),
    }
}

fn project(number: usize) -> Value {
    let mut project = namespace(number, "a");
    project["apiVersion"] = json!("v1");
    project["kind"] = json!("Namespace");
    project
}
