//! What people and operators are told beside the status: events, and metrics.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::estate::{API, Estate, items, quotas, text, until};

in_both_modes!(
    an_allocation_tells_what_is_wrong,
    a_refusal_tells_all_that_is_wrong,
    rows_are_found_by_their_namespaces
);

/// M-QUOTA-4, D-QUOTA-8: whoever looks at an allocation is told when it has become exceeded, and when a project of its has
/// become unlimited.
async fn an_allocation_tells_what_is_wrong(estate: Estate) {
    let estate = estate.of_alice().await;
    let uid = estate.allocation("alice").await["metadata"]["uid"].clone();
    let told = async |reason: &str| {
        let look = || async {
            let events = estate.root.get("/api/v1/namespaces/default/events").await.expect(200);
            let is_it = |event: &Value| event["involvedObject"]["uid"] == uid && event["reason"] == reason;
            items(&events).into_iter().find(is_it)
        };
        until(look, || format!("nobody is told: {reason}")).await
    };
    let event = told("Uncovered").await;
    assert_eq!(
        (&event["type"], &event["involvedObject"]["kind"]),
        (&json!("Warning"), &json!("ResourceQuotaAllocation"))
    );
    assert!(text(&event["message"]).contains("not limited in all resources"), "{event:#}");
    for (name, cpu) in [("one", "6"), ("two", "4"), ("three", "0")] {
        estate.create(name, "default", &json!({ "cpu": cpu })).await.expect(201);
    }
    estate.condition_becomes("alice", "Uncovered", "False").await;
    let less = json!({ "spec": { "allocation": { "hard": { "cpu": "9" } } } });
    estate.root.merge(&format!("{API}/resourcequotaallocations/alice"), &less).await.expect(200);
    assert_eq!(text(&told("OverAllocated").await["message"]), "cpu: 10 of 9");
}

/// QUOTA-6, SRV-7: whoever is refused for several reasons reads all of them, as most clients show nothing but the message; and
/// conditions are sentences, also where nothing is wrong.
async fn a_refusal_tells_all_that_is_wrong(estate: Estate) {
    let hard = json!({ "cpu": "2", "pods": "3" });
    estate.allot("small", &json!({ "matchLabels": { "owner": "alice" } }), &hard).await;
    estate.project("one", &json!({ "owner": "alice" })).await;
    let alone = estate.condition_becomes("small", "Uncovered", "True").await;
    assert_eq!(alone, "1 project not limited in all resources: one");
    let refused = estate.create("one", "default", &json!({ "cpu": "4", "pods": "5" })).await.expect(403);
    let message = text(&refused["message"]);
    for part in
        ["pods: requested: 5", "limit: 3", "; exceeds the ResourceQuotaAllocation", "cpu: requested: 4", "limit: 2"]
    {
        assert!(message.contains(part), "{part}: {message}");
    }
    estate.create("one", "default", &hard).await.expect(201);
    let covered = estate.condition_becomes("small", "Uncovered", "False").await;
    assert_eq!(covered, "All selected projects are limited in all resources.");
    let within = estate.condition_becomes("small", "OverAllocated", "False").await;
    assert_eq!(within, "The selected projects have no more than is allotted.");
}

/// M-QUOTA-3, D-QUOTA-4, QUOTA-4: what projects have is a list of which namespaces are the keys, and clients are told so; and
/// which fields an allocation must have.
async fn rows_are_found_by_their_namespaces(estate: Estate) {
    let look = || async {
        let document = estate.root.get("/openapi/v3/apis/quota.bailiwick.dev/v1alpha1").await;
        let schemas = (document.code == 200).then(|| document.json()["components"]["schemas"].clone())?;
        let mut all = schemas.as_object()?.values();
        all.find(|schema| schema.pointer("/properties/status/properties/usedByProject").is_some()).cloned()
    };
    let schema = until(look, || "the status is not described".to_owned()).await;
    let rows = &schema["properties"]["status"]["properties"]["usedByProject"];
    assert_eq!(rows["x-kubernetes-list-map-keys"], json!(["namespace"]), "{rows}");
    assert_eq!(rows["x-kubernetes-list-type"], "map", "{rows}");
    let spec = &schema["properties"]["spec"];
    assert_eq!(
        (&schema["required"], &spec["required"], &spec["properties"]["allocation"]["required"]),
        (&json!(["spec"]), &json!(["selector", "allocation"]), &json!(["hard"])),
        "{schema:#}"
    );
}

/// Decisions are counted by what came of them, and reservations while nobody knows what became of their writes.
#[tokio::test]
async fn decisions_are_counted() {
    let estate = Estate::alone().await.of_alice().await;
    let sample = async |name: &str| samples(&estate).await.get(name).copied();
    let decided = async |outcome: &str| {
        sample(&format!("bailiwick_quota_decisions_total{{outcome=\"{outcome}\"}}")).await.unwrap_or(-1.0)
    };
    for outcome in ["allowed", "exceeded", "uncovered", "counting", "not_ready", "too_many", "too_large", "error"] {
        assert_eq!(decided(outcome).await, 0.0, "{outcome}");
    }
    estate.create("one", "default", &json!({ "cpu": "6" })).await.expect(201);
    estate.create("two", "default", &json!({ "cpu": "5" })).await.expect(403);
    let labels = json!({ "metadata": { "labels": { "a": "b" } } });
    estate.root.merge(&format!("{}/default", quotas("one")), &labels).await.expect(200);
    assert_eq!((decided("allowed").await, decided("exceeded").await), (1.0, 1.0));
    let nothing_left = || async { (sample("bailiwick_quota_reservations").await == Some(0.0)).then_some(()) };
    until(nothing_left, || "what was written is still reserved".to_owned()).await;
    // Found to fit, and then refused as there is one of the name: what was reserved for it is released.
    estate.create("one", "default", &json!({ "cpu": "9" })).await.expect(409);
    let released = "bailiwick_quota_reservations_released_total";
    let is_released = || async { (sample(released).await == Some(1.0)).then_some(()) };
    until(is_released, || "what was reserved in vain is not released".to_owned()).await;
    until(nothing_left, || "what was released is still reserved".to_owned()).await;
    assert_eq!(sample("bailiwick_quota_conflicts_total").await, Some(0.0));
}

/// All samples, by their names with labels.
async fn samples(estate: &Estate) -> BTreeMap<String, f64> {
    let text = estate.root.get("/metrics").await.text();
    let sample = |line: &str| {
        let (series, value) = line.rsplit_once(' ')?;
        Some((series.to_owned(), value.parse().ok()?))
    };
    text.lines().filter(|line| !line.starts_with('#')).filter_map(sample).collect()
}
