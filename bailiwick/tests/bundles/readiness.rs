//! When a resource is ready.

use serde_json::json;

use crate::shop::{BUNDLES, MAPS, Shop, map, part};

in_both_modes!(
    by_a_field_of_the_object,
    by_an_object_that_it_owns,
    by_rules_and_by_conventions,
    slow_failing_and_flapping_dependencies,
);

const CLAIMS: &str = "/apis/claims.example.dev/v1/namespaces/shop/claims";
const BINDINGS: &str = "/apis/claims.example.dev/v1/namespaces/shop/bindings";

/// SMITH-16, SMITH-17, SMITH-18, SMITH-19: by a field, if both annotations are there, and by conventions otherwise.
async fn by_a_field_of_the_object(shop: Shop) {
    let annotated = json!({
        "smith.atlassian.com/TprReadyWhenFieldPath": "status.state", "smith.atlassian.com/TprReadyWhenFieldValue": "Ready",
    });
    shop.define("smith.example.dev", "CloudFormation", annotated).await;
    shop.define("smith.example.dev", "Half", json!({ "smith.atlassian.com/TprReadyWhenFieldPath": "status.state" }))
        .await;
    shop.define(
        "smith.example.dev",
        "Short",
        json!({ "smith.a.c/TprReadyWhenFieldPath": "x", "smith.a.c/TprReadyWhenFieldValue": "y" }),
    )
    .await;
    let object = |kind: &str, name: &str| {
        json!({
            "apiVersion": "smith.example.dev/v1", "kind": kind, "metadata": { "name": name }, "spec": {},
        })
    };
    let resources = json!([
        part(&[], object("CloudFormation", "cfn-1")),
        part(&["cfn-1"], map("after", json!({}))),
        part(&[], object("Half", "half")),
        part(&[], object("Short", "short")),
    ]);
    shop.write("stack", resources).await;
    let path = "/apis/smith.example.dev/v1/namespaces/shop/cloudformations/cfn-1";
    shop.until(path, |_| true).await;
    shop.set_status(path, json!({ "state": "Creating" })).await;
    let told = shop
        .until(&format!("{BUNDLES}/stack"), |bundle| {
            crate::shop::resource(bundle, "cfn-1")["message"].to_string().contains("Creating")
        })
        .await;
    assert_eq!(crate::shop::resource(&told, "after")["phase"], "Blocked");
    let half = shop.says("stack", "half", "Error", "InvalidTypeAnnotations").await;
    assert!(half["message"].as_str().unwrap().contains("TprReadyWhenFieldValue"), "{half}");
    shop.says("stack", "short", "Ready", "Ready").await;
    shop.set_status(path, json!({ "state": "Ready" })).await;
    shop.until(&format!("{MAPS}/after"), |_| true).await;
}

/// SMITH-20, SMITH-21, SMITH-22, M-SMITH-1: by an object that exists in the same namespace, and that it owns.
async fn by_an_object_that_it_owns(shop: Shop) {
    let annotated = json!({
        "smith.atlassian.com/CrReadyWhenExistsKind": "Binding", "smith.atlassian.com/CrReadyWhenExistsVersion": "claims.example.dev/v1",
    });
    shop.define("claims.example.dev", "Binding", json!({})).await;
    shop.define("claims.example.dev", "Claim", annotated).await;
    let claim =
        json!({ "apiVersion": "claims.example.dev/v1", "kind": "Claim", "metadata": { "name": "db" }, "spec": {} });
    let resources =
        json!([part(&[], claim), part(&["db"], map("after", json!({ "host": "$(db:binding.status.host)" })))]);
    shop.write("claiming", resources).await;
    let claim = shop.until(&format!("{CLAIMS}/db"), |_| true).await;
    let waiting = shop.says("claiming", "db", "InProgress", "NotReady").await;
    assert!(waiting["message"].as_str().unwrap().contains("no Binding exists"), "{waiting}");
    let binding = |name: &str, uid: &str| {
        json!({
            "apiVersion": "claims.example.dev/v1", "kind": "Binding", "metadata": { "name": name, "ownerReferences": [{
                "apiVersion": "claims.example.dev/v1", "kind": "Claim", "name": "db", "uid": uid,
            }] },
        })
    };
    let uid = claim["metadata"]["uid"].as_str().unwrap();
    let elsewhere = BINDINGS.replace("/shop/", "/default/");
    shop.root.post(&elsewhere, &binding("elsewhere", uid)).await.expect(201);
    shop.root.post(BINDINGS, &binding("other", "038b49a6-e746-11e6-baf3-ee8d75af8f6e")).await.expect(201);
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert_eq!(shop.root.get(&format!("{MAPS}/after")).await.code, 404);
    shop.root.post(BINDINGS, &binding("right", uid)).await.expect(201);
    shop.says("claiming", "db", "Ready", "Ready").await;
    shop.says("claiming", "after", "Blocked", "FieldMissing").await;
    shop.set_status(&format!("{BINDINGS}/right"), json!({ "host": "db.example.dev" })).await;
    shop.until(&format!("{MAPS}/after"), |map| map["data"]["host"] == "db.example.dev").await;
    shop.set_status(&format!("{BINDINGS}/right"), json!({ "host": "db2.example.dev" })).await;
    shop.until(&format!("{MAPS}/after"), |map| map["data"]["host"] == "db2.example.dev").await;
}

/// M-SMITH-2, M-SMITH-3: by a rule, for kinds that one cannot annotate; and by the usual conditions.
async fn by_rules_and_by_conventions(shop: Shop) {
    let rules = "/apis/bundle.bailiwick.dev/v1alpha1/readinessrules";
    let rule = |spec: serde_json::Value| {
        json!({
            "apiVersion": "bundle.bailiwick.dev/v1alpha1", "kind": "ReadinessRule", "metadata": { "name": "rule" }, "spec": spec,
        })
    };
    let selector = json!({ "group": "others.example.dev", "kind": "Foreign" });
    for wrong in [
        json!({ "selector": selector }),
        json!({ "selector": selector, "path": "a" }),
        json!({ "selector": selector, "path": "a..b", "value": "x" }),
        json!({ "selector": selector, "path": "a", "value": "x", "condition": "Ready" }),
    ] {
        shop.root.post(rules, &rule(wrong)).await.expect(422);
    }
    shop.define("others.example.dev", "Foreign", json!({})).await;
    let foreign =
        json!({ "apiVersion": "others.example.dev/v1", "kind": "Foreign", "metadata": { "name": "f" }, "spec": {} });
    shop.write("ruled", json!([part(&[], foreign)])).await;
    shop.ready("ruled").await;
    shop.root
        .post(rules, &rule(json!({ "selector": selector, "path": "{$.status.phase}", "value": "Bound" })))
        .await
        .expect(201);
    shop.says("ruled", "f", "InProgress", "NotReady").await;
    let path = "/apis/others.example.dev/v1/namespaces/shop/foreigns/f";
    shop.set_status(path, json!({ "phase": "Bound" })).await;
    shop.ready("ruled").await;
    let condition = json!({ "spec": { "path": null, "value": null, "condition": "Synced" } });
    shop.root.merge(&format!("{rules}/rule"), &condition).await.expect(200);
    shop.says("ruled", "f", "InProgress", "NotReady").await;
    shop.set_status(
        path,
        json!({ "conditions": [{ "type": "Synced", "status": "True" }, { "type": "Ready", "status": "False" }] }),
    )
    .await;
    shop.ready("ruled").await;
    shop.root.delete(&format!("{rules}/rule")).await.expect(200);
    let told = shop.says("ruled", "f", "InProgress", "NotReady").await;
    assert!(told["message"].as_str().unwrap().contains("Ready is not True"), "{told}");
}

/// A dependency that takes its time is waited for, one that fails says so and can recover, and one that comes and goes makes
/// nothing twice: what was made stays as it is while the dependency is not ready, and follows when it is.
async fn slow_failing_and_flapping_dependencies(shop: Shop) {
    let rule = json!({
        "apiVersion": "bundle.bailiwick.dev/v1alpha1", "kind": "ReadinessRule", "metadata": { "name": "engines" },
        "spec": { "selector": { "group": "moody.example.dev", "kind": "Engine" }, "condition": "Running" },
    });
    shop.define("moody.example.dev", "Engine", json!({})).await;
    shop.root.post("/apis/bundle.bailiwick.dev/v1alpha1/readinessrules", &rule).await.expect(201);
    let engine =
        json!({ "apiVersion": "moody.example.dev/v1", "kind": "Engine", "metadata": { "name": "e" }, "spec": {} });
    let resources = json!([
        part(&[], engine),
        part(&["e"], map("after", json!({ "speed": "$(e.status.speed)" }))),
        part(&[], map("beside", json!({})))
    ]);
    shop.write("moody", resources).await;
    let path = "/apis/moody.example.dev/v1/namespaces/shop/engines/e";
    let says = async |running: &str, speed: &str| {
        let condition = json!([{
            "type": "Running", "status": running, "reason": "Told", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]);
        shop.set_status(path, json!({ "conditions": condition, "speed": speed })).await;
    };
    // Slow: it has begun, others are made, and who waits says for what and since when.
    shop.says("moody", "beside", "Ready", "Ready").await;
    says("Unknown", "1").await;
    let slow = shop.says("moody", "after", "Blocked", "DependencyNotReady").await;
    assert!(slow["message"].as_str().unwrap().contains("\"e\"") && slow["since"].is_string(), "{slow}");
    assert_eq!(shop.root.get(&format!("{MAPS}/after")).await.code, 404);
    // Failing, and better again.
    says("False", "1").await;
    shop.says("moody", "e", "InProgress", "NotReady").await;
    assert_eq!(shop.root.get(&format!("{MAPS}/after")).await.code, 404);
    says("True", "1").await;
    let ready = shop.ready("moody").await;
    assert_eq!(ready["status"]["ready"], "3/3");
    let made = shop.root.get(&format!("{MAPS}/after")).await.expect(200);
    // Flapping: while it is away nothing is taken away or changed; when it is back, what it says counts.
    for round in 2..8 {
        says("False", &round.to_string()).await;
        if round % 2 == 0 {
            shop.says("moody", "after", "Blocked", "DependencyNotReady").await;
            let speed = (round - 1).to_string();
            assert_eq!(shop.root.get(&format!("{MAPS}/after")).await.expect(200)["data"]["speed"], json!(speed));
        }
        says("True", &round.to_string()).await;
        shop.until(&format!("{MAPS}/after"), |after| after["data"]["speed"] == json!(round.to_string())).await;
    }
    shop.ready("moody").await;
    let after = shop.root.get(&format!("{MAPS}/after")).await.expect(200);
    assert_eq!(after["metadata"]["uid"], made["metadata"]["uid"], "it was never made anew");
}
