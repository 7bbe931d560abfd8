//! The cluster roles and bindings that every server has, as Kubernetes has them for users.
//!
//! Roles of Kubernetes' own components are left out unless they run here ([`super::controllers`]), and so are rules for groups
//! of which no kind is served here, such as `apps`.

use std::collections::BTreeMap;

use k8s_openapi::api::rbac::v1::{AggregationRule, ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

use super::GROUP;
use super::controllers::{controller_role_bindings, controller_roles};

/// Says whether the server may bring an object back to what it is to be: not if it is `false`.
pub(super) const AUTOUPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";
const READ: &[&str] = &["get", "list", "watch"];
const WRITE: &[&str] = &["create", "update", "patch", "delete", "deletecollection"];
const ALL: &[&str] = &["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
const HEALTH: [&str; 3] = ["/livez", "/readyz", "/healthz"];

/// The roles.
pub fn cluster_roles() -> Vec<ClusterRole> {
    user_roles().into_iter().chain(controller_roles()).collect()
}

fn user_roles() -> Vec<ClusterRole> {
    let health = |more: &[&'static str]| paths(&["get"], &[HEALTH.as_slice(), more].concat());
    vec![
        role("cluster-admin", vec![rule(&["*"], &["*"], &["*"]), paths(&["*"], &["*"])]),
        role(
            "system:discovery",
            vec![health(&["/version", "/version/", "/openapi", "/openapi/*", "/api", "/api/*", "/apis", "/apis/*"])],
        ),
        role(
            "system:monitoring",
            vec![
                paths(
                    &["get"],
                    &[
                        "/metrics",
                        "/metrics/slis",
                        "/livez",
                        "/readyz",
                        "/healthz",
                        "/livez/*",
                        "/readyz/*",
                        "/healthz/*",
                    ],
                ),
                rule(&["get"], &[""], &["nodes/metrics"]),
            ],
        ),
        role(
            "system:basic-user",
            vec![
                rule(&["create"], &["authorization.k8s.io"], &["selfsubjectaccessreviews", "selfsubjectrulesreviews"]),
                rule(&["create"], &["authentication.k8s.io"], &["selfsubjectreviews"]),
            ],
        ),
        role("system:public-info-viewer", vec![health(&["/version", "/version/"])]),
        role(
            "system:auth-delegator",
            vec![
                rule(&["create"], &["authentication.k8s.io"], &["tokenreviews"]),
                rule(&["create"], &["authorization.k8s.io"], &["subjectaccessreviews"]),
            ],
        ),
        role(
            "system:service-account-issuer-discovery",
            vec![paths(
                &["get"],
                &[
                    "/.well-known/openid-configuration",
                    "/.well-known/openid-configuration/",
                    "/openid/v1/jwks",
                    "/openid/v1/jwks/",
                ],
            )],
        ),
        aggregated("admin", "admin", None),
        aggregated("edit", "edit", Some("admin")),
        aggregated("view", "view", Some("edit")),
        part("admin", admin_rules()),
        part("edit", edit_rules()),
        part("view", view_rules()),
    ]
}

/// Who has them.
pub fn cluster_role_bindings() -> Vec<ClusterRoleBinding> {
    user_role_bindings().into_iter().chain(controller_role_bindings()).collect()
}

fn user_role_bindings() -> Vec<ClusterRoleBinding> {
    vec![
        binding("cluster-admin", &["system:masters"]),
        binding("system:monitoring", &["system:monitoring"]),
        binding("system:discovery", &["system:authenticated"]),
        binding("system:basic-user", &["system:authenticated"]),
        binding("system:public-info-viewer", &["system:authenticated", "system:unauthenticated"]),
        binding("system:service-account-issuer-discovery", &["system:serviceaccounts"]),
    ]
}

fn admin_rules() -> Vec<PolicyRule> {
    vec![
        rule(&["create"], &["authorization.k8s.io"], &["localsubjectaccessreviews"]),
        rule(ALL, &[GROUP], &["roles", "rolebindings"]),
    ]
}

fn edit_rules() -> Vec<PolicyRule> {
    vec![
        rule(READ, &[""], &["pods/attach", "pods/proxy", "pods/exec", "pods/portforward", "secrets", "services/proxy"]),
        rule(&["impersonate"], &[""], &["serviceaccounts"]),
        rule(WRITE, &[""], &["pods", "pods/attach", "pods/proxy", "pods/exec", "pods/portforward"]),
        rule(&["create"], &[""], &["pods/eviction"]),
        rule(
            WRITE,
            &[""],
            &[
                "replicationcontrollers",
                "replicationcontrollers/scale",
                "serviceaccounts",
                "services",
                "services/proxy",
                "persistentvolumeclaims",
                "configmaps",
                "secrets",
            ],
        ),
        rule(&["create"], &[""], &["serviceaccounts/token"]),
        rule(WRITE, &["", "events.k8s.io"], &["events"]),
        rule(ALL, &["coordination.k8s.io"], &["leases"]),
    ]
}

fn view_rules() -> Vec<PolicyRule> {
    vec![
        rule(
            READ,
            &[""],
            &[
                "pods",
                "replicationcontrollers",
                "replicationcontrollers/scale",
                "serviceaccounts",
                "services",
                "services/status",
                "endpoints",
                "persistentvolumeclaims",
                "persistentvolumeclaims/status",
                "configmaps",
            ],
        ),
        rule(
            READ,
            &[""],
            &[
                "limitranges",
                "resourcequotas",
                "bindings",
                "pods/status",
                "resourcequotas/status",
                "namespaces/status",
                "replicationcontrollers/status",
                "pods/log",
            ],
        ),
        rule(READ, &[""], &["namespaces"]),
        rule(READ, &["", "events.k8s.io"], &["events"]),
    ]
}

pub(super) fn role(name: &str, rules: Vec<PolicyRule>) -> ClusterRole {
    ClusterRole { metadata: metadata(name, &[]), rules: Some(rules), aggregation_rule: None }
}

/// A role that is made of those that say so.
fn aggregated(name: &str, label: &str, also: Option<&str>) -> ClusterRole {
    let labels: Vec<String> = also.map(aggregate_to).into_iter().collect();
    ClusterRole { metadata: metadata(name, &labels), ..aggregated_by(name, &aggregate_to(label)) }
}

/// A role that is made of those that have this label.
pub(super) fn aggregated_by(name: &str, label: &str) -> ClusterRole {
    let selector = LabelSelector {
        match_labels: Some(BTreeMap::from([(label.to_owned(), "true".to_owned())])),
        match_expressions: None,
    };
    ClusterRole {
        metadata: metadata(name, &[]),
        rules: None,
        aggregation_rule: Some(AggregationRule { cluster_role_selectors: Some(vec![selector]) }),
    }
}

/// What such a role is made of.
fn part(of: &str, rules: Vec<PolicyRule>) -> ClusterRole {
    part_of(&format!("system:aggregate-to-{of}"), &aggregate_to(of), rules)
}

/// A role that has this label.
pub(super) fn part_of(name: &str, label: &str, rules: Vec<PolicyRule>) -> ClusterRole {
    ClusterRole { metadata: metadata(name, &[label.to_owned()]), ..role(name, rules) }
}

fn aggregate_to(role: &str) -> String {
    format!("{GROUP}/aggregate-to-{role}")
}

/// A role that comes with our kinds, as every server has it.
pub(super) fn shipped(role: ClusterRole) -> ClusterRole {
    let ObjectMeta { name, labels, .. } = role.metadata;
    let labels: Vec<String> = labels.unwrap_or_default().into_keys().collect();
    ClusterRole { metadata: metadata(&name.unwrap_or_default(), &labels), ..role }
}

pub(super) fn binding(role: &str, groups: &[&str]) -> ClusterRoleBinding {
    let subject = |group: &&str| Subject {
        api_group: Some(GROUP.to_owned()),
        kind: "Group".to_owned(),
        name: (*group).to_owned(),
        namespace: None,
    };
    bound(role, groups.iter().map(subject).collect())
}

/// A binding of a role that is called like the role.
pub(super) fn bound(role: &str, subjects: Vec<Subject>) -> ClusterRoleBinding {
    ClusterRoleBinding {
        metadata: metadata(role, &[]),
        role_ref: RoleRef { api_group: Some(GROUP.to_owned()), kind: "ClusterRole".to_owned(), name: role.to_owned() },
        subjects: Some(subjects),
    }
}

fn metadata(name: &str, labels: &[String]) -> ObjectMeta {
    let mut all = BTreeMap::from([("kubernetes.io/bootstrapping".to_owned(), "rbac-defaults".to_owned())]);
    all.extend(labels.iter().map(|label| (label.clone(), "true".to_owned())));
    ObjectMeta {
        name: Some(name.to_owned()),
        labels: Some(all),
        annotations: Some(BTreeMap::from([(AUTOUPDATE.to_owned(), "true".to_owned())])),
        ..ObjectMeta::default()
    }
}

pub(super) fn rule(verbs: &[&str], groups: &[&str], resources: &[&str]) -> PolicyRule {
    let (verbs, resources) = (sorted(verbs), sorted(resources));
    PolicyRule { verbs, api_groups: Some(sorted(groups)), resources: Some(resources), ..PolicyRule::default() }
}

fn paths(verbs: &[&str], paths: &[&str]) -> PolicyRule {
    PolicyRule { verbs: sorted(verbs), non_resource_urls: Some(sorted(paths)), ..PolicyRule::default() }
}

/// In the order in which Kubernetes writes them.
fn sorted(texts: &[&str]) -> Vec<String> {
    let mut texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    texts.sort_unstable();
    texts
}

#[cfg(test)]
mod tests;
