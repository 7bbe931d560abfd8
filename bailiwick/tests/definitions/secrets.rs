//! Connection secrets: handed on to the claim, and to nobody else.

use serde_json::{Value, json};

use crate::estate::Estate;
use crate::site::eventually;

in_both_modes!(
    secrets_follow_the_resource,
    secrets_move_to_another_name,
    secrets_of_others_stay_theirs,
    secrets_of_several_resources,
);

/// The Secret of a resource, as its provider writes it.
fn secret(estate: &Estate, resource: &Value, data: Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {
            "name": resource["metadata"]["name"],
            "ownerReferences": [{
                "apiVersion": format!("{}/v1", estate.group), "kind": "Server", "controller": true,
                "name": resource["metadata"]["name"], "uid": resource["metadata"]["uid"],
            }],
        },
        "data": data,
    })
}

async fn claimed(estate: &Estate, spec: Value) -> Value {
    estate.furnish().await;
    let template = json!({ "writeConnectionSecretToRef": { "namespace": estate.namespace } });
    estate.default_class("ServerClass", "gold", json!({ "specTemplate": template })).await;
    estate.bind_by(&[("Server", json!({}))]).await;
    estate.claim("db", spec).await;
    estate.resources_of("db", 1).await.remove(0)
}

/// RCD-17, N-09, M-RCD-6: what the resource's Secret holds is in a Secret of the claim's namespace, under the name that the claim gives,
/// follows changes, comes back if someone removes it, and goes with the claim before the resource is anyone else's.
async fn secrets_follow_the_resource(estate: Estate) {
    let server = claimed(&estate, json!({ "writeConnectionSecretToRef": { "name": "connection" } })).await;
    let secrets = format!("/api/v1/namespaces/{}/secrets", estate.namespace);
    let source = secret(&estate, &server, json!({ "password": "b25l" }));
    estate.root.post(&secrets, &source).await.expect(201);
    estate.make_ready(&server, "True").await;
    let path = format!("{secrets}/connection");
    let is_told = async |password: &str| {
        eventually("the claim is told", async || estate.root.get(&path).await.json()["data"]["password"] == password)
            .await;
    };
    is_told("b25l").await;
    let claim =
        estate.claim_until("db", "it says where", |claim| claim["status"]["binding"]["name"] == "connection").await;
    let told = estate.root.get(&path).await.expect(200);
    assert_eq!(told["metadata"]["ownerReferences"][0]["uid"], claim["metadata"]["uid"]);
    let source_path = format!("{secrets}/{}", server["metadata"]["name"].as_str().unwrap());
    estate.root.merge(&source_path, &json!({ "data": { "password": "dHdv" } })).await.expect(200);
    is_told("dHdv").await;
    // What someone removes or changes of it is there again.
    let uid = |secret: &Value| secret["metadata"]["uid"].clone();
    let before = uid(&estate.root.get(&path).await.expect(200));
    estate.root.delete(&path).await.expect(200);
    is_told("dHdv").await;
    assert_ne!(uid(&estate.root.get(&path).await.expect(200)), before);
    estate.root.merge(&path, &json!({ "data": { "password": "b2xk" } })).await.expect(200);
    is_told("dHdv").await;
    let claim = format!("{}/db", estate.claims());
    estate.root.delete(&claim).await.expect(200);
    estate.gone(&claim).await;
    estate.gone(&path).await;
}

/// RCD-17, decisions 42: a bound claim that names another Secret has that one, and not the old one besides; without a name it is the claim's own. If the
/// name is someone else's Secret, the claim keeps the one it has.
async fn secrets_move_to_another_name(estate: Estate) {
    let server = claimed(&estate, json!({ "writeConnectionSecretToRef": { "name": "connection" } })).await;
    let secrets = format!("/api/v1/namespaces/{}/secrets", estate.namespace);
    let source = secret(&estate, &server, json!({ "password": "b25l" }));
    estate.root.post(&secrets, &source).await.expect(201);
    estate.make_ready(&server, "True").await;
    let is_at = async |name: &str| {
        let what = format!("it says that it is \"{name}\"");
        estate.claim_until("db", &what, |claim| claim["status"]["binding"]["name"] == name).await;
        let told = estate.root.get(&format!("{secrets}/{name}")).await.expect(200);
        assert_eq!(told["data"]["password"], "b25l");
    };
    is_at("connection").await;
    let claim = format!("{}/db", estate.claims());
    let rename = async |name: Value| {
        let patch = json!({ "spec": { "writeConnectionSecretToRef": { "name": name } } });
        estate.root.merge(&claim, &patch).await.expect(200);
    };
    rename(json!("other")).await;
    is_at("other").await;
    assert_eq!(estate.root.get(&format!("{secrets}/connection")).await.code, 404);
    let patch = json!({ "spec": { "writeConnectionSecretToRef": null } });
    estate.root.merge(&claim, &patch).await.expect(200);
    is_at("db").await;
    assert_eq!(estate.root.get(&format!("{secrets}/other")).await.code, 404);

    let taken = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "taken" }, "data": { "mine": "bWluZQ==" },
    });
    estate.root.post(&secrets, &taken).await.expect(201);
    rename(json!("taken")).await;
    estate.claim_says("db", "Synced", "False", "SecretTaken").await;
    is_at("db").await;
    assert_eq!(estate.root.get(&format!("{secrets}/taken")).await.expect(200)["data"], taken["data"]);

    // However often it is renamed, and whatever was done between, one is left; and none when the claim goes.
    for name in ["one", "two", "three"] {
        rename(json!(name)).await;
    }
    is_at("three").await;
    let uid = estate.root.get(&claim).await.expect(200)["metadata"]["uid"].as_str().unwrap().to_owned();
    let own = format!("{secrets}?labelSelector=claim.bailiwick.dev/claim-uid={uid}");
    let found = estate.root.get(&own).await.expect(200);
    let names: Vec<&Value> =
        found["items"].as_array().unwrap().iter().map(|secret| &secret["metadata"]["name"]).collect();
    assert_eq!(names, ["three"]);
    estate.root.delete(&claim).await.expect(200);
    estate.gone(&claim).await;
    assert!(estate.root.get(&own).await.expect(200)["items"].as_array().unwrap().is_empty());
}

/// N-09, decisions 43: a Secret that is not the resource's is not read for it, and one that is not the claim's is not overwritten.
async fn secrets_of_others_stay_theirs(estate: Estate) {
    let server = claimed(&estate, json!({})).await;
    let secrets = format!("/api/v1/namespaces/{}/secrets", estate.namespace);
    let mut foreign = secret(&estate, &server, json!({ "password": "c2VjcmV0" }));
    foreign["metadata"]["ownerReferences"] = Value::Null;
    let made = estate.root.post(&secrets, &foreign).await.expect(201);
    let taken =
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "db" }, "data": { "mine": "bWluZQ==" } });
    estate.root.post(&secrets, &taken).await.expect(201);
    estate.make_ready(&server, "True").await;
    estate.claim_says("db", "Ready", "True", "Available").await;
    let path = format!("{secrets}/db");
    assert_eq!(estate.root.get(&path).await.expect(200)["data"], json!({ "mine": "bWluZQ==" }));
    let owned = secret(&estate, &server, json!({}))["metadata"]["ownerReferences"].clone();
    let own = format!("{secrets}/{}", made["metadata"]["name"].as_str().unwrap());
    estate.root.merge(&own, &json!({ "metadata": { "ownerReferences": owned } })).await.expect(200);
    let message = estate.claim_says("db", "Synced", "False", "SecretTaken").await;
    assert!(message.contains("\"db\""), "{message}");
    assert_eq!(estate.root.get(&path).await.expect(200)["data"], json!({ "mine": "bWluZQ==" }));
    estate.root.delete(&path).await.expect(200);
    eventually("the claim is told", async || estate.root.get(&path).await.json()["data"]["password"] == "c2VjcmV0")
        .await;
}

/// RCD-17, RCD-40, D-RCD-6: a resource that is not ready for a while, and for which others waited when they were made, keeps nothing from the
/// claim that these hold; and one whose Secret is gone keeps back nothing of the others.
async fn secrets_of_several_resources(estate: Estate) {
    estate.furnish().await;
    let template = json!({ "writeConnectionSecretToRef": { "namespace": estate.namespace } });
    estate.default_class("ServerClass", "gold", json!({ "specTemplate": template })).await;
    estate.bind_by(&[("Server", json!({ "waitFor": "Ready" })), ("Server", json!({}))]).await;
    estate.claim("db", json!({})).await;
    let first = estate.resources_of("db", 1).await.remove(0);
    estate.make_ready(&first, "True").await;
    let second = estate.resources_of("db", 2).await.remove(1);
    estate.make_ready(&second, "True").await;
    let secrets = format!("/api/v1/namespaces/{}/secrets", estate.namespace);
    estate.root.post(&secrets, &secret(&estate, &first, json!({ "one": "b25l" }))).await.expect(201);
    estate.root.post(&secrets, &secret(&estate, &second, json!({ "two": "b25l" }))).await.expect(201);
    let holds = async |wanted: Value| {
        let path = format!("{secrets}/db");
        eventually("the claim is told", async || estate.root.get(&path).await.json()["data"] == wanted).await;
    };
    holds(json!({ "one": "b25l", "two": "b25l" })).await;
    estate.make_ready(&first, "False").await;
    estate.claim_until("db", "one of two", |claim| claim["status"]["ready"] == "1/2").await;
    let source = format!("{secrets}/{}", second["metadata"]["name"].as_str().unwrap());
    estate.root.merge(&source, &json!({ "data": { "two": "dHdv" } })).await.expect(200);
    holds(json!({ "one": "b25l", "two": "dHdv" })).await;
    // Nor is it kept from what is to be said of them.
    estate.make_ready(&second, "False").await;
    let claim = estate.claim_until("db", "none of two", |claim| claim["status"]["ready"] == "0/2").await;
    assert_eq!(claim["status"]["bindings"][1]["ready"], false);
    holds(json!({ "one": "b25l", "two": "dHdv" })).await;
    // What one of them has no more, the claim has no more either, and says so until it is there again.
    for resource in [&first, &second] {
        estate.make_ready(resource, "True").await;
    }
    estate.claim_says("db", "Ready", "True", "Available").await;
    estate.root.delete(&source).await.expect(200);
    holds(json!({ "one": "b25l" })).await;
    estate.claim_says("db", "Ready", "False", "SecretGone").await;
    estate.root.post(&secrets, &secret(&estate, &second, json!({ "two": "dHdv" }))).await.expect(201);
    holds(json!({ "one": "b25l", "two": "dHdv" })).await;
    estate.claim_says("db", "Ready", "True", "Available").await;
}
