//! Bailiwick's kinds, as people write them: one file a kind. Doc comments are what `kubectl explain` shows.
//!
//! Each kind is a plain struct that serde reads and writes, that schemars describes, and that works with `kube::Api`.

pub mod claims;
mod condition;
mod field_path;
mod group;
mod kind;
mod org_group;
mod org_role_binding;
mod organization;
mod organization_view;
mod owner;
mod requester;
mod resource_binding_definition;
mod resource_catalog_claim;
mod resource_claim_definition;
mod service_account;
mod well_known;

pub use condition::{Condition, ConditionStatus};
pub use field_path::{FieldPath, FieldPathError, MAX_FIELD_PATH, SetError, Step};
pub use group::Group;
pub use kind::TypeMeta;
pub use org_group::{OrgGroup, OrgGroupName, OrgGroupStatus, group_of_user};
pub use org_role_binding::{OrgRoleBinding, OrgRoleBindingStatus, OrgRoleRef};
pub use organization::Organization;
pub use organization_view::{OrganizationMember, OrganizationMembers, OrganizationProjects};
pub use owner::{OWNER_LABEL, Owner};
pub use requester::Requester;
pub use resource_binding_definition::{
    BoundResource, ClassReference, ClassUse, KindReference, Match, Overlay, ProvisioningStrategy,
    ResourceBindingDefinition, ResourceBindingDefinitionSpec, ResourceBindingDefinitionStatus, ResourceRefPolicy,
    SelectionStrategy, Strategies, Translate, WaitFor,
};
pub use resource_catalog_claim::{
    ClaimError, CreatedResource, DeletionPolicy, EntryReference, ResourceCatalogClaim, ResourceCatalogClaimSpec,
    ResourceCatalogClaimStatus,
};
pub use resource_claim_definition::{
    ClaimNames, ClaimValidation, ResourceClaimDefinition, ResourceClaimDefinitionSpec, ResourceClaimDefinitionStatus,
};
pub use service_account::{NotServiceAccount, ServiceAccountRef};
pub use well_known::{
    BINDING_DEFINITION_FINALIZER, CLAIM_DEFINITION_FINALIZER, CLAIM_FINALIZER, CONTROLLERS_LEASE,
    DEFINITION_UID_ANNOTATION, DERIVED_LABEL, PROVISIONER, PROVISIONER_NAMESPACE,
};
