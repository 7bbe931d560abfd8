//! Amounts of resources, added up exactly.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bailiwick_machinery::{Quantity, QuantityError, QuantityFormat};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

/// Of each resource how much, by canonical names. No amount is negative, or more than 2^63-1, which is the most that
/// Kubernetes knows: so sums are exact. So is what is stored: units of 1024, in which sums would be cut off when they are read
/// again, are not written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Amounts(BTreeMap<String, Quantity>);

/// Kinds of the core group that ResourceQuotas count by two names.
const COUNTED: [&str; 6] =
    ["configmaps", "persistentvolumeclaims", "replicationcontrollers", "resourcequotas", "secrets", "services"];

/// How the names of huge pages begin, which are counted by two names.
const HUGE_PAGES: &str = "hugepages-";

/// The name of a resource that stands for all that mean the same: `cpu` and `requests.cpu`, `secrets` and `count/secrets`.
/// (`pods` and `count/pods` are not the same: pods that have ended count for the second only.)
pub fn canonical_resource(name: &str) -> Cow<'_, str> {
    match name {
        "cpu" | "memory" | "ephemeral-storage" => Cow::Owned(format!("requests.{name}")),
        _ if name.starts_with(HUGE_PAGES) => Cow::Owned(format!("requests.{name}")),
        _ => match name.strip_prefix("count/") {
            Some(kind) if COUNTED.contains(&kind) => Cow::Borrowed(kind),
            _ => Cow::Borrowed(name),
        },
    }
}

// === impl Amounts ===

impl Amounts {
    /// Reads what an object says. What is no amount is not there, as Kubernetes would not have taken it. One that Kubernetes
    /// takes, and that has more digits than we keep, counts as the most there can be. If a resource is there by two names, the
    /// larger amount counts.
    pub fn from_json(value: Option<&Value>) -> Self {
        let entries = value.and_then(Value::as_object).into_iter().flatten();
        let read = |(name, amount): (&String, &Value)| {
            let amount = match Quantity::from_json(amount) {
                Ok(amount) => amount,
                Err(QuantityError::OutOfRange) => most(),
                Err(_) => return None,
            };
            Some((name.clone(), amount))
        };
        entries.filter_map(read).collect()
    }

    /// How much there is of a resource; nothing if it is not known.
    pub fn get(&self, resource: &str) -> Option<&Quantity> {
        self.0.get(resource)
    }

    /// How much there is of a resource.
    pub fn of(&self, resource: &str) -> Quantity {
        self.0.get(resource).cloned().unwrap_or_default()
    }

    /// Sets how much there is of a resource.
    pub fn set(&mut self, resource: &str, amount: Quantity) {
        self.0.insert(resource.to_owned(), capped(amount));
    }

    /// The resources, in order.
    pub fn resources(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The resources and how much there is of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Quantity)> {
        self.0.iter().map(|(name, amount)| (name.as_str(), amount))
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets all resources but those of `counted`.
    pub(super) fn keep_only(&mut self, counted: &Self) {
        self.0.retain(|name, _| counted.0.contains_key(name));
    }

    /// Makes each amount at least what it is in `other`.
    pub fn raise_to(&mut self, other: &Self) {
        for (name, amount) in &other.0 {
            if self.0.get(name).is_none_or(|mine| mine < amount) {
                self.0.insert(name.clone(), amount.clone());
            }
        }
    }

    /// Adds `other`.
    pub fn add(&mut self, other: &Self) {
        for (name, amount) in &other.0 {
            let sum = plus(&self.of(name), amount);
            self.0.insert(name.clone(), sum);
        }
    }

    /// Takes `other` away. Nothing becomes less than nothing.
    pub fn subtract(&mut self, other: &Self) {
        for (name, amount) in &other.0 {
            let rest = minus(&self.of(name), amount);
            self.0.insert(name.clone(), rest);
        }
    }
}

impl Serialize for Amounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(name, amount)| (name, amount.in_format(QuantityFormat::DecimalSi))))
    }
}

impl FromIterator<(String, Quantity)> for Amounts {
    fn from_iter<I: IntoIterator<Item = (String, Quantity)>>(entries: I) -> Self {
        let mut amounts = Self::default();
        for (name, amount) in entries {
            let one = Self(BTreeMap::from([(canonical_resource(&name).into_owned(), capped(amount))]));
            amounts.raise_to(&one);
        }
        amounts
    }
}

/// The sum. Amounts are so small that it is exact; the largest stands for what would not be.
pub(super) fn plus(a: &Quantity, b: &Quantity) -> Quantity {
    a.checked_add(b).unwrap_or_else(|_| most())
}

/// The difference, or nothing if it is less than that.
pub(super) fn minus(a: &Quantity, b: &Quantity) -> Quantity {
    a.checked_sub(b).ok().filter(|rest| !rest.is_negative()).unwrap_or_default()
}

fn capped(amount: Quantity) -> Quantity {
    if amount.is_negative() {
        return Quantity::default();
    }
    let most = most();
    if amount > most { most } else { amount }
}

fn most() -> Quantity {
    Quantity::new(i64::MAX, QuantityFormat::DecimalSi)
}
