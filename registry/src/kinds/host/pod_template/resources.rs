//! What is wrong with what a container asks for.

use bailiwick_machinery::name::qualified_name;
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, Quantity};
use serde_json::Value;

use super::super::invalid;

/// What a container can have of every node.
const STANDARD: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
/// What others than containers have.
const KNOWN: [&str; 4] = ["pods", "storage", "services", "secrets"];
const HUGE_PAGES: &str = "hugepages-";

/// Notes what is wrong with what a container asks for and is limited to.
pub(super) fn check(resources: &Value, path: &FieldPath, errors: &mut FieldErrors) {
    let limits = amounts(resources, "limits");
    for (name, amount) in &limits {
        check_amount(name, amount, &path.child("limits").key(name), errors);
    }
    for (name, amount) in amounts(resources, "requests") {
        check_amount(name, &amount, &path.child("requests").key(name), errors);
        let limit = limits.iter().find(|(limited, _)| *limited == name).map(|(_, limit)| limit);
        match (limit, can_be_shared(name)) {
            (Some(limit), shared) => check_limit(name, &amount, limit, shared, &path.child("requests"), errors),
            (None, true) => {}
            (None, false) => {
                let why = "Limit must be set for non overcommitable resources";
                errors.push(FieldError::required(path.child("limits"), why));
            }
        }
    }
}

fn amounts<'v>(resources: &'v Value, field: &str) -> Vec<(&'v str, Quantity)> {
    let amounts = resources.get(field).and_then(Value::as_object).into_iter().flatten();
    amounts.filter_map(|(name, amount)| Some((&**name, Quantity::from_json(amount).ok()?))).collect()
}

fn check_amount(name: &str, amount: &Quantity, path: &FieldPath, errors: &mut FieldErrors) {
    let messages = qualified_name(name);
    let is_name = messages.is_empty();
    invalid(path, name, messages, errors);
    if !name.contains('/') && !STANDARD.contains(&name) && !name.starts_with(HUGE_PAGES) {
        if is_name && !KNOWN.contains(&name) {
            let why = "must be a standard resource type or fully qualified";
            errors.push(FieldError::invalid(path.clone(), name, why));
        }
        errors.push(FieldError::invalid(path.clone(), name, "must be a standard resource for containers"));
    }
    if amount.is_negative() {
        let why = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(path.clone(), amount.canonical(), why));
    }
}

fn check_limit(
    name: &str,
    amount: &Quantity,
    limit: &Quantity,
    shared: bool,
    path: &FieldPath,
    errors: &mut FieldErrors,
) {
    let rest = limit.checked_sub(amount);
    let is_more = rest.as_ref().is_ok_and(Quantity::is_negative);
    let is_less = !is_more && rest.is_ok_and(|rest| !rest.is_zero());
    let how = match (shared, is_more, is_less) {
        (true, true, _) => "less than or equal",
        (false, true, _) | (false, _, true) => "equal",
        _ => return,
    };
    let why = format!("must be {how} to {name} limit of {}", limit.canonical());
    errors.push(FieldError::invalid(path.clone(), amount.canonical(), why));
}

/// Whether more can be promised than there is.
fn can_be_shared(name: &str) -> bool {
    (!name.contains('/') || name.contains("kubernetes.io/")) && !name.starts_with(HUGE_PAGES)
}
