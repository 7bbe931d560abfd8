//! Keys of labels and annotations that mean something to more than one part.

/// The label of what was made in the cluster for an object of ours; its value is that object's plural.
pub const DERIVED_LABEL: &str = "bailiwick.dev/derived-from";

/// The annotation of a CustomResourceDefinition that was made for a definition of ours: the definition's UID.
pub const DEFINITION_UID_ANNOTATION: &str = "claim.bailiwick.dev/definition-uid";

/// The Lease by which several servers of an installation agree on who runs the controllers. It is in their own namespace.
pub const CONTROLLERS_LEASE: &str = "bailiwick-controllers";

/// Holds a ResourceClaimDefinition until there are no claims of its kind any more.
pub const CLAIM_DEFINITION_FINALIZER: &str = "claim.bailiwick.dev/claim-definition";

/// Holds a ResourceBindingDefinition until no claim is satisfied by it any more.
pub const BINDING_DEFINITION_FINALIZER: &str = "claim.bailiwick.dev/binding-definition";

/// Holds a claim until what it was satisfied by was looked after.
pub const CLAIM_FINALIZER: &str = "claim.bailiwick.dev/claim";

/// The service account, in the namespace of the installation, as which definitions are carried out.
pub const PROVISIONER: &str = "provisioner";

/// Where that is on a server that stands alone.
pub const PROVISIONER_NAMESPACE: &str = "bailiwick-system";
