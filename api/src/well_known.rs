//! Keys of labels and annotations that mean something to more than one part.

/// The label of a namespace that says who owns it: `<resource>_<namespace>_<name>`, such as [`organization_owner`] makes.
pub const OWNER_LABEL: &str = "openshift.io/owner";

/// What the value of [`OWNER_LABEL`] begins with if the owner is an organization; its name follows.
pub const ORGANIZATION_OWNER_PREFIX: &str = "organizations__";

/// The label of what was made in the cluster for an object of ours; its value is that object's plural.
pub const DERIVED_LABEL: &str = "bailiwick.dev/derived-from";

/// The annotation of a CustomResourceDefinition that was made for a definition of ours: the definition's UID.
pub const DEFINITION_UID_ANNOTATION: &str = "claim.bailiwick.dev/definition-uid";

/// The Lease by which several servers of an installation agree on who runs the controllers. It is in their own namespace.
pub const CONTROLLERS_LEASE: &str = "bailiwick-controllers";

/// The value of [`OWNER_LABEL`] of the namespaces that an organization owns.
pub fn organization_owner(organization: &str) -> String {
    format!("{ORGANIZATION_OWNER_PREFIX}{organization}")
}
