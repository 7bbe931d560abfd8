//! What a server that stands behind a cluster asks of it: whom to believe, whose a token is, who may do what, and which
//! namespaces there are.
//!
//! Nothing here decides by itself. Where the cluster does not answer, a request fails: what is not known is never allowed.

mod access_review;
mod cluster_trust;
mod following;
mod namespaces;
mod project_quotas;
mod question;
mod roles;
mod token_review;

pub use self::access_review::{AccessReviewOptions, AccessReviews};
pub use self::cluster_trust::{ClusterAuthentication, ClusterTrust, ClusterTrustError, ProxyTrust};
pub use self::namespaces::ClusterNamespaces;
pub use self::project_quotas::ClusterQuotas;
pub use self::roles::ClusterRoles;
pub use self::token_review::TokenReviews;
