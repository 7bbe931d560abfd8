//! What the way through a kube-apiserver costs: the same requests to our server and to sample-apiserver, directly and through the
//! aggregator, in one run and in turn.
//!
//! ```sh
//! cargo run --release -p bailiwick-bench --bin aggregated [PROGRAM]
//! ```
//!
//! PROGRAM is a built `bailiwick`; without it, the release build of this workspace is made and used. Requests are sent one after
//! the other on one HTTP/2 connection, so that what is measured is the time that the way takes and not what waits in queues.
//! The user is no administrator: both servers ask the cluster what they may do, and remember the answer.

mod route;

use std::time::Duration;

use bailiwick_bench::Failure;
use bailiwick_bench::behind::{self, Behind};
use bailiwick_test_host::{Cluster, SampleApiserver};

use route::Route;

/// How often all routes are measured, in turn, so that all of them meet the same disturbances.
const ROUNDS: usize = 9;
/// How many requests make a measurement.
const REQUESTS: usize = 400;

const USER: &str = "reader";
const RIGHTS: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules:
- {apiGroups: [catalog.bailiwick.dev, wardle.example.com], resources: [resourcecatalogentries, flunders], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: reader}]
";
const ENTRY: &str = "{apiVersion: catalog.bailiwick.dev/v1alpha1, kind: ResourceCatalogEntry, metadata: {name: a, namespace: default}, spec: {extension: {apiVersion: bench.example.com/v1, kind: Database}}}";
const FLUNDER: &str =
    "{apiVersion: wardle.example.com/v1alpha1, kind: Flunder, metadata: {name: a, namespace: default}}";

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let program = behind::program(std::env::args_os().nth(1)).await?;
    let cluster = Cluster::start().await?;
    cluster.admin().apply(RIGHTS).await?;
    let sample = cluster.sample_apiserver().await?;
    cluster.register_api_service(SampleApiserver::GROUP, SampleApiserver::VERSION, sample.port(), sample.ca()).await?;
    let ours = Behind::start(&program, &cluster).await?;
    cluster.register_api_service("catalog.bailiwick.dev", "v1alpha1", ours.port(), ours.ca()).await?;
    cluster.admin().apply(ENTRY).await?;
    cluster.admin().apply(FLUNDER).await?;

    let user = cluster.tls().user(USER, &[])?;
    let host = cluster.server().trim_start_matches("https://");
    let entry = "/apis/catalog.bailiwick.dev/v1alpha1/namespaces/default/resourcecatalogentries/a";
    let flunder = "/apis/wardle.example.com/v1alpha1/namespaces/default/flunders/a";
    let cluster_ca = cluster.tls().ca.text();
    let local = |port: u16| format!("127.0.0.1:{port}");
    let mut routes = [
        Route::open("Bailiwick, directly", &local(ours.port()), ours.ca(), &user, entry).await?,
        Route::open("Bailiwick, through kube-apiserver", host, cluster_ca, &user, entry).await?,
        Route::open("sample-apiserver, directly", &local(sample.port()), sample.ca(), &user, flunder).await?,
        Route::open("sample-apiserver, through kube-apiserver", host, cluster_ca, &user, flunder).await?,
    ];
    for route in &mut routes {
        route.measure(REQUESTS).await?;
    }
    let mut times = vec![Vec::new(); routes.len()];
    for _ in 0..ROUNDS {
        for (route, times) in routes.iter_mut().zip(&mut times) {
            times.push(route.measure(REQUESTS).await?);
        }
    }
    let medians: Vec<Duration> = times.iter_mut().map(|times| median(times)).collect();
    for (route, median) in routes.iter().zip(&medians) {
        println!("{}: {median:?} for a GET of one object (median of {ROUNDS} rounds of {REQUESTS})", route.name());
    }
    let [direct, through, sample_direct, sample_through] = medians[..] else { return Ok(()) };
    let ratio = |one: Duration, other: Duration| one.as_secs_f64() / other.as_secs_f64();
    let (added, sample_added) = (through.saturating_sub(direct), sample_through.saturating_sub(sample_direct));
    println!("the way through kube-apiserver adds {added:?} to ours and {sample_added:?} to sample-apiserver's");
    println!(
        "ours takes {:.2} of sample-apiserver's time through kube-apiserver, and {:.2} directly",
        ratio(through, sample_through),
        ratio(direct, sample_direct)
    );
    Ok(())
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
