//! Which projects there are, by which quotas they are limited, and which allocations ask for more.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_api::quota::{Account, Allocation, QuotaFacts};
use bailiwick_api::{Condition, ConditionStatus, ResourceQuotaAllocation, UncoveredPolicy};
use k8s_openapi::api::core::v1::ResourceQuota;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::{DEFAULT, Work};

/// What an allocation reports when it becomes true of it.
const REPORTED: [&str; 2] = ["OverAllocated", UNCOVERED];
const UNCOVERED: &str = "Uncovered";

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
    /// Projects that are not limited, and get nothing that limits them.
    left: BTreeSet<String>,
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
        let same = before.filter(|before| before.object.spec == object.spec);
        let is_same = same.is_some();
        let left = match same {
            Some(before) => before.left,
            None => {
                let is_left = |namespace: &&String| self.is_left(namespace, &object, &counts);
                self.namespaces.keys().filter(is_left).cloned().collect()
            }
        };
        let mut work = Vec::new();
        if object.spec.uncovered_policy != UncoveredPolicy::Report && !is_same {
            work.extend(self.namespaces.keys().cloned().map(Work::Project));
        }
        if !untold.is_empty() {
            work.push(Work::Report(name.to_owned()));
        }
        self.allocations.insert(name.to_owned(), Known { object, counts, untold, left });
        work
    }

    /// What is to be looked at when something of a project has changed: it, and what could not be reported before.
    pub(super) fn to_look_at(&self, namespace: &str) -> Vec<Work> {
        let unreported = self.allocations.iter().filter(|(_, known)| !known.untold.is_empty());
        let unreported = unreported.map(|(name, _)| Work::Report(name.clone()));
        std::iter::once(Work::Project(namespace.to_owned())).chain(unreported).collect()
    }

    /// What an allocation has to report, once. Projects are not reported that are about to be limited.
    pub(super) fn take_report(&mut self, name: &str) -> Option<(ResourceQuotaAllocation, Vec<Condition>)> {
        let known = self.allocations.get_mut(name)?;
        let object = &known.object;
        let can_wait = object.spec.uncovered_policy != UncoveredPolicy::Report && known.left.is_empty();
        known.untold.retain(|reported| is_true(object, reported));
        let (later, now): (BTreeSet<_>, BTreeSet<_>) =
            std::mem::take(&mut known.untold).into_iter().partition(|reported| can_wait && *reported == UNCOVERED);
        known.untold = later;
        let reported = now.into_iter().filter_map(|reported| condition(object, reported)).cloned().collect();
        Some((object.clone(), reported))
    }

    pub(super) fn set_namespace(&mut self, name: &str, labels: Option<BTreeMap<String, String>>) {
        match labels {
            Some(labels) => drop(self.namespaces.insert(name.to_owned(), labels)),
            None => drop(self.namespaces.remove(name)),
        }
        self.weigh(name);
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
        self.weigh(namespace);
    }

    /// Notes of a project that has changed which allocations leave it unlimited: all projects need not be looked at for that
    /// when something is reported.
    fn weigh(&mut self, namespace: &str) {
        let mut allocations = std::mem::take(&mut self.allocations);
        for known in allocations.values_mut() {
            match self.is_left(namespace, &known.object, &known.counts) {
                true => drop(known.left.insert(namespace.to_owned())),
                false => drop(known.left.remove(namespace)),
            }
        }
        self.allocations = allocations;
    }

    /// Whether an allocation has a project that is not limited, and that gets nothing which limits it.
    fn is_left(&self, namespace: &str, object: &ResourceQuotaAllocation, counts: &Allocation) -> bool {
        let Some(labels) = self.namespaces.get(namespace) else { return false };
        object.spec.uncovered_policy != UncoveredPolicy::Report
            && !self.can_be_limited(namespace)
            && counts.selects(namespace, |key| labels.get(key).map(String::as_str))
            && Account::of(self.facts(namespace), counts).uncovered(counts).next().is_some()
    }

    /// Whether a ResourceQuota can be made in a namespace. If it has one of the name, that is its owner's matter.
    fn can_be_limited(&self, namespace: &str) -> bool {
        let has_one = self.quotas.get(namespace).is_some_and(|quotas| quotas.contains_key(DEFAULT));
        !namespace.starts_with(SYSTEM) && !has_one
    }

    fn facts(&self, namespace: &str) -> impl Iterator<Item = QuotaFacts> {
        self.quotas.get(namespace).into_iter().flat_map(BTreeMap::values).cloned()
    }

    /// What a project needs so that it is limited in everything that its allocations ask for.
    pub(super) fn missing(&self, namespace: &str) -> Option<Missing> {
        let labels = self.namespaces.get(namespace).filter(|_| self.can_be_limited(namespace))?;
        let mut about = Vec::new();
        // By canonical names: the name, and how much.
        let mut hard: BTreeMap<String, (String, bailiwick_machinery::Quantity)> = BTreeMap::new();
        for Known { object, counts, .. } in self.allocations.values() {
            let policy = object.spec.uncovered_policy;
            let selected = counts.selects(namespace, |key| labels.get(key).map(String::as_str));
            if policy == UncoveredPolicy::Report || !selected {
                continue;
            }
            let account = Account::of(self.facts(namespace), counts);
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
                // Of two that ask for the same, by whatever name, the one that allows less decides.
                match hard.get_mut(resource) {
                    Some((_, less)) => *less = amount.min(less.clone()),
                    None => drop(hard.insert(resource.to_owned(), (name, amount))),
                }
            }
            if asks {
                about.push(object.clone());
            }
        }
        let hard: BTreeMap<String, Quantity> =
            hard.into_values().map(|(name, amount)| (name, Quantity(amount.to_string()))).collect();
        (!hard.is_empty()).then_some(Missing { hard, about })
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
