//! The program as it runs in a pod: nobody gives it a kubeconfig; it finds the cluster by two variables, and itself by the files
//! that a kubelet lays out for its service account, and keeps fresh.

use std::path::Path;

use crate::direct::Direct;
use crate::process::{Server, folder};
use crate::world::{ENTRIES, World, eventually, world};

/// The account of the pod, with what the program needs; Secrets, with which tokens end; and some who may ask it something.
const ACCOUNT: &str = "
{apiVersion: v1, kind: ServiceAccount, metadata: {name: pod}}
---
{apiVersion: v1, kind: Secret, metadata: {name: first}}
---
{apiVersion: v1, kind: Secret, metadata: {name: second}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: pod}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: bailiwick}
subjects: [{kind: ServiceAccount, name: pod, namespace: default}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: pod-delegator}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: 'system:auth-delegator'}
subjects: [{kind: ServiceAccount, name: pod, namespace: default}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: pod, namespace: kube-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: extension-apiserver-authentication-reader}
subjects: [{kind: ServiceAccount, name: pod, namespace: default}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: pod-readers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: pod-readers}]
";

/// With a token that is replaced while the program runs, after which the old one is worth nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_pod_finds_its_cluster_and_takes_up_new_tokens() {
    let (_turn, world) = world().await;
    world.make_object(ACCOUNT).await;
    let (data, account) = (folder(), folder());
    let first = token(world, "first").await;
    lay_out(account.path(), "ca.crt", world.cluster.tls().ca.text());
    lay_out(account.path(), "token", &first);
    let server = world.start_in_pod(data.path(), account.path()).await;
    assert!(may_ask(world, &server, "before").await);

    lay_out(account.path(), "token", &token(world, "second").await);
    world.run("delete secret first").await;
    eventually("the old token is worth nothing", async || !is_believed(world, &first).await).await;
    // Nobody's right is remembered whom the server has not met.
    let mut number = 0;
    let taken_up = eventually("the new token is taken up", async || {
        number += 1;
        may_ask(world, &server, &format!("new-{number}")).await
    })
    .await;
    println!("a new token was taken up {taken_up:?} after the old one had ended");
    for number in 0..5 {
        assert!(may_ask(world, &server, &format!("later-{number}")).await);
    }
    server.stop().await;
    world.run("delete clusterrolebinding pod pod-delegator pod-readers").await;
}

/// A token of the pod's account that ends with this Secret.
async fn token(world: &World, secret: &str) -> String {
    let bound = format!("--bound-object-kind=Secret --bound-object-name={secret}");
    world.run(&format!("create token pod {bound}")).await.trim().to_owned()
}

/// Files are replaced as a whole, as a kubelet does it.
fn lay_out(folder: &Path, name: &str, text: &str) {
    let aside = folder.join("..new");
    std::fs::write(&aside, text).unwrap();
    std::fs::rename(aside, folder.join(name)).unwrap();
}

/// Whether the cluster knows whose token it is.
async fn is_believed(world: &World, token: &str) -> bool {
    let address = world.cluster.server().strip_prefix("https://").unwrap().parse().unwrap();
    let cluster = Direct::new(address, world.cluster.tls().ca.text(), None);
    let bearer = format!("Bearer {token}");
    cluster.get_with("/api", &[("authorization", bearer.as_str())]).await.code != 401
}

/// Whether the server can find out that someone may read entries, for which it has to ask the cluster.
async fn may_ask(world: &World, server: &Server, name: &str) -> bool {
    let identity = world.cluster.tls().user(name, &["pod-readers"]).unwrap();
    world.direct(server, Some(&identity)).get(ENTRIES).await.code == 200
}
