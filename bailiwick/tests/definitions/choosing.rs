//! Which class a claim gets, and how it is told why not.

use serde_json::{Value, json};

use crate::estate::Estate;
use crate::site::eventually;

in_both_modes!(matches_and_misses, defaults_come_late, classes_go_together, classes_for_some_namespaces);

fn by_version() -> Value {
    json!({ "strategies": {
        "selection": ["match"],
        "match": [{ "fromClaimField": ".spec.version", "toClassField": ".version" }],
    } })
}

/// RCD-27, RCD-34, D-RCD-5, D-RCD-11, B-RCD-1: only a class that matches is chosen; if there is none, the claim tells which came nearest and
/// what they lack, to people who cannot read classes. It heals when one appears.
async fn matches_and_misses(estate: Estate) {
    estate.furnish().await;
    let post = async |name: &str, version: Value| {
        let class = estate.object("ServerClass", name, json!({ "version": version, "specTemplate": {} }));
        estate.root.post(&estate.cluster_path("serverclasses"), &class).await.expect(201);
    };
    post("old", json!("5.6")).await;
    let class = estate.object("ServerClass", "none", json!({ "specTemplate": {} }));
    estate.root.post(&estate.cluster_path("serverclasses"), &class).await.expect(201);
    estate.bind_by(&[("Server", by_version())]).await;
    estate.claim("db", json!({ "version": "5.7" })).await;
    let message = estate.claim_says("db", "ClassSelected", "False", "NoMatch").await;
    assert!(message.contains("ServerClass old") && message.contains("the claim wants \"5.7\""), "{message}");
    let claim = estate.claim_until("db", "it says more", |claim| claim["status"]["bindingPhase"] == "Unbound").await;
    let candidates = claim["status"]["candidates"].as_array().unwrap();
    let reasons: Vec<&str> = candidates.iter().map(|candidate| candidate["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons, ["FieldMissing", "NoMatch"]);
    assert_eq!(claim["status"]["candidateCount"], 2);
    eventually("an event tells of it", async || {
        let path = format!("/apis/events.k8s.io/v1/namespaces/{}/events", estate.namespace);
        let events = estate.root.get(&path).await.expect(200);
        events["items"]
            .as_array()
            .unwrap()
            .iter()
            .any(|event| event["reason"] == "NoMatch" && event["regarding"]["name"] == "db")
    })
    .await;
    post("right", json!("5.7")).await;
    let claim = estate.bound("db", 1).await;
    assert_eq!(claim["status"]["bindings"][0]["classRef"]["name"], "right");
    assert_eq!(claim["status"]["candidates"][0]["name"], "right");
    assert_eq!(claim["status"]["candidates"][0]["eligible"], true);
}

/// RCD-48, M-RCD-7, D-RCD-5: a claim that asks for nothing gets a default class, also one that became so later; and one that names a class or
/// selects gets that.
async fn defaults_come_late(estate: Estate) {
    estate.furnish().await;
    for (name, labels) in [("plain", json!({})), ("fast", json!({ "speed": "fast" }))] {
        let class = estate.object("ServerClass", name, json!({ "metadata": { "labels": labels }, "specTemplate": {} }));
        estate.root.post(&estate.cluster_path("serverclasses"), &class).await.expect(201);
    }
    estate.bind_by(&[("Server", json!({}))]).await;
    estate.claim("waits", json!({})).await;
    estate.claim_says("waits", "ClassSelected", "False", "NoMatch").await;
    estate.claim("selects", json!({ "classSelector": { "matchLabels": { "speed": "fast" } } })).await;
    estate.claim("names", json!({ "classRef": { "kind": "ServerClass", "name": "plain" } })).await;
    let class = |claim: &Value| claim["status"]["bindings"][0]["classRef"]["name"].clone();
    assert_eq!(class(&estate.bound("selects", 1).await), "fast");
    assert_eq!(class(&estate.bound("names", 1).await), "plain");
    let default = json!({ "metadata": { "annotations": { "claim.bailiwick.dev/is-default-class": "true" } } });
    estate.root.merge(&format!("{}/plain", estate.cluster_path("serverclasses")), &default).await.expect(200);
    assert_eq!(class(&estate.bound("waits", 1).await), "plain");
}

/// RCD-42, D-RCD-10: a class that wants to be with others is chosen only with them.
async fn classes_go_together(estate: Estate) {
    estate.furnish().await;
    for region in ["east", "west"] {
        let more = json!({ "version": "5.7", "specTemplate": {}, "metadata": { "labels": { "region": region } } });
        let class = estate.object("ServerClass", region, more);
        estate.root.post(&estate.cluster_path("serverclasses"), &class).await.expect(201);
    }
    let affinity = json!({ "metadata": { "annotations": { "claim.bailiwick.dev/affinity": "region=west" } } });
    estate.default_class("RuleClass", "western", affinity).await;
    estate.bind_by(&[("Server", by_version()), ("Rule", json!({}))]).await;
    estate.claim("db", json!({ "version": "5.7" })).await;
    let claim = estate.bound("db", 2).await;
    let names: Vec<&Value> =
        claim["status"]["bindings"].as_array().unwrap().iter().map(|b| &b["classRef"]["name"]).collect();
    assert_eq!(names, ["west", "western"]);
}

/// N-04, N-10: a class that is not for a namespace is not used there, and nobody learns of it.
async fn classes_for_some_namespaces(estate: Estate) {
    estate.furnish().await;
    let gold = json!({ "claimableFrom": { "matchLabels": { "tier": "gold" } }, "specTemplate": {} });
    estate.default_class("ServerClass", "golden", gold).await;
    estate.bind_by(&[("Server", json!({}))]).await;
    estate.claim("db", json!({})).await;
    estate.claim_says("db", "ClassSelected", "False", "NoMatch").await;
    let claim =
        estate.claim_until("db", "it is told of nothing", |claim| claim["status"]["candidates"].is_null()).await;
    assert!(!claim.to_string().contains("golden"), "{claim:#}");
    let labels = json!({ "metadata": { "labels": { "tier": "gold" } } });
    estate.root.merge(&format!("/api/v1/namespaces/{}", estate.namespace), &labels).await.expect(200);
    estate.bound("db", 1).await;
}
