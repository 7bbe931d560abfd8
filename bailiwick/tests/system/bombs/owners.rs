//! Owners of fields that someone has made up, and applies that meet them.

use http::Method;
use serde_json::{Map, Value, json};

use super::bodies::patch;
use super::{NAME, NAMESPACE, Target};
use crate::claims::object;
use crate::client::{MERGE_PATCH, request};
use crate::turn::turn;

const APPLY: &str = "application/apply-patch+yaml";
/// Many managers: as many entries as fit into an object.
const MANY: usize = 10_000;
/// What is read may take 28 MiB; a patch makes the same once more, and who owns what is understood beside it.
const MOST_GROWTH_BY_ONE: u64 = 80 << 20;

fn entry(manager: &str, operation: &str, fields: &Value) -> Value {
    json!({
        "manager": manager, "operation": operation, "apiVersion": "samples.example.com/v1alpha1",
        "fieldsType": "FieldsV1", "fieldsV1": fields,
    })
}

async fn claim_owners(target: &Target, what: &str, entries: Vec<Value>, codes: &[u16]) {
    let body = json!({"metadata": {"managedFields": entries}}).to_string();
    patch(target, what, MERGE_PATCH, body, codes).await;
}

async fn apply(target: &Target, what: &str, labels: Value, codes: &[u16]) {
    let path = format!("{}?fieldManager=someone", object(NAMESPACE, NAME));
    let body = json!({
        "apiVersion": "samples.example.com/v1alpha1", "kind": "Claim",
        "metadata": {"name": NAME, "labels": labels},
    });
    target.send(what, request(Method::PATCH, &path, APPLY, body.to_string().into()), codes).await;
}

#[tokio::test]
async fn owners() {
    let _turn = turn().await;
    let mut target = Target::start().await;
    target.growth_by_one = MOST_GROWTH_BY_ONE;
    let label = json!({"f:metadata": {"f:labels": {"f:x": {}}}});
    let crowd = |operation: &str, fields: &Value| -> Vec<Value> {
        (0..MANY).map(|i| entry(&format!("m{i}"), operation, fields)).collect()
    };
    claim_owners(&target, "ten thousand that update", crowd("Update", &json!({"f:x": {}})), &[200]).await;
    apply(&target, "an apply beside them", json!({"x": "1"}), &[200]).await;
    claim_owners(&target, "ten thousand that apply", crowd("Apply", &json!({"f:x": {}})), &[200, 413, 422]).await;
    let appliers = crowd("Apply", &label).into_iter().take(MANY / 2).collect();
    claim_owners(&target, "five thousand of one label", appliers, &[200]).await;
    apply(&target, "a conflict with all of them", json!({"x": "2"}), &[409]).await;
    claim_owners(&target, "nobody", Vec::new(), &[200]).await;

    let names: Map<String, Value> = (0..60_000).map(|i| (format!("f:{i}"), json!({}))).collect();
    claim_owners(&target, "very many fields", vec![entry("a", "Apply", &json!({"f:spec": names}))], &[200, 413]).await;
    let deep = |levels| (0..levels).fold(json!({}), |below, _| json!({"f:a": below}));
    claim_owners(&target, "deep fields", vec![entry("a", "Apply", &deep(100))], &[200]).await;
    claim_owners(&target, "deeper fields", vec![entry("a", "Apply", &deep(120))], &[400]).await;
    for (what, element) in [
        ("brackets in a value", format!("v:{}", "[".repeat(1 << 20))),
        ("objects in a key", format!("k:{{\"a\":{}", r#"{"a":"#.repeat(1 << 18))),
        ("a long index", format!("i:{}", "9".repeat(1 << 20))),
        ("a large number", "v:1e999999".to_owned()),
        ("a long name", format!("f:{}", "a".repeat(1 << 19))),
    ] {
        claim_owners(&target, what, vec![entry("a", "Apply", &json!({"f:spec": {element: {}}}))], &[200]).await;
        apply(&target, &format!("an apply beside {what}"), json!({"x": "1"}), &[200]).await;
    }
    let name = "m".repeat(2 << 20);
    claim_owners(&target, "a long name of a manager", vec![entry(&name, "Apply", &label)], &[413, 422]).await;
    claim_owners(&target, "nobody in the end", Vec::new(), &[200]).await;
    target.end_within(2 * MOST_GROWTH_BY_ONE).await;
}
