//! What becomes of a claim, a class, a resource and a definition that go.

use serde_json::{Value, json};

use crate::estate::{CRDS, Estate};
use crate::site::eventually;

in_both_modes!(
    claims_that_go,
    what_is_used_stays,
    a_resource_that_is_lost,
    a_kind_of_claims_that_goes,
    kinds_of_resources_and_classes_that_go,
    a_version_that_is_served_no_more,
    a_definition_comes_and_goes,
);

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
    assert!(message.ends_with(&format!("it satisfies {}/db", estate.namespace)), "{message}");
    eventually("the class tells of its use", async || {
        let events = estate.root.get("/apis/events.k8s.io/v1/events").await.expect(200);
        let users = format!("it is used by {}/db", estate.namespace);
        let told = |event: &Value| {
            event["reason"] == "InUse" && event["note"].as_str().is_some_and(|note| note.ends_with(&users))
        };
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

/// B-RCD-9: with a kind of claims its claims go, and each looks after what it has before. Nothing hangs, and nothing is left.
async fn a_kind_of_claims_that_goes(estate: Estate) {
    estate.make_kinds().await;
    let open = || json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    estate.make_kind("Database", "databases", "Namespaced", json!({ "spec": open(), "status": open() })).await;
    estate.default_class("ServerClass", "gold", json!({ "specTemplate": {} })).await;
    let name = estate.bind_by(&[("Server", json!({}))]).await;
    estate.claim("db", json!({})).await;
    let claim = estate.bound("db", 1).await;
    let kind = format!("{CRDS}/databases.{}", estate.group);
    estate.root.delete(&kind).await.expect(200);
    estate.gone(&kind).await;
    estate.gone(&estate.resource_path(&claim["status"]["bindings"][0]["resourceRef"])).await;
    estate.definition_says(&name, "Accepted", "False", "UnknownKind").await;
    // What was held for its claims is held no more.
    for path in [format!("{}/gold", estate.cluster_path("serverclasses")), format!("{}/{name}", estate.bindings())] {
        estate.root.delete(&path).await;
        estate.gone(&path).await;
    }
}

/// B-RCD-9: the kinds of what claims are bound to, and of what it was made from, go when these claims have gone.
async fn kinds_of_resources_and_classes_that_go(estate: Estate) {
    estate.furnish().await;
    estate.default_class("ServerClass", "gold", json!({ "specTemplate": {} })).await;
    let name = estate.bind_by(&[("Server", json!({}))]).await;
    estate.claim("db", json!({})).await;
    estate.bound("db", 1).await;
    let kinds = ["servers", "serverclasses"].map(|plural| format!("{CRDS}/{plural}.{}", estate.group));
    for kind in &kinds {
        estate.root.delete(kind).await.expect(200);
    }
    estate.definition_says(&name, "Accepted", "False", "KindTerminating").await;
    estate.claim_says("db", "Ready", "False", "ResourceTerminating").await;
    for kind in &kinds {
        estate.root.get(kind).await.expect(200);
    }
    let path = format!("{}/db", estate.claims());
    estate.root.delete(&path).await.expect(200);
    estate.gone(&path).await;
    for kind in &kinds {
        estate.gone(kind).await;
    }
}

/// N-05: a resource is looked after in whichever version it can be reached; while it can be in none, its claim stays and says so.
async fn a_version_that_is_served_no_more(estate: Estate) {
    estate.furnish().await;
    estate.default_class("ServerClass", "gold", json!({ "specTemplate": {} })).await;
    let name = estate.bind_by(&[("Server", json!({}))]).await;
    for claim in ["one", "two"] {
        estate.claim(claim, json!({})).await;
        estate.bound(claim, 1).await;
    }
    let kind = format!("{CRDS}/servers.{}", estate.group);
    let first = estate.root.get(&kind).await.expect(200)["spec"]["versions"][0].clone();
    let version = |name: &str, served: bool| {
        let mut version = first.clone();
        (version["name"], version["served"], version["storage"]) = (json!(name), json!(served), json!(name == "v2"));
        version
    };
    let serve = async |v2: bool| {
        let versions = json!({ "spec": { "versions": [version("v1", false), version("v2", v2)] } });
        estate.root.merge(&kind, &versions).await.expect(200);
    };
    serve(true).await;
    estate.definition_says(&name, "Accepted", "False", "UnknownKind").await;
    let servers = format!("/apis/{}/v2/servers", estate.group);
    let left = async || estate.root.get(&servers).await.json()["items"].as_array().map(Vec::len);
    eventually("it is served in the other version", async || left().await == Some(2)).await;
    let remove = async |claim: &str| {
        estate.root.delete(&format!("{}/{claim}", estate.claims())).await.expect(200);
    };
    remove("one").await;
    estate.gone(&format!("{}/one", estate.claims())).await;
    eventually("its resource has gone with it", async || left().await == Some(1)).await;

    serve(false).await;
    eventually("it is not served", async || estate.root.get(&servers).await.code == 404).await;
    remove("two").await;
    let message = estate.claim_says("two", "Synced", "False", "ReleaseFailed").await;
    assert!(message.contains("is served in no version"), "{message}");
    serve(true).await;
    estate.gone(&format!("{}/two", estate.claims())).await;
    eventually("its resource has gone with it", async || left().await == Some(0)).await;
}

/// RCD-38: claims are satisfied by a definition as soon as there is one, also those that were there before it, without a restart; and
/// when it has gone, nobody looks at claims any more until there is another.
async fn a_definition_comes_and_goes(estate: Estate) {
    estate.furnish().await;
    estate.default_class("ServerClass", "gold", json!({ "specTemplate": {} })).await;
    for claim in ["early", "late"] {
        let path = format!("{}/{claim}", estate.claims());
        estate.claim(claim, json!({})).await;
        tokio::time::sleep(std::time::Duration::from_millis(700)).await;
        assert_eq!(estate.root.get(&path).await.expect(200)["status"], Value::Null, "nobody looks at {claim}");
        let name = estate.bind_by(&[("Server", json!({}))]).await;
        estate.bound(claim, 1).await;
        estate.root.delete(&path).await.expect(200);
        estate.gone(&path).await;
        let definition = format!("{}/{name}", estate.bindings());
        estate.root.delete(&definition).await;
        estate.gone(&definition).await;
    }
    // What was held by it is held no more.
    let class = format!("{}/gold", estate.cluster_path("serverclasses"));
    assert_eq!(estate.root.get(&class).await.expect(200)["metadata"]["finalizers"], Value::Null);
}
