//! Which labels a selector takes, for selectors that are part of an object.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

/// Whether a selector takes something with these labels. What it says in words that nobody knows takes nothing.
pub fn selects(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    let equal = |(key, value): (&String, &String)| labels.get(key) == Some(value);
    selector.match_labels.iter().flatten().all(equal)
        && selector.match_expressions.iter().flatten().all(|requirement| holds(requirement, labels))
}

fn holds(requirement: &LabelSelectorRequirement, labels: &BTreeMap<String, String>) -> bool {
    let value = labels.get(&requirement.key);
    let is_listed = || value.is_some_and(|value| requirement.values.iter().flatten().any(|listed| listed == value));
    match requirement.operator.as_str() {
        "In" => is_listed(),
        "NotIn" => !is_listed(),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::selects;

    #[test]
    fn a_selector_takes_what_all_of_it_holds_for() {
        let labels: BTreeMap<String, String> =
            [("tier", "gold"), ("team", "a")].map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        let expression = |operator: &str, key: &str, values: Value| json!({ "matchExpressions": [{ "key": key, "operator": operator, "values": values }] });
        for (selector, expected) in [
            (json!({}), true),
            (json!({ "matchLabels": { "tier": "gold" } }), true),
            (json!({ "matchLabels": { "tier": "gold", "team": "b" } }), false),
            (expression("In", "team", json!(["a", "b"])), true),
            (expression("In", "absent", json!(["a"])), false),
            (expression("NotIn", "team", json!(["a"])), false),
            (expression("NotIn", "absent", json!(["a"])), true),
            (expression("Exists", "team", json!(null)), true),
            (expression("DoesNotExist", "team", json!(null)), false),
            (expression("Near", "team", json!(["a"])), false),
        ] {
            assert_eq!(selects(&serde_json::from_value(selector.clone()).unwrap(), &labels), expected, "{selector}");
        }
    }
}
