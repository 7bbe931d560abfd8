//! A server that ends at any point goes on where it was.

use serde_json::json;

use crate::market::{Market, claims, core};
use crate::objects::{claim, condition, config_map, entry, list, local};
use crate::site::Site;

in_both_modes!(a_restart_loses_nothing);

/// CAT-47, R-26: what was published before a server was killed can be claimed after; what follows, follows on.
async fn a_restart_loses_nothing(site: &mut Market) {
    site.publish(&entry("settings", local(&[("ConfigMap", "settings")]))).await;
    site.claimed(&claim("before", "settings", json!({ "namePrefix": "b-", "keepSynchronized": true }))).await;
    site.restart().await;
    site.claimed(&claim("after", "settings", json!({ "namePrefix": "a-" }))).await;
    let source = core("shop", "configmaps", "settings");
    site.root().merge(&source, &json!({ "data": { "colour": "red" } })).await.expect(200);
    site.until(&core("a", "configmaps", "b-settings"), |copy| copy["data"]["colour"] == "red").await;
    // Changed while nobody looked.
    site.root()
        .merge(&core("a", "configmaps", "b-settings"), &json!({ "data": { "colour": "pink" } }))
        .await
        .expect(200);
    site.restart().await;
    site.until(&core("a", "configmaps", "b-settings"), |copy| copy["data"]["colour"] == "red").await;
    assert_eq!(condition(&site.ready("a", "before").await, "Synced").0, "True");
}

/// R-26, I1 to I5: killed again and again while claims are realized, each resource is made once, and none is forgotten.
#[tokio::test]
async fn killed_at_any_point_nothing_is_made_twice() {
    let mut site = Market::open(Site::alone().await).await;
    let names = ["x", "y", "z"];
    site.publish(&entry("set", list(json!(names.map(|name| config_map(name, json!({}))))))).await;
    for round in 0..6 {
        let more = json!({ "namePrefix": format!("r{round}-"), "keepSynchronized": round % 2 == 0 });
        site.user("eddie").post(&claims("a"), &claim(&format!("r{round}"), "set", more)).await.expect(201);
        // A little later each time, so that it is cut off at other points.
        tokio::time::sleep(std::time::Duration::from_millis(4 * round)).await;
        site.restart().await;
    }
    let mut made = Vec::new();
    for round in 0..6 {
        let done = site.ready("a", &format!("r{round}")).await;
        let created = done["status"]["createdResources"].as_array().unwrap().clone();
        assert_eq!((created.len(), &done["status"]["errors"]), (3, &json!(null)), "{done}");
        for (name, created) in names.iter().zip(&created) {
            let live = site.root().get(&core("a", "configmaps", &format!("r{round}-{name}"))).await.expect(200);
            assert_eq!((&live["metadata"]["uid"], &live["metadata"]["name"]), (&created["uid"], &created["name"]));
        }
        made.push(created);
    }
    // Nor is it when that is asked for once more. Who was killed may not have come to write down as whom it made something.
    for (round, made) in made.into_iter().enumerate() {
        let at = format!("{}/r{round}", claims("a"));
        site.user("eddie").merge(&at, &json!({ "spec": { "generation": 1 } })).await.expect(200);
        let again = site.until(&at, |claim| claim["status"]["generation"] == 1).await;
        assert_eq!(again["status"]["createdResources"], json!(made));
    }
    let all =
        site.root().get("/api/v1/namespaces/a/configmaps?labelSelector=bailiwick.dev%2Fderived-from").await.expect(200);
    assert_eq!(all["items"].as_array().unwrap().len(), 18);
    site.check_invariants().await;
}
