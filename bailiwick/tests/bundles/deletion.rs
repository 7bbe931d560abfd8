//! What goes, in which order, and what stays.

use serde_json::json;

use crate::shop::{BUNDLES, MAPS, SLEEPERS, Shop, condition, map, part, sleeper};

in_both_modes!(
    in_the_reverse_order,
    whoever_writes_it_anew,
    each_by_its_lifecycle,
    what_stays,
    without_an_account_and_with_a_namespace
);

/// B-SMITH-5, P-4: what depends on something goes before it, by what was written down, even if the kind is gone.
async fn in_the_reverse_order(shop: &Shop) {
    shop.define("brief.example.dev", "Brief", json!({})).await;
    let brief =
        json!({ "apiVersion": "brief.example.dev/v1", "kind": "Brief", "metadata": { "name": "b" }, "spec": {} });
    let mut held = sleeper("last", json!({}));
    held["metadata"]["finalizers"] = json!(["example.dev/hold"]);
    let resources = json!([part(&[], map("first", json!({}))), part(&["first"], brief), part(&["b"], held)]);
    shop.write("ordered", resources).await;
    shop.until(&format!("{SLEEPERS}/last"), |_| true).await;
    shop.wake("last", "").await;
    shop.ready("ordered").await;
    let left_to_others = json!({ "metadata": { "finalizers": ["foregroundDeletion"] } });
    let refused = shop.root.merge(&format!("{BUNDLES}/ordered"), &left_to_others).await.expect(403);
    assert!(refused["message"].as_str().unwrap().contains("in which order"), "{refused}");
    // As the garbage collector asks where an owner goes in the foreground, which waits for it.
    shop.root.delete(&format!("{BUNDLES}/ordered?propagationPolicy=Foreground")).await.expect(200);
    let deleting =
        shop.until(&format!("{BUNDLES}/ordered"), |bundle| condition(bundle, "Ready")["reason"] == "Deleting").await;
    assert!(condition(&deleting, "Ready")["message"].as_str().unwrap().contains("Sleeper \"last\""), "{deleting:#}");
    shop.until(&format!("{SLEEPERS}/last"), |last| last["metadata"]["deletionTimestamp"].is_string()).await;
    shop.root.get(&format!("{MAPS}/first")).await.expect(200);
    let definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/briefs.brief.example.dev";
    shop.root.delete(definition).await.expect(200);
    shop.gone(definition).await;
    shop.root.get(&format!("{MAPS}/first")).await.expect(200);
    shop.root.merge(&format!("{SLEEPERS}/last"), &json!({ "metadata": { "finalizers": null } })).await.expect(200);
    shop.gone(&format!("{BUNDLES}/ordered")).await;
    assert_eq!(shop.root.get(&format!("{MAPS}/first")).await.code, 404);
}

/// B-SMITH-5: who writes a Bundle anew, as they know it, does not make it forget what it has to do before it goes; and whose account
/// is another one now is used again once somebody who may has changed what is wanted.
async fn whoever_writes_it_anew(shop: &Shop) {
    let mut kept = part(&[], map("kept", json!({})));
    kept["lifecycle"] = json!("Retain");
    shop.write("anew", json!([kept])).await;
    let mut bundle = shop.ready("anew").await;
    let path = format!("{BUNDLES}/anew");
    bundle["metadata"] = json!({ "name": "anew", "resourceVersion": bundle["metadata"]["resourceVersion"] });
    let written = shop.root.put(&path, &bundle).await.expect(200);
    assert_eq!(written["metadata"]["finalizers"], json!(["bundle.bailiwick.dev/cleanup"]));
    shop.root.delete("/api/v1/namespaces/shop/serviceaccounts/builder").await.expect(200);
    shop.account("builder").await;
    let told = shop.until(&path, |bundle| condition(bundle, "Ready")["reason"] == "AccountReplaced").await;
    assert!(condition(&told, "Ready")["message"].as_str().unwrap().contains("change anything in spec"), "{told:#}");
    shop.root.merge(&path, &json!({ "spec": { "inferDependencies": true } })).await.expect(200);
    shop.ready("anew").await;
    shop.root.delete(&path).await.expect(200);
    shop.gone(&path).await;
    let kept = shop.root.get(&format!("{MAPS}/kept")).await.expect(200);
    assert_eq!(kept["metadata"]["ownerReferences"], json!(null));
}

/// B-SMITH-5: what is taken out, or whose Bundle goes, goes or stays as its lifecycle says, whatever else is said.
async fn each_by_its_lifecycle(shop: &Shop) {
    let with = |name: &str, lifecycle: &str, before: &[&str]| {
        let mut part = part(before, map(name, json!({})));
        part["lifecycle"] = json!(lifecycle);
        part
    };
    let is_free = async |name: &str| {
        let left = shop.root.get(&format!("{MAPS}/{name}")).await.expect(200);
        assert_eq!(left["metadata"]["ownerReferences"], json!(null), "{left}");
    };
    let all = json!([
        with("needed", "Delete", &[]),
        with("dear", "Protect", &["needed"]),
        with("goes", "Delete", &["dear"]),
        with("retained", "Retain", &[]),
        with("orphaned", "Orphan", &[]),
    ]);
    shop.write("lived", all.clone()).await;
    shop.ready("lived").await;
    // Taken out: what is protected stays, and what it depends on.
    shop.change("lived", json!([])).await;
    let at = format!("{BUNDLES}/lived");
    let told = shop.until(&at, |bundle| condition(bundle, "PruningComplete")["reason"] == "Protected").await;
    let message = condition(&told, "PruningComplete")["message"].as_str().unwrap().to_owned();
    assert!(message.contains("ConfigMap \"dear\" is protected") && message.contains("lifecycle"), "{message}");
    for name in ["goes", "retained"] {
        shop.gone(&format!("{MAPS}/{name}")).await;
    }
    shop.root.get(&format!("{MAPS}/dear")).await.expect(200);
    shop.root.get(&format!("{MAPS}/needed")).await.expect(200);
    is_free("orphaned").await;
    shop.root.delete(&format!("{MAPS}/orphaned")).await.expect(200);
    // Back again, and the Bundle is to go: nothing goes while something is protected.
    shop.change("lived", all).await;
    shop.ready("lived").await;
    shop.root.delete(&format!("{at}?propagationPolicy=Foreground")).await.expect(200);
    let told = shop.until(&at, |bundle| condition(bundle, "Ready")["reason"] == "Protected").await;
    assert!(condition(&told, "Ready")["message"].as_str().unwrap().contains("nothing is deleted"), "{told:#}");
    for name in ["needed", "dear", "goes", "retained", "orphaned"] {
        shop.root.get(&format!("{MAPS}/{name}")).await.expect(200);
    }
    let released = json!([
        with("needed", "Delete", &[]),
        with("dear", "Retain", &["needed"]),
        with("goes", "Delete", &["dear"]),
        with("retained", "Retain", &[]),
        with("orphaned", "Orphan", &[]),
    ]);
    shop.change("lived", released).await;
    shop.gone(&at).await;
    for name in ["needed", "goes"] {
        assert_eq!(shop.root.get(&format!("{MAPS}/{name}")).await.code, 404, "{name}");
    }
    for name in ["dear", "retained", "orphaned"] {
        is_free(name).await;
    }
    let wrong = crate::shop::bundle("wrong", json!([with("x", "Sometimes", &[])]));
    shop.root.post(BUNDLES, &wrong).await.expect(422);
}

/// P-10, B-09, and what people ask for: what is somebody else's by now stays, and so does all of it if it is to be orphaned.
async fn what_stays(shop: &Shop) {
    shop.write("taken", json!([part(&[], map("a", json!({}))), part(&[], map("b", json!({})))])).await;
    shop.ready("taken").await;
    let other = json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "038b49a6-e746-11e6-baf3-ee8d75af8f6e", "controller": true }]);
    // So that the Bundle does not take it back before it goes.
    shop.forbid("builder").await;
    shop.root
        .merge(
            &format!("{MAPS}/a"),
            &json!({ "metadata": { "ownerReferences": other, "finalizers": ["example.dev/hold"] } }),
        )
        .await
        .expect(200);
    shop.root.delete(&format!("{BUNDLES}/taken")).await.expect(200);
    let all = json!([{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }]);
    shop.bind("builder-again", all, json!({ "kind": "ServiceAccount", "name": "builder", "namespace": "shop" })).await;
    shop.gone(&format!("{BUNDLES}/taken")).await;
    assert_eq!(shop.root.get(&format!("{MAPS}/b")).await.code, 404);
    let stays = shop.root.get(&format!("{MAPS}/a")).await.expect(200);
    assert_eq!(stays["metadata"]["ownerReferences"], other);
    // Nobody has that owner, so that it goes as garbage once nothing holds it.
    shop.root.merge(&format!("{MAPS}/a"), &json!({ "metadata": { "finalizers": null } })).await.expect(200);

    shop.write("orphaned", json!([part(&[], map("c", json!({})))])).await;
    shop.ready("orphaned").await;
    shop.root.delete(&format!("{BUNDLES}/orphaned?propagationPolicy=Orphan")).await.expect(200);
    shop.gone(&format!("{BUNDLES}/orphaned")).await;
    let kept = shop.root.get(&format!("{MAPS}/c")).await.expect(200);
    assert_eq!(kept["metadata"]["ownerReferences"], json!(null));
}

/// Decision 38: without its account a Bundle stays, and says what to do; with its namespace it goes.
async fn without_an_account_and_with_a_namespace(shop: &Shop) {
    shop.write("left", json!([part(&[], map("a", json!({})))])).await;
    shop.ready("left").await;
    let account = "/api/v1/namespaces/shop/serviceaccounts/builder";
    shop.root.delete(account).await.expect(200);
    shop.until(&format!("{BUNDLES}/left"), |bundle| condition(bundle, "Ready")["reason"] == "AccountMissing").await;
    shop.root.delete(&format!("{BUNDLES}/left")).await.expect(200);
    let told =
        shop.until(&format!("{BUNDLES}/left"), |bundle| bundle["metadata"]["deletionTimestamp"].is_string()).await;
    assert!(condition(&told, "Ready")["message"].as_str().unwrap().contains("spec.serviceAccountName"), "{told:#}");
    shop.root.get(&format!("{MAPS}/a")).await.expect(200);
    // Another account of the same name is another.
    shop.account("builder").await;
    shop.until(&format!("{BUNDLES}/left"), |bundle| condition(bundle, "Ready")["reason"] == "AccountReplaced").await;
    shop.root.get(&format!("{MAPS}/a")).await.expect(200);
    // Whoever may act as another one names it.
    shop.account("heir").await;
    shop.allow("heir", json!([{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }])).await;
    shop.root.merge(&format!("{BUNDLES}/left"), &json!({ "spec": { "serviceAccountName": "heir" } })).await.expect(200);
    shop.gone(&format!("{BUNDLES}/left")).await;
    assert_eq!(shop.root.get(&format!("{MAPS}/a")).await.code, 404);

    shop.write("ending", json!([part(&[], map("b", json!({})))])).await;
    shop.ready("ending").await;
    shop.root.delete("/api/v1/namespaces/shop").await.expect(200);
    shop.gone("/api/v1/namespaces/shop").await;
}
