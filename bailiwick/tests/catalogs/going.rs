//! What becomes of resources when their claim goes.

use serde_json::json;

use crate::objects::{claim, config_map, entry, list};
use crate::site::{Site, claims, core};

/// D-CAT-7: resources go with their claim, unless they are to stay, whatever has been decided when.
#[tokio::test]
async fn resources_go_with_their_claim_or_stay() {
    let site = Site::open().await;
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
