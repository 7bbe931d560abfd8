use serde_json::json;

use super::*;

/// Rules that differ in a single list are two.
#[test]
fn rules_come_once_if_all_of_them_is_the_same() {
    let rule = json!({
        "verbs": ["get"], "apiGroups": ["g"], "resources": ["r"], "resourceNames": ["n"], "nonResourceURLs": ["/u"],
    });
    let mut rules = vec![rule.clone(), rule.clone()];
    for field in ["verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs"] {
        let mut other = rule.clone();
        other[field] = json!(["other"]);
        rules.push(other);
    }
    let role = |role| -> ClusterRole { serde_json::from_value(role).unwrap() };
    let part = role(json!({ "metadata": { "name": "part", "labels": { "l": "v" } }, "rules": rules }));
    let selectors = json!({ "clusterRoleSelectors": [{ "matchLabels": { "l": "v" } }] });
    let whole = role(json!({ "metadata": { "name": "whole" }, "aggregationRule": selectors }));
    let found = aggregate(&whole, [&part]).unwrap().unwrap();
    assert_eq!(found, list(&part.rules)[1..]);
}
