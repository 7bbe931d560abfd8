//! Kubernetes' own kinds, as kubectl makes them: it sends most of them in protobuf and has no other way.

use bailiwick_test_host::Kubectl;

use crate::process::{Server, folder};

async fn ok(kubectl: &Kubectl, line: &str) -> String {
    kubectl.run(line.split(' ')).await.unwrap().success().unwrap()
}

/// The words of each line.
fn words(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split_whitespace().collect()).collect()
}

#[tokio::test]
async fn kubectl_makes_kinds_of_kubernetes_own() {
    let folder = folder();
    let server = Server::start(folder.path(), &[]).await;
    let kubectl = server.kubectl().await;
    for line in [
        "create namespace shop",
        "create configmap a --from-literal=k=v -n shop",
        "create secret generic a --from-literal=k=v -n shop",
        "create serviceaccount a -n shop",
        "create quota a --hard=configmaps=5,count/leases.coordination.k8s.io=1 -n shop",
        "create quota b --hard=secrets=1 -n shop",
        "create role a --verb=get --resource=configmaps -n shop",
        "create clusterrole shop-reader --verb=get,list --resource=secrets",
        "create rolebinding a --role=a --serviceaccount=shop:a -n shop",
        "create clusterrolebinding shop-reader --clusterrole=shop-reader --user=alice",
        "label namespace shop tier=gold",
        "annotate secret a note=x -n shop",
    ] {
        ok(&kubectl, line).await;
    }
    assert_eq!(ok(&kubectl, "get ns -l tier=gold -o name").await.trim(), "namespace/shop");
    assert_eq!(ok(&kubectl, "get secret a -n shop -o jsonpath={.data.k}").await, "dg==");
    let quota = ok(&kubectl, "get quota a -n shop -o jsonpath={.spec.hard}").await;
    assert!(quota.contains("\"configmaps\":\"5\""), "{quota}");
    assert_eq!(words(&ok(&kubectl, "describe quota b -n shop").await).last(), Some(&vec!["secrets", "1", "1"]));
    let refused = kubectl.run("create secret generic b -n shop".split(' ')).await.unwrap().stderr;
    assert!(
        refused.contains("exceeded quota: b, requested: secrets=1, used: secrets=1, limited: secrets=1"),
        "{refused}"
    );
    let bindings = ok(&kubectl, "get rolebindings -n shop -o wide").await;
    assert!(bindings.contains("Role/a") && bindings.contains("shop/a"), "{bindings}");
    let described = ok(&kubectl, "describe ns shop").await;
    assert!(described.contains("Status:       Active"), "{described}");

    ok(&kubectl, "delete ns shop --wait=false").await;
    let phase = ok(&kubectl, "get ns -o jsonpath={.items[*].status.phase} -l tier=gold").await;
    assert!(phase.is_empty() || phase == "Terminating", "{phase}");
    server.stop().await;
}
