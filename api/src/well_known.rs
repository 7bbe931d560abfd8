//! Keys of labels and annotations that mean something to more than one part.

/// The label of what was made in the cluster for an object of ours; its value is that object's plural.
pub const DERIVED_LABEL: &str = "bailiwick.dev/derived-from";

/// The annotation of a CustomResourceDefinition that was made for a definition of ours: the definition's UID.
pub const DEFINITION_UID_ANNOTATION: &str = "claim.bailiwick.dev/definition-uid";

/// The Lease by which several servers of an installation agree on who runs the controllers. It is in their own namespace.
pub const CONTROLLERS_LEASE: &str = "bailiwick-controllers";
