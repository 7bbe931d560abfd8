//! Quota allocations in a real cluster: kube-apiserver asks before a ResourceQuota is written.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bailiwick_test_host::{Cluster, Kubectl, Port};
use futures::future::join_all;
use k8s_openapi::api::core::v1::ResourceQuota;
use kube::api::{ListParams, Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::json;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep};

use crate::host::{done, done_soon, refused_soon};
use crate::process::PATIENCE;
use crate::world::World;

const ALLOCATION: &str = "
{apiVersion: quota.bailiwick.dev/v1alpha1, kind: ResourceQuotaAllocation, metadata: {name: alice}, spec: {selector: {matchLabels: {owner: alice}}, allocation: {hard: {cpu: 10}}}}
";
const EXCEEDED: &str = "exceeds the ResourceQuotaAllocation \"alice\"";

async fn refused(kubectl: &Kubectl, command: &str, words: &str) {
    let output = kubectl.run(command.split(' ')).await.unwrap();
    assert!(!output.status.success() && output.stderr.contains(words), "{command}: {words}: {output:?}");
}

async fn projects(admin: &Kubectl, names: &[&str]) {
    admin.apply(ALLOCATION).await.unwrap();
    for name in names {
        done(admin, &format!("create namespace {name}")).await;
        done(admin, &format!("label namespace {name} owner=alice")).await;
    }
    for name in names {
        done_soon(admin, &format!("get localresourcequotaallocation alice -n {name}")).await;
    }
}

async fn used_becomes(admin: &Kubectl, wanted: &str) {
    let start = Instant::now();
    loop {
        let used = done(admin, "get rqa alice -o jsonpath={.status.allocated.used.cpu}").await;
        if used == wanted {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "{used} never became {wanted}");
        sleep(Duration::from_millis(100)).await;
    }
}

/// QUOTA-1, QUOTA-5, QUOTA-11, QUOTA-15, QUOTA-20, QUOTA-21, QUOTA-24, QUOTA-26, QUOTA-27, QUOTA-30, M-QUOTA-1, M-QUOTA-2,
/// SRV-2: a stock kube-apiserver holds projects to what was allotted; what is not ours to decide never waits for us.
#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_held_to_its_allocations() {
    let world = World::start_in(Cluster::options().controller_manager().start().await.unwrap()).await;
    let mut server = world.spawn();
    let admin = world.admin();
    done(admin, "wait --for=condition=Available apiservice/v1alpha1.quota.bailiwick.dev --timeout=60s").await;
    done(admin, "wait --for=condition=Available apiservice/v1alpha1.admission.bailiwick.dev --timeout=60s").await;
    done_soon(admin, "get resourcequotaallocations").await;
    projects(admin, &["one", "two", "three"]).await;
    // Allowed here and refused later, by the cluster's own quota: what was promised comes back after a minute.
    done(admin, "create quota only -n three --hard=resourcequotas=1").await;
    let promised = Instant::now();
    refused(admin, "create quota leak -n three --hard=cpu=1", "exceeded quota").await;

    done(admin, "create quota default -n one --hard=cpu=5").await;
    refused(admin, "create quota default -n two --hard=cpu=5", EXCEEDED).await;
    done(admin, "create quota default -n two --hard=cpu=4").await;
    refused(admin, "patch quota default -n two --type=merge -p {\"spec\":{\"hard\":{\"cpu\":\"4001m\"}}}", EXCEEDED)
        .await;
    refused(admin, "patch quota default -n two -p {\"spec\":{\"hard\":{\"cpu\":\"4001m\"}}}", EXCEEDED).await;
    for _ in 0..2 {
        done(admin, "create quota dry -n one --hard=cpu=5 --dry-run=server").await;
        refused(admin, "create quota dry -n one --hard=cpu=9 --dry-run=server", EXCEEDED).await;
    }
    done(admin, "patch quota default -n two --type=merge -p {\"metadata\":{\"labels\":{\"a\":\"b\"}}}").await;

    // An owner changes the special ones, and no other; nobody but the cluster asks for reviews.
    done(admin, "create rolebinding owner -n two --clusterrole=project-owner --user=alice").await;
    done_soon(admin, "get localresourcequotaallocations -n two --as=alice").await;
    done_soon(admin, "patch quota default -n two --as=alice -p {\"spec\":{\"hard\":{\"cpu\":\"3\"}}}").await;
    refused(admin, "patch quota default -n two --as=alice -p {\"spec\":{\"hard\":{\"cpu\":\"9\"}}}", EXCEEDED).await;
    refused(admin, "create quota more -n two --as=alice --hard=cpu=1", "forbidden").await;
    refused(admin, "delete quota default -n two --as=alice", "forbidden").await;
    let review = "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"1\"}}";
    let output = admin
        .run_with("create --raw /apis/admission.bailiwick.dev/v1alpha1/quotareviews -f -".split(' '), review)
        .await
        .unwrap();
    assert!(output.stderr.contains("only \"system:apiserver\" asks this"), "{output:?}");

    // Labels and deletions.
    done(admin, "label namespace one owner-").await;
    done_soon(admin, "patch quota default -n one -p {\"spec\":{\"hard\":{\"cpu\":\"50\"}}}").await;
    done(admin, "label namespace one owner=alice").await;
    done_soon(admin, "wait --for=condition=OverAllocated rqa/alice --timeout=30s").await;
    done(admin, "delete quota default -n one").await;
    done_soon(admin, "wait --for=condition=OverAllocated=False rqa/alice --timeout=30s").await;

    // While we are down, quotas of projects cannot be written; nothing else waits.
    server.stop().await;
    refused_soon(
        admin,
        "patch quota default -n two -p {\"spec\":{\"hard\":{\"cpu\":\"1\"}}}",
        "failed calling webhook",
    )
    .await;
    done(
        admin,
        "patch quota default -n two --subresource=status --type=merge -p {\"status\":{\"used\":{\"cpu\":\"2\"}}}",
    )
    .await;
    done(admin, "create quota own -n kube-system --hard=pods=100").await;
    done(admin, "create configmap free -n two").await;
    let mut server = world.spawn();
    done_soon(admin, "patch quota default -n two -p {\"spec\":{\"hard\":{\"cpu\":\"2\"}}}").await;
    sleep(Duration::from_secs(63).saturating_sub(promised.elapsed())).await;
    used_becomes(admin, "2").await;
    done_soon(admin, "create quota default -n one --hard=cpu=8").await;
    done(admin, "delete namespace one").await;
    used_becomes(admin, "2").await;
    server.stop().await;
}

/// Hands connections on to servers, to each in turn.
async fn relay(from: u16, to: Vec<u16>) {
    let listener = TcpListener::bind(("127.0.0.1", from)).await.unwrap();
    let turn = Arc::new(AtomicUsize::new(0));
    loop {
        let (mut client, _) = listener.accept().await.unwrap();
        let (turn, to) = (turn.clone(), to.clone());
        tokio::spawn(async move {
            for _ in 0..to.len() {
                let port = to[turn.fetch_add(1, Ordering::Relaxed) % to.len()];
                if let Ok(mut server) = TcpStream::connect(("127.0.0.1", port)).await {
                    drop(copy_bidirectional(&mut client, &mut server).await);
                    return;
                }
            }
        });
    }
}

async fn client(cluster: &Cluster) -> Client {
    let kubeconfig = Kubeconfig::read_from(cluster.kubeconfig()).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

fn thousandths(quota: &ResourceQuota) -> u64 {
    let hard = quota.spec.as_ref().and_then(|spec| spec.hard.as_ref());
    let text = hard.and_then(|hard| hard.get("cpu")).map_or("0", |cpu| &cpu.0);
    text.strip_suffix('m').map_or_else(|| text.parse::<u64>().unwrap() * 1_000, |milli| milli.parse().unwrap())
}

/// QUOTA-14, R-29, SRV-10: two replicas, 200 writers, and one replica is killed while they write. The sum never passes the
/// cap, and nothing stays promised.
#[tokio::test(flavor = "multi_thread")]
async fn two_replicas_never_pass_the_cap() {
    let world = World::start().await;
    let ports = [Port::reserve().unwrap(), Port::reserve().unwrap()];
    let mut servers: Vec<_> =
        ports.iter().map(|port| world.spawn_with(&[&format!("--secure-port={}", port.number())])).collect();
    let relaying = tokio::spawn(relay(world.port.number(), ports.iter().map(Port::number).collect()));
    let admin = world.admin();
    done(admin, "wait --for=condition=Available apiservice/v1alpha1.quota.bailiwick.dev --timeout=60s").await;
    done(admin, "wait --for=condition=Available apiservice/v1alpha1.admission.bailiwick.dev --timeout=60s").await;
    done_soon(admin, "get resourcequotaallocations").await;
    let names: Vec<String> = (0..10).map(|number| format!("p{number}")).collect();
    projects(admin, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    for name in &names {
        done_soon(admin, &format!("create quota default -n {name} --hard=cpu=0")).await;
    }
    let client = client(&world.cluster).await;
    let sum = || async {
        let all: Api<ResourceQuota> = Api::all(client.clone());
        all.list(&ListParams::default()).await.unwrap().iter().map(thousandths).sum::<u64>()
    };
    let write = |number: u64| {
        let (client, namespace) = (client.clone(), format!("p{}", number % 10));
        async move {
            let quotas: Api<ResourceQuota> = Api::namespaced(client, &namespace);
            let cpu = format!("{}m", (number * 37) % 2_500);
            let patch = json!({ "spec": { "hard": { "cpu": cpu } } });
            quotas.patch("default", &PatchParams::default(), &Patch::Merge(patch)).await.is_ok()
        }
    };
    let mut allowed = 0;
    for round in 0..3 {
        let watch = async {
            for look in 0..10 {
                assert!(sum().await <= 10_000);
                if round == 1 && look == 2 {
                    servers[1].stop().await;
                }
            }
        };
        let (done, ()) = tokio::join!(join_all((0..200).map(|number| write(number + round * 7))), watch);
        allowed += done.iter().filter(|done| **done).count();
    }
    let total = sum().await;
    println!("{allowed} of 600 writes were allowed; {total} of 10000 in use");
    assert!(total <= 10_000 && allowed > 10);
    // What was promised to writes that failed comes back: then all that is left can be given away, and not more.
    let start = Instant::now();
    let left = 10_000 - (total - sum_of("p0", &client).await);
    loop {
        let done = admin
            .run(format!("patch quota default -n p0 -p {{\"spec\":{{\"hard\":{{\"cpu\":\"{left}m\"}}}}}}").split(' '))
            .await;
        if done.unwrap().status.success() {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(90), "something stays promised");
        sleep(Duration::from_secs(1)).await;
    }
    refused(admin, "patch quota default -n p1 -p {\"spec\":{\"hard\":{\"cpu\":\"9999m\"}}}", EXCEEDED).await;
    assert_eq!(sum().await, 10_000);
    relaying.abort();
    servers[0].stop().await;
}

async fn sum_of(namespace: &str, client: &Client) -> u64 {
    let quotas: Api<ResourceQuota> = Api::namespaced(client.clone(), namespace);
    quotas.list(&ListParams::default()).await.unwrap().iter().map(thousandths).sum()
}
