//! Kinds, their rules, and the operations on their objects, written once for all kinds.
//!
//! This crate knows no HTTP: what goes wrong is an [`Error`] with a reason, and whoever serves it decides what that is on
//! the wire. One kind is one file in `kinds/` and one line in [`kinds::all`].

mod accept;
mod admission;
mod allocations;
mod authorization;
mod bundles;
mod catalogs;
mod claim_definitions;
mod context;
mod create;
pub mod definitions;
mod delete;
mod encoded;
mod error;
mod extract;
mod follow;
mod host;
mod kind;
pub mod kinds;
mod named_account;
mod organizations;
mod own_writes;
pub mod rbac;
mod read;
mod registry;
mod remote_namespaces;
mod requester;
mod ruled_write;
mod selection;
mod selector_review;
mod served_kind;
mod served_kinds;
mod strategy;
mod subresource;
mod turns;
mod typed;
mod update;
mod virtual_kind;
mod watch;
mod write;

pub use accept::Accepted;
pub use admission::{Admission, Completion, Proposal};
pub use allocations::{
    Allocations, Denial, Labels as NamespaceLabels, Outcome as QuotaOutcome, Pace as AllocationPace, Project,
    ProjectQuotas, QuotaChange, QuotaMetrics,
};
pub use authorization::{
    AllowGroup, AllowPathError, AllowPaths, Attributes, AuthorizationError, Authorizer, AuthorizerChain, Decision,
    Resource as ResourceAttributes, RuleResolver, Target as AuthorizationTarget,
};
pub use bundles::BundleRules;
pub use catalogs::{CatalogRules, Exposure};
pub use claim_definitions::{ClaimDefinitionRules, ProvisionerMay, make_provisioner};
pub use context::{Annotations, Clock, Ctx, SystemClock, User};
pub use delete::{DeleteOptions, Deleted, Preconditions, PropagationPolicy};
pub use encoded::{Encoded, EncodedError};
pub use error::{Error, Result};
pub use host::{Host, HostError, HostKind};
pub use kind::{Kind, KindError, Names, SelectableField, Version};
pub use organizations::{
    AddedTo, AdministratorsOnly, Directory, GroupsCount, Memberships, OrganizationRules, ProjectAccess, Projects,
    follow_bindings, follow_organizations, follow_projects, owner_in_labels, tell_added_groups,
};
pub use read::{List, ListRequest};
pub use registry::Registry;
pub use remote_namespaces::{NamespaceState, Namespaces, NamespacesError, RemoteNamespaceLifecycle};
pub use selection::Selection;
pub use selector_review::{field_selector_attributes, label_selector_attributes};
pub use served_kind::ServedKind;
pub use served_kinds::ServedKinds;
pub use strategy::{SchemaOnly, Strategy};
pub use subresource::{Page, Subresource, SubresourceAnswer, SubresourceBody, SubresourceCall, SubresourceVerb};
pub use update::{Change, Part, Update};
pub use virtual_kind::{FromStored, Made, MadeList, MadeWatch, Touched, Virtual, VirtualCall, VirtualVerb};
pub use watch::{ObjectWatch, WatchBatch, WatchEvent, WatchFrom};
pub use write::{Tracking, WriteOptions, Written};
