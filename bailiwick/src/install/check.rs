//! Whether a cluster has what is needed, and what is installed: one line for each thing that is missing or worth knowing, with
//! what to do about it.

use std::collections::BTreeSet;

use bailiwick_api::OWNER_LABEL;
use serde_json::Value;

use crate::report;

use super::cluster::{Cluster, ClusterError, Place};
use super::manifest::Manifest;
use super::names::{AUTHENTICATION_NAMESPACE, MANAGED_BY, NAME};
use super::plan::Plan;

const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// How to make what is not there.
const APPLY: &str = "run: bailiwick install (with the same options) | kubectl apply -f -";

/// What to do about a namespace that may be others'.
const SHARED: &str = "if others have pods in it, give another --namespace, as theirs would be held to the rules for ours \
                      (pod-security.kubernetes.io/enforce: restricted); else run: bailiwick install (with the same options) | kubectl \
                      apply -f -";

/// Why a check did not end well.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CheckError {
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    #[error("{0} of the lines above say what is missing")]
    Missing(usize),
}

/// What a check found.
#[derive(Default)]
struct Findings {
    missing: usize,
}

/// Something that has a group that is to be served by Bailiwick.
#[derive(Debug)]
pub(super) struct Taken {
    /// What it is.
    what: String,
    /// What to do about it.
    remedy: &'static str,
}

/// Looks at everything, and fails if something is missing.
pub(super) async fn check(plan: &Plan, manifests: &[Manifest], cluster: &Cluster) -> Result<(), CheckError> {
    let mut findings = Findings::default();
    proxy_certificate(cluster, &mut findings).await?;
    policies_served(cluster, &mut findings).await?;
    for Taken { what, remedy } in taken_groups(plan, cluster).await? {
        findings.missing(what, remedy);
    }
    org_bindings(cluster, &mut findings).await?;
    owners(cluster, &mut findings).await?;
    for manifest in manifests {
        installed(manifest.object(), cluster, &mut findings).await?;
    }
    match findings.missing {
        0 => {
            report::line("nothing is missing");
            Ok(())
        }
        missing => Err(CheckError::Missing(missing)),
    }
}

// === impl Taken ===

impl std::fmt::Display for Taken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}; {}", self.what, self.remedy)
    }
}

// === impl Findings ===

impl Findings {
    fn missing(&mut self, what: impl std::fmt::Display, remedy: impl std::fmt::Display) {
        self.missing += 1;
        report::line(format!("missing: {what}; {remedy}"));
    }

    fn note(&self, what: impl std::fmt::Display) {
        report::line(format!("note: {what}"));
    }
}

/// Without it kube-apiserver hands on requests, but cannot say whose they are.
async fn proxy_certificate(cluster: &Cluster, findings: &mut Findings) -> Result<(), ClusterError> {
    let place = place("v1", "ConfigMap", Some(AUTHENTICATION_NAMESPACE), "extension-apiserver-authentication");
    let found = cluster.get(&place).await?.unwrap_or_default();
    if found["data"]["requestheader-client-ca-file"].as_str().is_none_or(str::is_empty) {
        findings.missing(
            "kube-apiserver has no certificate to show when it hands on requests",
            "start it with --requestheader-client-ca-file, --proxy-client-cert-file and --proxy-client-key-file",
        );
    }
    Ok(())
}

async fn policies_served(cluster: &Cluster, findings: &mut Findings) -> Result<(), ClusterError> {
    if !cluster.serves("admissionregistration.k8s.io/v1", "validatingadmissionpolicies").await? {
        findings.missing(
            "kube-apiserver does not serve ValidatingAdmissionPolicy, which guards owner labels and org: groups",
            "upgrade it to Kubernetes 1.30 or newer",
        );
    }
    Ok(())
}

/// Who else has a group that is to be served: one that two servers claim is broken for both, and makes discovery stale for the
/// whole cluster.
pub(super) async fn taken_groups(plan: &Plan, cluster: &Cluster) -> Result<Vec<Taken>, ClusterError> {
    let groups: BTreeSet<_> = plan.group_versions().into_iter().map(|version| version.group.to_string()).collect();
    let is_ours = |object: &Value| object["spec"]["group"].as_str().is_some_and(|group| groups.contains(group));
    let definitions = cluster.list("apiextensions.k8s.io/v1", "CustomResourceDefinition", "").await?;
    let definitions = definitions.iter().filter(|definition| is_ours(definition)).map(|definition| Taken {
        what: format!("{} has a group that is to be served by Bailiwick", Place::of(definition)),
        remedy: "remove it, with its objects, or do not install",
    });
    let mut taken: Vec<_> = definitions.collect();
    for service in cluster.list("apiregistration.k8s.io/v1", "APIService", "").await?.iter().filter(|it| is_ours(it)) {
        let to = &service["spec"]["service"];
        // kube-apiserver makes those without a service for the groups of CustomResourceDefinitions.
        if to.is_object() && (to["name"] != NAME || to["namespace"] != plan.namespace.as_str()) {
            taken.push(Taken {
                what: format!("{} leads to another server", Place::of(service)),
                remedy: "remove it, or give --namespace if Bailiwick is installed elsewhere",
            });
        }
    }
    Ok(taken)
}

/// Bindings that stood before the guard did.
async fn org_bindings(cluster: &Cluster, findings: &mut Findings) -> Result<(), ClusterError> {
    for kind in ["RoleBinding", "ClusterRoleBinding"] {
        for binding in cluster.list(RBAC, kind, "").await? {
            let names = items(&binding["subjects"]).filter(|subject| subject["kind"] == "Group");
            let names = names.filter_map(|subject| subject["name"].as_str());
            for group in names.filter(|name| name.starts_with("org:")) {
                findings.missing(
                    format_args!(
                        "{} gives a role to the group \"{group}\", which anyone with such a certificate has",
                        Place::of(&binding)
                    ),
                    "remove the binding, and use an OrgRoleBinding",
                );
            }
        }
    }
    Ok(())
}

/// Who may say whose a namespace is, and which ones were said to be someone's before anybody was asked.
async fn owners(cluster: &Cluster, findings: &mut Findings) -> Result<(), ClusterError> {
    let roles = cluster.list(RBAC, "ClusterRole", "").await?;
    let allow = roles.iter().filter(|role| items(&role["rules"]).any(allows_own));
    let allow: BTreeSet<_> = allow.filter_map(|role| role["metadata"]["name"].as_str()).collect();
    for binding in cluster.list(RBAC, "ClusterRoleBinding", "").await? {
        let Some(role) = binding["roleRef"]["name"].as_str().filter(|role| allow.contains(role)) else { continue };
        for subject in items(&binding["subjects"]) {
            let text = |field: &str| subject[field].as_str().unwrap_or_default().to_owned();
            let namespace =
                subject["namespace"].as_str().map(|namespace| format!(" in \"{namespace}\"")).unwrap_or_default();
            findings.note(format_args!(
                "{} \"{}\"{namespace} may set owner labels (\"own\" on organizations), by ClusterRole \"{role}\"",
                text("kind"),
                text("name"),
            ));
        }
    }
    for namespace in cluster.list("v1", "Namespace", OWNER_LABEL).await? {
        let owner = namespace["metadata"]["labels"][OWNER_LABEL].as_str().unwrap_or_default();
        findings.note(format_args!("{} is owned by \"{owner}\"", Place::of(&namespace)));
    }
    Ok(())
}

fn allows_own(rule: &Value) -> bool {
    let has = |field: &str, value: &str| items(&rule[field]).any(|item| item == value || item == "*");
    has("verbs", "own") && has("apiGroups", "org.bailiwick.dev") && has("resources", "organizations")
}

/// Whether an object is there, says what it should, and does what it should.
async fn installed(expected: &Value, cluster: &Cluster, findings: &mut Findings) -> Result<(), ClusterError> {
    let place = Place::of(expected);
    let Some(found) = cluster.get(&place).await? else {
        findings.missing(format_args!("{place} does not exist"), APPLY);
        return Ok(());
    };
    if place.kind == "Namespace" && !is_installed(&found) {
        findings.missing(format_args!("{place} is there, and was not made by an installation"), SHARED);
    } else if let Some(field) = difference(expected, &found, String::new()) {
        findings.missing(format_args!("{place} is not as it should be: {field} differs"), APPLY);
    }
    match place.kind.as_str() {
        "APIService" => available(&place, &found, findings),
        "Deployment" => running(&place, expected, &found, findings),
        _ => {}
    }
    Ok(())
}

fn is_installed(found: &Value) -> bool {
    let (key, value) = MANAGED_BY;
    found["metadata"]["labels"][key] == value
}

fn available(place: &Place, found: &Value, findings: &mut Findings) {
    let condition = items(&found["status"]["conditions"]).find(|condition| condition["type"] == "Available");
    if condition.is_some_and(|condition| condition["status"] == "True") {
        return;
    }
    let message = condition.and_then(|condition| condition["message"].as_str()).unwrap_or("nothing is known yet");
    findings.missing(
        format_args!("{place} is not available: {message}"),
        "see that the server runs and, if its certificate is not believed, what its log says about the APIService",
    );
}

fn running(place: &Place, expected: &Value, found: &Value, findings: &mut Findings) {
    let (wanted, available) = (&expected["spec"]["replicas"], &found["status"]["availableReplicas"]);
    if wanted.as_u64() > Some(available.as_u64().unwrap_or_default()) {
        findings.missing(
            format_args!("{place} has {} of {wanted} servers", available.as_u64().unwrap_or_default()),
            "see why: kubectl describe pods -l app.kubernetes.io/name=bailiwick -A",
        );
    }
}

/// The first field that was asked for and is not so. What else is there was filled in by the cluster.
fn difference(expected: &Value, found: &Value, path: String) -> Option<String> {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => expected.iter().find_map(|(key, value)| {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            // An empty object says the same as none.
            if value.as_object().is_some_and(serde_json::Map::is_empty) && !found.contains_key(key) {
                return None;
            }
            difference(value, found.get(key).unwrap_or(&Value::Null), path)
        }),
        (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => {
            let mut pairs = expected.iter().zip(found).enumerate();
            pairs.find_map(|(index, (expected, found))| difference(expected, found, format!("{path}[{index}]")))
        }
        _ => (expected != found).then_some(path),
    }
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn place(api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> Place {
    Place {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        namespace: namespace.map(str::to_owned),
        name: name.to_owned(),
    }
}
