//! OrgGroup: a set of an organization's members.

use bailiwick_api::OrgGroup;
use bailiwick_machinery::{NameRule, Scope};

use super::name;
use crate::kind::{Kind, KindError};

pub(super) fn kind() -> Result<Kind, KindError> {
    Kind::native::<OrgGroup>(Scope::Cluster, NameRule::Custom(name::org_group))
}
