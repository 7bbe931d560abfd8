//! Which kinds quotas count, and by which names.

use bailiwick_machinery::{Object, Quantity, QuantityFormat, Scope};
use serde_json::Value;

use super::super::{at, entries, list};
use super::{HARD, is_standard, scopes};
use crate::kind::Kind;

/// Kinds of the core group that had a name in quotas before all kinds had one.
const SHORT_NAMES: [&str; 3] = ["configmaps", "resourcequotas", "secrets"];
/// Events come and go by themselves.
const NOT_COUNTED: [&str; 2] = ["", "events.k8s.io"];
/// What Kubernetes counts and nobody can make here.
const NEVER_THERE: [&str; 4] =
    ["count/persistentvolumeclaims", "count/pods", "count/replicationcontrollers", "count/services"];
/// What volumes of a class take.
const STORAGE_CLASS: &str = ".storageclass.storage.k8s.io/";

/// What a quota limits.
pub(super) struct Limits<'o> {
    /// The quota's name.
    pub(super) quota: &'o str,
    object: &'o Object,
}

/// Whether quotas count the objects of a kind.
pub(super) fn is_counted(kind: &Kind) -> bool {
    let is_event = || {
        kind.names().plural == "events"
            && kind.versions().iter().any(|version| NOT_COUNTED.contains(&&*version.group_version.group))
    };
    kind.scope() == Scope::Namespaced && kind.maker().is_none() && !is_event()
}

/// The names by which quotas count the objects of a kind.
pub(super) fn names(kind: &Kind) -> Vec<String> {
    if !is_counted(kind) {
        return Vec::new();
    }
    let plural = &kind.names().plural;
    let mut names = Vec::new();
    for version in kind.versions() {
        match &*version.group_version.group {
            "" => {
                names.push(format!("count/{plural}"));
                names.extend(SHORT_NAMES.contains(&&**plural).then(|| plural.to_string()));
            }
            group => names.push(format!("count/{plural}.{group}")),
        }
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// Whether a resource that a quota limits can be one of these names.
pub(super) fn is_name_of_kind(name: &str) -> bool {
    name.starts_with("count/") || SHORT_NAMES.contains(&name)
}

/// Whether it is known that there are no objects of what a quota limits, though no kind has that name.
pub(super) fn is_never_there(name: &str) -> bool {
    let is_of_pod = name.starts_with("requests.") && name.contains('/');
    let is_of_volume = name.contains(STORAGE_CLASS);
    is_standard(name) || NEVER_THERE.contains(&name) || is_of_pod || is_of_volume
}

/// So many objects.
pub(super) fn amount(number: usize) -> Quantity {
    Quantity::new(i64::try_from(number).unwrap_or(i64::MAX), QuantityFormat::DecimalSi)
}

// === impl Limits ===

impl<'o> Limits<'o> {
    pub(super) fn of(object: &'o Object) -> Self {
        Self { quota: object.metadata().name(), object }
    }

    /// Whether it counts objects. Scopes are for pods: where there is one, nothing else is in it.
    pub(super) fn count_objects(&self) -> bool {
        let selector = at(self.object, scopes::SELECTOR).and_then(|selector| selector.get("matchExpressions"));
        let selects = selector.and_then(Value::as_array).is_some_and(|expressions| !expressions.is_empty());
        list(self.object, scopes::SCOPES).is_empty() && !selects
    }

    /// What is limited, in the order of names, and to how much.
    pub(super) fn hard(&self) -> impl Iterator<Item = (&'o str, Quantity)> + use<'o> {
        entries(self.object, HARD).filter_map(|(name, amount)| Some((name, Quantity::from_json(amount).ok()?)))
    }
}
