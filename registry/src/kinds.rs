//! The kinds there are: one file each.

mod group;
mod host;
mod name;
mod org_group;
mod organization;
mod resource_catalog_claim;
mod review;

use crate::kind::{Kind, KindError};

pub use host::NamespaceLifecycle;
pub use review::{Reviewers, TokenOwner, TokenReviewError, TokenReviewer};

/// All kinds of ours.
pub fn all() -> Result<Vec<Kind>, KindError> {
    [group::kind(), organization::kind(), org_group::kind(), resource_catalog_claim::kind()].into_iter().collect()
}

/// Kubernetes' own kinds, for a server that has no cluster beside it.
pub fn host() -> Result<Vec<Kind>, KindError> {
    host::all()
}

/// Kubernetes' kinds of questions: who someone is, and what they may do.
pub fn reviews(reviewers: &Reviewers) -> Result<Vec<Kind>, KindError> {
    review::all(reviewers)
}

#[cfg(test)]
mod tests;
