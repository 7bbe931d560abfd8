//! What happens after a write.
//!
//! Each loop is a client of the API like any other: it holds no store, passes authentication, authorization and admission,
//! and may run twice at once without harm, because every write says which state of which object it means.

use kube::api::{PatchParams, PostParams};

mod absence;
mod announce;
mod bundle_controller;
mod catalog_claim_controller;
mod catalog_controller;
mod claim_controller;
mod claim_definition_controller;
mod conditions;
mod disown;
mod first_look;
mod follow;
mod garbage_collector;
mod host;
mod host_kinds;
mod in_each_namespace;
mod leader_election;
mod managers;
mod namespace_controller;
mod organization_controller;
mod place;
mod queue;
mod quota_controller;
mod requesters;
mod rights;
mod root_certificate_publisher;
mod served_kinds;
mod service_account_controller;
mod shortened;
mod status;

pub use bundle_controller::BundleController;
pub use catalog_claim_controller::CatalogClaimController;
pub use catalog_controller::{Accept, Acceptance, Candidate, CannotTell, CatalogController, Policies};
pub use claim_controller::ClaimController;
pub use claim_definition_controller::ClaimDefinitionController;
pub use garbage_collector::GarbageCollector;
pub use host::{ActAs, Clients};
pub use leader_election::{LeaderElection, LeaderElectionOptions, Leads};
pub use namespace_controller::NamespaceController;
pub use organization_controller::OrganizationController;
pub use queue::register_metrics;
pub use quota_controller::QuotaController;
pub use requesters::{Asked, Requesters, UnknownRequester};
pub use root_certificate_publisher::RootCertificatePublisher;
pub use service_account_controller::ServiceAccountController;

/// Whom the fields belong to that controllers set: the name that Kubernetes has for its own.
const FIELD_MANAGER: &str = "kube-controller-manager";

fn post() -> PostParams {
    PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() }
}

fn patch() -> PatchParams {
    PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() }
}
