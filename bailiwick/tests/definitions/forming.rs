//! How a resource is formed of a claim and a class: strategies in their order, paths, transforms, and what happens without any.

use serde_json::{Value, json};

use crate::estate::Estate;
use crate::site::eventually;

in_both_modes!(strategies_in_their_order, resources_without_strategies);

/// The spec of a resource, without whose it is.
fn without_claim(resource: &Value) -> Value {
    let mut spec = resource["spec"].clone();
    spec.as_object_mut().unwrap().remove("claimRef");
    spec
}

/// RCD-28 to RCD-33, RCD-35, RCD-46, D-RCD-7, M-RCD-5: what comes later in the list of strategies wins; paths have indexes and
/// quoted keys; transforms that are an object have an order of their own, those that are a list that of the list.
async fn strategies_in_their_order(estate: Estate) {
    estate.furnish().await;
    let template = json!({ "version": "of the class", "zones": ["a", "b"], "limits": { "cpu.example/cores": "four" } });
    estate.default_class("ServerClass", "gold", json!({ "specTemplate": template })).await;
    let overlay = |from: &str, to: &str| json!({ "fromClassField": from, "toResourceField": to });
    let translate = |to: &str, transforms: Value| json!({ "fromClaimField": ".spec.version", "toResourceField": to, "transforms": transforms });
    let strategies = json!({
        "provisioning": ["overlay", "translate"],
        "overlay": [
            overlay(".specTemplate", ".spec"),
            overlay(".specTemplate.zones[1]", ".spec.second"),
            overlay(r#".specTemplate.limits["cpu.example/cores"]"#, r#".metadata.annotations["example.org/cores"]"#),
        ],
        "translate": [
            translate(".spec.version", json!({ "replace": { "string": "X", "with": "_" } })),
            translate(".spec.object", json!({ "prefix": "v", "toupper": true })),
            translate(".spec.list", json!([{ "prefix": "v" }, { "toupper": true }, { "suffix": "-lts" }])),
            translate(".spec.mapped", json!([{ "tolower": true }, { "map": { "5x7a": "five" } }])),
        ],
    });
    let definition = estate.bind_by(&[("Server", json!({ "strategies": strategies }))]).await;
    let made = async |name: &str| {
        estate.claim(name, json!({ "version": "5X7a" })).await;
        let server = estate.resources_of(name, 1).await.remove(0);
        assert_eq!(server["metadata"]["annotations"]["example.org/cores"], "four");
        without_claim(&server)
    };
    let mut formed = json!({
        "version": "5_7a", "zones": ["a", "b"], "limits": { "cpu.example/cores": "four" }, "second": "b",
        "object": "v5X7A", "list": "V5X7A-lts", "mapped": "five",
    });
    assert_eq!(made("translated-last").await, formed);
    // The same the other way round.
    let path = format!("{}/{definition}", estate.bindings());
    let mut resources = estate.root.get(&path).await.expect(200)["spec"]["resources"].clone();
    resources[0]["class"]["strategies"]["provisioning"] = json!(["translate", "overlay"]);
    estate.root.merge(&path, &json!({ "spec": { "resources": resources } })).await.expect(200);
    eventually("the definition counts", async || {
        let found = estate.root.get(&path).await.expect(200);
        found["status"]["observedGeneration"] == found["metadata"]["generation"]
    })
    .await;
    formed["version"] = json!("of the class");
    assert_eq!(made("overlaid-last").await, formed);
}

/// RCD-25, RCD-35, D-RCD-9: a resource whose class states no strategies is made of the class's template.
async fn resources_without_strategies(estate: Estate) {
    estate.furnish().await;
    let template = json!({ "size": 3, "nested": { "list": [1, 2] } });
    estate.default_class("ServerClass", "gold", json!({ "specTemplate": template })).await;
    estate.default_class("RuleClass", "open", json!({ "specTemplate": { "region": "west" } })).await;
    let strategies = json!({
        "provisioning": ["translate"],
        "translate": [{ "fromClaimField": ".spec.version", "toResourceField": ".spec.region" }],
    });
    estate.bind_by(&[("Server", json!({})), ("Rule", json!({ "strategies": strategies })), ("Rule", json!({}))]).await;
    estate.claim("db", json!({ "version": "5.7" })).await;
    let made = estate.resources_of("db", 3).await;
    assert_eq!(without_claim(&made[0]), template);
    assert_eq!((&made[1]["spec"], &made[2]["spec"]), (&json!({ "region": "5.7" }), &json!({ "region": "west" })));
}
