//! What goes wrong is said, and where: in a table, in a description, in conditions.

use bailiwick_test_host::Kubectl;
use serde_json::json;

use crate::estate::{CRDS, Estate, custom_resource};
use crate::site::eventually;
use crate::writers::allow;

in_both_modes!(
    kubectl_shows_what_was_decided,
    what_cannot_be_made_is_said,
    definitions_that_disagree,
    what_satisfies_a_kind,
);

async fn print(estate: &Estate, command: &str) -> String {
    let kubectl = Kubectl::new(&estate.site.kubeconfig).await.unwrap();
    kubectl.run(command.split(' ')).await.unwrap().success().unwrap()
}

/// What is explained of a field, as soon as the host knows the kind.
async fn explains(estate: &Estate, field: &str, words: &str) -> String {
    let kubectl = Kubectl::new(&estate.site.kubeconfig).await.unwrap();
    let (field, version) = (format!("databases.{field}"), format!("--api-version={}/v1", estate.group));
    let mut explained = String::new();
    eventually(&format!("{field} is explained"), async || {
        explained = kubectl.run(["explain", &field, &version]).await.unwrap().stdout;
        // Lines are broken where they become long.
        explained.split_whitespace().collect::<Vec<_>>().join(" ").contains(words)
    })
    .await;
    explained
}

/// RCD-8, RCD-18, RCD-34, B-RCD-1: `kubectl get` shows what a claim has, and `kubectl describe` which classes were considered, why
/// each was not eligible, and which came nearest, also to someone who may not read classes; `kubectl explain` what the
/// definition says of its fields.
async fn kubectl_shows_what_was_decided(estate: Estate) {
    estate.furnish().await;
    for (name, more) in
        [("old", json!({ "version": "5.6", "specTemplate": {} })), ("bare", json!({ "specTemplate": {} }))]
    {
        let class = estate.object("ServerClass", name, more);
        estate.root.post(&estate.cluster_path("serverclasses"), &class).await.expect(201);
    }
    let strategies = json!({
        "selection": ["match"], "match": [{ "fromClaimField": ".spec.version", "toClassField": ".version" }],
    });
    estate.bind_by(&[("Server", json!({ "strategies": strategies }))]).await;
    estate.claim("fits", json!({ "version": "5.6" })).await;
    let bound = estate.bound("fits", 1).await;
    estate.claim("misses", json!({ "version": "5.7" })).await;
    estate.claim_says("misses", "ClassSelected", "False", "NoMatch").await;

    let (namespace, group) = (&estate.namespace, &estate.group);
    let table = print(&estate, &format!("get databases.{group} -n {namespace}")).await;
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    let header = ["NAME", "STATUS", "CLASS-KIND", "CLASS-NAME", "RESOURCE-KIND", "RESOURCE-NAME", "AGE"];
    assert_eq!(rows[0], header);
    let server = bound["status"]["bindings"][0]["resourceRef"]["name"].as_str().unwrap();
    assert_eq!(rows[1][..6], ["fits", "Bound", "ServerClass", "old", "Server", server]);
    assert_eq!(rows[2][..2], ["misses", "Unbound"]);

    explains(&estate, "spec", "Labels of the classes that may satisfy this claim.").await;
    explains(&estate, "spec.version", "The version of the database.").await;
    let explained = explains(&estate, "status.candidates", "Whether it can satisfy the claim.").await;
    assert!(!explained.contains("<no description>"), "{explained}");

    // Someone who knows nothing of classes.
    let rules = json!([{ "apiGroups": [group], "resources": ["databases"], "verbs": ["get", "list"] }]);
    allow(&estate, "tenant", rules).await;
    let tenant = estate.site.user("tenant");
    eventually("the tenant may look", async || tenant.get(&estate.claims()).await.code == 200).await;
    tenant.get(&estate.cluster_path("serverclasses")).await.expect(403);
    let told = print(&estate, &format!("describe databases.{group} misses -n {namespace} --as=tenant")).await;
    for words in [
        "Candidates:",
        "NoMatch",
        "FieldMissing",
        "ServerClass",
        "bare",
        "old",
        "the claim wants \"5.7\"",
        "nearest are",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let told = print(&estate, &format!("describe databases.{group} fits -n {namespace}")).await;
    for words in ["Eligible:", "true", "Bindings:", server, "Available"] {
        assert!(told.contains(words), "{words}: {told}");
    }
}

/// What the host's schema rejects, and what cannot be formed at all, is said by the claim; and it heals.
async fn what_cannot_be_made_is_said(estate: Estate) {
    estate.furnish().await;
    estate.default_class("RuleClass", "wrong", json!({ "specTemplate": { "region": 5 } })).await;
    let strategies = json!({
        "provisioning": ["overlay", "translate"],
        "overlay": [{ "fromClassField": ".specTemplate", "toResourceField": ".spec" }],
        "translate": [{
            "fromClaimField": ".spec.size", "toResourceField": ".metadata.labels[\"size\"]",
            "transforms": { "map": { "1": "small" } },
        }],
    });
    estate.bind_by(&[("Rule", json!({ "strategies": strategies }))]).await;
    estate.claim("db", json!({ "size": 1 })).await;
    let message = estate.claim_says("db", "Synced", "False", "Rejected").await;
    assert!(message.contains("spec.region") && message.contains("cannot be made"), "{message}");
    let claim = estate.claim_until("db", "it is not bound", |claim| claim["status"]["bindingPhase"] == "Unbound").await;
    assert_eq!(claim["status"]["ready"], "0/1");
    let class = format!("{}/wrong", estate.cluster_path("ruleclasses"));
    estate.root.merge(&class, &json!({ "specTemplate": { "region": "west" } })).await.expect(200);
    let claim = estate.bound("db", 1).await;
    let rule = estate.root.get(&estate.resource_path(&claim["status"]["bindings"][0]["resourceRef"])).await.expect(200);
    assert_eq!((&rule["spec"]["region"], &rule["metadata"]["labels"]["size"]), (&json!("west"), &json!("small")));
    estate.claim("odd", json!({ "size": 2 })).await;
    let message = estate.claim_says("odd", "Synced", "False", "CannotForm").await;
    assert!(message.contains("size"), "{message}");
    estate.root.merge(&format!("{}/odd", estate.claims()), &json!({ "spec": { "size": 1 } })).await.expect(200);
    estate.bound("odd", 1).await;
}

/// N-07: two definitions that name different versions of one kind of claim disagree: the older one counts, the other says so,
/// and counts when the first is gone.
async fn definitions_that_disagree(estate: Estate) {
    estate.make_kinds().await;
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let mut claims =
        custom_resource(&estate.group, "Database", "databases", "Namespaced", json!({ "spec": open, "status": open }));
    let mut second = claims["spec"]["versions"][0].clone();
    (second["name"], second["storage"]) = (json!("v2"), json!(false));
    claims["spec"]["versions"].as_array_mut().unwrap().push(second);
    estate.root.post(CRDS, &claims).await.expect(201);
    eventually("claims are served", async || estate.root.get(&estate.claims()).await.code == 200).await;
    estate.default_class("ServerClass", "gold", json!({ "specTemplate": {} })).await;
    let first = estate.bind_by(&[("Server", json!({}))]).await;
    let name = format!("{first}-other");
    let mut other = estate.binding_definition(&name, &[("Server", json!({}))]);
    other["spec"]["claim"]["apiVersion"] = json!(format!("{}/v2", estate.group));
    estate.root.post(&estate.bindings(), &other).await.expect(201);
    let message = estate.definition_says(&name, "Accepted", "False", "Disagreement").await;
    assert!(message.contains(&first), "{message}");
    estate.claim("db", json!({})).await;
    let claim = estate.bound("db", 1).await;
    assert_eq!(claim["status"]["definition"]["name"], first);
    estate.root.delete(&format!("{}/db", estate.claims())).await.expect(200);
    estate.root.delete(&format!("{}/{first}", estate.bindings())).await;
    estate.gone(&format!("{}/{first}", estate.bindings())).await;
    estate.definition_says(&name, "Ready", "True", "Ready").await;
    estate.claim("late", json!({})).await;
    let claim = estate.bound("late", 1).await;
    assert_eq!(claim["status"]["definition"]["name"], name);
}

/// RCD-3, RCD-44: which kinds of resources satisfy a kind of claim is asked of the definitions by the claim's kind.
async fn what_satisfies_a_kind(estate: Estate) {
    estate.furnish().await;
    let names = ["by-servers", "by-rules", "of-others"].map(|name| format!("{}-{name}", estate.namespace));
    let definitions = [("Server", "Database"), ("Rule", "Database"), ("Server", "Cache")];
    for (name, (resource, claim)) in names.iter().zip(definitions) {
        let mut definition = estate.binding_definition(name, &[(resource, json!({}))]);
        definition["spec"]["claim"]["kind"] = json!(claim);
        estate.root.post(&estate.bindings(), &definition).await.expect(201);
    }
    let of = format!("spec.claim.apiVersion={}/v1,spec.claim.kind=Database", estate.group);
    let printed = print(&estate, &format!("get rbd --field-selector {of} --no-headers")).await;
    let rows: Vec<Vec<&str>> = printed.lines().map(|line| line.split_whitespace().take(3).collect()).collect();
    assert_eq!(rows, [[&*names[1], "Database", "Rule"], [&*names[0], "Database", "Server"]], "{printed}");
    for name in &names {
        let path = format!("{}/{name}", estate.bindings());
        estate.root.delete(&path).await;
        estate.gone(&path).await;
    }
}
