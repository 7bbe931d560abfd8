//! Many at once, two servers, and servers that are killed: a resource is bound once, and nothing is left behind.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bailiwick_test_host::Etcd;
use futures::future::join_all;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use crate::estate::Estate;
use crate::process::Server;
use crate::site::{Person, Site, eventually};

/// How many resources there are.
const POOL: usize = 8;

/// Resources that are raced for, and of each whose it has said that it is, in any state.
struct Pool {
    estate: Estate,
    owners: Arc<Mutex<BTreeMap<String, BTreeSet<String>>>>,
    _watch: AbortOnDropHandle<()>,
}

/// RCD-39, N-02, N-03, R-26: of many claims that race for few resources, on two servers of which one is killed again and again,
/// each resource goes to one.
#[tokio::test(flavor = "multi_thread")]
async fn a_resource_is_bound_once() {
    let etcd = Etcd::start().await.unwrap();
    let [first, mut second] = Site::replicas(&etcd).await;
    let pool = Pool::open(first).await;
    pool.make_claims(&second.root()).await;
    let (folder, port) = (second.server.data.parent().unwrap().to_owned(), second.server.address().port());
    let flag = format!("--etcd-servers={}", etcd.endpoints().join(","));
    for _ in 0..3 {
        second.server.signal(Signal::KILL);
        while second.server.is_alive() {
            sleep(Duration::from_millis(10)).await;
        }
        second.server = Server::start_on(&folder, port, &[&flag]).await;
    }
    pool.check().await;
}

/// RCD-39, N-02, N-03, R-26, SRV-10: the same behind a cluster, of whose two servers one is killed again and again, while the Lease that says who
/// acts is taken from whoever has it, so that both do.
#[tokio::test(flavor = "multi_thread")]
async fn a_resource_is_bound_once_behind_a_cluster() {
    let [first, second] = Site::replicas_behind().await;
    let mut pool = Pool::open(first).await;
    pool.make_claims(&pool.estate.root.clone()).await;
    for _ in 0..2 {
        pool.estate.site.restart().await;
    }
    pool.check().await;
    drop(second);
}

// === impl Pool ===

impl Pool {
    async fn open(site: Site) -> Self {
        let estate = Estate::at(site, "races").await;
        estate.furnish().await;
        let servers = estate.cluster_path("servers");
        let owners: Arc<Mutex<BTreeMap<String, BTreeSet<String>>>> = Arc::default();
        let mut events = estate.root.watch(&format!("{servers}?watch=true")).await;
        let seen = owners.clone();
        let watch = tokio::spawn(async move {
            while let Ok(Some(event)) = events.next().await {
                let server = &event["object"];
                if let (Some(name), Some(owner)) =
                    (server["metadata"]["name"].as_str(), server["spec"]["claimRef"]["uid"].as_str())
                {
                    seen.lock().unwrap().entry(name.to_owned()).or_default().insert(owner.to_owned());
                }
            }
        });
        for number in 0..POOL {
            let server = estate.object("Server", &format!("s{number}"), json!({ "spec": {} }));
            let made = estate.root.post(&servers, &server).await.expect(201);
            estate.make_ready(&made, "True").await;
        }
        estate.bind_by(&[("Server", json!({ "preferExisting": true }))]).await;
        Self { estate, owners, _watch: AbortOnDropHandle::new(watch) }
    }

    /// Makes more claims than there are resources, half of them by another way.
    async fn make_claims(&self, other: &Person) {
        let estate = &self.estate;
        let claims: Vec<Value> = (0..3 * POOL)
            .map(|number| estate.object("Database", &format!("db{number}"), json!({ "spec": {} })))
            .collect();
        let path = estate.claims();
        let posts = claims.iter().enumerate().map(|(number, claim)| {
            let who = if number % 2 == 0 { &estate.root } else { other };
            who.post(&path, claim)
        });
        join_all(posts).await.iter().for_each(|answer| {
            answer.expect(201);
        });
    }

    /// Each resource is some claim's, and has never been another's.
    async fn check(&self) {
        eventually("all of the pool is bound", async || bound(&self.estate).await.len() == POOL).await;
        let bound: BTreeMap<String, BTreeSet<String>> = bound(&self.estate)
            .await
            .into_iter()
            .map(|(owner, resource)| (resource, BTreeSet::from([owner])))
            .collect();
        assert_eq!(bound.len(), POOL, "no resource has two claims: {bound:?}");
        let all_seen = async || self.owners.lock().unwrap().len() == POOL;
        eventually("all states have been seen", all_seen).await;
        assert_eq!(bound, *self.owners.lock().unwrap(), "each has had one owner, from the first state to the last");
    }
}

/// For each claim that is bound, by its UID, the name of its resource.
async fn bound(estate: &Estate) -> BTreeMap<String, String> {
    let list = estate.root.get(&estate.claims()).await.expect(200);
    let claims = list["items"].as_array().unwrap().iter().filter(|claim| claim["status"]["bindingPhase"] == "Bound");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    claims
        .map(|claim| (text(&claim["metadata"]["uid"]), text(&claim["status"]["bindings"][0]["resourceRef"]["name"])))
        .collect()
}
