//! How much there is of what quotas limit, counted where it is.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use bailiwick_machinery::Object;
use bailiwick_storage::cache::Snapshot;
use serde_json::{Map, Value};

use super::counted::{self, Limits, amount};
use crate::kind::Kind;
use crate::registry::Registry;

/// What there is in a state, of all that quotas count.
pub(crate) struct Counts<'s> {
    registry: &'s Registry,
    state: &'s Snapshot,
    /// The kinds that quotas can count, by all their names; found when the first is to be counted.
    kinds: OnceLock<HashMap<String, Arc<Kind>>>,
}

// === impl Counts ===

impl<'s> Counts<'s> {
    pub(crate) fn of(registry: &'s Registry, state: &'s Snapshot) -> Self {
        Self { registry, state, kinds: OnceLock::new() }
    }

    /// What is counted here.
    pub(crate) fn state(&self) -> &'s Snapshot {
        self.state
    }

    /// What the status of a quota is to say.
    pub(crate) fn status(&self, quota: &Object) -> Value {
        let limits = Limits::of(quota);
        let used =
            limits.hard().filter_map(|(name, _)| Some((name.to_owned(), amount(self.used(quota, name)?).to_json())));
        let used: Map<String, Value> = used.collect();
        let hard = limits.hard().map(|(name, hard)| (name.to_owned(), hard.to_json()));
        let hard: Map<String, Value> = hard.collect();
        let parts = [("hard", hard), ("used", used)].into_iter().filter(|(_, amounts)| !amounts.is_empty());
        Value::Object(parts.map(|(name, amounts)| (name.to_owned(), Value::Object(amounts))).collect())
    }

    /// How much there is of one resource that a quota limits; none if that is not known here.
    fn used(&self, quota: &Object, resource: &str) -> Option<usize> {
        match self.kind(resource) {
            Some(kind) if Limits::of(quota).count_objects() => {
                let range = kind.keys().namespace(quota.metadata().namespace());
                Some(range.map_or(0, |range| self.state.count(&range, None)))
            }
            Some(_) => Some(0),
            None => counted::is_never_there(resource).then_some(0),
        }
    }

    fn kind(&self, resource: &str) -> Option<&Arc<Kind>> {
        if !counted::is_name_of_kind(resource) {
            return None;
        }
        let named =
            |kind: &Arc<Kind>| counted::names(kind).into_iter().map(|name| (name, kind.clone())).collect::<Vec<_>>();
        let all = || self.registry.kinds().kinds().iter().flat_map(named).collect();
        self.kinds.get_or_init(all).get(resource)
    }
}
