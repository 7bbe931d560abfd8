//! Role, ClusterRole, RoleBinding, ClusterRoleBinding: who may do what.
//!
//! Whether someone may hand out what a role allows is not asked here: that takes more than the object.

use async_trait::async_trait;
use bailiwick_machinery::label::LabelSelector;
use bailiwick_machinery::name::{dns1123_subdomain, path_segment};
use bailiwick_machinery::table::{Column, ColumnType, Columns};
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, NameRule, Object, Scope};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{at, description, edit, invalid, list, text, text_of};
use crate::context::Ctx;
use crate::error::Result;
use crate::kind::{Kind, KindError};
use crate::strategy::Strategy;

const GROUP: &str = "rbac.authorization.k8s.io";
const RULES: &str = "rules";
const SELECTORS: &str = "aggregationRule.clusterRoleSelectors";
const ROLE_REF: &str = "roleRef";
const SUBJECTS: &str = "subjects";

pub(super) fn role() -> Result<Kind, KindError> {
    let kind = Kind::host::<Role>(Scope::Namespaced, NameRule::PathSegment)?;
    Ok(with_habits(kind).columns(role_columns).strategy(RoleRules(Scope::Namespaced)))
}

pub(super) fn cluster_role() -> Result<Kind, KindError> {
    let kind = Kind::host::<ClusterRole>(Scope::Cluster, NameRule::PathSegment)?;
    Ok(with_habits(kind).columns(role_columns).strategy(RoleRules(Scope::Cluster)))
}

pub(super) fn role_binding() -> Result<Kind, KindError> {
    let kind = Kind::host::<RoleBinding>(Scope::Namespaced, NameRule::PathSegment)?;
    Ok(with_binding_columns(with_habits(kind)).strategy(BindingRules(Scope::Namespaced)))
}

pub(super) fn cluster_role_binding() -> Result<Kind, KindError> {
    let kind = Kind::host::<ClusterRoleBinding>(Scope::Cluster, NameRule::PathSegment)?;
    Ok(with_binding_columns(with_habits(kind)).strategy(BindingRules(Scope::Cluster)))
}

fn with_habits(kind: Kind) -> Kind {
    kind.with_unconditional_update().with_create_on_update()
}

/// Kubernetes has no columns of its own for roles.
fn role_columns() -> Columns {
    Columns::default()
}

fn with_binding_columns(kind: Kind) -> Kind {
    let role = Column::new("Role", ColumnType::String, description(&kind, ROLE_REF));
    let holders = |name: &'static str| Column::new(name, ColumnType::String, format!("{name} in the binding.")).wide();
    kind.columns(|| {
        Columns::named()
            .with(role.clone(), |object, _| {
                format!("{}/{}", text(object, "roleRef.kind"), text(object, "roleRef.name")).into()
            })
            .with_age_as_text()
            .with(holders("Users"), |object, _| subjects(object, "User"))
            .with(holders("Groups"), |object, _| subjects(object, "Group"))
            .with(holders("ServiceAccounts"), |object, _| subjects(object, "ServiceAccount"))
    })
}

/// `alice, bob`; service accounts with their namespaces.
fn subjects(object: &Object, kind: &str) -> Value {
    let shown = |subject: &Value| match kind {
        "ServiceAccount" => format!("{}/{}", text_of(subject, "namespace"), text_of(subject, "name")),
        _ => text_of(subject, "name").to_owned(),
    };
    let found = list(object, SUBJECTS).iter().filter(|subject| text_of(subject, "kind") == kind);
    found.map(shown).collect::<Vec<_>>().join(", ").into()
}

/// The rules of roles, in a namespace or not.
struct RoleRules(Scope);

// === impl RoleRules ===

#[async_trait]
impl Strategy for RoleRules {
    async fn prepare_create(&self, _: &Ctx<'_>, object: &mut Object) -> Result<()> {
        forget_empty_rules(object);
        Ok(())
    }

    async fn prepare_update(&self, _: &Ctx<'_>, object: &mut Object, _: &Object) -> Result<()> {
        forget_empty_rules(object);
        Ok(())
    }

    fn validate(&self, object: &Object, errors: &mut FieldErrors) {
        for (index, rule) in list(object, RULES).iter().enumerate() {
            check_rule(rule, self.0, &FieldPath::new(RULES).index(index), errors);
        }
        if at(object, "aggregationRule").is_some_and(|rule| !rule.is_null()) && self.0 == Scope::Cluster {
            check_selectors(object, errors);
        }
    }
}

/// Kubernetes stores lists in a form that does not tell one without items from none.
fn forget_empty_rules(object: &mut Object) {
    if list(object, RULES).is_empty() {
        object.fields_mut().insert(RULES.to_owned(), Value::Null);
    }
}

fn check_rule(rule: &Value, scope: Scope, path: &FieldPath, errors: &mut FieldErrors) {
    let given = |field: &str| rule.get(field).and_then(Value::as_array).is_some_and(|values| !values.is_empty());
    if !given("verbs") {
        errors.push(FieldError::required(path.child("verbs"), "verbs must contain at least one value"));
    }
    if given("nonResourceURLs") {
        let mut wrong = |why: &str| {
            let found = rule.get("nonResourceURLs").cloned().unwrap_or_default();
            errors.push(FieldError::invalid(path.child("nonResourceURLs"), found, why));
        };
        if scope == Scope::Namespaced {
            wrong("namespaced rules cannot apply to non-resource URLs");
        }
        if ["apiGroups", "resources", "resourceNames"].into_iter().any(given) {
            wrong("rules cannot apply to both regular resources and non-resource URLs");
        }
        return;
    }
    for (field, why) in [
        ("apiGroups", "resource rules must supply at least one api group"),
        ("resources", "resource rules must supply at least one resource"),
    ] {
        if !given(field) {
            errors.push(FieldError::required(path.child(field), why));
        }
    }
}

fn check_selectors(object: &Object, errors: &mut FieldErrors) {
    let path = FieldPath::new(SELECTORS);
    let selectors = list(object, SELECTORS);
    if selectors.is_empty() {
        let why = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        errors.push(FieldError::required(path.clone(), why));
    }
    for (index, selector) in selectors.iter().enumerate() {
        let path = path.index(index);
        let Ok(selector) = LabelSelector::deserialize(selector) else { continue };
        selector.validate(&path, errors);
        if selector.to_selector().is_err() {
            errors.push(FieldError::invalid(path, Value::Null, "invalid label selector."));
        }
    }
}

/// The rules of bindings, in a namespace or not.
struct BindingRules(Scope);

/// A reference to a role as Go prints it.
#[derive(PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
struct RoleRef<'r> {
    #[serde(rename = "APIGroup")]
    api_group: &'r str,
    kind: &'r str,
    name: &'r str,
}

// === impl BindingRules ===

impl Strategy for BindingRules {
    fn complete(&self, object: &mut Object) {
        let has_group = |value: &Value| !text_of(value, "apiGroup").is_empty();
        if !object.fields().get(ROLE_REF).is_some_and(has_group) {
            edit(object, ROLE_REF, |role| drop(role.insert("apiGroup".to_owned(), GROUP.into())));
        }
        let Some(Value::Array(subjects)) = object.fields_mut().get_mut(SUBJECTS) else { return };
        for subject in subjects {
            if matches!(text_of(subject, "kind"), "User" | "Group")
                && !has_group(subject)
                && let Value::Object(subject) = subject
            {
                subject.insert("apiGroup".to_owned(), GROUP.into());
            }
        }
    }

    fn validate(&self, object: &Object, errors: &mut FieldErrors) {
        let kinds: &[&str] = match self.0 {
            Scope::Namespaced => &["Role", "ClusterRole"],
            Scope::Cluster => &["ClusterRole"],
        };
        check_role_ref(&RoleRef::of(object), kinds, errors);
        for (index, subject) in list(object, SUBJECTS).iter().enumerate() {
            check_subject(subject, self.0, &FieldPath::new(SUBJECTS).index(index), errors);
        }
    }

    fn validate_update(&self, object: &Object, old: &Object, errors: &mut FieldErrors) {
        let role = RoleRef::of(object);
        if role != RoleRef::of(old) {
            errors.push(FieldError::invalid_json(FieldPath::new(ROLE_REF), &role, "cannot change roleRef"));
        }
    }
}

// === impl RoleRef ===

impl<'r> RoleRef<'r> {
    fn of(object: &'r Object) -> Self {
        Self {
            api_group: text(object, "roleRef.apiGroup"),
            kind: text(object, "roleRef.kind"),
            name: text(object, "roleRef.name"),
        }
    }
}

fn check_role_ref(role: &RoleRef<'_>, kinds: &[&str], errors: &mut FieldErrors) {
    let path = FieldPath::new(ROLE_REF);
    if role.api_group != GROUP {
        errors.push(FieldError::not_supported(path.child("apiGroup"), role.api_group, &[GROUP]));
    }
    if !kinds.contains(&role.kind) {
        errors.push(FieldError::not_supported(path.child("kind"), role.kind, kinds));
    }
    match role.name {
        "" => errors.push(FieldError::required(path.child("name"), "")),
        name => invalid(&path.child("name"), name, path_segment(name), errors),
    }
}

fn check_subject(subject: &Value, scope: Scope, path: &FieldPath, errors: &mut FieldErrors) {
    let (name, group) = (text_of(subject, "name"), text_of(subject, "apiGroup"));
    if name.is_empty() {
        errors.push(FieldError::required(path.child("name"), ""));
    }
    match text_of(subject, "kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                invalid(&path.child("name"), name, dns1123_subdomain(name), errors);
            }
            if !group.is_empty() {
                errors.push(FieldError::not_supported(path.child("apiGroup"), group, &[""]));
            }
            if scope == Scope::Cluster && text_of(subject, "namespace").is_empty() {
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
