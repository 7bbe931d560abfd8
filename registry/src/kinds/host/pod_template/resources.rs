//! What is wrong with what containers and their pod ask for, and are limited to.

use std::collections::BTreeSet;

use bailiwick_machinery::name::{dns1123_label, dns1123_subdomain, qualified_name};
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, Quantity};
use serde::Serialize;

use super::super::resource_names::{HUGE_PAGES, is_extended, is_native, is_standard, is_whole};
use super::part::{Part, invalid_named, unsupported};

/// What a container can have of every node.
const OF_CONTAINERS: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
/// What a pod can have as a whole; the one in the middle is a prefix.
const OF_PODS: [&str; 3] = ["cpu", HUGE_PAGES, "memory"];

type CheckName = fn(&str, &FieldPath, &mut FieldErrors);

/// Notes what is wrong with what a container asks for, in a pod with these claims.
pub(super) fn check_container(container: &Part<'_>, claims: &BTreeSet<&str>, errors: &mut FieldErrors) {
    if let Some(resources) = container.part("resources") {
        check(&resources, check_container_name, claims, errors);
    }
}

/// Notes what is wrong with what a pod asks for as a whole.
pub(super) fn check_pod(resources: &Part<'_>, claims: &BTreeSet<&str>, errors: &mut FieldErrors) {
    resources.forbid(&["claims"], "claims may not be set for Resources at pod-level", errors);
    check(resources, check_pod_name, claims, errors);
}

/// Notes what is wrong with what a pod costs beyond its containers.
pub(super) fn check_overhead(spec: &Part<'_>, errors: &mut FieldErrors) {
    let amounts = spec.amounts("overhead");
    let path = spec.at("overhead");
    check_amounts(&amounts, &path.child("limits"), check_container_name, errors);
    check_huge_pages(&[&amounts], &path, errors);
}

fn check(resources: &Part<'_>, check_name: CheckName, claims: &BTreeSet<&str>, errors: &mut FieldErrors) {
    let (limits, requests) = (resources.amounts("limits"), resources.amounts("requests"));
    check_amounts(&limits, &resources.at("limits"), check_name, errors);
    check_amounts(&requests, &resources.at("requests"), check_name, errors);
    for (name, amount) in &requests {
        let limit = limits.iter().find(|(limited, _)| limited == name).map(|(_, limit)| limit);
        match limit {
            Some(limit) => check_limit(name, amount, limit, &resources.at("requests"), errors),
            None if can_be_shared(name) => {}
            None => {
                let why = "Limit must be set for non overcommitable resources";
                errors.push(FieldError::required(resources.at("limits"), why));
            }
        }
    }
    check_huge_pages(&[&limits, &requests], resources.path(), errors);
    check_claims(resources, claims, errors);
}

fn check_amounts(amounts: &[(&str, Quantity)], path: &FieldPath, check_name: CheckName, errors: &mut FieldErrors) {
    for (name, amount) in amounts {
        let path = path.key(name);
        check_name(name, &path, errors);
        if amount.is_negative() {
            errors.push(FieldError::invalid(path.clone(), amount.to_string(), "must be greater than or equal to 0"));
        }
        if is_whole(name) && is_fraction(amount) {
            errors.push(FieldError::invalid(path.clone(), amount.to_string(), "must be an integer"));
        }
        if let Some(size) = name.strip_prefix(HUGE_PAGES)
            && !is_multiple(amount, size)
        {
            let why = format!("{amount} is not positive integer multiple of {name}");
            errors.push(FieldError::invalid(path, amount.to_string(), why));
        }
    }
}

/// Whether an amount is not of whole units.
pub(super) fn is_fraction(amount: &Quantity) -> bool {
    amount.milli_value().is_some_and(|thousandths| thousandths % 1000 != 0)
}

fn is_multiple(amount: &Quantity, size: &str) -> bool {
    let size = Quantity::parse(size).ok().filter(|size| !is_fraction(size)).and_then(|size| size.value());
    match (amount.value(), size) {
        (Some(amount), Some(size)) if size > 0 => amount % size == 0,
        _ => false,
    }
}

fn check_resource_name(name: &str, path: &FieldPath, errors: &mut FieldErrors) {
    let messages = qualified_name(name);
    if messages.is_empty() && !name.contains('/') && !is_standard(name) {
        let why = "must be a standard resource type or fully qualified";
        errors.push(invalid_named(path.clone(), name, why));
    }
    errors.extend(messages.into_iter().map(|why| invalid_named(path.clone(), name, &why)));
}

fn check_container_name(name: &str, path: &FieldPath, errors: &mut FieldErrors) {
    check_resource_name(name, path, errors);
    let why = if !name.contains('/') && !OF_CONTAINERS.contains(&name) && !name.starts_with(HUGE_PAGES) {
        "must be a standard resource for containers"
    } else if !is_native(name) && !is_extended(name) {
        "doesn't follow extended resource name standard"
    } else {
        return;
    };
    errors.push(invalid_named(path.clone(), name, why));
}

fn check_pod_name(name: &str, path: &FieldPath, errors: &mut FieldErrors) {
    let before = errors.as_slice().len();
    check_resource_name(name, path, errors);
    let is_known = OF_PODS.contains(&name) || name.starts_with(HUGE_PAGES);
    if errors.as_slice().len() == before && !is_known {
        errors.push(unsupported(path.clone(), name, &OF_PODS));
    }
}

/// Whether more can be promised than there is.
fn can_be_shared(name: &str) -> bool {
    is_native(name) && !name.starts_with(HUGE_PAGES)
}

fn check_limit(name: &str, amount: &Quantity, limit: &Quantity, path: &FieldPath, errors: &mut FieldErrors) {
    let is_more = exceeds(amount, limit);
    let how = if !can_be_shared(name) && (is_more || exceeds(limit, amount)) {
        "equal"
    } else if is_more {
        "less than or equal"
    } else {
        return;
    };
    let why = format!("must be {how} to {name} limit of {limit}");
    errors.push(FieldError::invalid(path.clone(), amount.to_string(), why));
}

/// Whether an amount is more than another.
pub(super) fn exceeds(amount: &Quantity, other: &Quantity) -> bool {
    other.checked_sub(amount).is_ok_and(|rest| rest.is_negative())
}

fn check_huge_pages(amounts: &[&Vec<(&str, Quantity)>], path: &FieldPath, errors: &mut FieldErrors) {
    let has = |is: fn(&str) -> bool| amounts.iter().any(|amounts| amounts.iter().any(|(name, _)| is(name)));
    if has(|name| name.starts_with(HUGE_PAGES)) && !has(|name| matches!(name, "cpu" | "memory")) {
        errors.push(FieldError::forbidden(path.clone(), "HugePages require cpu or memory"));
    }
}

/// Notes claims that a pod does not have, or that are made twice.
fn check_claims(resources: &Part<'_>, claims: &BTreeSet<&str>, errors: &mut FieldErrors) {
    let mut known: BTreeSet<(&str, &str)> = BTreeSet::new();
    for claim in resources.parts("claims") {
        let (name, request) = (claim.text("name"), claim.text("request"));
        let path = claim.path();
        if name.is_empty() {
            errors.push(FieldError::required(path.clone(), ""));
            continue;
        }
        if known.contains(&(name, "")) {
            errors.push(FieldError::duplicate(path.clone(), name));
        } else {
            claim.check_given("request", dns1123_label, errors);
            if request.is_empty() {
                let parts = known.iter().filter(|(claimed, _)| *claimed == name);
                errors.extend(parts.map(|_| FieldError::duplicate(path.clone(), name)));
            } else if known.contains(&(name, request)) {
                errors.push(FieldError::duplicate(path.clone(), format!("{name}/{request}")));
            }
            known.insert((name, request));
        }
        if !claims.contains(name) {
            let list: Vec<&str> = claims.iter().copied().collect();
            let rest = if list.is_empty() { " which is empty".to_owned() } else { format!(": {}", list.join(", ")) };
            let detail = format!("must be one of the names in pod.spec.resourceClaims{rest}");
            errors.push(FieldError { detail, ..FieldError::not_found(path.clone(), name) });
        }
    }
}

/// A claim as Kubernetes shows it.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct PodResourceClaim<'v> {
    name: &'v str,
    resource_claim_name: Option<&'v str>,
    resource_claim_template_name: Option<&'v str>,
}

/// Notes what is wrong with the claims of a pod. Returns their names.
pub(super) fn check_pod_claims<'v>(spec: &Part<'v>, errors: &mut FieldErrors) -> BTreeSet<&'v str> {
    let mut names = BTreeSet::new();
    for claim in spec.parts("resourceClaims") {
        let name = claim.text("name");
        if !name.is_empty() && !names.insert(name) {
            errors.push(FieldError::duplicate(claim.at("name"), name));
        } else {
            claim.check_required("name", dns1123_label, errors);
        }
        let shown = PodResourceClaim {
            name,
            resource_claim_name: claim.given("resourceClaimName"),
            resource_claim_template_name: claim.given("resourceClaimTemplateName"),
        };
        let why = match (shown.resource_claim_name, shown.resource_claim_template_name) {
            (Some(_), Some(_)) => {
                Some("at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified")
            }
            (None, None) => Some("must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"),
            _ => None,
        };
        errors.extend(why.map(|why| FieldError::invalid_json(claim.path().clone(), &shown, why)));
        for field in ["resourceClaimName", "resourceClaimTemplateName"] {
            if claim.has(field) {
                claim.check_text(field, dns1123_subdomain, errors);
            }
        }
    }
    names
}
