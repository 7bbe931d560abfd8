use serde_json::{Map, Value, json};

use super::fold_string_data;

fn folded(object: Value) -> Value {
    let mut fields: Map<String, Value> = serde_json::from_value(object).unwrap();
    fold_string_data(&mut fields);
    Value::Object(fields)
}

#[test]
fn texts_become_bytes_and_win() {
    let secret = folded(json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "data": { "kept": "a2VwdA==", "both": "Ynl0ZXM=" },
        "stringData": { "both": "text", "new": "" },
    }));
    let data = json!({ "kept": "a2VwdA==", "both": "dGV4dA==", "new": "" });
    assert_eq!(secret, json!({ "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": data }));
    for nothing in [json!(null), json!({})] {
        let secret = folded(json!({ "apiVersion": "v1", "kind": "Secret", "stringData": nothing }));
        assert_eq!(secret, json!({ "apiVersion": "v1", "kind": "Secret" }));
    }
    let secret = folded(json!({ "apiVersion": "v1", "kind": "Secret", "data": null, "stringData": { "a": "b" } }));
    assert_eq!(secret, json!({ "apiVersion": "v1", "kind": "Secret", "data": { "a": "Yg==" } }));
}

#[test]
fn what_is_no_text_of_a_secret_stays_as_it_is() {
    for object in [
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "stringData": { "a": "b" } }),
        json!({ "apiVersion": "other.dev/v1", "kind": "Secret", "stringData": { "a": "b" } }),
        json!({ "apiVersion": "v1", "kind": "Secret", "stringData": { "a": 1, "b": "c" } }),
        json!({ "apiVersion": "v1", "kind": "Secret", "stringData": ["a"] }),
        json!({ "apiVersion": "v1", "kind": "Secret", "stringData": { "a": "b" }, "data": "none" }),
    ] {
        assert_eq!(folded(object.clone()), object);
    }
}
