//! OrgGroup: a set of an organization's members.

use bailiwick_api::{OrgGroup, OrgGroupName};
use bailiwick_machinery::table::{Column, ColumnType, Columns};
use bailiwick_machinery::{FieldErrors, NameRule, Object, Scope};
use serde_json::json;

use super::{name, people};
use crate::kind::{Kind, KindError};
use crate::strategy::Strategy;

pub(super) fn kind() -> Result<Kind, KindError> {
    let kind = Kind::native::<OrgGroup>(Scope::Cluster, NameRule::Custom(name::org_group))?;
    Ok(kind.short_names(&["og"]).with_status().columns(columns).strategy(OrgGroups))
}

struct OrgGroups;

// === impl OrgGroups ===

impl Strategy for OrgGroups {
    fn validate(&self, object: &Object, errors: &mut FieldErrors) {
        people::check_users(object, "users", errors);
    }
}

fn columns() -> Columns {
    let organization = Column::new("Organization", ColumnType::String, "The organization that the group belongs to.");
    let users = Column::new("Users", ColumnType::Integer, "How many users are in the group.");
    Columns::named()
        .with(organization, |group, _| {
            json!(OrgGroupName::parse(group.metadata().name()).map_or("", |name| name.organization))
        })
        .with(users, people::count("users"))
        .with_age()
}
