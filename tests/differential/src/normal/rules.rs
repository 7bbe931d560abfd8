//! What someone may do, in an order of its own: Kubernetes gathers the rules from a map, each time in another order.

use serde_json::Value;

/// Sorts the rules in a SelfSubjectRulesReview.
pub(super) fn sort(body: &mut Value) {
    if body["kind"] != "SelfSubjectRulesReview" {
        return;
    }
    for rules in ["resourceRules", "nonResourceRules"] {
        if let Some(Value::Array(rules)) = body["status"].get_mut(rules) {
            rules.sort_by_cached_key(ToString::to_string);
        }
    }
}
