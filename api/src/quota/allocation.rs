//! What counts of a ResourceQuotaAllocation.

use std::collections::BTreeMap;

use bailiwick_machinery::label::Selector;
use bailiwick_machinery::{LabelSelector, Quantity};
use serde::Deserialize;

use super::amounts::{Amounts, canonical_resource};
use super::scopes::ScopeSet;
use super::{SYSTEM_NAMESPACE, decide};

/// What counts of a ResourceQuotaAllocation.
#[derive(Clone, Debug, PartialEq)]
pub struct Allocation {
    /// Its name.
    pub name: String,
    /// Which ResourceQuotas count.
    pub scopes: ScopeSet,
    /// How much of what there may be.
    pub hard: Amounts,
    selector: Selector,
    /// What its author calls the resources, by their canonical names.
    names: BTreeMap<String, String>,
}

/// The parts of a spec that count, as they are written.
#[derive(Deserialize)]
#[serde(default)]
struct Written {
    selector: LabelSelector,
    allocation: serde_json::Value,
}

/// Why an allocation cannot be used: what was stored has been valid once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable(pub String);

// === impl Allocation ===

impl Allocation {
    /// Reads the spec of an allocation.
    pub fn from_json(name: &str, spec: &serde_json::Value) -> Result<Self, Unreadable> {
        let written = Written::deserialize(spec).map_err(|error| Unreadable(error.to_string()))?;
        let selector = written.selector.to_selector().map_err(|error| Unreadable(error.to_string()))?;
        let hard = written.allocation.get("hard");
        let resources = hard.and_then(serde_json::Value::as_object).into_iter().flatten();
        Ok(Self {
            name: name.to_owned(),
            scopes: ScopeSet::from_json(&written.allocation),
            hard: Amounts::from_json(hard),
            selector,
            names: resources.map(|(name, _)| (canonical_resource(name).into_owned(), name.clone())).collect(),
        })
    }

    /// Whether it applies to the project in a namespace with these labels.
    pub fn selects<'l>(&self, namespace: &str, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        namespace != SYSTEM_NAMESPACE && self.selector.matches(label)
    }

    /// Of each of its resources how much there is, by the names that its author used.
    pub fn shown(&self, amounts: &Amounts) -> BTreeMap<String, Quantity> {
        self.hard.iter().map(|(resource, hard)| (self.name_of(resource), shown(amounts.of(resource), hard))).collect()
    }

    /// What its author calls a resource.
    pub fn name_of(&self, resource: &str) -> String {
        self.names.get(resource).cloned().unwrap_or_else(|| resource.to_owned())
    }

    /// What one project can have at most if all projects have `total` and it has `own` of that: what others leave.
    pub fn remaining(&self, total: &Amounts, own: &Amounts) -> Amounts {
        let rest = |resource: &str| decide::room(&self.hard.of(resource), &total.of(resource), &own.of(resource));
        self.hard.resources().map(|resource| (resource.to_owned(), rest(resource))).collect()
    }

    /// Whether both select the same projects, and count the same of them.
    pub fn counts_like(&self, other: &Self) -> bool {
        (&self.selector, &self.scopes) == (&other.selector, &other.scopes)
            && self.hard.resources().eq(other.hard.resources())
    }

    /// The resources of which there is more than there may be.
    pub fn exceeded<'a>(&'a self, total: &'a Amounts) -> impl Iterator<Item = &'a str> {
        self.hard.iter().filter(|(resource, hard)| total.of(resource) > **hard).map(|(resource, _)| resource)
    }
}

/// An amount is written in the way its limit is; how it was written by someone is not stored.
fn shown(amount: Quantity, hard: &Quantity) -> Quantity {
    if amount == *hard { hard.clone() } else { amount.in_format(hard.format()) }
}

impl Default for Written {
    fn default() -> Self {
        Self { selector: LabelSelector::default(), allocation: serde_json::Value::Null }
    }
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreadable {}
