//! What becomes of a claim, a class, a resource and a definition that go.

use serde_json::{Value, json};

use crate::estate::Estate;
use crate::site::eventually;

in_both_modes!(claims_that_go, what_is_used_stays, a_resource_that_is_lost);

/// D-RCD-13, N-05: a claim's resource goes with it or is released, as its class says; what was released is nobody's until it
/// is recycled. Neither class nor definition is needed for that.
async fn claims_that_go(estate: Estate) {
    estate.furnish().await;
    estate.default_class("ServerClass", "gold", json!({ "specTemplate": {}, "reclaimPolicy": "Delete" })).await;
    let keeping = estate.object("ServerClass", "keeping", json!({ "specTemplate": {}, "reclaimPolicy": "Retain" }));
    estate.root.post(&estate.cluster_path("serverclasses"), &keeping).await.expect(201);
    let name = estate.bind_by(&[("Server", json!({}))]).await;
    estate.claim("gone", json!({})).await;
    estate.claim("kept", json!({ "classRef": { "name": "keeping" } })).await;
    let gone = estate.bound("gone", 1).await;
    let kept = estate.bound("kept", 1).await;
    let server = |claim: &Value| estate.resource_path(&claim["status"]["bindings"][0]["resourceRef"]);
    for claim in ["gone", "kept"] {
        estate.root.delete(&format!("{}/{claim}", estate.claims())).await.expect(200);
        estate.gone(&format!("{}/{claim}", estate.claims())).await;
    }
    estate.gone(&server(&gone)).await;
    let path = server(&kept);
    let released = estate.root.get(&path).await.expect(200);
    assert_eq!(released["status"]["bindingPhase"], "Released");
    assert_eq!(released["spec"]["claimRef"]["uid"], kept["metadata"]["uid"]);

    // The next claim of that name is not the one that it was bound to.
    let any = json!({ "spec": { "resourceRefPolicy": "Any" } });
    estate.root.merge(&format!("{}/{name}", estate.bindings()), &any).await.expect(200);
    let by_name = json!({ "resourceRef": { "kind": "Server", "name": released["metadata"]["name"] } });
    estate.claim("kept", by_name).await;
    let message = estate.claim_says("kept", "Bound", "False", "ResourceTaken").await;
    assert!(message.contains("recycled"), "{message}");
    estate.root.merge(&path, &json!({ "spec": { "claimRef": null } })).await.expect(200);
    estate.claim_says("kept", "Ready", "True", "Available").await;
    assert_eq!(estate.root.get(&path).await.expect(200)["status"]["bindingPhase"], "Bound");
}

/// B-RCD-9: a class, a resource and a definition that are used are not deleted unnoticed: they wait, and say for whom.
async fn what_is_used_stays(estate: Estate) {
    estate.furnish().await;
    estate.default_class("ServerClass", "gold", json!({ "specTemplate": {} })).await;
    let name = estate.bind_by(&[("Server", json!({}))]).await;
    estate.claim("db", json!({})).await;
    let claim = estate.bound("db", 1).await;
    let definition = format!("{}/{name}", estate.bindings());
    eventually("the definition tells of its use", async || {
        let status = estate.root.get(&definition).await.expect(200)["status"].clone();
        status["claims"] == 1 && status["classes"] == json!([{ "kind": "ServerClass", "name": "gold", "claims": 1 }])
    })
    .await;
    let class = format!("{}/gold", estate.cluster_path("serverclasses"));
    let server = estate.resource_path(&claim["status"]["bindings"][0]["resourceRef"]);
    for path in [&class, &server, &definition] {
        estate.root.delete(path).await;
        let found = estate.root.get(path).await.expect(200);
        assert!(found["metadata"]["deletionTimestamp"].is_string(), "{found:#}");
    }
    estate.claim_says("db", "Ready", "False", "ResourceTerminating").await;
    let message = estate.definition_says(&name, "Ready", "False", "Terminating").await;
    assert!(message.contains(&format!("{}/db", estate.namespace)), "{message}");
    eventually("the class tells of its use", async || {
        let events = estate.root.get("/apis/events.k8s.io/v1/events").await.expect(200);
        let told = |event: &Value| event["reason"] == "InUse" && event["regarding"]["kind"] == "ServerClass";
        events["items"].as_array().unwrap().iter().any(told)
    })
    .await;
    // Nobody is satisfied by a definition that goes.
    estate.claim("late", json!({})).await;
    estate.claim_says("late", "ClassSelected", "False", "NoDefinition").await;
    estate.root.delete(&format!("{}/db", estate.claims())).await.expect(200);
    for path in [format!("{}/db", estate.claims()), server, class, definition] {
        estate.gone(&path).await;
    }
}

/// A resource that is gone although it was held is not replaced by an empty one: the claim says that it is lost, and can go.
async fn a_resource_that_is_lost(estate: Estate) {
    estate.furnish().await;
    estate.default_class("ServerClass", "gold", json!({ "specTemplate": {} })).await;
    estate.bind_by(&[("Server", json!({}))]).await;
    estate.claim("db", json!({})).await;
    let claim = estate.bound("db", 1).await;
    let server = estate.resource_path(&claim["status"]["bindings"][0]["resourceRef"]);
    estate.root.merge(&server, &json!({ "metadata": { "finalizers": [] } })).await.expect(200);
    estate.root.delete(&server).await.expect(200);
    estate.claim_says("db", "Bound", "False", "ResourceLost").await;
    estate.root.get(&server).await.expect(404);
    let path = format!("{}/db", estate.claims());
    estate.root.delete(&path).await.expect(200);
    estate.gone(&path).await;
}
