//! What becomes of resources when their claim goes.

use serde_json::{Value, json};

use crate::market::{Market, claims, core, entries};
use crate::objects::{RBAC, bound, claim, condition, config_map, entry, list, role, uses};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

in_both_modes!(
    a_namespace_goes_with_claims_whose_resources_would_stay,
    resources_go_with_their_claim_or_stay,
    what_has_no_kind_any_more_is_gone,
    what_is_served_no_more_is_not_gone,
    without_its_account_a_claim_stays
);

/// D-CAT-7: resources go with their claim, unless they are to stay, whatever has been decided when.
async fn resources_go_with_their_claim_or_stay(site: &mut Market) {
    let (root, eddie) = (site.root(), site.user("eddie"));
    site.publish(&entry("set", list(json!([config_map("x", json!({})), config_map("y", json!({}))])))).await;
    for (name, policy) in [("goes", "Delete"), ("stays", "Orphan"), ("turns", "Delete")] {
        let more = json!({ "namePrefix": format!("{name}-"), "deletionPolicy": policy });
        site.claimed(&claim(name, "set", more)).await;
    }
    let at = |name: &str| format!("{}/{name}", claims("a"));
    let copy = |name: &str| core("a", "configmaps", name);
    eddie.delete(&at("goes")).await.expect(200);
    site.until_gone(&copy("goes-x")).await;
    site.until_gone(&copy("goes-y")).await;
    site.until_gone(&at("goes")).await;
    // Decided at the last moment.
    eddie.merge(&at("turns"), &json!({ "spec": { "deletionPolicy": "Orphan" } })).await.expect(200);
    for name in ["stays", "turns"] {
        eddie.delete(&at(name)).await.expect(200);
        site.until_gone(&at(name)).await;
        for made in ["x", "y"] {
            let left = root.get(&copy(&format!("{name}-{made}"))).await.expect(200);
            assert_eq!(left["metadata"]["ownerReferences"], json!(null), "{left}");
        }
    }
}

/// D-09: what is to stay is let go by the claim's account and by nobody else; without it the claim stays, and says so.
async fn without_its_account_a_claim_stays(site: &mut Market) {
    let (root, eddie) = (site.root(), site.user("eddie"));
    site.publish(&entry("set", list(json!([config_map("x", json!({}))])))).await;
    site.claimed(&claim("mine", "set", json!({ "deletionPolicy": "Orphan" }))).await;
    let (at, copy) = (format!("{}/mine", claims("a")), core("a", "configmaps", "x"));
    root.delete(&core("a", "serviceaccounts", "maker")).await.expect(200);
    eddie.delete(&at).await.expect(200);
    let told = site.until(&at, |claim| condition(claim, "Ready") == ("False", "ActAsUnresolved")).await;
    let ready = told["status"]["conditions"].as_array().unwrap().iter().find(|one| one["type"] == "Ready").unwrap();
    let message = ready["message"].as_str().unwrap();
    for words in ["to stay", "kubectl create serviceaccount maker -n a", "deletionPolicy Delete"] {
        assert!(message.contains(words), "{words}: {message}");
    }
    assert!(root.get(&copy).await.expect(200)["metadata"]["ownerReferences"].is_array());
    // Whoever changes their mind lets it go with the claim.
    eddie.merge(&at, &json!({ "spec": { "deletionPolicy": "Delete" } })).await.expect(200);
    site.until_gone(&at).await;
    site.until_gone(&copy).await;
}

/// D-CAT-7, D-09: where everything goes nothing stays, and no claim keeps its namespace from going, though its account is gone
/// before it.
async fn a_namespace_goes_with_claims_whose_resources_would_stay(site: &mut Market) {
    let root = site.root();
    site.make_namespace("ends").await;
    site.account("ends", "maker").await;
    let bindings = format!("{RBAC}/namespaces/ends/rolebindings");
    let claims_gold = role("claim-gold", uses("claim", "gold"));
    root.post(&format!("{RBAC}/namespaces/ends/roles"), &claims_gold).await.expect(201);
    for (name, role, subject) in [
        ("maker", "ClusterRole/edit", "ServiceAccount/maker"),
        ("eddie", "ClusterRole/edit", "User/eddie"),
        ("eddie-claims", "Role/claim-gold", "User/eddie"),
    ] {
        root.post(&bindings, &bound(name, "ends", role, subject)).await.expect(201);
    }
    site.publish(&entry("set", list(json!([config_map("x", json!({}))])))).await;
    let mine = claim("mine", "set", json!({ "deletionPolicy": "Orphan" }));
    site.user("eddie").post_soon(&claims("ends"), &mine).await;
    site.ready("ends", "mine").await;
    root.delete(&core("ends", "serviceaccounts", "maker")).await.expect(200);
    root.delete("/api/v1/namespaces/ends").await.expect(200);
    site.until_gone("/api/v1/namespaces/ends").await;
}

/// Gadgets, of which these versions are served.
fn gadgets(v1: bool, v2: bool) -> Value {
    let version = |name: &str, served: bool, storage: bool| {
        let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        json!({ "name": name, "served": served, "storage": storage, "schema": { "openAPIV3Schema": schema } })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "gadgets.example.dev" },
        "spec": {
            "group": "example.dev", "scope": "Namespaced", "names": { "kind": "Gadget", "plural": "gadgets" },
            "versions": [version("v1", v1, true), version("v2", v2, false)],
        },
    })
}

/// CAT-45: what an entry has no more is removed in whichever version it can be reached; while it can be reached in none, it is not
/// gone, and the claim says so.
async fn what_is_served_no_more_is_not_gone(site: &mut Market) {
    let root = site.root();
    let definition = format!("{DEFINITIONS}/gadgets.example.dev");
    root.post(DEFINITIONS, &gadgets(true, true)).await.expect(201);
    site.until("/apis/example.dev/v2/gadgets", |_| true).await;
    let makes = json!({ "apiGroups": ["example.dev"], "resources": ["gadgets"], "verbs": ["*"] });
    site.grant("a", "gadgets", makes, "ServiceAccount/maker").await;
    let gadget = |name: &str| json!({ "apiVersion": "example.dev/v1", "kind": "Gadget", "metadata": { "name": name } });
    site.publish(&entry("set", list(json!([gadget("one"), gadget("two")])))).await;
    site.claimed(&claim("mine", "set", json!({ "keepSynchronized": true }))).await;
    let serve = async |v1: bool, v2: bool| {
        root.merge(&definition, &json!({ "spec": gadgets(v1, v2)["spec"] })).await.expect(200);
        for (version, served) in [("v1", v1), ("v2", v2)] {
            let path = format!("/apis/example.dev/{version}/gadgets");
            match served {
                true => drop(site.until(&path, |_| true).await),
                false => site.until_gone(&path).await,
            }
        }
    };
    let has = async |names: Value| {
        root.merge(&format!("{}/set", entries("shop")), &json!({ "spec": list(names) })).await.expect(200);
    };
    let at = format!("{}/mine", claims("a"));
    let created = |claim: &Value| claim["status"]["createdResources"].as_array().map_or(0, Vec::len);
    let two = "/apis/example.dev/v2/namespaces/a/gadgets/two";

    serve(false, false).await;
    has(json!([config_map("x", json!({})), gadget("one")])).await;
    let is_told = |claim: &Value| {
        let errors = claim["status"]["errors"].as_array().into_iter().flatten();
        errors.into_iter().any(|error| error["name"] == "two" && error["reason"] == "KindUnknown")
    };
    let told = site.until(&at, |claim| claim["status"]["entryGeneration"] == 2 && is_told(claim)).await;
    assert_eq!(created(&told), 3, "the ConfigMap, and both gadgets: {told}");
    serve(false, true).await;
    site.until_gone(two).await;
    site.until(&at, |claim| created(claim) == 2 && !is_told(claim)).await;
    root.get("/apis/example.dev/v2/namespaces/a/gadgets/one").await.expect(200);
    root.delete(&definition).await.expect(200);
    site.until_gone(&definition).await;
}

/// CAT-45: what an entry has no more, and of which there is no kind any more either, is gone: the claim follows on.
async fn what_has_no_kind_any_more_is_gone(site: &mut Market) {
    let root = site.root();
    let definition = format!("{DEFINITIONS}/gadgets.example.dev");
    root.post(DEFINITIONS, &gadgets(true, true)).await.expect(201);
    site.until("/apis/example.dev/v1/gadgets", |_| true).await;
    let makes = json!({ "apiGroups": ["example.dev"], "resources": ["gadgets"], "verbs": ["*"] });
    site.grant("a", "gadgets", makes, "ServiceAccount/maker").await;
    let gadget = json!({ "apiVersion": "example.dev/v1", "kind": "Gadget", "metadata": { "name": "g" } });
    site.publish(&entry("set", list(json!([config_map("x", json!({})), gadget])))).await;
    let mine = site.claimed(&claim("mine", "set", json!({ "keepSynchronized": true }))).await;
    assert_eq!(mine["status"]["createdResources"].as_array().unwrap().len(), 2);
    root.delete(&definition).await.expect(200);
    site.until_gone(&definition).await;
    let without = list(json!([config_map("x", json!({}))]));
    root.merge(&format!("{}/set", entries("shop")), &json!({ "spec": without })).await.expect(200);
    let told = site
        .until(&format!("{}/mine", claims("a")), |claim| {
            claim["status"]["entryGeneration"] == 2 && condition(claim, "Synced").0 == "True"
        })
        .await;
    assert_eq!(told["status"]["createdResources"].as_array().unwrap().len(), 1, "{told}");
}
