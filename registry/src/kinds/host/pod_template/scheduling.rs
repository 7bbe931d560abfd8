//! What is wrong with where a pod may run.

use bailiwick_machinery::metadata::validate_labels;
use bailiwick_machinery::name::{dns1123_label, dns1123_subdomain, label_value, qualified_name};
use bailiwick_machinery::{FieldError, FieldErrors, LabelSelector};
use serde::Deserialize;

use super::part::{Part, invalid_named, note, unsupported};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
const MOST_WEIGHT: i64 = 100;
/// The one field of a node that can be asked for.
const NODE_NAME: &str = "metadata.name";
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// Whether values that no label can have may be asked for.
#[derive(Clone, Copy, PartialEq)]
enum LabelValues {
    Checked,
    Any,
}

/// Notes what is wrong with where a pod wants to be.
pub(super) fn check(spec: &Part<'_>, errors: &mut FieldErrors) {
    let Some(affinity) = spec.part("affinity") else { return };
    if let Some(nodes) = affinity.part("nodeAffinity") {
        check_nodes(&nodes, errors);
    }
    for pods in ["podAffinity", "podAntiAffinity"].iter().filter_map(|field| affinity.part(field)) {
        pods.parts(REQUIRED).for_each(|term| check_pods(&term, errors));
        for weighted in pods.parts(PREFERRED) {
            check_weight(&weighted, errors);
            if let Some(term) = weighted.part("podAffinityTerm") {
                check_pods(&term, errors);
            }
        }
    }
}

/// Notes labels that no node has.
pub(super) fn check_node_selector(spec: &Part<'_>, errors: &mut FieldErrors) {
    validate_labels(spec.entries("nodeSelector"), &spec.at("nodeSelector"), errors);
}

fn check_weight(weighted: &Part<'_>, errors: &mut FieldErrors) {
    let weight = weighted.number("weight");
    if !(1..=MOST_WEIGHT).contains(&weight) {
        errors.push(FieldError::invalid(weighted.at("weight"), weight, "must be in the range 1-100"));
    }
}

fn check_nodes(nodes: &Part<'_>, errors: &mut FieldErrors) {
    if let Some(required) = nodes.part(REQUIRED) {
        if required.items("nodeSelectorTerms").is_empty() {
            let why = "must have at least one node selector term";
            errors.push(FieldError::required(required.at("nodeSelectorTerms"), why));
        }
        required.parts("nodeSelectorTerms").for_each(|term| check_term(&term, LabelValues::Checked, errors));
    }
    for preferred in nodes.parts(PREFERRED) {
        check_weight(&preferred, errors);
        if let Some(term) = preferred.part("preference") {
            check_term(&term, LabelValues::Any, errors);
        }
    }
}

fn check_term(term: &Part<'_>, values: LabelValues, errors: &mut FieldErrors) {
    for expression in term.parts("matchExpressions") {
        let count = expression.items("values").len();
        let path = expression.at("values");
        match (expression.text("operator"), count) {
            ("In" | "NotIn", 0) => {
                errors.push(FieldError::required(path, "must be specified when `operator` is 'In' or 'NotIn'"));
            }
            ("Exists" | "DoesNotExist", 1..) => {
                let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(FieldError::forbidden(path, why));
            }
            ("Gt" | "Lt", 0 | 2..) => {
                let why = "must be specified single value when `operator` is 'Lt' or 'Gt'";
                errors.push(FieldError::required(path, why));
            }
            ("In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt", _) => {}
            (other, _) => errors.push(unknown_operator(&expression, other)),
        }
        expression.check_text("key", qualified_name, errors);
        if values == LabelValues::Checked {
            for (index, value) in expression.texts("values").into_iter().enumerate() {
                note(&expression.at("values").index(index), value, label_value(value), errors);
            }
        }
    }
    term.parts("matchFields").for_each(|field| check_field(&field, errors));
}

fn unknown_operator(requirement: &Part<'_>, operator: &str) -> FieldError {
    invalid_named(requirement.at("operator"), operator, "not a valid selector operator")
}

fn check_field(field: &Part<'_>, errors: &mut FieldErrors) {
    match (field.text("operator"), field.items("values").len()) {
        ("In" | "NotIn", 1) => {}
        ("In" | "NotIn", _) => {
            let why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
            errors.push(FieldError::required(field.at("values"), why));
        }
        (other, _) => errors.push(unknown_operator(field, other)),
    }
    let key = field.text("key");
    if key != NODE_NAME {
        errors.push(FieldError::invalid(field.at("key"), key, "not a valid field selector key"));
        return;
    }
    for (index, name) in field.texts("values").into_iter().enumerate() {
        note(&field.at("values").index(index), name, dns1123_subdomain(name), errors);
    }
}

fn check_pods(term: &Part<'_>, errors: &mut FieldErrors) {
    check_selector(term, "labelSelector", errors);
    check_selector(term, "namespaceSelector", errors);
    for name in term.texts("namespaces") {
        note(&term.at("namespace"), name, dns1123_label(name), errors);
    }
    check_label_keys(term, errors);
    if term.text("topologyKey").is_empty() {
        errors.push(FieldError::required(term.at("topologyKey"), "can not be empty"));
    }
    term.check_text("topologyKey", qualified_name, errors);
}

/// Notes what is wrong with a selector of labels.
pub(super) fn check_selector(part: &Part<'_>, field: &str, errors: &mut FieldErrors) {
    let selector = part.get(field).and_then(|selector| LabelSelector::deserialize(selector).ok());
    if let Some(selector) = selector {
        selector.validate(&part.at(field), errors);
    }
}

/// Notes keys of labels whose values are to be the pod's own, or others.
pub(super) fn check_label_keys(term: &Part<'_>, errors: &mut FieldErrors) {
    let (same, other) = (term.texts("matchLabelKeys"), term.texts("mismatchLabelKeys"));
    let selector = term.part("labelSelector");
    for (field, keys) in [("matchLabelKeys", &same), ("mismatchLabelKeys", &other)] {
        if !keys.is_empty() && selector.is_none() {
            let why = "must not be specified when labelSelector is not set";
            errors.push(FieldError::forbidden(term.at(field), why));
        } else {
            for (index, key) in keys.iter().enumerate() {
                note(&term.at(field).index(index), key, qualified_name(key), errors);
            }
        }
    }
    let mut selected: Vec<&str> =
        selector.iter().flat_map(|selector| selector.entries("matchLabels")).map(|(key, _)| key).collect();
    for key in selector.iter().flat_map(|selector| selector.parts("matchExpressions")).map(|part| part.text("key")) {
        if let Some(index) = same.iter().rposition(|same| *same == key)
            && selected.contains(&key)
        {
            let why = "exists in both matchLabelKeys and labelSelector";
            errors.push(FieldError::invalid(term.path().index(index), key, why));
        }
        selected.push(key);
    }
    for (index, key) in same.iter().enumerate().filter(|(_, key)| other.contains(key)) {
        let why = "exists in both matchLabelKeys and mismatchLabelKeys";
        errors.push(FieldError::invalid(term.at("matchLabelKeys").index(index), *key, why));
    }
}

/// Notes what is wrong with what a pod bears of a node.
pub(super) fn check_tolerations<'v>(tolerations: impl Iterator<Item = Part<'v>>, errors: &mut FieldErrors) {
    for toleration in tolerations {
        let (key, operator) = (toleration.text("key"), toleration.text("operator"));
        let (value, effect) = (toleration.text("value"), toleration.text("effect"));
        toleration.check_given("key", qualified_name, errors);
        if key.is_empty() && operator != "Exists" {
            let why = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            errors.push(invalid_named(toleration.at("operator"), operator, why));
        }
        if toleration.has("tolerationSeconds") && effect != "NoExecute" {
            let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            errors.push(invalid_named(toleration.at("effect"), effect, why));
        }
        let path = toleration.at("operator");
        match operator {
            "Equal" | "" => {
                let wrong = label_value(value);
                if !wrong.is_empty() {
                    errors.push(FieldError::invalid(path, value, wrong.join(";")));
                }
            }
            "Exists" if value.is_empty() => {}
            "Exists" => {
                let why = "value must be empty when `operator` is 'Exists'";
                errors.push(FieldError::invalid(path, value, why));
            }
            // Kubernetes knows them, and has them only if it is told to.
            "Lt" | "Gt" => errors.push(unsupported(path, operator, &["Equal", "Exists", "Lt", "Gt"])),
            other => errors.push(unsupported(path, other, &["Equal", "Exists"])),
        }
        if !effect.is_empty() && !EFFECTS.contains(&effect) {
            errors.push(unsupported(toleration.at("effect"), effect, &EFFECTS));
        }
    }
}
