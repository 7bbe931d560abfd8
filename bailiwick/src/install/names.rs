//! What things are called in a cluster. There is one installation in a cluster, as its groups can have one server only.

use std::collections::BTreeSet;

use bailiwick_machinery::GroupVersion;
use bailiwick_registry::Kind;

/// The service account, the Service, the Deployment and what else there is one of.
pub(super) const NAME: &str = "bailiwick";

/// The Secret with the authority that the servers make for themselves, and sign their certificates with.
pub(crate) const AUTHORITY_SECRET: &str = "bailiwick-authority";

/// The Secret with a serving certificate that was given.
pub(super) const SERVING_SECRET: &str = "bailiwick-serving";

/// The role that lets Bailiwick act as the service accounts of a namespace, where it is bound.
pub(super) const ACT_AS: &str = "bailiwick:act-as";

/// The label of everything that is installed, and by which it is found again.
pub(super) const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "bailiwick-install");

/// The label by which the Service finds the servers.
pub(super) const APP: (&str, &str) = ("app.kubernetes.io/name", NAME);

/// Where kube-apiserver tells how it introduces itself to those it hands requests on to.
pub(super) const AUTHENTICATION_NAMESPACE: &str = "kube-system";

/// What the APIServices of these kinds are called.
pub(crate) fn api_service_names(kinds: &[Kind]) -> Vec<String> {
    group_versions(kinds).iter().map(api_service_name).collect()
}

/// The groups and versions of kinds, each once, in order.
pub(super) fn group_versions(kinds: &[Kind]) -> Vec<GroupVersion> {
    let versions = kinds.iter().flat_map(Kind::versions).map(|version| &version.group_version);
    // By text, as they have no order of their own.
    let texts: BTreeSet<_> = versions.map(|version| (version.group.to_string(), version.version.to_string())).collect();
    texts.into_iter().map(|(group, version)| GroupVersion::new(group, version)).collect()
}

/// What the APIService of a group and version must be called.
pub(super) fn api_service_name(version: &GroupVersion) -> String {
    format!("{}.{}", version.version, version.group)
}
