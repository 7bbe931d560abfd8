use serde_json::json;

use super::*;

/// What stands in the inventory of a Bundle that has come to be called by these numbers, each with the resource that made it.
fn left(inventory: &[(&str, usize)], wanted: &[&str]) -> Vec<usize> {
    let item = |(resource, number): &(&str, usize)| json!({"resource": resource, "object": {"apiVersion": "v1", "kind": "ConfigMap", "name": number.to_string()}});
    let inventory: Vec<Value> = inventory.iter().map(item).collect();
    let old = Object::try_from(json!({"status": {"inventory": inventory}})).unwrap();
    let resources: Vec<Value> = wanted.iter().map(|name| json!({"name": name, "spec": {}})).collect();
    let spec = serde_json::from_value(json!({ "resources": resources })).unwrap();
    let number = |item: Value| item["object"]["name"].as_str().unwrap().parse().unwrap();
    left_over(&old, &spec).into_iter().map(number).collect()
}

/// Each resource has room for one object in the inventory; whatever else stands there needs room as well.
#[test]
fn what_is_not_removed_yet_needs_room() {
    assert!(left(&[], &["a"]).is_empty());
    assert!(left(&[("a", 1), ("b", 2)], &["a", "b"]).is_empty());
    assert_eq!(left(&[("a", 1), ("b", 2)], &["a"]), [2], "it was taken out");
    assert_eq!(left(&[("a", 1), ("a", 2), ("a", 3)], &["a"]), [2, 3], "it was called something else");
    let new = Object::try_from(json!({"metadata": {"name": "x"}})).unwrap();
    assert!(left_over(&new, &BundleSpec::default()).is_empty());
}
