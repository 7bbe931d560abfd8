//! Which class a claim gets, and how it is told why not.

use serde_json::{Value, json};

use crate::estate::Estate;
use crate::site::eventually;

in_both_modes!(
    matches_and_misses,
    defaults_come_late,
    classes_go_together,
    classes_keep_apart,
    classes_for_some_namespaces,
    choices_are_reconsidered,
    choices_that_are_forged,
    classes_in_namespaces,
);

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
    let message = estate.claim_says("waits", "ClassSelected", "False", "NoMatch").await;
    assert!(message.contains("asks for no class in particular") && message.contains("set spec.classRef"), "{message}");
    estate.claim("misnames", json!({ "classRef": { "name": "gilded" } })).await;
    let message = estate.claim_says("misnames", "ClassSelected", "False", "NoMatch").await;
    assert!(message.contains("asks for the class \"gilded\""), "{message}");
    for (name, field, kind) in [("wrong-class", "classRef", "ServerClass"), ("wrong-resource", "resourceRef", "Server")]
    {
        estate.claim(name, json!({ field: { "kind": "Gild", "name": "plain" } })).await;
        let message = estate.claim_says(name, "ClassSelected", "False", "NoMatch").await;
        for words in [&format!("spec.{field} asks for"), "of the kind \"Gild\"", &format!("can be {kind}, or")] {
            assert!(message.contains(words), "{words}: {message}");
        }
    }
    estate.claim("misses", json!({ "classSelector": { "matchLabels": { "speed": "slow" } } })).await;
    let message = estate.claim_says("misses", "ClassSelected", "False", "NoMatch").await;
    assert!(message.contains("with the labels of spec.classSelector"), "{message}");
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

/// RCD-42, D-RCD-10: a class that is not to be with others is not chosen with them, though it is preferred; and a claim that finds no classes
/// that go together says what stands in the way, and gets them when there are some.
async fn classes_keep_apart(estate: Estate) {
    estate.furnish().await;
    let server = async |name: &str, region: &str| {
        let more = json!({ "version": "5.7", "specTemplate": {}, "metadata": { "labels": { "region": region } } });
        let class = estate.object("ServerClass", name, more);
        estate.root.post(&estate.cluster_path("serverclasses"), &class).await.expect(201);
    };
    server("in-east", "east").await;
    let apart = json!({ "metadata": { "annotations": { "claim.bailiwick.dev/anti-affinity": "region=east" } } });
    estate.default_class("RuleClass", "not-in-east", apart).await;
    estate.bind_by(&[("Server", by_version()), ("Rule", json!({}))]).await;
    estate.claim("db", json!({ "version": "5.7" })).await;
    let message = estate.claim_says("db", "ClassSelected", "False", "NoMatch").await;
    for words in ["RuleClass not-in-east (AntiAffinity", "a class chosen before it has the labels region=east"] {
        assert!(message.contains(words), "{words}: {message}");
    }
    assert!(estate.root.get(&estate.cluster_path("servers")).await.expect(200)["items"].as_array().unwrap().is_empty());
    let names = |claim: &Value| {
        let bindings = claim["status"]["bindings"].as_array().unwrap().clone();
        bindings.iter().map(|binding| binding["classRef"]["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    server("in-west", "west").await;
    assert_eq!(names(&estate.bound("db", 2).await), ["in-west", "not-in-east"]);
    // Where there is a rule that goes with the older class, that one is preferred again.
    let near = json!({ "metadata": { "annotations": { "claim.bailiwick.dev/affinity": "region=east" } } });
    estate.default_class("RuleClass", "only-in-east", near).await;
    estate.claim("other", json!({ "version": "5.7" })).await;
    assert_eq!(names(&estate.bound("other", 2).await), ["in-east", "only-in-east"]);
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

/// D-RCD-5, RCD-47: for as long as nothing has been made or bound for a claim, it is not held to what was chosen: who corrects what was
/// asked for gets that.
async fn choices_are_reconsidered(estate: Estate) {
    let crd = format!("{}/servers.{}", crate::estate::CRDS, estate.group);
    estate.furnish().await;
    // A size that is no number is refused.
    let mut spec = estate.root.get(&crd).await.expect(200)["spec"].clone();
    spec["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] =
        json!({ "size": { "type": "integer" } });
    estate.root.merge(&crd, &json!({ "spec": spec })).await.expect(200);
    for (name, size) in [("odd", json!("large")), ("good", json!(1))] {
        let class = estate.object("ServerClass", name, json!({ "specTemplate": { "size": size } }));
        estate.root.post(&estate.cluster_path("serverclasses"), &class).await.expect(201);
    }
    let shy = estate.object("Server", "shy", json!({ "spec": { "size": 1 } }));
    eventually("the kind has changed", async || {
        let odd = estate.object("Server", "odd", json!({ "spec": { "size": "large" } }));
        let path = format!("{}?dryRun=All", estate.cluster_path("servers"));
        estate.root.post(&path, &odd).await.code == 422
    })
    .await;
    estate.root.post(&estate.cluster_path("servers"), &shy).await.expect(201);
    estate.bind_by(&[("Server", json!({}))]).await;

    estate.claim("by-class", json!({ "classRef": { "name": "odd" } })).await;
    estate.claim_says("by-class", "Synced", "False", "Rejected").await;
    estate.claim("by-resource", json!({ "resourceRef": { "kind": "Server", "name": "shy" } })).await;
    estate.claim_says("by-resource", "Bound", "False", "NotConsented").await;
    for name in ["by-class", "by-resource"] {
        let other = json!({ "spec": { "classRef": { "name": "good" }, "resourceRef": null } });
        estate.root.merge(&format!("{}/{name}", estate.claims()), &other).await.expect(200);
        let claim = estate.bound(name, 1).await;
        assert_eq!(claim["status"]["bindings"][0]["classRef"]["name"], "good", "{name}");
    }
}

/// N-08, N-10, S-16: whoever writes into a claim's status what was decided gets nothing by it that is not for their namespace, or
/// that no definition names.
async fn choices_that_are_forged(estate: Estate) {
    estate.furnish().await;
    let version = format!("{}/v1", estate.group);
    let gold = json!({ "claimableFrom": { "matchLabels": { "tier": "gold" } }, "specTemplate": {} });
    estate.default_class("ServerClass", "golden", gold).await;
    let rule = estate.object("Rule", "theirs", json!({ "spec": { "region": "west" } }));
    estate.root.post(&estate.path("rules"), &rule).await.expect(201);
    let name = estate.bind_by(&[("Server", json!({}))]).await;
    let any = json!({ "spec": { "resourceRefPolicy": "Any" } });
    let definition = estate.root.merge(&format!("{}/{name}", estate.bindings()), &any).await.expect(200);
    estate.claim("db", json!({})).await;
    estate.claim_says("db", "ClassSelected", "False", "NoMatch").await;
    let forge = async |binding: Value| {
        let metadata = &definition["metadata"];
        let forged = json!({ "status": {
            "definition": { "name": name, "uid": metadata["uid"], "generation": metadata["generation"] },
            "bindings": [binding],
        } });
        estate.root.merge(&format!("{}/db/status", estate.claims()), &forged).await.expect(200);
        estate
            .claim_until("db", "it is decided anew", |claim| {
                claim["status"]["bindings"].is_null()
                    && crate::estate::condition_of(claim, "ClassSelected")["reason"] == "NoMatch"
            })
            .await;
    };
    forge(json!({
        "index": 0, "phase": "Unbound", "ready": false,
        "classRef": { "apiVersion": version, "kind": "ServerClass", "name": "golden" },
        "resourceRef": { "apiVersion": version, "kind": "Server", "name": "forged" },
    }))
    .await;
    forge(json!({
        "index": 0, "phase": "Unbound", "ready": false,
        "resourceRef": { "apiVersion": version, "kind": "Rule", "namespace": estate.namespace, "name": "theirs" },
    }))
    .await;
    assert_eq!(estate.root.get(&estate.cluster_path("servers")).await.expect(200)["items"], json!([]));
    let rule = estate.root.get(&format!("{}/theirs", estate.path("rules"))).await.expect(200);
    assert!(rule["metadata"]["finalizers"].is_null() && rule["metadata"]["annotations"].is_null(), "{rule:#}");
}

/// D-RCD-14, N-04, N-10, B-RCD-9: classes can be in namespaces, and are for the claims beside them: one that someone has made at home is
/// neither used nor told of elsewhere. What is made of one is beside both.
async fn classes_in_namespaces(estate: Estate) {
    let root = &estate.root;
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let status = json!({ "type": "object", "properties": { "conditions": { "type": "array", "items": open } } });
    estate.make_kind("Rule", "rules", "Namespaced", json!({ "spec": open, "status": status })).await;
    let class = json!({ "version": { "type": "string" }, "specTemplate": open, "reclaimPolicy": { "type": "string" } });
    estate.make_kind("RuleClass", "ruleclasses", "Namespaced", class).await;
    estate.define_claims().await;
    let strategies = json!({
        "selection": ["match"], "match": [{ "fromClaimField": ".spec.version", "toClassField": ".version" }],
    });
    let name = estate.bind_by(&[("Rule", json!({ "strategies": strategies }))]).await;
    let elsewhere = format!("{}-elsewhere", estate.namespace);
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": elsewhere } });
    root.post("/api/v1/namespaces", &namespace).await.expect(201);
    let class = |name: &str| {
        let metadata = json!({ "annotations": { "claim.bailiwick.dev/is-default-class": "true" } });
        let template = json!({ "region": name });
        estate.object("RuleClass", name, json!({ "metadata": metadata, "version": "1", "specTemplate": template }))
    };
    let bait = format!("/apis/{}/v1/namespaces/{elsewhere}/ruleclasses", estate.group);
    root.post(&bait, &class("bait")).await.expect(201);
    estate.claim("db", json!({ "version": "1" })).await;
    estate.claim_says("db", "ClassSelected", "False", "NoMatch").await;
    let waiting = root.get(&format!("{}/db", estate.claims())).await.expect(200);
    assert!(!waiting.to_string().contains("bait"), "{waiting:#}");
    // Nor by its name.
    estate.claim("named", json!({ "classRef": { "kind": "RuleClass", "name": "bait" } })).await;
    estate.claim_says("named", "ClassSelected", "False", "NoMatch").await;

    root.post(&estate.path("ruleclasses"), &class("home")).await.expect(201);
    let bound = estate.bound("db", 1).await;
    let binding = &bound["status"]["bindings"][0];
    assert_eq!(
        (&binding["classRef"]["name"], &binding["classRef"]["namespace"]),
        (&json!("home"), &json!(estate.namespace))
    );
    let rule = root.get(&estate.resource_path(&binding["resourceRef"])).await.expect(200);
    assert_eq!((&rule["metadata"]["namespace"], &rule["spec"]["region"]), (&json!(estate.namespace), &json!("home")));
    let used = json!([{ "kind": "RuleClass", "namespace": estate.namespace, "name": "home", "claims": 1 }]);
    eventually("the definition tells of its use", async || {
        root.get(&format!("{}/{name}", estate.bindings())).await.expect(200)["status"]["classes"] == used
    })
    .await;
    // It is held for the claim, and the one elsewhere for nobody.
    let home = format!("{}/home", estate.path("ruleclasses"));
    for path in [&home, &format!("{bait}/bait")] {
        root.delete(path).await.expect(200);
    }
    estate.gone(&format!("{bait}/bait")).await;
    assert!(root.get(&home).await.expect(200)["metadata"]["deletionTimestamp"].is_string());
    root.delete(&format!("{}/db", estate.claims())).await.expect(200);
    estate.gone(&format!("{}/db", estate.claims())).await;
    estate.gone(&home).await;
}
