//! OrgRoleBinding: a role, given to groups of the organization that owns a project.

use bailiwick_api::{OrgRoleBinding, OrgRoleRef};
use bailiwick_machinery::table::{Column, ColumnType, Columns};
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, NameForm, NameRule, Object, Scope};
use serde_json::{Value, json};

use super::name;
use super::people;
use crate::kind::{Kind, KindError};
use crate::strategy::Strategy;

pub(super) fn kind() -> Result<Kind, KindError> {
    let kind = Kind::native::<OrgRoleBinding>(Scope::Namespaced, NameRule::DnsSubdomain)?;
    Ok(kind.short_names(&["orb"]).with_status().handing_out_rights().columns(columns).strategy(Bindings))
}

struct Bindings;

// === impl Bindings ===

impl Strategy for Bindings {
    fn validate(&self, object: &Object, errors: &mut FieldErrors) {
        check_role(object, errors);
        if object.metadata().namespace().starts_with(OrgRoleBinding::RESERVED_NAMESPACES) {
            let why = "projects of organizations are not in namespaces of the system";
            errors.push(FieldError::forbidden(FieldPath::new("metadata").child("namespace"), why));
        }
        people::check_users(object, "users", errors);
        people::check_groups(object, "groups", errors);
        for (index, group) in people::texts(object, "orgGroups") {
            for why in name::org_group(group, NameForm::Whole) {
                let path = FieldPath::new("orgGroups").index(index);
                errors.push(FieldError::invalid(path, group, why.into_owned()));
            }
        }
    }

    fn validate_update(&self, object: &Object, old: &Object, errors: &mut FieldErrors) {
        let role = |object: &Object| object.fields().get("roleRef").cloned().unwrap_or_default();
        if role(object) != role(old) {
            let path = FieldPath::new("roleRef");
            errors.push(FieldError::invalid(path, role(object), "cannot change roleRef"));
        }
    }
}

fn check_role(object: &Object, errors: &mut FieldErrors) {
    let role = FieldPath::new("roleRef");
    if object.fields().get("roleRef").is_none_or(Value::is_null) {
        errors.push(FieldError::required(role, ""));
        return;
    }
    let text = |field: &str| object.as_value()["roleRef"][field].as_str().unwrap_or_default();
    if text("apiGroup") != OrgRoleRef::GROUP {
        errors.push(FieldError::not_supported(role.child("apiGroup"), text("apiGroup"), &[OrgRoleRef::GROUP]));
    }
    if text("kind") != OrgRoleRef::KIND {
        errors.push(FieldError::not_supported(role.child("kind"), text("kind"), &[OrgRoleRef::KIND]));
    }
    if text("name").is_empty() {
        errors.push(FieldError::required(role.child("name"), ""));
    }
}

fn columns() -> Columns {
    let text = |name: &'static str, description: &'static str| Column::new(name, ColumnType::String, description);
    let joined = |field: &'static str| {
        move |object: &Object, _| {
            json!(people::texts(object, field).map(|(_, text)| text).collect::<Vec<_>>().join(","))
        }
    };
    Columns::named()
        .with(text("Role", "The role that is given."), |object, _| {
            let name = object.as_value().pointer("/roleRef/name").and_then(Value::as_str);
            json!(format!("{}/{}", OrgRoleRef::KIND, name.unwrap_or_default()))
        })
        .with(text("Org Groups", "The groups of the organization that have the role."), joined("orgGroups"))
        .with(text("Effective", "Whether the organization owns the project."), people::condition("Effective"))
        .with_age()
        .with(text("Users", "Users who have the role.").wide(), joined("users"))
        .with(text("Groups", "Groups whose users have the role.").wide(), joined("groups"))
}
