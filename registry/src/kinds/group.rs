//! Group: a set of users that cluster administrators manage.

use bailiwick_api::Group;
use bailiwick_machinery::{NameRule, Scope};

use super::name;
use crate::kind::{Kind, KindError};

pub(super) fn kind() -> Result<Kind, KindError> {
    Kind::native::<Group>(Scope::Cluster, NameRule::Custom(name::group))
}
