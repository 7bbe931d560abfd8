//! What is wrong with annotations that say something of a pod.

use bailiwick_machinery::{FieldError, FieldErrors, go};
use serde_json::{Map, Value};

use super::super::wrong_json;
use super::part::Part;
use super::profiles;
use super::scheduling::check_tolerations;

/// On what a node made of a file of its own.
const MIRROR: &str = "kubernetes.io/config.mirror";
const TOLERATIONS: &str = "scheduler.alpha.kubernetes.io/tolerations";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// The fields of a toleration: as they are called, as Kubernetes' program calls them, and of which type they are there.
const TOLERATION: [(&str, &str, &str); 5] = [
    ("key", "Key", "string"),
    ("operator", "Operator", "core.TolerationOperator"),
    ("value", "Value", "string"),
    ("effect", "Effect", "core.TaintEffect"),
    ("tolerationSeconds", "TolerationSeconds", "int64"),
];

/// Notes what is wrong with the annotations of a pod.
pub(super) fn check(annotations: &Part<'_>, spec: &Part<'_>, errors: &mut FieldErrors) {
    let path = annotations.path();
    if let Some(value) = annotations.given(MIRROR)
        && spec.text("nodeName").is_empty()
    {
        let why = "must set spec.nodeName if mirror pod annotation is set";
        errors.push(FieldError::invalid(path.key(MIRROR), value, why));
    }
    let tolerations = annotations.text(TOLERATIONS);
    if !tolerations.is_empty() {
        match read_tolerations(tolerations) {
            Ok(tolerations) => {
                let list = Value::Object(Map::from_iter([(TOLERATIONS.to_owned(), tolerations)]));
                check_tolerations(Part::new(&list, path.clone()).parts(TOLERATIONS), errors);
            }
            Err(why) => errors.push(FieldError::invalid(path.clone(), TOLERATIONS, why)),
        }
    }
    if let Some(cost) = annotations.given(DELETION_COST)
        && !is_cost(cost)
    {
        errors.push(FieldError::invalid(path.key(DELETION_COST), cost, "must be a 32bit integer"));
    }
    profiles::check_annotations(annotations, spec, errors);
}

fn is_cost(cost: &str) -> bool {
    let is_plain = cost == "0" || cost.starts_with(|c: char| matches!(c, '-' | '1'..='9'));
    is_plain && cost.parse::<i32>().is_ok()
}

/// Tolerations as they were written before there was a field for them. Names of fields are told apart without regard to case.
fn read_tolerations(text: &str) -> Result<Value, String> {
    let wrong = |value: &Value, what: &str| format!("json: cannot unmarshal {} into Go {what}", go::json_type(value));
    let items = match serde_json::from_str(text) {
        Ok(Value::Array(items)) => items,
        Ok(Value::Null) => return Ok(Value::Null),
        Ok(other) => return Err(wrong(&other, "value of type []core.Toleration")),
        Err(error) => return Err(wrong_json(text.as_bytes(), &error)),
    };
    let mut tolerations = Vec::new();
    for item in items {
        let fields = match item {
            Value::Object(fields) => fields,
            Value::Null => Map::new(),
            other => return Err(wrong(&other, "value of type core.Toleration")),
        };
        let mut toleration = Map::new();
        for (name, value) in fields {
            let known = TOLERATION.iter().find(|(known, ..)| known.eq_ignore_ascii_case(&name));
            let Some((field, go_name, go_type)) = known else { continue };
            let fits = if *go_type == "int64" { value.is_i64() } else { value.is_string() };
            if !fits && !value.is_null() {
                return Err(wrong(&value, &format!("struct field Toleration.{go_name} of type {go_type}")));
            }
            toleration.insert((*field).to_owned(), value);
        }
        tolerations.push(Value::Object(toleration));
    }
    Ok(tolerations.into())
}
