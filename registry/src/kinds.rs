//! The kinds there are: one file each.

mod bundle;
mod group;
mod host;
mod local_resource_catalog;
mod local_resource_quota_allocation;
mod name;
mod org_group;
mod org_role_binding;
mod organization;
mod people;
mod quota_review;
mod readiness_rule;
mod resource_binding_definition;
mod resource_catalog;
mod resource_catalog_claim;
mod resource_catalog_entry;
mod resource_claim_definition;
mod resource_quota_allocation;
mod review;
mod roles;
mod shown;
mod token_request;

use std::sync::Arc;

use bailiwick_api::Bundle;
use k8s_openapi::Resource;

use crate::catalogs::Exposure;
use crate::kind::{Kind, KindError};

pub use host::{
    NamespaceLifecycle, QuotaEnforcement, expire_events, keep_quota_status, keep_system_namespaces,
    make_system_namespaces,
};
pub(crate) use host::{QuotaCounts, terminating};
pub use review::{Reviewers, TokenOwner, TokenReviewError, TokenReviewer, review_access};
pub use roles::{KindRole, roles};
pub use token_request::{TokenIssueError, TokenIssuer};

/// The group and kind of Bundles.
const BUNDLE: (&str, &str) = (Bundle::GROUP, Bundle::KIND);
/// The group and version in which definitions of claims were first proposed.
const ALIAS_OF_CLAIMS: (&str, &str) = ("core.crossplane.io", "v1alpha1");

/// All kinds of ours.
pub fn all() -> Result<Vec<Kind>, KindError> {
    [
        bundle::kind(),
        group::kind(),
        organization::kind(),
        org_group::kind(),
        org_role_binding::kind(),
        readiness_rule::kind(),
        resource_catalog::kind(),
        resource_catalog_entry::kind(),
        resource_catalog_claim::kind(),
        local_resource_catalog::kind(),
        resource_quota_allocation::kind(),
        local_resource_quota_allocation::kind(),
        quota_review::kind(),
        resource_claim_definition::kind(),
        resource_binding_definition::kind(),
    ]
    .into_iter()
    .collect()
}

/// The kinds, where those that have been known by other names are served under these too.
pub fn with_aliases(kinds: Vec<Kind>) -> Result<Vec<Kind>, KindError> {
    let served = |kind: Kind| {
        Ok(match kind.home().unwrap_or_default() {
            BUNDLE => kind.also_served(bundle::alias()?),
            ("claim.bailiwick.dev", "ResourceBindingDefinition") => {
                kind.also_served(resource_binding_definition::alias()?)
            }
            ("claim.bailiwick.dev", "ResourceClaimDefinition") => kind.also_served(resource_claim_definition::alias()?),
            _ => kind,
        })
    };
    kinds.into_iter().map(served).collect()
}

/// Kubernetes' own kinds, for a server that has no cluster beside it.
pub fn host() -> Result<Vec<Kind>, KindError> {
    host::all()
}

/// Kubernetes' kinds of questions: who someone is, and what they may do.
pub fn reviews(reviewers: &Reviewers) -> Result<Vec<Kind>, KindError> {
    review::all(reviewers)
}

/// The kinds, where service accounts have tokens that this issuer signs.
pub fn with_tokens(kinds: Vec<Kind>, issuer: &Arc<dyn TokenIssuer>) -> Result<Vec<Kind>, KindError> {
    token_request::with_tokens(kinds, issuer)
}

/// The kinds, where this decides which catalogs are shown to whom.
pub fn with_exposure(kinds: Vec<Kind>, exposure: &Arc<Exposure>) -> Vec<Kind> {
    local_resource_catalog::with_exposure(kinds, exposure)
}

#[cfg(test)]
mod tests;
