//! What is wrong with how pods are to be spread.

use bailiwick_machinery::{FieldError, FieldErrors};

use super::part::Part;
use super::scheduling::{check_label_keys, check_selector};

const ACTIONS: [&str; 2] = [DO_NOT_SCHEDULE, "ScheduleAnyway"];
const DO_NOT_SCHEDULE: &str = "DoNotSchedule";
const NODE_POLICIES: [&str; 2] = ["Honor", "Ignore"];

/// Notes what is wrong with how pods are to be spread.
pub(super) fn check(spec: &Part<'_>, errors: &mut FieldErrors) {
    let constraints: Vec<Part<'_>> = spec.parts("topologySpreadConstraints").collect();
    for (index, constraint) in constraints.iter().enumerate() {
        let (key, action) = (constraint.text("topologyKey"), constraint.text("whenUnsatisfiable"));
        check_positive(constraint, "maxSkew", errors);
        if key.is_empty() {
            errors.push(FieldError::required(constraint.at("topologyKey"), "can not be empty"));
        }
        constraint.check_known("whenUnsatisfiable", &ACTIONS, errors);
        let is_same = |other: &Part<'_>| other.text("topologyKey") == key && other.text("whenUnsatisfiable") == action;
        if constraints.iter().skip(index + 1).any(is_same) {
            let path = constraint.at("{topologyKey, whenUnsatisfiable}");
            errors.push(FieldError::duplicate(path, format!("{{{key}, {action}}}")));
        }
        if let Some(domains) = constraint.given_number("minDomains") {
            check_positive(constraint, "minDomains", errors);
            if action != DO_NOT_SCHEDULE {
                let why = format!("can only use minDomains if whenUnsatisfiable={DO_NOT_SCHEDULE}, not {action}");
                errors.push(FieldError::invalid(constraint.at("minDomains"), domains, why));
            }
        }
        constraint.check_known_if_given("nodeAffinityPolicy", &NODE_POLICIES, errors);
        constraint.check_known_if_given("nodeTaintsPolicy", &NODE_POLICIES, errors);
        check_label_keys(constraint, errors);
        check_selector(constraint, "labelSelector", errors);
    }
}

fn check_positive(constraint: &Part<'_>, field: &str, errors: &mut FieldErrors) {
    let number = constraint.number(field);
    if number <= 0 {
        errors.push(FieldError::invalid(constraint.at(field), number, "must be greater than zero"));
    }
}
