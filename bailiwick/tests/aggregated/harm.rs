//! What the cluster suffers from our program, registered, down or silent: as little as from any other aggregated server.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::host::manifests;
use crate::process::folder;
use crate::world::{GROUPS, VERSION, World, entry, eventually, world};

/// How much longer something may take with us than without us: wide, for busy machines. A harm that spreads takes a minute, or
/// for ever.
const MORE: Duration = Duration::from_secs(10);

/// SRV-2: before our program was registered, with it, while it is silent and after it was killed, what is the cluster's own goes
/// on as it did; a namespace that ends meanwhile waits for us, and nothing of ours outlives it.
#[tokio::test]
async fn an_outage_of_ours_stays_ours() {
    let (_turn, world) = world().await;
    unregister(world).await;
    world.restart_controllers().await;
    // kubectl remembers what there is.
    discovery_and_objects(world).await;
    let before = Measured::of(world, "before").await;
    let ended = namespace_ends(world).await;

    let folder = folder();
    let server = world.start(folder.path(), &[]).await;
    world.register().await;
    world.restart_controllers().await;
    let registered = Measured::of(world, "registered").await;
    let ended_registered = namespace_ends(world).await;
    println!("a namespace ends: before {ended:?}, registered {ended_registered:?}");
    assert!(ended_registered < ended + MORE, "{ended_registered:?} after {ended:?}");
    registered.is_no_worse_than(&before);

    // A namespace with something of ours in it, which must not be forgotten because nobody can be asked.
    world.run("create namespace stuck").await;
    world.make_object(&entry("kept").replace(r#""name":"kept"}"#, r#""name":"kept","namespace":"stuck"}"#)).await;

    server.signal(Signal::STOP);
    Measured::of(world, "silent").await.is_no_worse_than(&before);
    server.signal(Signal::CONT);
    server.signal(Signal::KILL);
    server.end().await;
    let condition = "jsonpath={.status.conditions[?(@.type==\"Available\")].status}";
    world.touch().await;
    eventually("the aggregator notices", async || {
        world.run(&format!("get apiservice {VERSION}.{} -o {condition}", GROUPS[0])).await == "False"
    })
    .await;
    Measured::of(world, "killed").await.is_no_worse_than(&before);
    with_the_webhook_only_quotas_are_refused(world).await;

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
    println!("the namespace that waited went {freed:?} after we were back");
    assert_eq!(world.run("get rce -A -o name").await, "");
    server.stop().await;
}

/// The webhook that an installation has, too: while nobody answers it, quotas cannot be written where it is asked, and everything
/// else can.
async fn with_the_webhook_only_quotas_are_refused(world: &World) {
    let installed = manifests(&["--external-name=localhost", "--port=1"]).await;
    let webhook = installed.split("---\n").find(|object| object.contains("kind: ValidatingWebhookConfiguration"));
    world.make_object(webhook.unwrap()).await;
    let quota = async |namespace: &str| {
        let command = format!("create quota held -n {namespace} --hard=pods=1 --dry-run=server");
        world.cluster.kubectl(command.split(' ')).await.unwrap()
    };
    eventually("quotas are refused", async || {
        let output = quota("default").await;
        !output.status.success() && output.stderr.contains("quotas.quota.bailiwick.dev")
    })
    .await;
    assert!(quota("kube-system").await.status.success());
    world.run("create configmap unharmed").await;
    world.run("label configmap unharmed still=so").await;
    world.run("delete configmap unharmed").await;
    world.run("delete validatingwebhookconfiguration quota.bailiwick.dev").await;
    eventually("quotas are written again", async || quota("default").await.status.success()).await;
}

/// How long the cluster takes for what is its own.
#[derive(Debug)]
struct Measured {
    /// To say what there is, and to use some of it.
    discovery: Duration,
    /// To collect what has lost its owner.
    collected: Duration,
    /// To count what a quota limits.
    counted: Duration,
}

// === impl Measured ===

impl Measured {
    async fn of(world: &World, when: &str) -> Self {
        let measured = Self {
            discovery: discovery_and_objects(world).await,
            collected: collected(world).await,
            counted: counted(world).await,
        };
        println!("{when}: {measured:?}");
        measured
    }

    fn is_no_worse_than(&self, before: &Self) {
        for (now, then) in
            [(self.discovery, before.discovery), (self.collected, before.collected), (self.counted, before.counted)]
        {
            assert!(now < then + MORE, "{self:?} after {before:?}");
        }
    }
}

async fn unregister(world: &World) {
    for group in GROUPS {
        world.run(&format!("delete apiservice {VERSION}.{group}")).await;
    }
}

async fn discovery_and_objects(world: &World) -> Duration {
    let began = Instant::now();
    world.run("get --raw /apis").await;
    world.run("get --raw /openapi/v3").await;
    world.run("get configmaps -n default -o name").await;
    world.run("explain configmap.data").await;
    began.elapsed()
}

async fn collected(world: &World) -> Duration {
    let owner: serde_json::Value = serde_json::from_str(&world.run("create configmap owner -o json").await).unwrap();
    let uid = owner["metadata"]["uid"].as_str().unwrap();
    let owner = format!("{{apiVersion: v1, kind: ConfigMap, name: owner, uid: {uid}}}");
    let owned = format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: owned, ownerReferences: [{owner}]}}}}");
    world.make_object(&owned).await;
    world.run("delete configmap owner").await;
    eventually("the cluster's own objects are collected", async || {
        world.run("get configmap owned --ignore-not-found -o name").await.is_empty()
    })
    .await
}

async fn counted(world: &World) -> Duration {
    world.run("create quota maps --hard=count/configmaps=50").await;
    let counted = eventually("the cluster's own objects are counted", async || {
        world.run("get quota maps -o jsonpath={.status.used}").await.contains("count/configmaps")
    })
    .await;
    world.run("delete quota maps").await;
    counted
}

async fn namespace_ends(world: &World) -> Duration {
    world.run("create namespace measured").await;
    world.run("create configmap a -n measured").await;
    let began = Instant::now();
    world.run("delete namespace measured --timeout=60s").await;
    began.elapsed()
}
