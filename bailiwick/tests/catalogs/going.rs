//! What becomes of resources when their claim goes.

use serde_json::json;

use crate::market::{Market, claims, core};
use crate::objects::{claim, condition, config_map, entry, list};

in_both_modes!(resources_go_with_their_claim_or_stay, without_its_account_a_claim_stays);

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
