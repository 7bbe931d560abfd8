//! ResourceQuota: how much of what there may be in a namespace.

use bailiwick_machinery::name::qualified_name;
use bailiwick_machinery::table::{Column, ColumnType, Columns};
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, NameRule, Object, Quantity, Scope};
use k8s_openapi::api::core::v1::ResourceQuota;
use serde_json::Value;

use super::resource_names::{is_standard, is_whole};
use super::{entries, texts};
use crate::kind::{Kind, KindError};
use crate::strategy::Strategy;
use crate::update::Part;

mod counted;
mod counts;
mod enforce;
mod ledger;
mod scopes;
mod status;

pub(crate) use counts::Counts as QuotaCounts;
pub use enforce::QuotaEnforcement;
pub use status::keep_quota_status;

const HARD: &str = "spec.hard";
const REQUEST: &str = "Request represents a minimum amount of cpu/memory that a container may consume.";
const LIMIT: &str =
    "Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node.";

/// What Kubernetes knows, but quotas do not.
const NO_QUOTA: &str = "storage";
/// What a container can ask for and be limited in.
const LIMITED: [&str; 4] = ["cpu", "memory", "storage", "ephemeral-storage"];

pub(super) fn kind() -> Result<Kind, KindError> {
    let kind = Kind::host::<ResourceQuota>(Scope::Namespaced, NameRule::DnsSubdomain)?;
    let text = |name: &'static str, description: &'static str| Column::new(name, ColumnType::String, description);
    let columns = move || {
        Columns::named()
            .with(text("Request", REQUEST), |object, _| usage(object, |name| !is_limit(name)))
            .with(text("Limit", LIMIT), |object, _| usage(object, is_limit))
            .with_age_as_text()
    };
    Ok(kind
        .short_names(&["quota"])
        .with_status()
        .with_unconditional_update()
        .with_deleted_told()
        .columns(columns)
        .strategy(Rules))
}

fn is_limit(name: &str) -> bool {
    name.starts_with("limits.")
}

/// `configmaps: 1/5, pods: 0/1`.
fn usage(object: &Object, wanted: impl Fn(&str) -> bool) -> Value {
    let used = |name: &str| entries(object, "status.used").find(|(found, _)| *found == name).map(|(_, used)| used);
    let shown = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or("0").to_owned();
    let hard = entries(object, "status.hard").filter(|(name, _)| wanted(name));
    let parts: Vec<String> =
        hard.map(|(name, hard)| format!("{name}: {}/{}", shown(used(name)), shown(Some(hard)))).collect();
    parts.join(", ").into()
}

struct Rules;

// === impl Rules ===

impl Strategy for Rules {
    fn complete(&self, object: &mut Object) {
        for (part, amounts) in [("spec", "hard"), ("status", "hard"), ("status", "used")] {
            let amounts = object.fields_mut().get_mut(part).and_then(|part| part.get_mut(amounts));
            for amount in amounts.and_then(Value::as_object_mut).into_iter().flat_map(|amounts| amounts.values_mut()) {
                if let Ok(quantity) = Quantity::from_json(amount) {
                    *amount = quantity.rounded_to_milli().to_json();
                }
            }
        }
    }

    fn validate(&self, object: &Object, errors: &mut FieldErrors) {
        check_amounts(object, HARD, errors);
        scopes::check(object, "spec", errors);
    }

    fn validate_update(&self, object: &Object, old: &Object, errors: &mut FieldErrors) {
        let scopes = |object: &Object| {
            let mut scopes: Vec<String> = texts(object, scopes::SCOPES).into_iter().map(str::to_owned).collect();
            scopes.sort_unstable();
            scopes.dedup();
            scopes
        };
        if scopes(object) != scopes(old) {
            let found = Value::from(texts(object, scopes::SCOPES));
            errors.push(FieldError::invalid(FieldPath::new(scopes::SCOPES), found, "field is immutable"));
        }
    }

    fn validate_part(&self, _: Part, object: &Object, _: &Object, errors: &mut FieldErrors) {
        check_amounts(object, "status.hard", errors);
        check_amounts(object, "status.used", errors);
    }

    fn warnings(&self, object: &Object, old: Option<&Object>) -> Vec<String> {
        if old.is_some() {
            return Vec::new();
        }
        LIMITED.iter().filter_map(|name| more_than_limit(object, name)).collect()
    }
}

/// Notes what is wrong with the scopes of whatever is written like a quota, at this path.
pub(in crate::kinds) fn check_scopes(object: &Object, spec: &str, errors: &mut FieldErrors) {
    scopes::check(object, spec, errors);
}

/// Notes what is wrong with amounts of what quotas limit, at this path.
pub(in crate::kinds) fn check_amounts(object: &Object, field: &str, errors: &mut FieldErrors) {
    for (name, amount) in entries(object, field) {
        let path = FieldPath::new(field).key(name);
        check_name(name, &path, errors);
        check_amount(name, amount, &path, errors);
    }
}

fn check_name(name: &str, path: &FieldPath, errors: &mut FieldErrors) {
    let messages = qualified_name(name);
    let is_name = messages.is_empty();
    super::invalid(path, name, messages, errors);
    if name.contains('/') || (is_standard(name) && name != NO_QUOTA) {
        return;
    }
    if is_name && name != NO_QUOTA {
        let why = "must be a standard resource type or fully qualified";
        errors.push(FieldError::invalid(path.clone(), name, why));
    }
    errors.push(FieldError::invalid(path.clone(), name, "must be a standard resource for quota"));
}

fn check_amount(name: &str, amount: &Value, path: &FieldPath, errors: &mut FieldErrors) {
    let Ok(quantity) = Quantity::from_json(amount) else { return };
    if quantity.is_negative() {
        let why = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(path.clone(), quantity.canonical(), why));
    }
    if is_whole(name) && quantity.milli_value().is_some_and(|milli| milli % 1000 != 0) {
        errors.push(FieldError::invalid(path.clone(), quantity.canonical(), "must be an integer"));
    }
}

/// What to say if more of something can be asked for than can be had.
fn more_than_limit(object: &Object, name: &str) -> Option<String> {
    let amount = |wanted: &str| {
        let found = entries(object, HARD).find(|(found, _)| *found == wanted);
        found.and_then(|(_, amount)| Quantity::from_json(amount).ok())
    };
    let named = |wanted: String| amount(&wanted).map(|amount| (wanted, amount));
    let plain = matches!(name, "cpu" | "memory");
    let (request_name, request) =
        named(format!("requests.{name}")).or_else(|| plain.then(|| named(name.to_owned())).flatten())?;
    let (limit_name, limit) = named(format!("limits.{name}"))?;
    let exceeds = limit.checked_sub(&request).is_ok_and(|rest| rest.is_negative());
    exceeds.then(|| {
        let (request, limit) = (request.to_string(), limit.to_string());
        format!("ResourceQuota {request_name} ({request}) should be less than {limit_name} ({limit})")
    })
}
