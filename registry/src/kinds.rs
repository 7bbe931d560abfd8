//! The kinds there are: one file each.

mod group;
mod name;
mod org_group;
mod organization;
mod resource_catalog_claim;

use crate::kind::{Kind, KindError};

/// All native kinds.
pub fn all() -> Result<Vec<Kind>, KindError> {
    [group::kind(), organization::kind(), org_group::kind(), resource_catalog_claim::kind()].into_iter().collect()
}

#[cfg(test)]
mod tests;
