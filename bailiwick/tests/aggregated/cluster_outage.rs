//! When the cluster does not answer: nothing is allowed that was not allowed a moment ago.

use std::time::Duration;

use bailiwick_test_host::{Etcd, Link, Port};
use tokio::time::{Instant, sleep};

use crate::direct::Direct;
use crate::giving::Given;
use crate::process::{folder, program};
use crate::world::{ENTRIES, eventually, world};

/// R-31, with the real thing: kube-apiserver is killed, and comes back.
#[tokio::test]
async fn without_the_cluster_nothing_new_is_allowed() {
    let (_turn, world) = world().await;
    let folder = folder();
    let server = world.serve(folder.path(), &["--authorization-webhook-cache-authorized-ttl=2s"]).await;
    let tls = world.cluster.tls();
    world
        .run("create clusterrole outage-reader --verb=list --resource=resourcecatalogentries.catalog.bailiwick.dev")
        .await;
    world.run("create clusterrolebinding outage-readers --clusterrole=outage-reader --group=outage-readers").await;
    let reader = world.direct(&server, Some(&tls.user("reader", &["outage-readers"]).unwrap()));
    let stranger = world.direct(&server, Some(&tls.user("stranger", &[]).unwrap()));
    eventually("the right is known", async || reader.get(ENTRIES).await.code == 200).await;
    assert_eq!(stranger.get(ENTRIES).await.code, 403);

    world.cluster.apiserver().kill().await.unwrap();
    let killed = Instant::now();
    let mut codes = Vec::new();
    while killed.elapsed() < Duration::from_secs(5) {
        codes.push((killed.elapsed(), reader.get(ENTRIES).await.code));
        let refused = stranger.get(ENTRIES).await;
        assert!(matches!(refused.code, 403 | 500), "{refused:?}");
        sleep(Duration::from_millis(100)).await;
    }
    let last = codes.iter().rev().find(|(_, code)| *code == 200).map(|(when, _)| *when);
    assert!(last.is_none_or(|when| when < Duration::from_secs(4)), "allowed for {last:?} by an answer kept for 2 s");
    assert_eq!(codes.last().unwrap().1, 500, "{codes:?}");
    let failed = reader.get(ENTRIES).await.expect(500);
    assert!(!failed.to_string().contains("127.0.0.1"), "clients are not told where the cluster is: {failed}");
    let unknown = [("authorization", "Bearer unknown")];
    assert_eq!(world.direct(&server, None).get_with(ENTRIES, &unknown).await.code, 401);
    // Who may do everything is not asked about, and health is nobody's secret.
    assert_eq!(world.master(&server).get(ENTRIES).await.code, 200);
    assert_eq!(world.direct(&server, None).get("/livez").await.code, 200);

    world.cluster.apiserver().start().await.unwrap();
    world.cluster.apiserver().wait_ready().await.unwrap();
    let back = eventually("the cluster answers again", async || reader.get(ENTRIES).await.code == 200).await;
    assert_eq!(stranger.get(ENTRIES).await.code, 403);
    println!("allowed until {last:?} after the end, and {back:?} after the return");
    server.stop().await;
}

/// A server that does not know whom to believe waits, and never says that something does not exist.
#[tokio::test]
async fn a_server_that_waits_for_the_cluster_lives_and_is_not_ready() {
    let (_turn, world) = world().await;
    let folder = folder();
    let port = Port::reserve().unwrap();
    // An account without any rights.
    let stranger = world.cluster.user("stranger", &[]).unwrap();
    let arguments = [
        format!("--secure-port={}", port.number()),
        format!("--kubeconfig={}", stranger.display()),
        "--shutdown-delay-duration=0s".to_owned(),
    ];
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut child = program(folder.path(), &arguments).spawn().unwrap();
    let ca = folder.path().join("bailiwick-data/pki/ca.crt");
    eventually("it listens", async || {
        ca.exists() && tokio::net::TcpStream::connect(("127.0.0.1", port.number())).await.is_ok()
    })
    .await;
    let ca = std::fs::read_to_string(ca).unwrap();
    let direct = Direct::new(([127, 0, 0, 1], port.number()).into(), &ca, None);
    assert_eq!(direct.get("/livez").await.code, 200);
    assert_eq!(direct.get("/readyz").await.code, 500);
    for path in [ENTRIES, "/apis", "/nonsense"] {
        let answer = direct.get(path).await;
        assert_eq!(answer.expect(503)["reason"], "ServiceUnavailable");
        assert_eq!(answer.headers["retry-after"], "1");
    }
    child.kill().await.unwrap();
}

/// O-06: a server that does not hear of its cluster does not know whose a project is by now, and so has no opinion when another
/// kube-apiserver asks what organizations give: whether the one that it hears of is gone, or does not say a word.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_given_by_a_server_without_its_cluster() {
    let (_turn, world) = world().await;
    let etcd = Etcd::options().start().await.unwrap();
    let (folder, port) = (folder(), Port::reserve().unwrap());
    let server = world.start_with(&etcd, folder.path(), port.number(), &[]).await;
    let given = Given::make(world, &server).await;
    let is_given = async || given.is_given().await;
    let apiserver = world.cluster.apiserver();
    for is_killed in [false, true] {
        eventually("it is given", is_given).await;
        match is_killed {
            true => apiserver.kill().await.unwrap(),
            false => apiserver.pause().unwrap(),
        }
        let last = given.ends("the cluster").await;
        match is_killed {
            true => apiserver.start().await.unwrap(),
            false => apiserver.resume().unwrap(),
        }
        apiserver.wait_ready().await.unwrap();
        let back = eventually("it is given again", is_given).await;
        println!("it was last given {last:?} after the cluster was gone, and again {back:?} after it was back");
    }
    server.stop().await;
}

/// O-06: connections that have fallen silent, without either side having been told, keep nothing given: not what a role gives no
/// more, and not what was another's project. New connections are whole, so that all else works.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_has_fallen_silent_keeps_nothing_given() {
    let (_turn, world) = world().await;
    let address = world.cluster.server().strip_prefix("https://").unwrap().parse().unwrap();
    let link = Link::open(address).await.unwrap();
    let folder = folder();
    let kubeconfig = folder.path().join("by-link.kubeconfig");
    let direct = std::fs::read_to_string(&world.kubeconfig).unwrap();
    let by_link = direct.replace(world.cluster.server(), &format!("https://{}", link.address()));
    assert_ne!(by_link, direct);
    std::fs::write(&kubeconfig, by_link).unwrap();
    let server = world.start_as(&kubeconfig, folder.path(), &["--etcd-prefix=/silent"]).await;
    let given = Given::make(world, &server).await;
    let is_given = async || given.is_given().await;
    let rule = |verb: &str| format!("[{{\"op\":\"replace\",\"path\":\"/rules/0/verbs\",\"value\":[\"{verb}\"]}}]");
    for (what, away, back) in [
        (
            "the role",
            format!("patch clusterrole outage --type=json -p {}", rule("get")),
            format!("patch clusterrole outage --type=json -p {}", rule("create")),
        ),
        (
            "the project",
            "label namespace acme-outage openshift.io/owner=organizations__Beta --overwrite".to_owned(),
            "label namespace acme-outage openshift.io/owner=organizations__Acme --overwrite".to_owned(),
        ),
    ] {
        eventually("it is given", is_given).await;
        link.desert().await.unwrap();
        world.run(&away).await;
        let last = given.ends_for_good(what).await;
        world.run(&back).await;
        let again = eventually("it is given again", is_given).await;
        println!(
            "{what}: it was last given {last:?} after it was taken away, and again {again:?} after it was given back"
        );
    }
    server.stop().await;
}
