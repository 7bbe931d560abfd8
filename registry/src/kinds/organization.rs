//! Organization: administrators, members, and what can be reached below it.

mod groups;
mod views;

use bailiwick_api::{Organization, OrganizationMembers, OrganizationProjects};
use bailiwick_machinery::table::{Column, ColumnType, Columns};
use bailiwick_machinery::{FieldErrors, NameRule, Object, Scope};

use self::groups::Groups;
use super::{name, people};
use crate::kind::{Kind, KindError};
use crate::strategy::Strategy;
use crate::subresource::Viewed;

pub(super) fn kind() -> Result<Kind, KindError> {
    let kind = Kind::native::<Organization>(Scope::Cluster, NameRule::Custom(name::organization))?;
    let kind = kind.short_names(&["org"]).columns(columns).strategy(Organizations);
    let (members, projects) = (Viewed::<OrganizationMembers>::new()?, Viewed::<OrganizationProjects>::new()?);
    Ok(kind.subresource(Groups).subresource(members).subresource(projects))
}

struct Organizations;

// === impl Organizations ===

impl Strategy for Organizations {
    fn validate(&self, object: &Object, errors: &mut FieldErrors) {
        for field in ["adminUsers", "memberUsers"] {
            people::check_users(object, field, errors);
        }
        for field in ["adminGroups", "memberGroups"] {
            people::check_plain_groups(object, field, errors);
        }
    }
}

fn columns() -> Columns {
    let number = |name: &'static str, description: &'static str| Column::new(name, ColumnType::Integer, description);
    Columns::named()
        .with(number("Admin Users", "How many users administer it by name."), people::count("adminUsers"))
        .with(number("Admin Groups", "How many groups administer it."), people::count("adminGroups"))
        .with(number("Member Users", "How many users are members by name."), people::count("memberUsers"))
        .with(number("Member Groups", "How many groups' users are members."), people::count("memberGroups"))
        .with_age()
}
