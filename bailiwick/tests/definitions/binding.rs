//! What a claim is bound to: several resources, in order, each once; resources that were there before.

use serde_json::{Value, json};

use crate::estate::{Estate, named};

in_both_modes!(several_in_order, resources_that_exist, a_pool_is_used_first, claims_that_change);

/// RCD-2, RCD-36, RCD-39, RCD-40, RCD-41, RCD-43, M-RCD-3, M-RCD-4, D-RCD-3, D-RCD-4, D-RCD-6, D-RCD-8, D-RCD-14: several resources are made one after the other, and a claim is bound when all of
/// them are ready.
async fn several_in_order(estate: Estate) {
    estate.furnish().await;
    estate.default_class("ServerClass", "gold", json!({ "specTemplate": { "size": 1 } })).await;
    estate.default_class("RuleClass", "open", json!({ "specTemplate": { "region": "west" } })).await;
    let waits = json!({ "waitFor": "Ready" });
    estate.bind_by(&[("Server", waits), ("Rule", json!({})), ("Rule", json!({}))]).await;
    estate.claim("db", json!({})).await;
    let first = estate.resources_of("db", 1).await.remove(0);
    assert_eq!(first["kind"], "Server");
    let claim = estate.claim_until("db", "it says how far it is", |claim| claim["status"]["ready"] == "0/3").await;
    assert_eq!(claim["status"]["bindings"][0]["phase"], "Unbindable");
    assert_eq!(claim["status"]["bindings"][1]["phase"], "Unbound");
    assert!(claim["status"]["bindings"][1]["resourceRef"]["uid"].is_null(), "the second waits for the first");
    estate.make_ready(&first, "True").await;
    let all = estate.resources_of("db", 3).await;
    let claim = estate.claim_until("db", "one of three", |claim| claim["status"]["ready"] == "1/3").await;
    assert_eq!(claim["status"]["bindingPhase"], "Unbound");
    assert_ne!(all[1]["metadata"]["name"], all[2]["metadata"]["name"]);
    assert_eq!(all[1]["spec"], json!({ "region": "west" }));
    // Both sides name each other by UID: in a field where there is one, else in an annotation.
    let uid = &claim["metadata"]["uid"];
    assert_eq!(&all[0]["spec"]["claimRef"]["uid"], uid);
    assert_eq!(&all[1]["metadata"]["annotations"]["claim.bailiwick.dev/claim-uid"], uid);
    for resource in &all[1..] {
        estate.make_ready(resource, "True").await;
    }
    estate.claim_says("db", "Ready", "True", "Available").await;
    let claim = estate.claim_until("db", "all of them", |claim| claim["status"]["ready"] == "3/3").await;
    assert_eq!(claim["status"]["bindingPhase"], "Bound");
    for (index, resource) in all.iter().enumerate() {
        assert_eq!(claim["status"]["bindings"][index]["resourceRef"]["uid"], resource["metadata"]["uid"]);
    }
    // Ready and bound are two things.
    estate.make_ready(&all[2], "False").await;
    estate.claim_says("db", "Ready", "False", "Provisioning").await;
    let claim = estate.claim_until("db", "two of three", |claim| claim["status"]["ready"] == "2/3").await;
    assert_eq!(claim["status"]["bindingPhase"], "Bound");
}

/// RCD-47, N-02, N-08, M-RCD-4: a claim that names a resource gets it if the resource names the claim; nobody gets what is someone else's.
async fn resources_that_exist(estate: Estate) {
    estate.furnish().await;
    let name = estate.bind_by(&[("Server", json!({}))]).await;
    let servers = estate.cluster_path("servers");
    let post = async |name: &str, spec: Value| {
        estate.root.post(&servers, &estate.object("Server", name, json!({ "spec": spec }))).await.expect(201)
    };
    let shy = post("shy", json!({ "size": 1 })).await;
    let offer = json!({ "claimRef": { "namespace": estate.namespace, "name": "mine" } });
    let offered = post("offered", offer.clone()).await;
    let by_ref = |name: &str| json!({ "resourceRef": { "kind": "Server", "name": name } });

    estate.claim("thief", by_ref("offered")).await;
    estate.claim_says("thief", "Bound", "False", "ResourceTaken").await;
    estate.claim("pushy", by_ref("shy")).await;
    let message = estate.claim_says("pushy", "Bound", "False", "NotConsented").await;
    assert!(message.contains("spec.claimRef"), "{message}");
    estate.claim("lost", by_ref("nothing")).await;
    estate.claim_says("lost", "Bound", "False", "ResourceNotFound").await;

    estate.claim("mine", by_ref("offered")).await;
    estate.make_ready(&offered, "True").await;
    let claim = estate.bound("mine", 1).await;
    assert_eq!(claim["status"]["bindings"][0]["resourceRef"]["uid"], offered["metadata"]["uid"]);
    assert!(claim["status"]["bindings"][0]["classRef"].is_null());
    let bound = estate.root.get(&format!("{servers}/offered")).await.expect(200);
    assert_eq!(bound["spec"]["claimRef"]["uid"], claim["metadata"]["uid"]);
    assert_eq!(bound["status"]["bindingPhase"], "Bound");

    // A claim that forges what was decided gets nothing by it.
    let forged = json!({ "status": { "bindings": [{
        "index": 0, "phase": "Bound",
        "resourceRef": { "apiVersion": format!("{}/v1", estate.group), "kind": "Server", "name": "offered", "uid": bound["metadata"]["uid"] },
    }] } });
    estate.root.merge(&format!("{}/thief/status", estate.claims()), &forged).await.expect(200);
    estate.root.delete(&format!("{}/thief", estate.claims())).await.expect(200);
    estate.gone(&format!("{}/thief", estate.claims())).await;
    let still = estate.root.get(&format!("{servers}/offered")).await.expect(200);
    assert_eq!(still["spec"]["claimRef"], bound["spec"]["claimRef"]);
    assert_eq!(still["metadata"]["deletionTimestamp"], Value::Null);

    // The definition can say that any will do.
    let any = json!({ "spec": { "resourceRefPolicy": "Any" } });
    estate.root.merge(&format!("{}/{name}", estate.bindings()), &any).await.expect(200);
    estate.make_ready(&shy, "True").await;
    estate.bound("pushy", 1).await;
}

/// B-RCD-8: where the definition says so, a resource that is nobody's and is what the claim wants is bound before one is made.
async fn a_pool_is_used_first(estate: Estate) {
    estate.furnish().await;
    estate.default_class("ServerClass", "gold", json!({ "specTemplate": {} })).await;
    let strategies = json!({
        "provisioning": ["overlay", "translate"],
        "overlay": [{ "fromClassField": ".specTemplate", "toResourceField": ".spec" }],
        "translate": [{ "fromClaimField": ".spec.version", "toResourceField": ".spec.version" }],
    });
    let servers = estate.cluster_path("servers");
    for (name, version) in [("old", "5.6"), ("free", "5.7")] {
        let server = estate.object("Server", name, json!({ "spec": { "version": version } }));
        let made = estate.root.post(&servers, &server).await.expect(201);
        estate.make_ready(&made, "True").await;
    }
    estate.bind_by(&[("Server", json!({ "preferExisting": true, "strategies": strategies }))]).await;
    estate.claim("first", json!({ "version": "5.7" })).await;
    let claim = estate.bound("first", 1).await;
    assert_eq!(claim["status"]["bindings"][0]["resourceRef"]["name"], "free");
    estate.claim("second", json!({ "version": "5.7" })).await;
    let made = estate.resources_of("second", 1).await.remove(0);
    assert_eq!(made["spec"]["version"], "5.7");
    assert_ne!(made["metadata"]["name"], "free");
    // What was there before a claim stays behind it.
    estate.root.delete(&format!("{}/first", estate.claims())).await.expect(200);
    estate.gone(&format!("{}/first", estate.claims())).await;
    let free = estate.root.get(&format!("{servers}/free")).await.expect(200);
    assert_eq!(free["status"]["bindingPhase"], "Released");
}

/// D-RCD-12, N-06: what resources have from a claim follows it, unless someone else has taken it over; and a definition that
/// has changed does not mean something else for claims that are bound.
async fn claims_that_change(estate: Estate) {
    estate.furnish().await;
    estate.default_class("ServerClass", "gold", json!({ "specTemplate": { "size": 1 } })).await;
    let strategies = json!({
        "provisioning": ["overlay", "translate"],
        "overlay": [{ "fromClassField": ".specTemplate", "toResourceField": ".spec" }],
        "translate": [{ "fromClaimField": ".spec.version", "toResourceField": ".spec.forProvider.version" }],
    });
    let name = estate.bind_by(&[("Server", json!({ "strategies": strategies }))]).await;
    estate.claim("db", json!({ "version": "5.6" })).await;
    let claim = estate.bound("db", 1).await;
    let (claim_path, server_path) =
        (format!("{}/db", estate.claims()), estate.resource_path(&claim["status"]["bindings"][0]["resourceRef"]));
    let is_followed = async |version: &str| {
        crate::site::eventually("the resource follows", async || {
            estate.root.get(&server_path).await.expect(200)["spec"]["forProvider"]["version"] == version
        })
        .await;
    };
    estate.root.merge(&claim_path, &json!({ "spec": { "version": "5.7" } })).await.expect(200);
    is_followed("5.7").await;
    estate.claim_says("db", "Synced", "True", "Synced").await;
    let uid = estate.root.get(&server_path).await.expect(200)["metadata"]["uid"].clone();
    // Someone takes the field over.
    estate.root.merge(&server_path, &json!({ "spec": { "forProvider": { "version": "9" } } })).await.expect(200);
    estate.root.merge(&claim_path, &json!({ "spec": { "version": "8" } })).await.expect(200);
    estate.claim_says("db", "Synced", "False", "NotOwned").await;
    is_followed("9").await;
    // Another definition means nothing for what is bound by this one.
    let other = json!({ "spec": { "resourceRefPolicy": "Any" } });
    estate.root.merge(&format!("{}/{name}", estate.bindings()), &other).await.expect(200);
    estate.claim_says("db", "Synced", "False", "DefinitionChanged").await;
    let server = estate.root.get(&server_path).await.expect(200);
    assert_eq!(server["metadata"]["uid"], uid);
    assert_eq!(named(&server)["kind"], "Server");
}
