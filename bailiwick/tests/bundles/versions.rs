//! Kinds whose versions come and go while there are objects of them, and those that have two names.

use serde_json::{Value, json};

use crate::shop::{BUNDLES, DEFINITIONS, MAPS, Shop, bundle, condition, map, part};

in_both_modes!(what_is_served_in_another_version, what_is_served_in_none);

mod aliases {
    use super::a_bundle_by_its_other_name;
    in_both_modes!(with crate::shop::Shop::open_with_aliases: a_bundle_by_its_other_name);
}

const GROUP: &str = "versions.example.dev";

fn gadgets(version: &str) -> String {
    format!("/apis/{GROUP}/{version}/namespaces/shop/gadgets")
}

/// A kind with these versions, each served or not. The first one is stored.
fn kind(kind: &str, versions: &[(&str, bool)]) -> Value {
    let plural = format!("{}s", kind.to_lowercase());
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let versions: Vec<Value> = versions
        .iter()
        .enumerate()
        .map(|(place, (name, served))| {
            json!({ "name": name, "served": served, "storage": place == 0, "schema": { "openAPIV3Schema": schema } })
        })
        .collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{GROUP}") },
        "spec": {
            "group": GROUP, "scope": "Namespaced", "names": { "kind": kind, "plural": plural }, "versions": versions,
        },
    })
}

/// Gadgets, which can be had as `v1` and as `v2`, in a group that prefers `v3`, in which there are none.
async fn define(shop: &Shop) {
    for definition in [kind("Gadget", &[("v1", true), ("v2", true)]), kind("Other", &[("v3", true)])] {
        let path = format!("{DEFINITIONS}/{}", definition["metadata"]["name"].as_str().unwrap());
        // What an earlier test has left in a cluster.
        if shop.root.get(&path).await.code == 200 {
            shop.root.delete(&path).await;
            shop.gone(&path).await;
        }
        shop.root.post(DEFINITIONS, &definition).await.expect(201);
    }
    for version in ["v1", "v2"] {
        shop.served(&gadgets(version)).await;
    }
    shop.served(&format!("/apis/{GROUP}/v3/namespaces/shop/others")).await;
}

/// Serves gadgets in these of their versions from now on.
async fn serve(shop: &Shop, v1: bool, v2: bool) {
    let definition = kind("Gadget", &[("v1", v1), ("v2", v2)]);
    let change = json!({ "spec": { "versions": definition["spec"]["versions"] } });
    shop.root.merge(&format!("{DEFINITIONS}/gadgets.{GROUP}"), &change).await.expect(200);
    for (version, served) in [("v1", v1), ("v2", v2)] {
        if served { shop.served(&gadgets(version)).await } else { shop.gone(&gadgets(version)).await }
    }
}

const HELD: &[&str] = &["example.dev/hold"];

/// A Bundle with a gadget, held by these finalizers, on which a ConfigMap depends; it is ready.
async fn write(shop: &Shop, name: &str, finalizers: &[&str]) -> Value {
    let gadget = json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "Gadget",
        "metadata": { "name": name, "finalizers": finalizers },
    });
    let above = map(&format!("{name}-above"), json!({}));
    shop.write(name, json!([part(&[], gadget), part(&[name], above)])).await;
    shop.ready(name).await;
    shop.root.get(&format!("{}/{name}", gadgets("v1"))).await.expect(200)["metadata"]["uid"].clone()
}

fn is_going(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

async fn let_go(shop: &Shop, name: &str) {
    let free = json!({ "metadata": { "finalizers": null } });
    shop.root.merge(&format!("{}/{name}", gadgets("v2")), &free).await.expect(200);
}

/// B-SMITH-5, P-4: an object stays a Bundle's while the version in which it was made is not served: it is not taken for gone, is
/// not made anew, and goes by the version that is served.
async fn what_is_served_in_another_version(shop: &Shop) {
    define(shop).await;
    let uid = write(shop, "kept", HELD).await;
    write(shop, "goes", HELD).await;
    write(shop, "taken-out", HELD).await;
    serve(shop, false, true).await;
    shop.says("kept", "kept", "Blocked", "KindNotServed").await;
    let bundle = shop.bundle("kept").await;
    let inventory = bundle["status"]["inventory"].as_array().unwrap();
    let item = inventory.iter().find(|item| item["resource"] == "kept").unwrap();
    assert_eq!(item["object"]["uid"], uid, "{bundle:#}");

    // Its Bundle goes after it, and nothing of it before.
    let path = format!("{BUNDLES}/goes");
    shop.root.delete(&path).await.expect(200);
    let going = shop.until(&path, |bundle| condition(bundle, "Ready")["reason"] == "Deleting").await;
    assert!(condition(&going, "Ready")["message"].as_str().unwrap().contains("Gadget \"goes\""), "{going:#}");
    shop.until(&format!("{}/goes", gadgets("v2")), is_going).await;
    shop.root.get(&path).await.expect(200);
    let_go(shop, "goes").await;
    shop.gone(&path).await;
    shop.gone(&format!("{MAPS}/goes-above")).await;
    shop.root.get(&format!("{}/goes", gadgets("v2"))).await.expect(404);

    shop.change("taken-out", json!([])).await;
    let path = format!("{BUNDLES}/taken-out");
    shop.until(&path, |bundle| condition(bundle, "PruningComplete")["reason"] == "Deleting").await;
    // Not before it is deleted itself: the cluster holds what is deleted until its garbage collector has come across this version.
    shop.until(&format!("{}/taken-out", gadgets("v2")), is_going).await;
    let_go(shop, "taken-out").await;
    shop.ready("taken-out").await;
    shop.until(&path, |bundle| condition(bundle, "PruningComplete")["status"] == "True").await;
    shop.root.get(&format!("{}/taken-out", gadgets("v2"))).await.expect(404);

    // It is the same one when it can be had again as it was made.
    serve(shop, true, true).await;
    shop.ready("kept").await;
    let gadget = format!("{}/kept", gadgets("v1"));
    assert_eq!(shop.root.get(&gadget).await.expect(200)["metadata"]["uid"], uid);

    // Nothing is left that is held: as long as the Bundle is there, it would be held again.
    let path = format!("{BUNDLES}/kept");
    shop.root.delete(&path).await.expect(200);
    shop.until(&gadget, is_going).await;
    let_go(shop, "kept").await;
    shop.gone(&path).await;
}

/// B-SMITH-5, P-4: what can be reached in no version is not gone: its Bundle waits and says so, until it can be reached, or its
/// kind is gone with all there was of it.
async fn what_is_served_in_none(shop: &Shop) {
    define(shop).await;
    write(shop, "reached", HELD).await;
    write(shop, "lost", HELD).await;
    serve(shop, false, false).await;
    for name in ["reached", "lost"] {
        let path = format!("{BUNDLES}/{name}");
        shop.root.delete(&path).await.expect(200);
        let told = shop.until(&path, |bundle| condition(bundle, "Ready")["reason"] == "Deleting").await;
        let message = condition(&told, "Ready")["message"].as_str().unwrap().to_owned();
        assert!(message.contains(&format!("Gadget \"{name}\"")), "{message}");
        shop.until(&path, |bundle| {
            condition(bundle, "Ready")["message"].as_str().is_some_and(|told| told.contains("served in no version"))
        })
        .await;
    }
    serve(shop, false, true).await;
    for name in ["reached", "lost"] {
        let gadget = format!("{}/{name}", gadgets("v2"));
        shop.until(&gadget, is_going).await;
    }
    let_go(shop, "reached").await;
    shop.gone(&format!("{BUNDLES}/reached")).await;

    let_go(shop, "lost").await;
    shop.gone(&format!("{BUNDLES}/lost")).await;

    // What goes with its kind is gone, though it could not be reached.
    serve(shop, true, true).await;
    write(shop, "swept", &[]).await;
    serve(shop, false, false).await;
    let path = format!("{BUNDLES}/swept");
    shop.root.delete(&path).await.expect(200);
    shop.until(&path, |bundle| {
        condition(bundle, "Ready")["message"].as_str().is_some_and(|told| told.contains("served in no version"))
    })
    .await;
    let definition = format!("{DEFINITIONS}/gadgets.{GROUP}");
    shop.root.delete(&definition).await.expect(200);
    shop.gone(&definition).await;
    shop.gone(&path).await;
}

/// P-1, D-SMITH-5: a Bundle in a Bundle that is written by its other name from now on is the one that it was, and so is all it has.
async fn a_bundle_by_its_other_name(shop: &Shop) {
    let inner = |api_version: &str| {
        let mut inner = bundle("inner", json!([part(&[], map("dear", json!({})))]));
        inner["apiVersion"] = json!(api_version);
        json!([part(&[], inner)])
    };
    shop.write("outer", inner("smith.atlassian.com/v1")).await;
    shop.ready("outer").await;
    let uids = async || {
        let paths = [format!("{BUNDLES}/inner"), format!("{MAPS}/dear")];
        let objects = [shop.root.get(&paths[0]).await.expect(200), shop.root.get(&paths[1]).await.expect(200)];
        objects.map(|object| {
            assert_eq!(object["metadata"]["deletionTimestamp"], json!(null), "{object:#}");
            object["metadata"]["uid"].clone()
        })
    };
    let before = uids().await;
    shop.change("outer", inner("bundle.bailiwick.dev/v1alpha1")).await;
    let outer = shop.ready("outer").await;
    assert_eq!(condition(&outer, "PruningComplete")["reason"], "Complete", "{outer:#}");
    let inventory = outer["status"]["inventory"].as_array().unwrap();
    assert_eq!(inventory.len(), 1, "{inventory:#?}");
    assert_eq!(inventory[0]["object"]["apiVersion"], "bundle.bailiwick.dev/v1alpha1");
    assert_eq!(uids().await, before);
}
