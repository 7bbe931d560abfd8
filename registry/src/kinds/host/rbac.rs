//! Role, ClusterRole, RoleBinding, ClusterRoleBinding: who may do what.
//!
//! Whether someone may hand out what a role allows is not asked here: that takes more than the object.

use async_trait::async_trait;
use bailiwick_machinery::table::{Column, ColumnType, Columns};
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, NameRule, Object, Scope};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding, RoleRef};
use serde::Deserialize;
use serde_json::Value;

use super::{at, description, edit, list, text, text_of};
use crate::context::Ctx;
use crate::error::Result;
use crate::kind::{Kind, KindError};
use crate::rbac::{
    GROUP, validate_cluster_role, validate_cluster_role_binding, validate_role, validate_role_binding,
    validate_same_role,
};
use crate::strategy::Strategy;

const RULES: &str = "rules";
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
        match self.0 {
            Scope::Namespaced => check(object, errors, validate_role),
            Scope::Cluster => check(object, errors, validate_cluster_role),
        }
    }
}

/// Kubernetes stores lists in a form that does not tell one without items from none.
fn forget_empty_rules(object: &mut Object) {
    if list(object, RULES).is_empty() {
        object.fields_mut().insert(RULES.to_owned(), Value::Null);
    }
}

/// The rules of bindings, in a namespace or not.
struct BindingRules(Scope);

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
        match self.0 {
            Scope::Namespaced => check(object, errors, validate_role_binding),
            Scope::Cluster => check(object, errors, validate_cluster_role_binding),
        }
    }

    fn validate_update(&self, object: &Object, old: &Object, errors: &mut FieldErrors) {
        let role = |object: &Object| RoleRef::deserialize(at(object, ROLE_REF).unwrap_or(&Value::Null)).ok();
        if let (Some(new), Some(old)) = (role(object), role(old)) {
            validate_same_role(&new, &old, errors);
        }
    }
}

/// Checks an object as what it is. One that was accepted has the form of its type.
fn check<T: for<'de> Deserialize<'de>>(object: &Object, errors: &mut FieldErrors, validate: fn(&T, &mut FieldErrors)) {
    match T::deserialize(object.as_value()) {
        Ok(typed) => validate(&typed, errors),
        Err(error) => errors.push(FieldError::invalid(FieldPath::root(), Value::Null, error.to_string())),
    }
}
