//! What tools that know ApplySets see of a Bundle.

use serde_json::{Value, json};

use crate::shop::{BUNDLES, MAPS, SLEEPERS, Shop, bundle, map, part, sleeper};
use crate::site::causes;

in_both_modes!(parts_are_known_by_a_label);

const PART_OF: &str = "applyset.kubernetes.io/part-of";
const ID: &str = "applyset.kubernetes.io/id";
const KINDS: &str = "applyset.kubernetes.io/contains-group-kinds";

/// The names of the ConfigMaps that are part of a set.
async fn parts(shop: &Shop, id: &str) -> Vec<String> {
    let list = shop.root.get(&format!("{MAPS}?labelSelector={PART_OF}={id}")).await.expect(200);
    let name = |item: &Value| item["metadata"]["name"].as_str().unwrap().to_owned();
    list["items"].as_array().unwrap().iter().map(name).collect()
}

/// M-SMITH-4: a Bundle says what it stands for before anything is made, and what it makes says of which Bundle it is part; whatever
/// others write there. What is not the Bundle's, or is no more, does not say so.
async fn parts_are_known_by_a_label(shop: &Shop) {
    shop.root.post(MAPS, &map("theirs", json!({}))).await.expect(201);
    let mut kept = part(&[], map("kept", json!({})));
    kept["lifecycle"] = json!("Orphan");
    let mut set = bundle(
        "set",
        json!([
            part(&[], map("a", json!({}))),
            kept,
            part(&[], map("theirs", json!({}))),
            part(&[], sleeper("s", json!({})))
        ]),
    );
    set["metadata"]["labels"] = json!({ ID: "somebody-elses", "mine": "too" });
    let made = shop.root.post(BUNDLES, &set).await.expect(201);
    let id = made["metadata"]["labels"][ID].as_str().unwrap().to_owned();
    assert!(id.starts_with("applyset-") && id.ends_with("-v1") && id.len() == 55, "{id}");
    assert_eq!(made["metadata"]["labels"]["mine"], "too");
    let annotations = &made["metadata"]["annotations"];
    assert!(
        annotations["applyset.kubernetes.io/tooling"].as_str().unwrap().starts_with("bailiwick/v"),
        "{annotations}"
    );
    assert_eq!(annotations[KINDS], "ConfigMap,Sleeper.tpr.atlassian.com");
    shop.until(&format!("{SLEEPERS}/s"), |asleep| asleep["metadata"]["labels"][PART_OF] == json!(id)).await;
    shop.says("set", "theirs", "Error", "NotOwned").await;
    shop.says("set", "kept", "Ready", "Ready").await;
    assert_eq!(parts(shop, &id).await, ["a", "kept"]);

    // It is a field like those that people ask for.
    let path = format!("{MAPS}/a");
    let unlabelled = json!({ "metadata": { "labels": { PART_OF: null } } });
    shop.root.merge(&path, &unlabelled).await.expect(200);
    let again = shop.until(&path, |found| found["metadata"]["labels"][PART_OF] == json!(id)).await;
    let sets_it = |fields: &Value| {
        fields["manager"] == "bailiwick-bundle-controller"
            && !fields["fieldsV1"]["f:metadata"]["f:labels"][format!("f:{PART_OF}")].is_null()
    };
    assert!(again["metadata"]["managedFields"].as_array().unwrap().iter().any(sets_it), "{again:#}");
    let mut wrong = map("b", json!({}));
    wrong["metadata"]["labels"] = json!({ PART_OF: "another" });
    let refused = shop.root.post(BUNDLES, &bundle("wrong", json!([part(&[], wrong)]))).await.expect(422);
    let (field, why) = causes(&refused).remove(0);
    assert_eq!(field, format!("spec.resources[0].spec.metadata.labels['{PART_OF}']"));
    assert!(why.contains("is written by the server"), "{why}");

    // What is let go is part of nothing, and kinds are told as long as something of them may exist.
    shop.wake("s", "").await;
    let changed = shop.change("set", json!([part(&[], map("a", json!({})))])).await;
    assert_eq!(changed["metadata"]["annotations"][KINDS], annotations[KINDS]);
    shop.gone(&format!("{SLEEPERS}/s")).await;
    let is_free = |found: &Value| found["metadata"]["labels"][PART_OF].is_null();
    shop.until(&format!("{MAPS}/kept"), is_free).await;
    // It is ready before all of that has been told.
    shop.until(&format!("{BUNDLES}/set"), |set| {
        set["status"]["inventory"].as_array().is_some_and(|inventory| inventory.len() == 1)
    })
    .await;
    shop.ready("set").await;
    let relabelled = json!({ "metadata": { "labels": { ID: "another" } } });
    let told = shop.root.merge(&format!("{BUNDLES}/set"), &relabelled).await.expect(200);
    assert_eq!(
        (&told["metadata"]["labels"][ID], &told["metadata"]["annotations"][KINDS]),
        (&json!(id), &json!("ConfigMap"))
    );
    shop.root.delete(&format!("{BUNDLES}/set?propagationPolicy=Orphan")).await.expect(200);
    shop.gone(&format!("{BUNDLES}/set")).await;
    assert!(is_free(&shop.root.get(&path).await.expect(200)));
}
