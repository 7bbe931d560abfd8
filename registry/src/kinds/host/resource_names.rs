//! The names of what can be asked for, limited and counted.

use bailiwick_machinery::name::qualified_name;

/// What has a name without a domain.
const STANDARD: [&str; 20] = [
    "cpu",
    "memory",
    "storage",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.nodeports",
    "services.loadbalancers",
];

/// What is counted, so that there are no halves of it.
const COUNTED: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

/// How names of large pages begin, and of those that are asked for.
pub(super) const HUGE_PAGES: &str = "hugepages-";
const REQUESTED_HUGE_PAGES: &str = "requests.hugepages-";
const REQUESTS: &str = "requests.";
/// What is in a name that is Kubernetes' own.
const NATIVE: &str = "kubernetes.io/";

/// Whether a name without a domain means something.
pub(super) fn is_standard(name: &str) -> bool {
    STANDARD.contains(&name) || name.starts_with(HUGE_PAGES) || name.starts_with(REQUESTED_HUGE_PAGES)
}

/// Whether there are no halves of something: it is counted, by Kubernetes or by whoever has defined it.
pub(super) fn is_whole(name: &str) -> bool {
    COUNTED.contains(&name) || is_extended(name)
}

/// Whether a name is Kubernetes' own.
pub(super) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains(NATIVE)
}

/// Whether a name is of something that others have defined, and could be counted by a quota.
pub(super) fn is_extended(name: &str) -> bool {
    !is_native(name) && !name.starts_with(REQUESTS) && qualified_name(&format!("{REQUESTS}{name}")).is_empty()
}
