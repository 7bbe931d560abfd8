//! Who may write definitions: whoever may do themselves what the definition leads to.

use serde_json::{Value, json};

use crate::estate::{API, Estate, RBAC, custom_resource};
use crate::site::{Mode, causes, eventually};

in_both_modes!(
    writers_of_claim_definitions,
    writers_of_binding_definitions,
    kinds_that_appear_later,
    an_acceptance_that_is_forged,
);

/// Gives a user rights in the whole cluster.
pub(crate) async fn allow(estate: &Estate, user: &str, rules: Value) {
    let name = format!("{user}-{}", estate.namespace);
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": name }, "rules": rules,
    });
    estate.root.post(&format!("{RBAC}/clusterroles"), &role).await.expect(201);
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": { "name": name },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user }],
    });
    estate.root.post(&format!("{RBAC}/clusterrolebindings"), &binding).await.expect(201);
}

fn definitions() -> Value {
    json!({ "apiGroups": ["claim.bailiwick.dev"], "resources": ["*"], "verbs": ["*"] })
}

/// N-01, decisions 43: defining claims takes the right to the CustomResourceDefinition that they come from.
async fn writers_of_claim_definitions(estate: Estate) {
    let path = format!("{API}/resourceclaimdefinitions");
    let crds = json!({ "apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["create", "update"] });
    allow(&estate, "mallory", json!([definitions()])).await;
    allow(&estate, "alice", json!([definitions(), crds])).await;
    let (mallory, alice) = (estate.site.user("mallory"), estate.site.user("alice"));
    mallory.is_refused(&path, &estate.claim_definition(), "cannot create customresourcedefinitions").await;
    alice.post_soon(&path, &estate.claim_definition()).await;
    let one = format!("{path}/{}", estate.namespace);
    let change = json!({ "spec": { "names": { "categories": ["all"] } } });
    let refusal = mallory.merge(&one, &change).await.expect(403);
    assert!(
        causes(&refusal).iter().any(|(_, why)| why.contains("cannot update customresourcedefinitions")),
        "{refusal:#}"
    );
    mallory.merge(&one, &json!({ "metadata": { "labels": { "a": "b" } } })).await.expect(200);
    alice.merge(&one, &change).await.expect(200);
    assert!(alice.delete(&one).await.text().contains("cannot delete customresourcedefinitions"));
    estate.root.delete(&one).await;
    estate.gone(&one).await;
}

/// N-01, RCD-21, RCD-22, RCD-26: whoever says what satisfies claims must be allowed to make it; and what is said must make
/// sense.
async fn writers_of_binding_definitions(estate: Estate) {
    estate.furnish().await;
    let definition = estate.binding_definition(&estate.namespace, &[("Server", json!({}))]);
    let all = json!({ "apiGroups": [estate.group], "resources": ["*"], "verbs": ["*"] });
    let some = json!({ "apiGroups": [estate.group], "resources": ["*"], "verbs": ["get", "list", "watch", "patch"] });
    allow(&estate, "mallory", json!([definitions(), some])).await;
    allow(&estate, "alice", json!([definitions(), all])).await;
    let (mallory, alice) = (estate.site.user("mallory"), estate.site.user("alice"));
    mallory.is_refused(&estate.bindings(), &definition, "cannot create servers").await;
    alice.post_soon(&estate.bindings(), &definition).await;
    let one = format!("{}/{}", estate.bindings(), estate.namespace);
    let made = alice.get(&one).await.expect(200);
    assert_eq!(made["status"]["requester"]["username"], "alice");
    let forged = json!({ "status": { "requester": { "username": "system:admin" } } });
    estate.root.merge(&format!("{one}/status"), &forged).await.expect(200);
    assert_eq!(alice.get(&one).await.expect(200)["status"]["requester"]["username"], "alice");
    // RCD-3: which kinds satisfy a claim is a question that can be asked.
    let found = alice
        .get(&format!(
            "{}?fieldSelector=spec.claim.kind=Database,spec.claim.apiVersion={}/v1",
            estate.bindings(),
            estate.group
        ))
        .await;
    assert_eq!(found.expect(200)["items"].as_array().unwrap().len(), 1);

    let root = &estate.root;
    let change = |change: Value| async move { change };
    let refused = async |pointer: &str, value: Value, field: &str| {
        let mut other = definition.clone();
        other["metadata"]["name"] = json!(format!("{}-other", estate.namespace));
        *other.pointer_mut(pointer).unwrap() = value;
        let refusal = root.post(&estate.bindings(), &other).await.expect(422);
        assert!(causes(&refusal).iter().any(|(found, _)| found.starts_with(field)), "{field}: {refusal:#}");
    };
    refused("/spec/resources", json!([]), "spec.resources").await;
    refused("/spec/claim/apiVersion", json!("v1"), "spec.claim.apiVersion").await;
    refused(
        "/spec/resources/0/resource",
        json!({ "apiVersion": "v1", "kind": "Secret" }),
        "spec.resources[0].resource.apiVersion",
    )
    .await;
    let rbac = json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding" });
    refused("/spec/resources/0/resource", rbac, "spec.resources[0].resource.apiVersion").await;
    let class = |strategies: Value| json!({ "apiVersion": format!("{}/v1", estate.group), "kind": "ServerClass", "strategies": strategies });
    let at = "spec.resources[0].class.strategies";
    for (strategies, field) in [
        (json!({ "selection": ["match"] }), "selection"),
        (json!({ "provisioning": ["translate"] }), "provisioning"),
        (json!({ "selection": ["guess"] }), "selection"),
        (
            json!({ "match": [{ "fromClaimField": "a b", "toClassField": ".a" }], "selection": ["match"] }),
            "match[0].fromClaimField",
        ),
        (
            json!({
                "provisioning": ["translate"],
                "translate": [{ "fromClaimField": ".a", "toResourceField": ".spec.a", "transforms": { "rot13": true } }],
            }),
            "translate[0].transforms",
        ),
    ] {
        refused("/spec/resources/0/class", class(strategies), &format!("{at}.{field}")).await;
    }
    let other =
        change(json!({ "spec": { "claim": { "apiVersion": format!("{}/v1", estate.group), "kind": "Other" } } })).await;
    let refusal = root.merge(&one, &other).await.expect(422);
    assert!(causes(&refusal).iter().any(|(field, _)| field == "spec.claim"), "{refusal:#}");
}

/// RCD-23, RCD-24, RCD-37, N-01: kinds that are not there are waited for; whoever wrote the definition is held to what they
/// may do with them then. A kind that was defined by hand does if it has what claims have.
async fn kinds_that_appear_later(estate: Estate) {
    let all = json!({ "apiGroups": [estate.group], "resources": ["databases", "databases/status", "serverclasses"], "verbs": ["*"] });
    allow(&estate, "mallory", json!([definitions(), all])).await;
    let mallory = estate.site.user("mallory");
    let name = estate.namespace.clone();
    let definition = estate.binding_definition(&name, &[("Server", json!({}))]);
    mallory.post_soon(&estate.bindings(), &definition).await;
    let message = estate.definition_says(&name, "Accepted", "False", "UnknownKind").await;
    assert!(message.contains("Database"), "{message}");
    let open = || json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let crd = |properties| custom_resource(&estate.group, "Database", "databases", "Namespaced", properties);
    estate.root.post(crate::estate::CRDS, &crd(json!({ "spec": open() }))).await.expect(201);
    let message = estate.definition_says(&name, "Accepted", "False", "FieldsMissing").await;
    assert!(message.contains(".status.bindings"), "{message}");
    let path = format!("{}/databases.{}", crate::estate::CRDS, estate.group);
    let whole = crd(json!({ "spec": open(), "status": open() }));
    estate.root.merge(&path, &json!({ "spec": whole["spec"] })).await.expect(200);
    let message = estate.definition_says(&name, "Accepted", "False", "UnknownKind").await;
    assert!(message.contains("Server"), "{message}");
    estate.make_kinds().await;
    let message = estate.definition_says(&name, "Accepted", "False", "NotAllowed").await;
    assert!(message.contains("mallory") && message.contains("servers"), "{message}");
    // Someone who may writes it again.
    let one = format!("{}/{name}", estate.bindings());
    let change = json!({ "spec": { "resourceRefPolicy": "Any" } });
    estate.root.merge(&one, &change).await.expect(200);
    estate.definition_says(&name, "Accepted", "True", "Accepted").await;
    estate.definition_says(&name, "Ready", "True", "Ready").await;
    estate.default_class("ServerClass", "gold", json!({ "specTemplate": { "size": 1 } })).await;
    estate.claim("by-hand", json!({ "anything": true })).await;
    estate.bound("by-hand", 1).await;

    if estate.site.mode == Mode::Behind {
        let role = format!("{RBAC}/clusterroles/provisioner-{}", estate.namespace);
        estate.root.delete(&role).await.expect(200);
        // A definition that works is looked at when it is written, and a cluster hears of a role's end in its own time.
        let mut policies = ["Consented", "Any"].into_iter().cycle();
        eventually("the provisioner may not any more", async || {
            let change = json!({ "spec": { "resourceRefPolicy": policies.next() } });
            estate.root.merge(&one, &change).await.expect(200);
            let found = estate.root.get(&one).await.expect(200);
            crate::estate::condition_of(&found, "Ready")["reason"] == "ProvisionerNotAllowed"
        })
        .await;
    }
}

/// N-01, N-08, S-16: whoever may write the status of definitions is not accepted by saying so there: their rights are asked for
/// all the same, and nothing is done for them.
async fn an_acceptance_that_is_forged(estate: Estate) {
    let some = json!({ "apiGroups": [estate.group], "resources": ["databases", "databases/status", "serverclasses"], "verbs": ["*"] });
    allow(&estate, "mallory", json!([definitions(), some])).await;
    let mallory = estate.site.user("mallory");
    let name = estate.namespace.clone();
    mallory.post_soon(&estate.bindings(), &estate.binding_definition(&name, &[("Server", json!({}))])).await;
    estate.furnish().await;
    estate.default_class("ServerClass", "gold", json!({ "specTemplate": {} })).await;
    estate.claim("db", json!({})).await;
    estate.definition_says(&name, "Accepted", "False", "NotAllowed").await;
    let one = format!("{}/{name}", estate.bindings());
    let generation = mallory.get(&one).await.expect(200)["metadata"]["generation"].clone();
    let condition = |kind: &str, reason: &str| {
        json!({
            "type": kind, "status": "True", "reason": reason, "message": "", "observedGeneration": generation,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    let forged =
        json!({ "status": { "conditions": [condition("Accepted", "Accepted"), condition("Ready", "Ready")] } });
    mallory.merge(&format!("{one}/status"), &forged).await.expect(200);
    estate.definition_says(&name, "Accepted", "False", "NotAllowed").await;
    estate.claim_says("db", "ClassSelected", "False", "NoDefinition").await;
    let servers = estate.root.get(&estate.cluster_path("servers")).await.expect(200);
    assert_eq!(servers["items"], json!([]));
}
