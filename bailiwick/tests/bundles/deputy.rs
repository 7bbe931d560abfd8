//! Who acts: the account that a Bundle names, for those who may act as it, and nobody else.

use serde_json::{Value, json};

use crate::shop::{BUNDLES, MAPS, SECRETS, Shop, bundle, condition, map, part, secret};

in_both_modes!(rights_are_asked_for_when_it_is_written, rights_hold_all_the_time);

/// What alice needs to write Bundles, and no more.
fn writes_bundles() -> Value {
    json!([{ "apiGroups": ["bundle.bailiwick.dev"], "resources": ["bundles"], "verbs": ["*"] }])
}

fn alice() -> Value {
    json!({ "kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "alice" })
}

/// B-SMITH-4, M-SMITH-7: whoever writes a Bundle may act as its account, which exists and may do what is to be done; a refusal
/// says who lacks what, and how it is given.
async fn rights_are_asked_for_when_it_is_written(shop: Shop) {
    shop.bind("alice-writes", writes_bundles(), alice()).await;
    let alice_writes = shop.site.user("alice");
    let one = bundle("one", json!([part(&[], map("a", json!({})))]));
    let refused = alice_writes.post(BUNDLES, &one).await.expect(403);
    let message = refused["message"].as_str().unwrap();
    for told in ["\"alice\" may not impersonate", "\"builder\"", "kubectl create role", "--user=alice"] {
        assert!(message.contains(told), "{told}: {message}");
    }
    let act_as = json!([{ "apiGroups": [""], "resources": ["serviceaccounts"], "resourceNames": ["builder", "weak", "gone"], "verbs": ["impersonate"] }]);
    shop.bind("alice-acts", act_as, alice()).await;
    alice_writes.post_soon(BUNDLES, &one).await;
    let ready = shop.ready("one").await;
    assert_eq!(ready["status"]["requester"]["username"], "alice");

    let with = |name: &str, account: &str| {
        let mut bundle = bundle(name, json!([part(&[], map("b", json!({})))]));
        bundle["spec"]["serviceAccountName"] = json!(account);
        bundle
    };
    let missing = alice_writes.post(BUNDLES, &with("two", "gone")).await.expect(422);
    assert!(missing["message"].as_str().unwrap().contains("kubectl create serviceaccount gone"), "{missing}");
    shop.account("weak").await;
    shop.allow("weak", json!([{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create"] }])).await;
    let weak = alice_writes.post(BUNDLES, &with("two", "weak")).await.expect(403);
    let message = weak["message"].as_str().unwrap();
    for told in ["\"weak\"", "delete configmaps, patch configmaps", "--serviceaccount=shop:weak"] {
        assert!(message.contains(told), "{told}: {message}");
    }
    // Naming a stronger account in an update is asked for as well; what does not change what is asked for is not.
    alice_writes
        .merge(&format!("{BUNDLES}/one"), &json!({ "spec": { "serviceAccountName": "default" } }))
        .await
        .expect(403);
    alice_writes.merge(&format!("{BUNDLES}/one"), &json!({ "metadata": { "labels": { "a": "b" } } })).await.expect(200);
    // Nobody says who asked but the server.
    let forged = json!({ "status": { "requester": { "username": "root" } } });
    alice_writes.merge(&format!("{BUNDLES}/one"), &forged).await.expect(200);
    shop.root.merge(&format!("{BUNDLES}/one/status"), &forged).await.expect(200);
    assert_eq!(shop.bundle("one").await["status"]["requester"]["username"], "alice");
}

/// B-01, B-02, B-11: what the account may not read does not flow, rights that end have ended, and no value of a Secret is told.
async fn rights_hold_all_the_time(shop: Shop) {
    shop.account("limited").await;
    let rules = |resources: Value| json!([{ "apiGroups": [""], "resources": resources, "verbs": ["get", "list", "watch", "create", "patch", "delete"] }]);
    shop.allow("limited", rules(json!(["configmaps", "secrets"]))).await;
    let mut limited = bundle(
        "limited",
        json!([
            part(&[], secret("key", json!({ "password": "canary-value" }))),
            { "name": "told", "dependsOn": ["key"], "allowSecretValues": true, "spec": {
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "told", "labels": { "wrong": "!$(key.data.password)!" } },
            } },
        ]),
    );
    limited["spec"]["serviceAccountName"] = json!("limited");
    shop.root.post(BUNDLES, &limited).await.expect(201);
    let told = shop.says("limited", "told", "Error", "Invalid").await;
    assert!(told["message"].as_str().unwrap().contains("metadata.labels"), "{told}");
    let events = shop.root.get("/api/v1/namespaces/shop/events").await.expect(200).to_string();
    for text in [shop.bundle("limited").await["status"].to_string(), events] {
        assert!(!text.contains("canary-value") && !text.contains("Y2FuYXJ5"), "{text}");
    }

    shop.change("limited", json!([part(&[], map("a", json!({ "v": "1" })))])).await;
    shop.ready("limited").await;
    shop.gone(&format!("{SECRETS}/key")).await;
    shop.forbid("limited").await;
    shop.root.delete(&format!("{MAPS}/a")).await.expect(200);
    let told = shop.says("limited", "a", "Error", "Forbidden").await;
    assert!(told["message"].as_str().unwrap().contains("system:serviceaccount:shop:limited"), "{told}");
    assert_eq!(shop.root.get(&format!("{MAPS}/a")).await.code, 404);
    let subject = json!({ "kind": "ServiceAccount", "name": "limited", "namespace": "shop" });
    shop.bind("limited-again", rules(json!(["configmaps"])), subject).await;
    shop.ready("limited").await;
    let bundle = shop.bundle("limited").await;
    assert_eq!(condition(&bundle, "Ready")["reason"], "AllReady");
}
