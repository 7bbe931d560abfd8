//! What is wrong with roles and bindings, beyond their metadata.

use bailiwick_machinery::name::{dns1123_subdomain, path_segment};
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, Scope};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject};
use serde_json::{Value, json};

use super::aggregate::selector_of;
use super::{GROUP, list};

/// Checks a role.
pub fn validate_role(role: &Role, errors: &mut FieldErrors) {
    validate_rules(list(&role.rules), Scope::Namespaced, errors);
}

/// Checks a cluster role.
pub fn validate_cluster_role(role: &ClusterRole, errors: &mut FieldErrors) {
    validate_rules(list(&role.rules), Scope::Cluster, errors);
    let Some(aggregation) = &role.aggregation_rule else { return };
    let path = FieldPath::new("aggregationRule").child("clusterRoleSelectors");
    let selectors = list(&aggregation.cluster_role_selectors);
    if selectors.is_empty() {
        let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        errors.push(FieldError::required(path.clone(), detail));
    }
    for (i, selector) in selectors.iter().enumerate() {
        let (path, selector) = (path.index(i), selector_of(selector));
        selector.validate(&path, errors);
        if selector.to_selector().is_err() {
            errors.push(FieldError::invalid(path, Value::Null, "invalid label selector."));
        }
    }
}

/// Checks a role binding.
pub fn validate_role_binding(binding: &RoleBinding, errors: &mut FieldErrors) {
    validate_role_ref(&binding.role_ref, &["Role", "ClusterRole"], errors);
    validate_subjects(list(&binding.subjects), Scope::Namespaced, errors);
}

/// Checks a cluster role binding.
pub fn validate_cluster_role_binding(binding: &ClusterRoleBinding, errors: &mut FieldErrors) {
    validate_role_ref(&binding.role_ref, &["ClusterRole"], errors);
    validate_subjects(list(&binding.subjects), Scope::Cluster, errors);
}

/// Checks a role binding that takes the place of another.
pub fn validate_role_binding_update(new: &RoleBinding, old: &RoleBinding, errors: &mut FieldErrors) {
    validate_role_binding(new, errors);
    validate_same_role(&new.role_ref, &old.role_ref, errors);
}

/// Checks a cluster role binding that takes the place of another.
pub fn validate_cluster_role_binding_update(
    new: &ClusterRoleBinding,
    old: &ClusterRoleBinding,
    errors: &mut FieldErrors,
) {
    validate_cluster_role_binding(new, errors);
    validate_same_role(&new.role_ref, &old.role_ref, errors);
}

fn validate_rules(rules: &[PolicyRule], scope: Scope, errors: &mut FieldErrors) {
    for (i, rule) in rules.iter().enumerate() {
        validate_rule(rule, scope, &FieldPath::new("rules").index(i), errors);
    }
}

fn validate_rule(rule: &PolicyRule, scope: Scope, path: &FieldPath, errors: &mut FieldErrors) {
    if rule.verbs.is_empty() {
        errors.push(FieldError::required(path.child("verbs"), "verbs must contain at least one value"));
    }
    let (groups, resources) = (list(&rule.api_groups), list(&rule.resources));
    let paths = list(&rule.non_resource_urls);
    if !paths.is_empty() {
        let mut invalid = |detail| errors.push(FieldError::invalid(path.child("nonResourceURLs"), paths, detail));
        if scope == Scope::Namespaced {
            invalid("namespaced rules cannot apply to non-resource URLs");
        }
        if !groups.is_empty() || !resources.is_empty() || !list(&rule.resource_names).is_empty() {
            invalid("rules cannot apply to both regular resources and non-resource URLs");
        }
        return;
    }
    if groups.is_empty() {
        let detail = "resource rules must supply at least one api group";
        errors.push(FieldError::required(path.child("apiGroups"), detail));
    }
    if resources.is_empty() {
        let detail = "resource rules must supply at least one resource";
        errors.push(FieldError::required(path.child("resources"), detail));
    }
}

fn validate_role_ref(role: &RoleRef, kinds: &[&str], errors: &mut FieldErrors) {
    let path = FieldPath::new("roleRef");
    let group = role.api_group.as_deref().unwrap_or_default();
    if group != GROUP {
        errors.push(FieldError::not_supported(path.child("apiGroup"), group, &[GROUP]));
    }
    if !kinds.contains(&role.kind.as_str()) {
        errors.push(FieldError::not_supported(path.child("kind"), role.kind.as_str(), kinds));
    }
    if role.name.is_empty() {
        errors.push(FieldError::required(path.child("name"), ""));
    }
    let wrong = path_segment(&role.name).into_iter();
    errors.extend(wrong.map(|detail| FieldError::invalid(path.child("name"), role.name.as_str(), detail)));
}

/// Checks that a binding still gives the role it gave.
pub(crate) fn validate_same_role(new: &RoleRef, old: &RoleRef, errors: &mut FieldErrors) {
    let told = |role: &RoleRef| {
        let group = role.api_group.as_deref().unwrap_or_default();
        json!({ "APIGroup": group, "Kind": role.kind, "Name": role.name })
    };
    if told(new) != told(old) {
        errors.push(FieldError::invalid(FieldPath::new("roleRef"), told(new), "cannot change roleRef"));
    }
}

fn validate_subjects(subjects: &[Subject], scope: Scope, errors: &mut FieldErrors) {
    for (i, subject) in subjects.iter().enumerate() {
        validate_subject(subject, scope, &FieldPath::new("subjects").index(i), errors);
    }
}

fn validate_subject(subject: &Subject, scope: Scope, path: &FieldPath, errors: &mut FieldErrors) {
    let group = subject.api_group.as_deref().unwrap_or_default();
    if subject.name.is_empty() {
        errors.push(FieldError::required(path.child("name"), ""));
    }
    match subject.kind.as_str() {
        "ServiceAccount" => {
            if !subject.name.is_empty() {
                let wrong = dns1123_subdomain(&subject.name).into_iter();
                let invalid = |detail| FieldError::invalid(path.child("name"), subject.name.as_str(), detail);
                errors.extend(wrong.map(invalid));
            }
            if !group.is_empty() {
                errors.push(FieldError::not_supported(path.child("apiGroup"), group, &[""]));
            }
            if scope == Scope::Cluster && subject.namespace.as_deref().unwrap_or_default().is_empty() {
                errors.push(FieldError::required(path.child("namespace"), ""));
            }
        }
        "User" | "Group" => {
            if group != GROUP {
                errors.push(FieldError::not_supported(path.child("apiGroup"), group, &[GROUP]));
            }
        }
        other => {
            let kinds = ["ServiceAccount", "User", "Group"];
            errors.push(FieldError::not_supported(path.child("kind"), other, &kinds));
        }
    }
}

#[cfg(test)]
mod tests;
