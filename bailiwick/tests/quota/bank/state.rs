//! What there is in a state, on three levels: the allocation, the quotas of projects, the objects that these count.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{CPU, MAPS, PROJECTS};
use crate::estate::text;

/// What became of an object.
#[derive(Clone, Debug)]
pub(super) enum Fact {
    /// A quota of this namespace and name allows this, if there still is one.
    Quota(Place, Option<Hard>),
    /// An object is there, or not any more.
    Map(Place, bool),
}

pub(super) type Place = (String, String);

/// What a quota allows: thousandths of a CPU, and config maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hard {
    cpu: Option<u64>,
    maps: Option<u64>,
}

/// What there is.
#[derive(Default)]
pub(super) struct State {
    quotas: BTreeMap<Place, Hard>,
    maps: BTreeMap<String, BTreeSet<String>>,
    /// The most there was of each.
    pub(super) most: [u64; 2],
}

// === impl Fact ===

impl Fact {
    pub(super) fn of(event: &Value, plural: &str) -> Self {
        let object = &event["object"];
        let place = (text(&object["metadata"]["namespace"]), text(&object["metadata"]["name"]));
        let is_there = match event["type"].as_str() {
            Some("ADDED" | "MODIFIED") => true,
            Some("DELETED") => false,
            _ => panic!("{event:#}"),
        };
        if plural == "configmaps" {
            return Self::Map(place, is_there);
        }
        let hard = |name: &str| Some(&object["spec"]["hard"][name]).filter(|amount| amount.is_string());
        let hard = Hard { cpu: hard("cpu").map(thousandths), maps: hard("count/configmaps").map(count) };
        Self::Quota(place, is_there.then_some(hard))
    }
}

// === impl State ===

impl State {
    /// The next state, in which nothing may be too much.
    pub(super) fn take(&mut self, revision: u64, fact: Fact) {
        let shown = format!("{fact:?} at {revision}");
        match fact {
            Fact::Quota(place, Some(hard)) => drop(self.quotas.insert(place, hard)),
            Fact::Quota(place, None) => drop(self.quotas.remove(&place)),
            Fact::Map((namespace, name), true) => {
                let is_new = self.maps.entry(namespace.clone()).or_default().insert(name);
                let (live, limit) = (self.live(&namespace), self.limit(&namespace));
                assert!(!is_new || live <= limit, "{shown}: {live} objects, of which there may be {limit}");
            }
            Fact::Map((namespace, name), false) => {
                self.maps.entry(namespace).or_default().remove(&name);
            }
        }
        let totals = self.totals();
        for (most, total) in self.most.iter_mut().zip(totals) {
            *most = total.max(*most);
        }
        assert!(
            totals[0] <= CPU && totals[1] <= MAPS,
            "{shown}: {totals:?} is more than was allotted: {:?}",
            self.quotas
        );
    }

    /// What all projects have.
    pub(super) fn totals(&self) -> [u64; 2] {
        let charges = (0..PROJECTS).map(|number| self.charge(&format!("p{number}")));
        charges.fold([0, 0], |[cpu, maps], charge| [cpu + charge[0], maps + charge[1]])
    }

    /// What a project has: the most of its quotas, as their scopes are the same, and no less than is there.
    pub(super) fn charge(&self, namespace: &str) -> [u64; 2] {
        let most = |of: fn(&Hard) -> Option<u64>| self.quotas_of(namespace).filter_map(of).max().unwrap_or(0);
        [most(|hard| hard.cpu), most(|hard| hard.maps).max(self.live(namespace))]
    }

    pub(super) fn has(&self, namespace: &str, quota: &str) -> bool {
        self.quotas.contains_key(&(namespace.to_owned(), quota.to_owned()))
    }

    /// How many objects there are.
    pub(super) fn live(&self, namespace: &str) -> u64 {
        self.maps.get(namespace).map_or(0, |maps| maps.len() as u64)
    }

    /// How many there may be: every quota holds.
    fn limit(&self, namespace: &str) -> u64 {
        self.quotas_of(namespace).filter_map(|hard| hard.maps).min().unwrap_or(u64::MAX)
    }

    fn quotas_of(&self, namespace: &str) -> impl Iterator<Item = &Hard> {
        self.quotas.iter().filter(move |((place, _), _)| place == namespace).map(|(_, hard)| hard)
    }
}

pub(super) fn thousandths(amount: &Value) -> u64 {
    let amount = text(amount);
    match amount.strip_suffix('m') {
        Some(milli) => milli.parse().unwrap(),
        None => amount.parse::<u64>().unwrap() * 1_000,
    }
}

pub(super) fn count(amount: &Value) -> u64 {
    text(amount).parse().unwrap()
}
