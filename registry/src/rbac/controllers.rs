//! The roles of controllers, of Kubernetes' and of ours, as far as they run here: each is a service account of `kube-system`,
//! and whoever reads for all of Kubernetes' is the user that Kubernetes reads by.

use bailiwick_api::claims::PROVISIONER_LABEL;
use bailiwick_api::{PROVISIONER, PROVISIONER_NAMESPACE};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Subject};

use super::GROUP;
use super::defaults::{aggregated_by, bound, part_of, role, rule};

const PREFIX: &str = "system:controller:";
const NAMESPACE: &str = "kube-system";
/// Who follows everything on behalf of the controllers.
const READER: &str = "system:kube-controller-manager";
/// What the provisioner may do beside handling what is defined by data: whatever is labelled to be in it.
const PROVISIONER_ROLE: &str = "bailiwick:provisioner";

/// Their roles.
pub(super) fn controller_roles() -> Vec<ClusterRole> {
    let mut roles: Vec<ClusterRole> =
        controllers().into_iter().map(|(name, rules)| role(&format!("{PREFIX}{name}"), rules)).collect();
    roles.push(role(READER, reader_rules()));
    roles.push(aggregated_by(PROVISIONER_ROLE, PROVISIONER_LABEL));
    let secrets = rule(&["create", "delete", "get", "list", "update", "watch"], &[""], &["secrets"]);
    roles.push(part_of("bailiwick:provisioner-secrets", PROVISIONER_LABEL, vec![secrets]));
    roles
}

/// Who has them.
pub(super) fn controller_role_bindings() -> Vec<ClusterRoleBinding> {
    let account = |name: &str| Subject {
        api_group: None,
        kind: "ServiceAccount".to_owned(),
        name: name.to_owned(),
        namespace: Some(NAMESPACE.to_owned()),
    };
    let mut bindings: Vec<ClusterRoleBinding> =
        controllers().iter().map(|(name, _)| bound(&format!("{PREFIX}{name}"), vec![account(name)])).collect();
    let reader = Subject {
        api_group: Some(GROUP.to_owned()),
        kind: "User".to_owned(),
        name: READER.to_owned(),
        namespace: None,
    };
    bindings.push(bound(READER, vec![reader]));
    let provisioner =
        Subject { name: PROVISIONER.to_owned(), namespace: Some(PROVISIONER_NAMESPACE.to_owned()), ..account("") };
    bindings.push(bound(PROVISIONER_ROLE, vec![provisioner]));
    bindings
}

fn controllers() -> Vec<(&'static str, Vec<PolicyRule>)> {
    vec![
        (
            "generic-garbage-collector",
            vec![rule(&["get", "list", "watch", "patch", "update", "delete"], &["*"], &["*"]), events()],
        ),
        (
            "namespace-controller",
            vec![
                rule(&["get", "list", "watch", "delete"], &[""], &["namespaces"]),
                rule(&["update"], &[""], &["namespaces/finalize", "namespaces/status"]),
                rule(&["get", "list", "watch", "delete", "deletecollection"], &["*"], &["*"]),
            ],
        ),
        ("service-account-controller", vec![rule(&["create"], &[""], &["serviceaccounts"]), events()]),
        (
            "root-ca-cert-publisher",
            vec![rule(&["create", "update"], &[""], &["configmaps"]), events(), remakes_root_certificates()],
        ),
        (
            "admission-controller",
            vec![
                rule(&["get"], &[""], &["namespaces", "serviceaccounts"]),
                rule(&["get"], &["apiextensions.k8s.io"], &["customresourcedefinitions"]),
            ],
        ),
        (
            "bundle-controller",
            vec![
                rule(&["list", "watch"], &["bundle.bailiwick.dev"], &["bundles", "readinessrules"]),
                rule(&["patch"], &["bundle.bailiwick.dev"], &["bundles"]),
                rule(&["update"], &["bundle.bailiwick.dev"], &["bundles/status"]),
                rule(&["get", "list", "watch"], &[""], &["serviceaccounts"]),
                rule(&["get"], &[""], &["namespaces"]),
                rule(&["get", "list", "watch"], &["apiextensions.k8s.io"], &["customresourcedefinitions"]),
                events(),
            ],
        ),
        (
            "catalog-controller",
            vec![
                rule(&["list", "watch"], &[""], &["namespaces"]),
                rule(&["list", "watch"], &[GROUP], &["clusterrolebindings", "clusterroles", "rolebindings", "roles"]),
                rule(
                    &["list", "watch"],
                    &["org.bailiwick.dev"],
                    &["groups", "organizations", "orggroups", "orgrolebindings"],
                ),
                rule(&["create"], &["authorization.k8s.io"], &["subjectaccessreviews"]),
                rule(&["list", "watch"], &["catalog.bailiwick.dev"], &["resourcecatalogentries", "resourcecatalogs"]),
                rule(
                    &["patch"],
                    &["catalog.bailiwick.dev"],
                    &["resourcecatalogentries/status", "resourcecatalogs/status"],
                ),
            ],
        ),
        (
            "catalog-claim-controller",
            vec![
                rule(&["list", "watch"], &[""], &["namespaces", "serviceaccounts"]),
                rule(&["get", "list"], &["apiextensions.k8s.io"], &["customresourcedefinitions"]),
                rule(&["create"], &["authorization.k8s.io"], &["subjectaccessreviews"]),
                rule(
                    &["list", "watch"],
                    &["catalog.bailiwick.dev"],
                    &["resourcecatalogclaims", "resourcecatalogentries", "resourcecatalogs"],
                ),
                rule(
                    &["patch"],
                    &["catalog.bailiwick.dev"],
                    &["resourcecatalogclaims", "resourcecatalogclaims/status"],
                ),
                events(),
            ],
        ),
        (
            "quota-controller",
            vec![
                rule(&["list", "watch"], &[""], &["namespaces", "resourcequotas"]),
                rule(&["create"], &[""], &["resourcequotas"]),
                rule(&["list", "watch"], &["quota.bailiwick.dev"], &["resourcequotaallocations"]),
                events(),
            ],
        ),
        (
            "claim-definition-controller",
            vec![
                rule(
                    &["get", "list", "patch", "watch"],
                    &["claim.bailiwick.dev"],
                    &["resourcebindingdefinitions", "resourceclaimdefinitions"],
                ),
                rule(
                    &["patch"],
                    &["claim.bailiwick.dev"],
                    &["resourcebindingdefinitions/status", "resourceclaimdefinitions/status"],
                ),
                rule(
                    &["create", "delete", "get", "list", "patch", "watch"],
                    &["apiextensions.k8s.io"],
                    &["customresourcedefinitions"],
                ),
                rule(&["list", "watch"], &[""], &["namespaces"]),
                rule(&["create"], &["authorization.k8s.io"], &["subjectaccessreviews"]),
                events(),
            ],
        ),
        (
            "organization-controller",
            vec![
                rule(&["list", "watch"], &[""], &["namespaces"]),
                rule(
                    &["list", "watch"],
                    &["org.bailiwick.dev"],
                    &["groups", "organizations", "orggroups", "orgrolebindings"],
                ),
                rule(&["patch"], &["org.bailiwick.dev"], &["orggroups/status", "orgrolebindings/status"]),
                events(),
            ],
        ),
    ]
}

/// One that was made immutable with something else in it has to go before the right one can be made.
fn remakes_root_certificates() -> PolicyRule {
    PolicyRule {
        resource_names: Some(vec!["kube-root-ca.crt".to_owned()]),
        ..rule(&["delete"], &[""], &["configmaps"])
    }
}

fn reader_rules() -> Vec<PolicyRule> {
    let own_lease = PolicyRule {
        resource_names: Some(vec!["kube-controller-manager".to_owned()]),
        ..rule(&["get", "update"], &["coordination.k8s.io"], &["leases"])
    };
    vec![
        events(),
        rule(&["create"], &["coordination.k8s.io"], &["leases"]),
        own_lease,
        rule(&["create"], &[""], &["secrets", "serviceaccounts"]),
        rule(&["delete"], &[""], &["secrets"]),
        rule(&["get"], &[""], &["namespaces", "secrets", "serviceaccounts", "configmaps"]),
        rule(&["update"], &[""], &["secrets", "serviceaccounts"]),
        rule(&["create"], &["authentication.k8s.io"], &["tokenreviews"]),
        rule(&["create"], &["authorization.k8s.io"], &["subjectaccessreviews"]),
        rule(&["list", "watch"], &["*"], &["*"]),
        rule(&["create"], &[""], &["serviceaccounts/token"]),
    ]
}

fn events() -> PolicyRule {
    rule(&["create", "update", "patch"], &["", "events.k8s.io"], &["events"])
}

#[cfg(test)]
mod tests;
