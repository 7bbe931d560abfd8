//! How often a copy was put right lately, and who had changed it.
//!
//! Somebody else may want the copy otherwise: a controller that writes what the entry says, too, or takes away what it does not
//! know. Put right at once each time, the two would write for ever, as fast as they can. So what was put right a few times is put
//! right now and then only, and the claim says whom it is at odds with.
//!
//! That somebody has changed something of the claim's shows in who owns the fields: an update that gives a field another value
//! takes it from those who applied it. What others write beside, such as a status, takes nothing.

use std::collections::{BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use bailiwick_api::some_of;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use serde_json::Value;
use tokio::time::Instant;

/// How often a copy is put right within [`WINDOW`] as soon as it was changed.
const MAX_REPAIRS: usize = 5;
const WINDOW: Duration = Duration::from_secs(600);
/// How often it is put right from then on, as long as it goes on being changed. So they stay as many in the window.
pub(super) const PAUSE: Duration = Duration::from_secs(120);

/// Fields of an object, by their paths.
pub(super) type Paths = BTreeSet<String>;

/// What became of a copy after it was left as it is to be.
#[derive(Clone, Debug)]
pub(super) enum Undone {
    /// It was deleted.
    Deleted,
    /// Fields of it are somebody else's now.
    Changed {
        /// What is left of the claim's.
        left: Paths,
        /// What others have.
        others: Vec<(String, Paths)>,
    },
}

/// What was put right lately in one copy, and who made that necessary: the last few times.
#[derive(Clone, Debug, Default)]
pub(super) struct Repairs(VecDeque<(Instant, BTreeSet<String>)>);

/// Whom a claim is at odds with about one of its copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fight {
    pub(super) kind: String,
    pub(super) name: String,
    /// Who does what.
    pub(super) who: String,
}

// === impl Undone ===

impl Undone {
    /// What others have made of a copy whose owners these are; `None` if the claim has all that it had.
    pub(super) fn of(owners: &[ManagedFieldsEntry], manager: &str, had: u64) -> Option<Self> {
        let left = owned_by(owners, manager);
        if digest(&left) == had {
            return None;
        }
        let others = owners.iter().filter(|owner| owner.subresource.is_none());
        let others = others.filter_map(|owner| owner.manager.clone()).filter(|other| other != manager);
        let others: BTreeSet<String> = others.collect();
        let others = others.into_iter().map(|other| (other.clone(), owned_by(owners, &other))).collect();
        Some(Self::Changed { left, others })
    }

    /// Who has undone something of this that the claim had, and has again.
    fn who(&self, had: &Paths) -> BTreeSet<String> {
        let Self::Changed { left, others } = self else {
            return BTreeSet::from(["somebody keeps deleting it".to_owned()]);
        };
        let lost: Paths = had.difference(left).cloned().collect();
        let sets = others.iter().filter_map(|(other, has)| {
            let taken: Vec<&String> = lost.intersection(has).collect();
            (!taken.is_empty()).then(|| format!("\"{other}\" also sets {}", some_of(taken.into_iter())))
        });
        let who: BTreeSet<String> = sets.collect();
        if who.is_empty() { BTreeSet::from(["somebody keeps changing it".to_owned()]) } else { who }
    }
}

// === impl Repairs ===

impl Repairs {
    /// Notes that it was put right, so that the claim has these fields again.
    pub(super) fn note(&mut self, now: Instant, undone: &Undone, has: &Paths) {
        self.0.push_back((now, undone.who(has)));
        while self.0.len() > MAX_REPAIRS {
            self.0.pop_front();
        }
    }

    /// Who makes it necessary again and again, if that is so now.
    pub(super) fn against(&self, now: Instant) -> Option<String> {
        let lately = self.0.iter().filter(|(then, _)| now.duration_since(*then) <= WINDOW);
        let lately: Vec<&BTreeSet<String>> = lately.map(|(_, who)| who).collect();
        if lately.len() < MAX_REPAIRS {
            return None;
        }
        let who: BTreeSet<&String> = lately.into_iter().flatten().collect();
        Some(some_of(who.into_iter()))
    }
}

/// What is said of copies that others keep changing.
pub(super) fn told(fights: &[Fight]) -> String {
    let each: Vec<String> =
        fights.iter().map(|fight| format!("{} \"{}\": {}", fight.kind, fight.name, fight.who)).collect();
    format!(
        "{}; it was put right {MAX_REPAIRS} times within {} minutes, and from then on is every {} minutes. Stop the other writer, \
         set keepSynchronized: false, or let the publisher take the fields out of the entry",
        some_of(each.iter()),
        WINDOW.as_secs() / 60,
        PAUSE.as_secs() / 60
    )
}

/// What a manager owns of an object, but for what is written through subresources.
pub(super) fn owned_by(owners: &[ManagedFieldsEntry], manager: &str) -> Paths {
    let of_manager =
        owners.iter().filter(|owner| owner.manager.as_deref() == Some(manager) && owner.subresource.is_none());
    let mut paths = Paths::new();
    for fields in of_manager.filter_map(|owner| owner.fields_v1.as_ref()) {
        collect(&fields.0, "", &mut paths);
    }
    paths
}

/// What fields are known by that need not be told: there are many copies, with many fields.
pub(super) fn digest(paths: &Paths) -> u64 {
    let mut hasher = DefaultHasher::new();
    paths.hash(&mut hasher);
    hasher.finish()
}

fn collect(fields: &Value, path: &str, into: &mut Paths) {
    for (step, inner) in fields.as_object().into_iter().flatten() {
        let path = match step.split_once(':') {
            Some(("f", field)) => format!("{path}.{field}"),
            Some((_, item)) => format!("{path}[{item}]"),
            None => path.to_owned(),
        };
        match inner.as_object().is_some_and(|inner| !inner.is_empty()) {
            true => collect(inner, &path, into),
            false => drop(into.insert(path)),
        }
    }
}

#[cfg(test)]
mod tests;
