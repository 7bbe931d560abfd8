use std::path::Path;

use bailiwick_test_host::{Cluster, Link};
use futures::StreamExt;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{ListParams, WatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::time::{Instant, timeout};

use super::*;

/// What may pass before something that was taken away does not count any more.
const BOUND: Duration = Duration::from_secs(1);
/// How long a watch of this kind is open.
const OPEN: u32 = 60;

/// A cluster, and a way to it that can fall silent.
async fn far_away() -> (Cluster, Link, Config) {
    let cluster = Cluster::start().await.unwrap();
    let link = Link::open(cluster.server().strip_prefix("https://").unwrap().parse().unwrap()).await.unwrap();
    let mut config = config(cluster.kubeconfig()).await;
    config.cluster_url = format!("https://{}", link.address()).parse().unwrap();
    (cluster, link, config)
}

async fn config(kubeconfig: &Path) -> Config {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap()
}

/// O-06, R-31: a watch over a connection that has fallen silent ends within the time in which something may be given that was taken
/// away; and one that is only quiet stays.
#[tokio::test]
async fn a_connection_that_has_fallen_silent_is_noticed() {
    let (_cluster, link, config) = far_away().await;
    let namespaces: Api<Namespace> = Api::all(attentive(config).unwrap());
    let version = namespaces.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    let params = WatchParams::default().timeout(OPEN);
    let mut events = [
        namespaces.watch(&params, &version).await.unwrap().boxed(),
        namespaces.watch(&params, &version).await.unwrap().boxed(),
    ];
    let quiet = timeout(4 * BOUND, events[0].next()).await;
    assert!(quiet.is_err(), "nothing happens, and it stays: {quiet:?}");

    link.desert().await.unwrap();
    let silent = Instant::now();
    for events in &mut events {
        let end = timeout(2 * BOUND, events.next()).await.expect("an end");
        assert!(matches!(end, None | Some(Err(_))), "{end:?}");
    }
    assert!(silent.elapsed() < BOUND, "noticed after {:?}", silent.elapsed());
    // The next one goes elsewhere.
    timeout(BOUND, namespaces.list(&ListParams::default())).await.unwrap().unwrap();
}
