//! ReadinessRule: when objects of a kind are ready.

use bailiwick_api::bundle::ObjectPath;
use bailiwick_api::{ReadinessRule, ReadinessRuleSpec};
use bailiwick_machinery::table::{Column, ColumnType, Columns};
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, NameRule, Object, Scope};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::kind::{Kind, KindError};
use crate::strategy::Strategy;

pub(super) fn kind() -> Result<Kind, KindError> {
    let kind = Kind::native::<ReadinessRule>(Scope::Cluster, NameRule::DnsSubdomain)?;
    Ok(kind.columns(columns).strategy(Rules))
}

struct Rules;

// === impl Rules ===

impl Strategy for Rules {
    fn validate(&self, object: &Object, errors: &mut FieldErrors) {
        // What has another form has been told by the schema.
        let Some(rule) = read(object) else { return };
        let spec = FieldPath::new("spec");
        match (&rule.path, &rule.value, &rule.condition) {
            (Some(path), Some(_), None) => {
                if let Err(error) = path.parse::<ObjectPath>() {
                    errors.push(FieldError::invalid(spec.child("path"), path.as_str(), error.to_string()));
                }
            }
            (None, None, Some(_)) => {}
            (Some(_), None, None) => errors.push(FieldError::required(spec.child("value"), "")),
            (None, Some(_), None) => errors.push(FieldError::required(spec.child("path"), "")),
            (None, None, None) => {
                errors.push(FieldError::required(spec, "must have a path and a value, or a condition"));
            }
            (_, _, Some(_)) => {
                errors.push(FieldError::forbidden(
                    spec.child("condition"),
                    "must have a path and a value, or a condition",
                ));
            }
        }
    }
}

fn read(object: &Object) -> Option<ReadinessRuleSpec> {
    ReadinessRuleSpec::deserialize(object.fields().get("spec").unwrap_or(&Value::Null)).ok()
}

fn columns() -> Columns {
    let text = |name: &'static str, description: &'static str| Column::new(name, ColumnType::String, description);
    Columns::named()
        .with(text("Kind", "The kind that the rule is about."), |rule, _| {
            json!(read(rule).map(|rule| match rule.selector.group.as_str() {
                "" => rule.selector.kind,
                group => format!("{}.{group}", rule.selector.kind),
            }))
        })
        .with(text("Ready When", "When its objects are ready."), |rule, _| {
            json!(read(rule).map(|rule| match rule.condition {
                Some(condition) => format!("condition {condition}"),
                None => format!("{}={}", rule.path.unwrap_or_default(), rule.value.unwrap_or_default()),
            }))
        })
        .with_age()
}
