//! What is not watched.

use serde_json::json;

use crate::shop::{BUNDLES, MAPS, Shop, bundle, map, part, resource};

in_both_modes!(without_watches);

/// What an account may not watch is looked at from time to time, as everything is that is beyond the bound on watches: the Bundle
/// is carried out, and what others do to its objects is put right, only later.
async fn without_watches(shop: &Shop) {
    shop.account("short-sighted").await;
    let rules =
        json!([{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create", "patch", "delete"] }]);
    shop.allow("short-sighted", rules).await;
    let resources = json!([
        part(&[], map("first", json!({ "word": "one" }))),
        part(&["first"], map("second", json!({ "word": "$(first.data.word)" }))),
    ]);
    let mut unseen = bundle("unseen", resources);
    unseen["spec"]["serviceAccountName"] = json!("short-sighted");
    shop.root.post_soon(BUNDLES, &unseen).await;
    let ready = shop.ready("unseen").await;
    shop.root.delete(&format!("{MAPS}/first")).await.expect(200);
    shop.root.merge(&format!("{MAPS}/second"), &json!({ "data": { "word": "two" } })).await.expect(200);
    shop.until(&format!("{MAPS}/second"), |second| second["data"]["word"] == "one").await;
    let first = shop.until(&format!("{MAPS}/first"), |_| true).await;
    assert_ne!(first["metadata"]["uid"], resource(&ready, "first")["object"]["uid"]);
    shop.root.delete(&format!("{BUNDLES}/unseen")).await.expect(200);
    shop.gone(&format!("{BUNDLES}/unseen")).await;
    assert_eq!(shop.root.get(&format!("{MAPS}/first")).await.code, 404);
}
