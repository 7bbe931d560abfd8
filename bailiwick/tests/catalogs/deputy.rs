//! Whoever acts for others gains them nothing: what is done is done as an account that they may act as, and by nobody else.

use serde_json::json;

use crate::objects::{claim, condition, config_map, entry, list, local};
use crate::site::{Site, claims, core, entries};

/// D-01, D-02, D-06, D-11, I2: the server's own audit log shows as whom each copy was made, and each source read.
#[tokio::test]
async fn what_follows_from_a_claim_is_done_as_its_account() {
    let site = Site::open_with(&["--audit-log-path=audit.log", "--audit-policy-file=policy.yaml"]).await;
    site.publish(&entry("both", local(&[("Secret", "creds"), ("ConfigMap", "settings")]))).await;
    site.claimed(&claim("mine", "both", json!({ "keepSynchronized": true }))).await;
    let copy = core("a", "configmaps", "settings");
    site.root()
        .merge(&core("shop", "configmaps", "settings"), &json!({ "data": { "colour": "red" } }))
        .await
        .expect(200);
    site.until(&copy, |copy| copy["data"]["colour"] == "red").await;
    site.user("eddie").delete(&format!("{}/mine", claims("a"))).await.expect(200);
    site.until_gone(&copy).await;
    let (mut made, mut read) = (0, 0);
    for event in site.audit_log() {
        let resource = event["objectRef"]["resource"].as_str().unwrap_or_default();
        let (user, verb) = (event["user"]["username"].as_str().unwrap(), event["verb"].as_str().unwrap());
        if !matches!(resource, "secrets" | "configmaps") {
            continue;
        }
        let (namespace, is_write) =
            (event["objectRef"]["namespace"].as_str().unwrap_or_default(), !matches!(verb, "get" | "list" | "watch"));
        assert!(!user.contains("catalog"), "a controller of catalogs did it as itself: {event}");
        if namespace == "a" && is_write && user.starts_with("system:serviceaccount:a:") {
            assert_eq!(user, "system:serviceaccount:a:maker");
            made += 1;
        }
        if namespace == "shop" && user.starts_with("system:serviceaccount:") && !user.contains("kube-system") {
            assert_eq!(user, "system:serviceaccount:shop:publisher");
            assert!(!is_write, "{event}");
            read += 1;
        }
    }
    assert!(made >= 2 && read >= 2, "{made} {read}");
}

/// I1, I4, D-02, D-03, D-09: an account that may do nothing makes nothing, and nobody reads what they could not read before.
#[tokio::test]
async fn nobody_gains_by_a_claim() {
    let site = Site::open().await;
    site.publish(&entry("creds", local(&[("Secret", "creds")]))).await;
    site.account("a", "weak").await;
    let weak = claim("mine", "creds", json!({ "serviceAccountName": "weak" }));
    site.user("eddie").post(&claims("a"), &weak).await.expect(201);
    let told = site.until(&format!("{}/mine", claims("a")), |claim| condition(claim, "Ready").1 == "Forbidden").await;
    assert!(!told.to_string().contains("hunter2"));
    site.root().get(&core("a", "secrets", "creds")).await.expect(404);
    let events = site.root().get("/apis/events.k8s.io/v1/namespaces/a/events").await.expect(200);
    assert!(!events.to_string().contains("hunter2") && !events.to_string().contains("aHVudGVyMg"), "{events}");
    // An account of another namespace cannot be named.
    for name in ["../shop/publisher", "shop:publisher", "shop/publisher", ""] {
        let code = site
            .user("eddie")
            .post(&claims("a"), &claim("bad", "creds", json!({ "serviceAccountName": name })))
            .await
            .code;
        assert_eq!(code, 422, "{name}");
    }
    // The publisher's account is bereft of its right: nothing is read as anyone else.
    site.revoke("shop", "publisher").await;
    site.user("eddie").post(&claims("a"), &claim("late", "creds", json!({ "namePrefix": "late-" }))).await.expect(201);
    let told =
        site.until(&format!("{}/late", claims("a")), |claim| condition(claim, "Ready").1 == "SourceForbidden").await;
    assert_eq!(told["status"]["createdResources"], json!(null));
    // Credentials of accounts are never shared.
    let token = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
        "metadata": { "name": "token", "annotations": { "kubernetes.io/service-account.name": "publisher" } },
    });
    site.bind("shop", "publisher", "Role/publisher", "ServiceAccount/publisher").await;
    site.make("shop", "secrets", &token).await;
    site.user("pat").post(&entries("shop"), &entry("token", local(&[("Secret", "token")]))).await.expect(422);
    let listed = entry("token", list(json!([token])));
    let code = site.user("pat").post(&entries("shop"), &listed).await.code;
    if code == 201 {
        site.accepted("token").await;
        site.user("eddie").post(&claims("a"), &claim("token", "token", json!({}))).await.expect(201);
        site.until(&format!("{}/token", claims("a")), |claim| condition(claim, "Ready").1 == "Refused").await;
        site.root().get(&core("a", "secrets", "token")).await.expect(404);
    }
}

/// D-10: what someone made in advance, however it looks, is not taken over.
#[tokio::test]
async fn nothing_is_adopted() {
    let site = Site::open().await;
    site.publish(&entry("set", list(json!([config_map("x", json!({ "from": "entry" }))])))).await;
    let mut bait = config_map("x", json!({ "from": "bait" }));
    bait["metadata"]["labels"] = json!({ "bailiwick.dev/derived-from": "resourcecatalogclaims" });
    bait["metadata"]["annotations"] = json!({ "catalog.bailiwick.dev/claim-uid": "any" });
    let bait = site.make("a", "configmaps", &bait).await;
    site.user("eddie").post(&claims("a"), &claim("mine", "set", json!({ "keepSynchronized": true }))).await.expect(201);
    site.until(&format!("{}/mine", claims("a")), |claim| condition(claim, "Ready").1 == "AlreadyExists").await;
    let there = site.root().get(&core("a", "configmaps", "x")).await.expect(200);
    assert_eq!(there, bait);
}
