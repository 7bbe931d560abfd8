//! kubectl through the aggregator: what people do with a server that stands alone, they do here.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::process::folder;
use crate::scenario::{Shell, apply_and_explain, delete, discover, edit_and_replace, read_and_write, wait_and_watch};
use crate::world::{GROUPS, world};

/// SRV-1, for kubectl: discovery and documents, tables, all verbs; and nothing of ours outlives its namespace.
#[tokio::test]
async fn kubectl_works_through_the_aggregator() {
    let (_turn, world) = world().await;
    let folder = folder();
    let server = world.serve(folder.path(), &[]).await;
    let shell = Shell(world.user("ann", &["system:masters"]).await);
    discover(&shell).await;
    read_and_write(&shell).await;
    edit_and_replace(&shell, folder.path()).await;
    wait_and_watch(&shell).await;
    delete(&shell).await;
    apply_and_explain(&shell).await;
    only_our_groups_are_told_of(&shell, world.master(&server)).await;
    namespaces_are_the_clusters(&shell).await;
    server.stop().await;
}

/// SRV-1, for client-go: informers that are filled by a watch, metadata alone, and the typed and dynamic clients.
#[tokio::test(flavor = "multi_thread")]
async fn go_clients_work_through_the_aggregator() {
    let (_turn, world) = world().await;
    let folder = folder();
    let server = world.serve(folder.path(), &[]).await;
    let outcome = bailiwick_client_tests::go(world.cluster.kubeconfig()).await;
    assert!(outcome.is_ok(), "{}", outcome.unwrap_err());
    server.stop().await;
}

/// The aggregator believes whoever names a group, so that one word too much takes a group from whom it belongs to.
async fn only_our_groups_are_told_of(shell: &Shell, direct: crate::direct::Direct) {
    let ours: BTreeSet<String> = GROUPS.iter().map(|group| format!("apis/{group}/v1alpha1")).collect();
    let told = direct.get("/openapi/v3").await.expect(200);
    let named: BTreeSet<String> = told["paths"].as_object().unwrap().keys().cloned().collect();
    let documents: BTreeSet<String> = named.into_iter().filter(|path| path.matches('/').count() > 1).collect();
    assert_eq!(documents, ours, "{told}");
    let groups = direct.get("/apis").await.expect(200);
    let names: BTreeSet<&str> =
        groups["groups"].as_array().unwrap().iter().map(|group| group["name"].as_str().unwrap()).collect();
    assert_eq!(names, GROUPS.into());
    assert_eq!(direct.get("/api/v1/namespaces").await.code, 404);

    let explained = shell.run("explain configmap.data").await;
    assert!(explained.contains("Data contains the configuration data."), "{explained}");
    let discovered: Value =
        serde_json::from_str(&shell.run("get --raw /apis/catalog.bailiwick.dev/v1alpha1").await).unwrap();
    assert_eq!(discovered["kind"], "APIResourceList");
}

/// What upstream's plug-in NamespaceLifecycle answers.
async fn namespaces_are_the_clusters(shell: &Shell) {
    let manifest = |namespace: &str| {
        format!(
            "{{apiVersion: catalog.bailiwick.dev/v1alpha1, kind: ResourceCatalogEntry, metadata: {{name: a, namespace: {namespace}}}, spec: {{extension: {{apiVersion: example.com/v1, kind: Template}}}}}}"
        )
    };
    let missing = shell.fail_with("create -f -", &manifest("nowhere")).await;
    assert!(missing.contains("namespaces \"nowhere\" not found"), "{missing}");
    // At once: the watch need not have told of it.
    for number in 0..5 {
        let name = format!("brief-{number}");
        shell.run(&format!("create namespace {name}")).await;
        shell.run_with("create -f -", &manifest(&name)).await;
    }
    // It stays, as long as the entry does.
    let hold = r#"patch rce a -n brief-0 --type=merge -p {"metadata":{"finalizers":["test.bailiwick.dev/hold"]}}"#;
    shell.run(hold).await;
    shell.run("delete namespace brief-0 brief-1 brief-2 brief-3 brief-4 --wait=false").await;
    let refusal = "unable to create new content in namespace brief-0 because it is being terminated";
    let other = manifest("brief-0").replace("name: a,", "name: b,");
    crate::world::eventually("the watch tells of the end of a namespace", async || {
        let output = shell.0.run_with(["create", "-f", "-"], &other).await.unwrap();
        if output.status.success() {
            shell.run("delete rce b -n brief-0").await;
        }
        output.stderr.contains(refusal)
    })
    .await;
    // What is there can still be changed, or nothing could end.
    let release = r#"patch rce a -n brief-0 --type=merge -p {"metadata":{"finalizers":null}}"#;
    shell.run(release).await;
    let all = (0..5).map(|number| format!("namespace/brief-{number}")).collect::<Vec<_>>().join(" ");
    shell.run(&format!("wait --for=delete {all} --timeout=60s")).await;
    assert_eq!(shell.run("get rce -A -o name").await, "");
}
