//! ResourceQuotaAllocation: one cap over the ResourceQuotas of many projects.

mod projects;

use std::collections::BTreeMap;

use bailiwick_api::quota::{Allocation, Amounts, canonical_resource};
use bailiwick_api::{ResourceQuotaAllocation, ResourceQuotaAllocationProjects, UncoveredPolicy};
use bailiwick_machinery::table::{Column, ColumnType, Columns};
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, LabelSelector, NameRule, Object, Quantity, Scope};
use serde::Deserialize;
use serde_json::{Value, json};

use super::host::{check_quota_amounts, check_quota_scopes};
use super::people;
use crate::error::Result;
use crate::kind::{Kind, KindError};
use crate::strategy::Strategy;
use crate::subresource::Viewed;

/// How many resources can be allotted: each stands in several places of an allocation and its status, which must fit into one
/// row.
const MAX_RESOURCES: usize = 128;

pub(super) fn kind() -> Result<Kind, KindError> {
    let kind = Kind::native::<ResourceQuotaAllocation>(Scope::Cluster, NameRule::DnsSubdomain)?;
    let kind = kind.short_names(&["rqa"]).with_status().columns(columns).strategy(Allocations);
    Ok(kind.subresource(Viewed::<ResourceQuotaAllocationProjects>::new()?))
}

struct Allocations;

// === impl Allocations ===

impl Strategy for Allocations {
    fn validate(&self, object: &Object, errors: &mut FieldErrors) {
        let spec = FieldPath::new("spec");
        let value = |pointer: &str| object.as_value().pointer(pointer);
        match value("/spec/selector") {
            // The schema has said so already.
            None | Some(Value::Null) => {}
            Some(selector) => match LabelSelector::deserialize(selector) {
                Ok(selector) => selector.validate(&spec.child("selector"), errors),
                Err(error) => {
                    errors.push(FieldError::invalid_json(spec.child("selector"), selector, &error.to_string()));
                }
            },
        }
        let hard = value("/spec/allocation/hard").and_then(Value::as_object);
        if hard.is_some_and(serde_json::Map::is_empty) {
            errors.push(FieldError::required(spec.child("allocation").child("hard"), ""));
        }
        if let Some(count) = hard.map(serde_json::Map::len).filter(|count| *count > MAX_RESOURCES) {
            errors.push(FieldError::too_many(spec.child("allocation").child("hard"), count, MAX_RESOURCES));
        }
        for field in ["spec.allocation.hard", "spec.default"] {
            check_numbers(object, field, errors);
        }
        check_quota_amounts(object, "spec.allocation.hard", errors);
        check_quota_scopes(object, "spec.allocation", errors);
        check_doubles(object, "spec.allocation.hard", errors);
        check_default(object, errors);
    }

    fn warnings(&self, object: &Object, old: Option<&Object>) -> Vec<String> {
        let selects_all = |object: &Object| {
            let selector =
                object.as_value().pointer("/spec/selector").and_then(|it| LabelSelector::deserialize(it).ok());
            selector.is_some_and(|it| it.match_labels.is_empty() && it.match_expressions.is_empty())
        };
        if selects_all(object) && !old.is_some_and(selects_all) {
            return vec!["spec.selector: an empty selector selects all projects".to_owned()];
        }
        Vec::new()
    }
}

/// Amounts are such as can be read. What is neither a text nor a number, the schema has refused.
fn check_numbers(object: &Object, field: &str, errors: &mut FieldErrors) {
    for (name, value) in entries(object, field).filter(|(_, value)| value.is_string() || value.is_number()) {
        if let Err(error) = Quantity::from_json(value) {
            errors.push(FieldError::invalid(FieldPath::new(field).key(name), value.clone(), error.to_string()));
        }
    }
}

/// No resource is there by two names.
fn check_doubles(object: &Object, field: &str, errors: &mut FieldErrors) {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for (name, _) in entries(object, field) {
        if let Some(other) = seen.insert(canonical_resource(name).into_owned(), name) {
            let why = format!("is the same as {other}");
            errors.push(FieldError::invalid(FieldPath::new(field).key(name), name, why));
        }
    }
}

/// What is made for projects that are not limited.
fn check_default(object: &Object, errors: &mut FieldErrors) {
    let spec = FieldPath::new("spec");
    let policy = object.as_value().pointer("/spec/uncoveredPolicy");
    let policy = policy.and_then(|policy| UncoveredPolicy::deserialize(policy).ok()).unwrap_or_default();
    let hard = amounts_of(object, "spec.allocation.hard");
    check_quota_amounts(object, "spec.default", errors);
    check_doubles(object, "spec.default", errors);
    let default = amounts_of(object, "spec.default");
    for (name, (written, amount)) in &default {
        let path = FieldPath::new("spec.default").key(written);
        match hard.get(name) {
            None => errors.push(FieldError::invalid(path, written.as_str(), "is not in spec.allocation.hard")),
            Some((_, limit)) if amount > limit => {
                let why = format!("must not be more than spec.allocation.hard says: {limit}");
                errors.push(FieldError::invalid(path, amount.to_string(), why));
            }
            Some(_) => {}
        }
    }
    match policy {
        UncoveredPolicy::Report | UncoveredPolicy::Zero if !default.is_empty() => {
            errors.push(FieldError::forbidden(spec.child("default"), "is only for uncoveredPolicy Default"));
        }
        UncoveredPolicy::Default => {
            for (name, (written, _)) in &hard {
                if !default.contains_key(name) {
                    let path = FieldPath::new("spec.default").key(written);
                    errors.push(FieldError::required(path, "what is left out would be unlimited"));
                }
            }
        }
        UncoveredPolicy::Report | UncoveredPolicy::Zero => {}
    }
    let has_scopes = ["/spec/allocation/scopes", "/spec/allocation/scopeSelector/matchExpressions"]
        .iter()
        .any(|at| object.as_value().pointer(at).and_then(Value::as_array).is_some_and(|scopes| !scopes.is_empty()));
    if has_scopes && policy != UncoveredPolicy::Report {
        let why = "must be Report where there are scopes: the ResourceQuota that is made has none";
        errors.push(FieldError::forbidden(spec.child("uncoveredPolicy"), why));
    }
}

/// By canonical names: what is written, and how much.
fn amounts_of(object: &Object, field: &str) -> BTreeMap<String, (String, Quantity)> {
    let read = |(name, value): (&str, &Value)| {
        Some((canonical_resource(name).into_owned(), (name.to_owned(), Quantity::from_json(value).ok()?)))
    };
    entries(object, field).filter_map(read).collect()
}

fn entries<'o>(object: &'o Object, field: &str) -> impl Iterator<Item = (&'o str, &'o Value)> + use<'o> {
    let found = field.split('.').try_fold(object.as_value(), |value, name| value.get(name));
    let found = found.and_then(Value::as_object);
    found.into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

fn columns() -> Columns {
    let text = |name: &'static str, description: &'static str| Column::new(name, ColumnType::String, description);
    Columns::named()
        .with(Column::new("Projects", ColumnType::Integer, "How many projects are selected."), |object, _| {
            object.as_value().pointer("/status/projectCount").cloned().unwrap_or_else(|| json!(0))
        })
        .with(text("Used", "What the projects have, and the most that they may have."), |object, _| {
            json!(usage(object))
        })
        .with(text("Remaining", "What no project has."), |object, _| json!(remaining(object)))
        .with(text("Over Allocated", "Whether they have more than that."), people::condition("OverAllocated"))
        .with(text("Uncovered", "Whether there are projects without limits."), people::condition("Uncovered"))
        .with_age()
        .with(text("Ready", "Whether all projects are counted.").wide(), people::condition("Ready"))
}

/// `cpu: 6/10, memory: 1Gi/4Gi`.
fn usage(object: &Object) -> String {
    let used = |name: &str| {
        let found = entries(object, "status.allocated.used").find(|(found, _)| *found == name);
        found.map_or_else(|| "0".to_owned(), |(_, used)| amount(used))
    };
    let limits = entries(object, "spec.allocation.hard");
    limits.map(|(name, hard)| format!("{name}: {}/{}", used(name), amount(hard))).collect::<Vec<_>>().join(", ")
}

/// `cpu: 4, memory: 3Gi`: what is left, which is nothing where there is too much already.
fn remaining(object: &Object) -> String {
    let Some(spec) = object.as_value().get("spec") else { return String::new() };
    let Ok(allocation) = Allocation::from_json(object.metadata().name(), spec) else { return String::new() };
    let used = Amounts::from_json(object.as_value().pointer("/status/allocated/used"));
    let left = allocation.shown(&allocation.remaining(&used, &Amounts::default()));
    let order = entries(object, "spec.allocation.hard").filter_map(|(name, _)| left.get_key_value(name));
    order.map(|(name, left)| format!("{name}: {left}")).collect::<Vec<_>>().join(", ")
}

/// `cpu: 6, memory: 1Gi`.
pub(super) fn amounts(value: Option<&Value>) -> String {
    let entries = value.and_then(Value::as_object).into_iter().flatten();
    entries.map(|(name, value)| format!("{name}: {}", amount(value))).collect::<Vec<_>>().join(", ")
}

fn amount(value: &Value) -> String {
    Quantity::from_json(value).map(|amount| amount.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
