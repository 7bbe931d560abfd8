//! Group: a set of users that cluster administrators manage.

use bailiwick_api::Group;
use bailiwick_machinery::table::{Column, ColumnType, Columns};
use bailiwick_machinery::{FieldErrors, NameRule, Object, Scope};

use super::{name, people};
use crate::kind::{Kind, KindError};
use crate::strategy::Strategy;

pub(super) fn kind() -> Result<Kind, KindError> {
    let kind = Kind::native::<Group>(Scope::Cluster, NameRule::Custom(name::group))?;
    Ok(kind.columns(columns).strategy(Groups))
}

struct Groups;

// === impl Groups ===

impl Strategy for Groups {
    fn validate(&self, object: &Object, errors: &mut FieldErrors) {
        people::check_users(object, "users", errors);
    }
}

fn columns() -> Columns {
    let users = Column::new("Users", ColumnType::Integer, "How many users are in the group.");
    Columns::named().with(users, people::count("users")).with_age()
}
