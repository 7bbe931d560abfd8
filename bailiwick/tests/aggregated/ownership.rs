//! kube-controller-manager and our objects: what goes with a namespace, with an owner, and what is counted.

use serde_json::Value;

use crate::process::folder;
use crate::world::{World, eventually, world};

/// SRV-1, for kube-controller-manager: what goes with an owner, or with a namespace, goes; what is counted is.
#[tokio::test]
async fn the_clusters_controllers_take_our_objects_for_any_others() {
    let (_turn, world) = world().await;
    let folder = folder();
    let server = world.serve(folder.path(), &[]).await;
    world.restart_controllers().await;
    world.run("create namespace owned").await;

    // A dependent of ours goes with its owner in the cluster.
    world.run("create configmap parent -n owned").await;
    let parent = uid(world, "configmap parent -n owned").await;
    world.make_object(&entry("child", Some(("v1", "ConfigMap", "parent", &parent)))).await;
    // A dependent in the cluster goes with its owner of ours.
    world.make_object(&entry("parent", None)).await;
    let parent = uid(world, "rce parent -n owned").await;
    let owner = ("catalog.bailiwick.dev/v1alpha1", "ResourceCatalogEntry", "parent", parent.as_str());
    world.make_object(&config_map("child", owner)).await;
    // One that does not go: its owner stays.
    world.make_object(&entry("other", Some(owner))).await;

    world.run("create quota claims -n owned --hard=count/resourcecatalogentries.catalog.bailiwick.dev=5").await;
    let counted = eventually("our objects are counted", async || {
        let used = world.run("get quota claims -n owned -o jsonpath={.status.used}").await;
        used == r#"{"count/resourcecatalogentries.catalog.bailiwick.dev":"3"}"#
    })
    .await;

    world.run("delete configmap parent -n owned").await;
    let ours = eventually("ours goes with its owner", async || !exists(world, "rce child -n owned").await).await;
    assert!(exists(world, "rce other -n owned").await && exists(world, "configmap child -n owned").await);
    world.run("delete rce parent -n owned --cascade=foreground").await;
    let theirs = eventually("the cluster's goes with its owner", async || {
        !exists(world, "configmap child -n owned").await && !exists(world, "rce other -n owned").await
    })
    .await;
    println!("counted after {counted:?}, ours collected after {ours:?}, theirs after {theirs:?}");

    world.make_object(&entry("last", None)).await;
    world.run("delete namespace owned --timeout=60s").await;
    assert_eq!(world.run("get rce -A -o name").await, "");
    server.stop().await;
}

async fn exists(world: &World, object: &str) -> bool {
    !world.run(&format!("get {object} --ignore-not-found -o name")).await.is_empty()
}

async fn uid(world: &World, object: &str) -> String {
    let object: Value = serde_json::from_str(&world.run(&format!("get {object} -o json")).await).unwrap();
    object["metadata"]["uid"].as_str().unwrap().to_owned()
}

type Owner<'o> = (&'o str, &'o str, &'o str, &'o str);

fn metadata(name: &str, owner: Option<Owner<'_>>) -> Value {
    let mut metadata = serde_json::json!({"name": name, "namespace": "owned"});
    if let Some((api_version, kind, name, uid)) = owner {
        let reference = serde_json::json!({
            "apiVersion": api_version, "kind": kind, "name": name, "uid": uid, "blockOwnerDeletion": true
        });
        metadata["ownerReferences"] = Value::from(vec![reference]);
    }
    metadata
}

fn entry(name: &str, owner: Option<Owner<'_>>) -> String {
    serde_json::json!({
        "apiVersion": "catalog.bailiwick.dev/v1alpha1", "kind": "ResourceCatalogEntry",
        "metadata": metadata(name, owner),
        "spec": {"description": "tools", "extension": {"apiVersion": "example.com/v1", "kind": "Template"}}
    })
    .to_string()
}

fn config_map(name: &str, owner: Owner<'_>) -> String {
    serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(name, Some(owner))}).to_string()
}
