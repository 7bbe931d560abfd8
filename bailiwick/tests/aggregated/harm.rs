//! What the cluster suffers when our program is down or does not answer: as little as from any other aggregated server.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::process::folder;
use crate::world::{GROUPS, VERSION, World, entry, eventually, world};

/// With our program absent, present, silent and killed: what is the cluster's own goes on as it did.
#[tokio::test]
async fn an_outage_of_ours_stays_ours() {
    let (_turn, world) = world().await;
    let folder = folder();
    let server = world.serve(folder.path(), &[]).await;
    world.restart_controllers().await;
    let present = measure(world, "present").await;

    // A namespace with something of ours in it, which must not be forgotten because nobody can be asked.
    world.run("create namespace stuck").await;
    world.make_object(&entry("kept").replace(r#""name":"kept"}"#, r#""name":"kept","namespace":"stuck"}"#)).await;

    server.signal(Signal::STOP);
    let silent = discovery_and_objects(world).await;
    server.signal(Signal::CONT);
    server.signal(Signal::KILL);
    server.end().await;
    let condition = "jsonpath={.status.conditions[?(@.type==\"Available\")].status}";
    world.touch().await;
    eventually("the aggregator notices", async || {
        world.run(&format!("get apiservice {VERSION}.{} -o {condition}", GROUPS[0])).await == "False"
    })
    .await;
    let killed = discovery_and_objects(world).await;
    let owner = world.run("create configmap owner -o json").await;
    let owner: serde_json::Value = serde_json::from_str(&owner).unwrap();
    let uid = owner["metadata"]["uid"].as_str().unwrap();
    world
        .make_object(&format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: owned, ownerReferences: [{{apiVersion: v1, kind: ConfigMap, name: owner, uid: {uid}}}]}}}}"
        ))
        .await;
    world.run("delete configmap owner").await;
    let collected = eventually("the cluster's own objects are collected", async || {
        world.run("get configmap owned --ignore-not-found -o name").await.is_empty()
    })
    .await;
    let quota = "create quota maps --hard=count/configmaps=50";
    world.run(quota).await;
    let counted = eventually("the cluster's own objects are counted", async || {
        world.run("get quota maps -o jsonpath={.status.used}").await.contains("count/configmaps")
    })
    .await;
    world.run("delete quota maps").await;

    // The namespace waits, and says for whom.
    world.run("delete namespace stuck --wait=false").await;
    eventually("the namespace says what it waits for", async || {
        let status = world.run("get namespace stuck -o jsonpath={.status.conditions}").await;
        status.contains("NamespaceDeletionDiscoveryFailure") && status.contains(GROUPS[0])
    })
    .await;
    let server = world.serve(folder.path(), &[]).await;
    let freed = eventually("the namespace goes once we are back", async || {
        world.run("get namespace stuck --ignore-not-found -o name").await.is_empty()
    })
    .await;
    assert_eq!(world.run("get rce -A -o name").await, "");

    for group in GROUPS {
        world.run(&format!("delete apiservice {VERSION}.{group}")).await;
    }
    let absent = measure(world, "absent").await;
    world.register().await;
    println!("silent {silent:?}, killed {killed:?}, collected {collected:?}, counted {counted:?}, freed {freed:?}");
    // The bounds are wide, for busy machines: an outage that spreads takes a minute or for ever.
    assert!(silent < absent.discovery + Duration::from_secs(5), "{silent:?}");
    assert!(killed < absent.discovery + Duration::from_secs(5), "{killed:?}");
    assert!(present.namespace < absent.namespace + Duration::from_secs(10));
    server.stop().await;
}

struct Measured {
    discovery: Duration,
    namespace: Duration,
}

async fn measure(world: &World, when: &str) -> Measured {
    let discovery = discovery_and_objects(world).await;
    world.run("create namespace measured").await;
    world.run("create configmap a -n measured").await;
    let began = Instant::now();
    world.run("delete namespace measured --timeout=60s").await;
    let namespace = began.elapsed();
    println!("{when}: discovery {discovery:?}, a namespace's end {namespace:?}");
    Measured { discovery, namespace }
}

/// How long it takes to find out what there is, and to use what is the cluster's own.
async fn discovery_and_objects(world: &World) -> Duration {
    let began = Instant::now();
    world.run("get --raw /apis").await;
    world.run("get --raw /openapi/v3").await;
    world.run("get configmaps -n default -o name").await;
    world.run("explain configmap.data").await;
    began.elapsed()
}
