//! Bailiwick's kinds, as people write them: one file a kind. Doc comments are what `kubectl explain` shows.
//!
//! Each kind is a plain struct that serde reads and writes, that schemars describes, and that works with `kube::Api`.

pub mod bundle;
pub mod claims;
mod condition;
mod depends_on;
mod field_path;
mod grant;
mod group;
mod kind;
mod label_selector;
mod local_resource_catalog;
mod local_resource_quota_allocation;
mod org_group;
mod org_role_binding;
mod organization;
mod organization_view;
mod owner;
mod path_name;
pub mod quota;
mod readiness_rule;
mod requester;
mod resource_binding_definition;
mod resource_catalog;
mod resource_catalog_claim;
mod resource_catalog_copy;
mod resource_catalog_entry;
mod resource_claim_definition;
mod resource_quota_allocation;
mod server_assigned;
mod service_account;
mod string_data;
mod well_known;
mod wording;

pub use bundle::{
    Bundle, BundleObject, BundleResource, BundleResourceStatus, BundleSpec, BundleStatus, CriticalPath, InventoryItem,
    Lifecycle, OutputInUse, Phase,
};
pub use condition::{Condition, ConditionStatus, put_condition};
pub use depends_on::{BadDependency, DEPENDS_ON, Dependency, dependencies};
pub use field_path::{FieldPath, FieldPathError, MAX_FIELD_PATH, SetError, Step};
pub use grant::{Grant, Grantee};
pub use group::Group;
pub use kind::TypeMeta;
pub use label_selector::selects;
pub use local_resource_catalog::LocalResourceCatalog;
pub use local_resource_quota_allocation::LocalResourceQuotaAllocation;
pub use org_group::{OrgGroup, OrgGroupName, OrgGroupStatus, group_of_user};
pub use org_role_binding::{OrgRoleBinding, OrgRoleBindingStatus, OrgRoleRef};
pub use organization::Organization;
pub use organization_view::{OrganizationMember, OrganizationMembers, OrganizationProjects};
pub use owner::{OWNER_LABEL, Owner};
pub use path_name::{MAX_OBJECT_NAME, is_api_version, is_kind, is_object_name};
pub use readiness_rule::{KindSelector, ReadinessRule, ReadinessRuleSpec};
pub use requester::Requester;
pub use resource_binding_definition::{
    BoundResource, ClassReference, ClassUse, FormerResource, KindReference, Match, Overlay, ProvisioningStrategy,
    ResourceBindingDefinition, ResourceBindingDefinitionSpec, ResourceBindingDefinitionStatus, ResourceRefPolicy,
    SelectionStrategy, Strategies, Translate, WaitFor,
};
pub use resource_catalog::{
    AcceptancePolicy, AcceptanceRule, ResourceCatalog, ResourceCatalogEntries, ResourceCatalogInfo,
    ResourceCatalogSpec, ResourceCatalogStatus,
};
pub use resource_catalog_claim::{
    ClaimError, CreatedResource, DeletionPolicy, EntryReference, ResourceCatalogClaim, ResourceCatalogClaimSpec,
    ResourceCatalogClaimStatus,
};
pub use resource_catalog_copy::{CLAIM_UID_ANNOTATION, CopyError, SOURCE_UID_ANNOTATION, copy_for};
pub use resource_catalog_entry::{
    EntryError, ExposedResource, ListedResource, LocalResourceSpec, LocalResourceStatus, PinnedAccount,
    ResourceCatalogEntry, ResourceCatalogEntrySpec, ResourceCatalogEntryStatus, ResourceListSpec, ResourceListStatus,
    Satisfier,
};
pub use resource_claim_definition::{
    ClaimNames, ClaimValidation, ResourceClaimDefinition, ResourceClaimDefinitionSpec, ResourceClaimDefinitionStatus,
};
pub use resource_quota_allocation::{
    AllocatedAmounts, AllocationQuota, ProjectUsage, QuotaUsage, ResourceQuotaAllocation,
    ResourceQuotaAllocationProjects, ResourceQuotaAllocationSpec, ResourceQuotaAllocationStatus, UncoveredPolicy,
};
pub use server_assigned::without_assigned;
pub use service_account::{NotActing, NotServiceAccount, ServiceAccountRef};
pub use string_data::fold_string_data;
pub use well_known::{
    BINDING_DEFINITION_FINALIZER, CLAIM_DEFINITION_FINALIZER, CLAIM_FINALIZER, CONTROLLERS_LEASE,
    DEFINITION_UID_ANNOTATION, DERIVED_LABEL, PROVISIONER, PROVISIONER_NAMESPACE,
};
pub use wording::{MAX_NAMED, counted, shell_word, some_of};
