//! What happens to objects by themselves, as people see it: namespaces that end, owners that go, events that are forgotten.

use std::time::Duration;

use bailiwick_test_host::{Etcd, Kubectl};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::client::{Client, Endpoint};
use crate::process::{PATIENCE, Server, folder};
use crate::turn::turn;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const EVENTS: &str = "/api/v1/namespaces/default/events";

async fn ok(kubectl: &Kubectl, line: &str) -> String {
    kubectl.run(line.split(' ')).await.unwrap().success().unwrap()
}

async fn refused(kubectl: &Kubectl, line: &str) -> String {
    let output = kubectl.run(line.split(' ')).await.unwrap();
    assert!(!output.status.success(), "{line}: {}", output.stdout);
    output.stderr
}

async fn wait_for(client: &Client, path: &str, code: u16) -> Value {
    let coming = async {
        loop {
            let answer = client.get(path).await.unwrap();
            if answer.code == code {
                return answer.json();
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, coming).await.unwrap_or_else(|_| panic!("{path} is not answered with {code}"))
}

async fn make_map(client: &Client, name: &str, owner: Option<&Value>) -> Value {
    let reference = |owner: &Value| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"], "blockOwnerDeletion": true})
    };
    let owners: Vec<Value> = owner.map(reference).into_iter().collect();
    let body = json!({"metadata": {"name": name, "ownerReferences": owners}});
    client.post(MAPS, &body).await.unwrap().expect(201)
}

#[tokio::test]
async fn kubectl_sees_namespaces_and_owned_objects_go() {
    let _turn = turn().await;
    let folder = folder();
    let server = Server::start(folder.path(), &[]).await;
    check(&server, &server).await;
    server.stop().await;
}

/// Controllers run on both, and do each other no harm.
#[tokio::test]
async fn two_servers_over_one_etcd_let_objects_go_once() {
    let _turn = turn().await;
    let etcd = Etcd::options().start().await.unwrap();
    let servers = format!("--etcd-servers={}", etcd.endpoints().join(","));
    let (first_folder, second_folder) = (folder(), folder());
    let first = Server::start(first_folder.path(), &[&servers]).await;
    // They are one cluster, so they have one authority.
    let pki = second_folder.path().join("bailiwick-data/pki");
    std::fs::create_dir_all(&pki).unwrap();
    for file in std::fs::read_dir(first.data.join("pki")).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), pki.join(file.file_name())).unwrap();
    }
    let second = Server::start(second_folder.path(), &[&servers]).await;
    check(&first, &second).await;
    first.stop().await;
    second.stop().await;
}

async fn check(server: &Server, other: &Server) {
    let (kubectl, elsewhere) = (server.kubectl().await, other.kubectl().await);
    let client = Endpoint::of(server).connect().await.unwrap();
    for name in ["default", "kube-system", "kube-public"] {
        assert!(refused(&kubectl, &format!("delete ns {name}")).await.contains("this namespace may not be deleted"));
    }
    ok(&kubectl, "get ns bailiwick-system").await;
    assert!(refused(&kubectl, "create cm a -n shop").await.contains("namespaces \"shop\" not found"));
    ok(&kubectl, "create ns shop").await;
    ok(&elsewhere, "create cm a -n shop --from-literal=k=v").await;
    ok(&elsewhere, "create secret generic a -n shop --from-literal=k=v").await;
    wait_for(&client, "/api/v1/namespaces/shop/serviceaccounts/default", 200).await;
    let trusted = wait_for(&client, "/api/v1/namespaces/shop/configmaps/kube-root-ca.crt", 200).await;
    let authority = std::fs::read_to_string(server.data.join("pki/ca.crt")).unwrap();
    assert_eq!(trusted["data"], json!({"ca.crt": authority}));
    ok(&kubectl, "delete ns shop --wait").await;
    assert!(refused(&elsewhere, "get ns shop").await.contains("NotFound"));
    ok(&kubectl, "create ns shop").await;
    assert!(refused(&kubectl, "get cm a -n shop").await.contains("NotFound"));

    for how in ["background", "foreground", "orphan"] {
        let owner = make_map(&client, "owner", None).await;
        let child = make_map(&client, "child", Some(&owner)).await;
        make_map(&client, "grandchild", Some(&child)).await;
        ok(&kubectl, &format!("delete cm owner --cascade={how}")).await;
        if how == "orphan" {
            let left = wait_for(&client, &format!("{MAPS}/child"), 200).await;
            assert!(left["metadata"].get("ownerReferences").is_none(), "{left}");
            let left = wait_for(&client, &format!("{MAPS}/grandchild"), 200).await;
            assert_eq!(left["metadata"]["ownerReferences"][0]["name"], "child", "{left}");
            continue;
        }
        if how == "foreground" {
            assert_eq!(client.get(&format!("{MAPS}/grandchild")).await.unwrap().code, 404, "the owner goes last");
        }
        wait_for(&client, &format!("{MAPS}/child"), 404).await;
        wait_for(&client, &format!("{MAPS}/grandchild"), 404).await;
    }
}

#[tokio::test]
async fn events_are_forgotten() {
    let _turn = turn().await;
    let folder = folder();
    forget_events(folder.path(), &["--event-ttl=2s"]).await;
}

#[tokio::test]
async fn events_in_etcd_are_forgotten() {
    let _turn = turn().await;
    let etcd = Etcd::options().start().await.unwrap();
    let servers = format!("--etcd-servers={}", etcd.endpoints().join(","));
    let folder = folder();
    forget_events(folder.path(), &["--event-ttl=2s", &servers]).await;
}

async fn forget_events(folder: &std::path::Path, arguments: &[&str]) {
    let make = async |client: &Client, name: &str| {
        let about = json!({"kind": "ConfigMap", "namespace": "default", "name": "a"});
        let event = json!({"metadata": {"name": name}, "involvedObject": about, "count": 1});
        client.post(EVENTS, &event).await.unwrap().expect(201);
    };
    let mut server = Server::start(folder, arguments).await;
    let client = Endpoint::of(&server).connect().await.unwrap();
    make(&client, "short").await;
    // Written again and again, it stays.
    for count in 2..10 {
        sleep(Duration::from_millis(500)).await;
        client.merge(&format!("{EVENTS}/short"), &json!({"count": count})).await.unwrap().expect(200);
    }
    wait_for(&client, &format!("{EVENTS}/short"), 404).await;
    make(&client, "old").await;
    server.stop().await;
    // And what is not written any more goes, whoever was there to see it.
    server = Server::start(folder, arguments).await;
    let client = Endpoint::of(&server).connect().await.unwrap();
    wait_for(&client, &format!("{EVENTS}/old"), 404).await;
    server.stop().await;
}
