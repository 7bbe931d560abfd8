//! Two of us lose their etcd, and get it back.

use std::time::{Duration, Instant};

use bailiwick_test_host::{Etcd, Port};
use http::Method;
use http_body_util::BodyExt;
use tokio::time::timeout;

use crate::direct::Direct;
use crate::giving::Given;
use crate::process::folder;
use crate::world::{ENTRIES, entry, eventually, world};

/// How long etcd is gone. What depends on the time shows much sooner.
const OUTAGE: Duration = Duration::from_secs(8);
/// How long what needs etcd may take to fail.
const FAIL_WITHIN: Duration = Duration::from_secs(5);
const RECOVER_WITHIN: Duration = Duration::from_secs(5);

/// R-18, from outside and with two replicas: what is at hand can be read, what must be certain fails in time, and once etcd
/// is back both serve again, and a watch goes on where it was.
#[tokio::test(flavor = "multi_thread")]
async fn replicas_outlive_their_etcd() {
    let (_turn, world) = world().await;
    let etcd = Etcd::options().start().await.unwrap();
    let folders = [folder(), folder()];
    let ports = [Port::reserve().unwrap(), Port::reserve().unwrap()];
    let mut running = Vec::new();
    for (folder, port) in folders.iter().zip(&ports) {
        running.push(world.start_with(&etcd, folder.path(), port.number(), &[]).await);
    }
    let replicas: Vec<Direct> = running.iter().map(|server| world.master(server)).collect();
    replicas[0].send(Method::POST, ENTRIES, &[], &entry("before")).await.unwrap().expect(201);
    // Both have it at hand: a read of any state may else be one from before.
    replicas[0].get(ENTRIES).await.expect(200);
    let list = replicas[1].get(ENTRIES).await.expect(200);
    assert_eq!(list["items"].as_array().unwrap().len(), 1, "{list}");
    let version = list["metadata"]["resourceVersion"].as_str().unwrap();
    let path = format!("{ENTRIES}?watch=true&resourceVersion={version}");
    let mut watch = replicas[1].open(Method::GET, &path, &[], "").await.unwrap().into_body();

    etcd.member(0).kill().await.unwrap();
    let began = Instant::now();
    let mut longest = Duration::ZERO;
    while began.elapsed() < OUTAGE {
        for replica in &replicas {
            let any = replica.get(&format!("{ENTRIES}?resourceVersion=0")).await.expect(200);
            assert_eq!(any["items"].as_array().unwrap().len(), 1);
            let asked = Instant::now();
            let certain = replica.get(ENTRIES).await;
            longest = longest.max(asked.elapsed());
            assert!(matches!(certain.code, 500..=504), "{certain:?}");
            assert_eq!(replica.get("/readyz").await.code, 500);
        }
    }
    assert!(longest < FAIL_WITHIN, "{longest:?}");

    etcd.member(0).start().await.unwrap();
    etcd.wait_ready().await.unwrap();
    let back = Instant::now();
    for replica in &replicas {
        while replica.get(ENTRIES).await.code != 200 || replica.get("/readyz").await.code != 200 {
            assert!(back.elapsed() < RECOVER_WITHIN, "not back after {:?}", back.elapsed());
        }
    }
    let recovered = back.elapsed();
    replicas[0].send(Method::POST, ENTRIES, &[], &entry("after")).await.unwrap().expect(201);
    let event = timeout(Duration::from_secs(20), watch.frame()).await.expect("an event in time").unwrap().unwrap();
    let event: serde_json::Value = serde_json::from_slice(event.data_ref().unwrap()).unwrap();
    assert_eq!((&event["type"], &event["object"]["metadata"]["name"]), (&"ADDED".into(), &"after".into()), "{event}");
    println!("certain reads failed within {longest:?}; both served {recovered:?} after etcd was back");
    for server in running {
        server.stop().await;
    }
}

/// O-06: a server without its etcd does not know what was taken away meanwhile, and so has no opinion when a cluster asks what
/// organizations give.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_given_by_a_server_without_its_etcd() {
    let (_turn, world) = world().await;
    let etcd = Etcd::options().start().await.unwrap();
    let (folder, port) = (folder(), Port::reserve().unwrap());
    let server = world.start_with(&etcd, folder.path(), port.number(), &[]).await;
    let given = Given::make(world, &server).await;
    let is_given = async || given.is_given().await;
    eventually("it is given", is_given).await;

    etcd.member(0).kill().await.unwrap();
    let last = given.ends("etcd").await;
    etcd.member(0).start().await.unwrap();
    etcd.wait_ready().await.unwrap();
    let back = eventually("it is given again", is_given).await;
    println!("it was last given {last:?} after etcd was gone, and again {back:?} after it was back");
    server.stop().await;
}
