//! To which objects of a namespace a quota applies.

use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, Object};
use serde::Serialize;
use serde_json::Value;

use super::super::{at, entries, list, text_of, texts};
use super::is_standard;

pub(super) const SCOPES: &str = "spec.scopes";
pub(super) const SELECTOR: &str = "spec.scopeSelector";

const BEST_EFFORT: &str = "BestEffort";
const NOT_BEST_EFFORT: &str = "NotBestEffort";
const TERMINATING: &str = "Terminating";
const NOT_TERMINATING: &str = "NotTerminating";
const PRIORITY_CLASS: &str = "PriorityClass";
const CROSS_NAMESPACE: &str = "CrossNamespacePodAffinity";
const VOLUME_ATTRIBUTES_CLASS: &str = "VolumeAttributesClass";

const KNOWN: [&str; 7] = [
    BEST_EFFORT,
    NOT_BEST_EFFORT,
    TERMINATING,
    NOT_TERMINATING,
    PRIORITY_CLASS,
    CROSS_NAMESPACE,
    VOLUME_ATTRIBUTES_CLASS,
];
/// No object is in both.
const CONFLICTING: [[&str; 2]; 2] = [[BEST_EFFORT, NOT_BEST_EFFORT], [TERMINATING, NOT_TERMINATING]];
/// What pods take.
const COMPUTE: [&str; 6] = ["cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"];

/// A selector as Go prints it.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Selector<'s> {
    match_expressions: Vec<Expression<'s>>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Expression<'s> {
    scope_name: &'s str,
    operator: &'s str,
    values: Option<&'s Value>,
}

/// Notes what is wrong with the scopes of a quota whose spec is at this path.
pub(super) fn check(object: &Object, spec: &str, errors: &mut FieldErrors) {
    check_scopes(object, spec, errors);
    check_selector(object, spec, errors);
}

fn check_scopes(object: &Object, spec: &str, errors: &mut FieldErrors) {
    let path = format!("{spec}.scopes");
    let scopes = texts(object, &path);
    let mut wrong = |why: &str| {
        errors.push(FieldError::invalid(FieldPath::new(&path), Value::from(scopes.clone()), why));
    };
    for scope in &scopes {
        if !KNOWN.contains(scope) {
            wrong("unsupported scope");
        }
        unfit(object, spec, scope).for_each(|_| wrong("unsupported scope applied to resource"));
    }
    (0..conflicts(&scopes)).for_each(|_| wrong("conflicting scopes"));
}

fn check_selector(object: &Object, spec: &str, errors: &mut FieldErrors) {
    let path = format!("{spec}.scopeSelector");
    let Some(selector) = at(object, &path) else { return };
    let path = FieldPath::new(&path).child("matchExpressions");
    let expressions = selector.get("matchExpressions").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut scopes = Vec::new();
    for expression in expressions {
        let (scope, operator) = (text_of(expression, "scopeName"), text_of(expression, "operator"));
        if !KNOWN.contains(&scope) {
            errors.push(FieldError::invalid(path.child("scopeName"), scope, "unsupported scope"));
        }
        for _ in unfit(object, spec, scope) {
            let why = "unsupported scope applied to resource";
            errors.push(FieldError::invalid_json(path.clone(), &shown(expressions), why));
        }
        check_expression(expression, scope, operator, &path, errors);
        scopes.push(scope);
    }
    for _ in 0..conflicts(&scopes) {
        let found = match list(object, &format!("{spec}.scopes")) {
            [] => Value::Null,
            scopes => Value::from(scopes.to_vec()),
        };
        errors.push(FieldError::invalid(path.clone(), found, "conflicting scopes"));
    }
}

fn check_expression(expression: &Value, scope: &str, operator: &str, path: &FieldPath, errors: &mut FieldErrors) {
    let takes_values = !KNOWN.contains(&scope) || matches!(scope, PRIORITY_CLASS | VOLUME_ATTRIBUTES_CLASS);
    if !takes_values && operator != "Exists" {
        let why = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
        errors.push(FieldError::invalid(path.child("operator"), operator, why));
    }
    let values = expression.get("values").filter(|values| values.as_array().is_some_and(|values| !values.is_empty()));
    match (operator, values) {
        ("In" | "NotIn", None) => {
            let why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
            errors.push(FieldError::required(path.child("values"), why));
        }
        ("Exists" | "DoesNotExist", Some(values)) => {
            let why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
            errors.push(FieldError::invalid(path.child("values"), values.clone(), why));
        }
        ("In" | "NotIn" | "Exists" | "DoesNotExist", _) => {}
        _ => errors.push(FieldError::invalid(path.child("operator"), operator, "not a valid selector operator")),
    }
}

/// What is limited, but not in this scope.
fn unfit<'o>(object: &'o Object, spec: &str, scope: &str) -> impl Iterator<Item = &'o str> + use<'o> {
    let fits: &[&[&str]] = match scope {
        BEST_EFFORT => &[&["pods"]],
        VOLUME_ATTRIBUTES_CLASS => &[&["persistentvolumeclaims", "requests.storage"]],
        scope if KNOWN.contains(&scope) => &[&["pods"], &COMPUTE],
        _ => &[],
    };
    let limited = entries(object, &format!("{spec}.hard")).map(|(name, _)| name);
    limited
        .filter(move |name| !fits.is_empty() && is_standard(name) && !fits.iter().any(|fitting| fitting.contains(name)))
}

/// How many pairs of scopes exclude each other.
fn conflicts(scopes: &[&str]) -> usize {
    CONFLICTING.iter().filter(|pair| pair.iter().all(|scope| scopes.contains(scope))).count()
}

fn shown(expressions: &[Value]) -> Selector<'_> {
    let shown = |expression| Expression {
        scope_name: text_of(expression, "scopeName"),
        operator: text_of(expression, "operator"),
        values: expression.get("values"),
    };
    Selector { match_expressions: expressions.iter().map(shown).collect() }
}
