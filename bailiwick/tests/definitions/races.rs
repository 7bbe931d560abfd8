//! Many at once, two servers, and servers that are killed: a resource is bound once, and nothing is left behind.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bailiwick_test_host::Etcd;
use futures::future::join_all;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::estate::Estate;
use crate::process::Server;
use crate::site::{Site, eventually};

/// RCD-39, N-02, N-03, R-26: of many claims that race for few resources, on two servers of which one is killed again and again,
/// each resource goes to one.
#[tokio::test(flavor = "multi_thread")]
async fn a_resource_is_bound_once() {
    let etcd = Etcd::start().await.unwrap();
    let [first, mut second] = Site::replicas(&etcd).await;
    let estate = Estate::at(first, "races").await;
    estate.furnish().await;
    let servers = estate.cluster_path("servers");
    const POOL: usize = 8;
    for number in 0..POOL {
        let server = estate.object("Server", &format!("s{number}"), json!({ "spec": {} }));
        let made = estate.root.post(&servers, &server).await.expect(201);
        estate.make_ready(&made, "True").await;
    }
    estate.bind_by(&[("Server", json!({ "preferExisting": true }))]).await;
    let other = second.root();
    let claims: Vec<Value> =
        (0..3 * POOL).map(|number| estate.object("Database", &format!("db{number}"), json!({ "spec": {} }))).collect();
    let path = estate.claims();
    let posts = claims.iter().enumerate().map(|(number, claim)| {
        let who = if number % 2 == 0 { &estate.root } else { &other };
        who.post(&path, claim)
    });
    join_all(posts).await.iter().for_each(|answer| {
        answer.expect(201);
    });
    let (folder, port) = (second.server.data.parent().unwrap().to_owned(), second.server.address().port());
    let flag = format!("--etcd-servers={}", etcd.endpoints().join(","));
    for _ in 0..3 {
        second.server.signal(Signal::KILL);
        while second.server.is_alive() {
            sleep(Duration::from_millis(10)).await;
        }
        second.server = Server::start_on(&folder, port, &[&flag]).await;
    }
    eventually("all of the pool is bound", async || bound(&estate).await.len() == POOL).await;
    let bound = bound(&estate).await;
    let owners: BTreeSet<&String> = bound.values().collect();
    assert_eq!(owners.len(), POOL, "no resource has two claims: {bound:?}");
    for number in 0..POOL {
        let server = estate.root.get(&format!("{servers}/s{number}")).await.expect(200);
        let owner = server["spec"]["claimRef"]["uid"].as_str().unwrap().to_owned();
        let name = format!("s{number}");
        assert_eq!(
            bound.iter().filter(|(_, resource)| **resource == name).map(|(uid, _)| uid).collect::<Vec<_>>(),
            [&owner]
        );
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
