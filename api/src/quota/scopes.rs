//! Scopes of quotas, however they are written.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A set of scopes. `scopes: [BestEffort]` and a scopeSelector that asks for the same are the same set.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ScopeSet(BTreeSet<String>);

/// Every pod is in one of two.
const COMPLEMENTS: [[&str; 2]; 2] = [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]];

// === impl ScopeSet ===

impl ScopeSet {
    /// Those of a quota's spec.
    pub fn from_json(spec: &Value) -> Self {
        let plain = spec.get("scopes").and_then(Value::as_array).into_iter().flatten();
        let plain = plain.filter_map(Value::as_str).map(str::to_owned);
        let selected = spec.pointer("/scopeSelector/matchExpressions").and_then(Value::as_array);
        Self(plain.chain(selected.into_iter().flatten().map(expression)).collect())
    }

    /// Whether it has none: then everything is in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The scopes, for people, in order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Whether an allocation with these scopes counts a quota with those.
    pub fn counts(&self, quota: &Self) -> bool {
        self.is_empty() || self == quota
    }

    /// Whether quotas with some sets of scopes limit, together, everything that is in this set.
    pub(super) fn is_covered_by(&self, sets: &BTreeSet<&Self>) -> bool {
        let single = |scope: &str| sets.iter().any(|set| set.0.len() == 1 && set.0.contains(scope));
        let in_halves = || COMPLEMENTS.iter().any(|pair| pair.iter().all(|scope| single(scope)));
        sets.contains(self) || (self.is_empty() && in_halves())
    }
}

/// `PriorityClass In high,low`, or only the scope's name if no more is asked than that it is there.
fn expression(expression: &Value) -> String {
    let text = |field: &str| expression.get(field).and_then(Value::as_str).unwrap_or_default();
    let (scope, operator) = (text("scopeName"), text("operator"));
    let values = expression.get("values").and_then(Value::as_array).into_iter().flatten();
    let values: BTreeSet<&str> = values.filter_map(Value::as_str).collect();
    match (operator, values.is_empty()) {
        ("Exists" | "", true) => scope.to_owned(),
        (operator, true) => format!("{scope} {operator}"),
        (operator, false) => format!("{scope} {operator} {}", values.into_iter().collect::<Vec<_>>().join(",")),
    }
}
