//! Which projects there are, by which quotas they are limited, and which allocations ask for more.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_api::quota::{Account, Allocation, QuotaFacts};
use bailiwick_api::{Condition, ConditionStatus, ResourceQuotaAllocation, UncoveredPolicy};
use k8s_openapi::api::core::v1::ResourceQuota;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::{DEFAULT, Work};

/// What an allocation reports when it becomes true of it.
const REPORTED: [&str; 2] = ["OverAllocated", "Uncovered"];

/// How the names of namespaces begin in which nothing is made: those are Kubernetes' own.
const SYSTEM: &str = "kube-";

/// All that matters.
#[derive(Debug, Default)]
pub(super) struct Index {
    allocations: BTreeMap<String, Known>,
    /// The labels of namespaces.
    namespaces: BTreeMap<String, BTreeMap<String, String>>,
    quotas: BTreeMap<String, BTreeMap<String, QuotaFacts>>,
}

/// An allocation, and what counts of it.
#[derive(Debug)]
struct Known {
    object: ResourceQuotaAllocation,
    counts: Allocation,
    /// The types of conditions that are to be told of.
    untold: BTreeSet<&'static str>,
}

/// A ResourceQuota that is to be made.
pub(super) struct Missing {
    /// What it allows.
    pub(super) hard: BTreeMap<String, Quantity>,
    /// The allocations that ask for it.
    pub(super) about: Vec<ResourceQuotaAllocation>,
}

// === impl Index ===

impl Index {
    /// Takes over an allocation. What is to be looked at: all projects if they may need something, and the allocation if it
    /// has something to report that it had not.
    pub(super) fn set_allocation(&mut self, name: &str, object: Option<ResourceQuotaAllocation>) -> Vec<Work> {
        let before = self.allocations.remove(name);
        let Some(object) = object else { return Vec::new() };
        let spec = serde_json::to_value(&object.spec).unwrap_or_default();
        let Ok(counts) = Allocation::from_json(name, &spec) else { return Vec::new() };
        let was_so = |reported: &str| before.as_ref().is_some_and(|before| is_true(&before.object, reported));
        let has_become_so = |reported: &&str| is_true(&object, reported) && !was_so(reported);
        let mut untold: BTreeSet<&'static str> = REPORTED.into_iter().filter(has_become_so).collect();
        untold.extend(before.iter().flat_map(|before| &before.untold));
        let is_same = before.is_some_and(|before| before.object.spec == object.spec);
        let mut work = Vec::new();
        if object.spec.uncovered_policy != UncoveredPolicy::Report && !is_same {
            work.extend(self.namespaces.keys().cloned().map(Work::Project));
        }
        if !untold.is_empty() {
            work.push(Work::Report(name.to_owned()));
        }
        self.allocations.insert(name.to_owned(), Known { object, counts, untold });
        work
    }

    /// What an allocation has to report, once.
    pub(super) fn take_report(&mut self, name: &str) -> Option<(ResourceQuotaAllocation, Vec<Condition>)> {
        let known = self.allocations.get_mut(name)?;
        let untold = std::mem::take(&mut known.untold);
        let reported = untold.into_iter().filter_map(|reported| condition(&known.object, reported)).cloned().collect();
        Some((known.object.clone(), reported))
    }

    pub(super) fn set_namespace(&mut self, name: &str, labels: Option<BTreeMap<String, String>>) {
        match labels {
            Some(labels) => drop(self.namespaces.insert(name.to_owned(), labels)),
            None => drop(self.namespaces.remove(name)),
        }
    }

    pub(super) fn set_quota(&mut self, namespace: &str, name: &str, quota: Option<ResourceQuota>) {
        let quotas = self.quotas.entry(namespace.to_owned()).or_default();
        let facts = quota.and_then(|quota| serde_json::to_value(quota).ok()).map(|quota| QuotaFacts::from_json(&quota));
        match facts {
            Some(facts) => drop(quotas.insert(name.to_owned(), facts)),
            None => drop(quotas.remove(name)),
        }
        if quotas.is_empty() {
            self.quotas.remove(namespace);
        }
    }

    /// What a project needs so that it is limited in everything that its allocations ask for. If it has a ResourceQuota of
    /// the name, that is its owner's matter.
    pub(super) fn missing(&self, namespace: &str) -> Option<Missing> {
        let labels = self.namespaces.get(namespace).filter(|_| !namespace.starts_with(SYSTEM))?;
        let quotas = self.quotas.get(namespace);
        if quotas.is_some_and(|quotas| quotas.contains_key(DEFAULT)) {
            return None;
        }
        let facts = || quotas.into_iter().flat_map(BTreeMap::values).cloned();
        let mut missing = Missing { hard: BTreeMap::new(), about: Vec::new() };
        for Known { object, counts, .. } in self.allocations.values() {
            let policy = object.spec.uncovered_policy;
            let selected = counts.selects(namespace, |key| labels.get(key).map(String::as_str));
            if policy == UncoveredPolicy::Report || !selected {
                continue;
            }
            let account = Account::of(facts(), counts);
            let mut asks = false;
            for resource in account.uncovered(counts) {
                let name = counts.name_of(resource);
                let default =
                    object.spec.default.iter().find(|(other, _)| same(other, &name)).map(|(_, amount)| amount);
                let amount = match (policy, default) {
                    (UncoveredPolicy::Default, Some(amount)) => amount.clone(),
                    _ => bailiwick_machinery::Quantity::default(),
                };
                asks = true;
                // Of two that ask for the same, the one that allows less decides.
                let less =
                    missing.hard.get(&name).and_then(|other| other.0.parse().ok()).filter(|other| *other < amount);
                missing.hard.insert(name, Quantity(less.unwrap_or(amount).to_string()));
            }
            if asks {
                missing.about.push(object.clone());
            }
        }
        (!missing.hard.is_empty()).then_some(missing)
    }
}

fn same(a: &str, b: &str) -> bool {
    bailiwick_api::quota::canonical_resource(a) == bailiwick_api::quota::canonical_resource(b)
}

fn is_true(allocation: &ResourceQuotaAllocation, condition_type: &str) -> bool {
    condition(allocation, condition_type).is_some()
}

/// What an allocation says of itself, if it is so.
fn condition<'a>(allocation: &'a ResourceQuotaAllocation, condition_type: &str) -> Option<&'a Condition> {
    let mut conditions = allocation.status.iter().flat_map(|status| &status.conditions);
    conditions.find(|it| it.condition_type == condition_type && it.status == ConditionStatus::True)
}

#[cfg(test)]
mod tests;
