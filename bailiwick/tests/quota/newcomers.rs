//! Projects that nothing limits.

use serde_json::{Value, json};

use crate::estate::{API, Estate, allocation, items, quotas, until};

in_both_modes!(a_new_project_is_neither_unlimited_nor_unusable);

async fn allot(estate: &Estate, name: &str, policy: &str, hard: &Value, default: &Value) {
    let mut object = allocation(name, &json!({ "matchLabels": { "owner": name } }), hard);
    object["spec"]["uncoveredPolicy"] = json!(policy);
    object["spec"]["default"] = default.clone();
    estate.root.post(&format!("{API}/resourcequotaallocations"), &object).await.expect(201);
}

pub(crate) async fn default_quota(estate: &Estate, namespace: &str) -> Value {
    let path = format!("{}/default", quotas(namespace));
    let look = || async {
        let answer = estate.root.get(&path).await;
        (answer.code == 200).then(|| answer.json())
    };
    until(look, || format!("{namespace} has no default quota")).await
}

/// B-QUOTA-3, D-QUOTA-2, M-QUOTA-4: a new project is reported, or gets nothing, or what the allocation says, as far as that
/// fits. What is made stays when the allocation goes. Who gets one is not reported before.
async fn a_new_project_is_neither_unlimited_nor_unusable(estate: Estate) {
    let (hard, none) = (json!({ "cpu": "10", "pods": "4" }), json!({}));
    allot(&estate, "reported", "Report", &hard, &none).await;
    allot(&estate, "zero", "Zero", &hard, &none).await;
    allot(&estate, "given", "Default", &hard, &json!({ "cpu": "3", "pods": "2" })).await;
    let mut uids = Vec::new();
    for name in ["reported", "zero", "given"] {
        uids.push(estate.allocation(name).await["metadata"]["uid"].clone());
    }
    for (namespace, owner) in [("r", "reported"), ("z", "zero"), ("g1", "given"), ("g2", "given"), ("g3", "given")] {
        estate.project(namespace, &json!({ "owner": owner })).await;
        if namespace != "r" {
            default_quota(&estate, namespace).await;
        }
    }
    assert_eq!(default_quota(&estate, "z").await["spec"]["hard"], json!({ "cpu": "0", "pods": "0" }));
    let given = default_quota(&estate, "g1").await;
    assert_eq!(given["spec"]["hard"], json!({ "cpu": "3", "pods": "2" }));
    assert_eq!(given["metadata"]["ownerReferences"], Value::Null);
    let third = default_quota(&estate, "g3").await;
    assert_eq!(third["spec"]["hard"], json!({ "cpu": "0", "pods": "0" }), "there is nothing left to give");
    let told = estate.condition_becomes("reported", "Uncovered", "True").await;
    assert!(told.contains('r'), "{told}");
    estate.condition_becomes("zero", "Uncovered", "False").await;
    estate.condition_becomes("given", "Uncovered", "False").await;
    estate.root.delete(&format!("{API}/resourcequotaallocations/given")).await.expect(200);
    // One that is labelled later gets one, too; one that has its own is left alone.
    estate.project("late", &json!({})).await;
    estate
        .root
        .merge("/api/v1/namespaces/late", &json!({ "metadata": { "labels": { "owner": "zero" } } }))
        .await
        .expect(200);
    default_quota(&estate, "late").await;
    default_quota(&estate, "g1").await;
    assert_eq!(estate.root.get(&format!("{}/default", quotas("r"))).await.code, 404);
    let events = || async { items(&estate.root.get("/api/v1/namespaces/default/events").await.expect(200)) };
    let is_told = |reason: &str, uid: &Value, events: &[Value]| {
        events.iter().any(|event| event["reason"] == reason && event["involvedObject"]["uid"] == *uid)
    };
    let told = async |reason: &str, uid: &Value| {
        let look = || async { is_told(reason, uid, &events().await).then_some(()) };
        until(look, || format!("nobody is told: {reason}")).await;
    };
    told("DefaultRefused", &uids[2]).await;
    told("Uncovered", &uids[0]).await;
    let events = events().await;
    assert!(
        !uids[1..].iter().any(|uid| is_told("Uncovered", uid, &events)),
        "what is made is nobody's worry: {events:#?}"
    );
}
