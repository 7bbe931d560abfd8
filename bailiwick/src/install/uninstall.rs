//! Removing an installation: first what runs, so that nothing is made again; then what was made for users' objects; then
//! the rest, the namespace last.
//!
//! What was stored in etcd stays. So does the namespace if someone keeps something of their own in it, such as that etcd.

use std::time::Duration;

use bailiwick_api::DERIVED_LABEL;
use serde_json::Value;

use crate::report;

use super::cluster::{Cluster, ClusterError, Place};
use super::names::{ACT_AS, MANAGED_BY};

const RBAC: &str = "rbac.authorization.k8s.io/v1";
const ADMISSION: &str = "admissionregistration.k8s.io/v1";

/// The kinds of what is installed, in the order in which it goes. What asks the servers goes before them: from then on nobody
/// waits for a server that is not there. The guards go after what they guard against.
pub(super) const KINDS: [(&str, &str); 13] = [
    (ADMISSION, "ValidatingWebhookConfiguration"),
    ("apiregistration.k8s.io/v1", "APIService"),
    ("policy/v1", "PodDisruptionBudget"),
    ("v1", "Service"),
    ("v1", "Secret"),
    (RBAC, "ClusterRoleBinding"),
    (RBAC, "RoleBinding"),
    (RBAC, "ClusterRole"),
    (RBAC, "Role"),
    (ADMISSION, "ValidatingAdmissionPolicyBinding"),
    (ADMISSION, "ValidatingAdmissionPolicy"),
    ("v1", "ServiceAccount"),
    ("v1", "Namespace"),
];

/// What, if it is not ours, keeps the namespace: it holds data, or works with some.
const KEPT: [(&str, &str); 5] = [
    ("v1", "PersistentVolumeClaim"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "DaemonSet"),
    ("batch/v1", "CronJob"),
];

/// How long a namespace may take to be emptied, and how often to look.
const NAMESPACE_LIMIT: Duration = Duration::from_secs(60);
const NAMESPACE_POLL: Duration = Duration::from_millis(500);

/// Whether anything happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// It is only said what would.
    Tell,
    Remove,
}

/// Removes everything, or says what would be.
pub(super) async fn uninstall(cluster: &Cluster, mode: Mode) -> Result<(), ClusterError> {
    let mut count = 0;
    for place in deployments(cluster).await? {
        remove(cluster, mode, &place, "it runs the servers").await?;
        count += 1;
    }
    for place in derived(cluster).await? {
        remove(cluster, mode, &place, "it was made for an object of Bailiwick's").await?;
        count += 1;
    }
    for place in opted_in(cluster).await? {
        remove(cluster, mode, &place, "it lets Bailiwick act as service accounts there").await?;
        count += 1;
    }
    for (api_version, kind) in KINDS {
        for place in installed(cluster, api_version, kind).await? {
            if kind == "Namespace" && is_used(cluster, &place.name).await? {
                continue;
            }
            remove(cluster, mode, &place, "it was installed").await?;
            count += 1;
        }
    }
    if mode == Mode::Remove {
        wait_for_namespaces(cluster).await?;
    }
    report::line(match (count, mode) {
        (0, _) => "nothing is installed",
        (_, Mode::Tell) => "nothing was removed: say --yes to do it; stop servers outside of the cluster before",
        (_, Mode::Remove) => "removed; what is stored in etcd is still there",
    });
    Ok(())
}

async fn remove(cluster: &Cluster, mode: Mode, place: &Place, why: &str) -> Result<(), ClusterError> {
    match mode {
        Mode::Tell => report::line(format!("would remove {place}: {why}")),
        Mode::Remove => {
            cluster.delete(place).await?;
            report::line(format!("removed {place}: {why}"));
        }
    }
    Ok(())
}

async fn deployments(cluster: &Cluster) -> Result<Vec<Place>, ClusterError> {
    installed(cluster, "apps/v1", "Deployment").await
}

/// Roles that were bound, and quotas that were made, because an object of ours says so.
async fn derived(cluster: &Cluster) -> Result<Vec<Place>, ClusterError> {
    let mut places = Vec::new();
    for (api_version, kind) in [(RBAC, "RoleBinding"), ("v1", "ResourceQuota")] {
        places.extend(cluster.list(api_version, kind, DERIVED_LABEL).await?.iter().map(Place::of));
    }
    Ok(places)
}

/// Without the role they would mean nothing, until someone makes it again.
async fn opted_in(cluster: &Cluster) -> Result<Vec<Place>, ClusterError> {
    let bindings = cluster.list(RBAC, "RoleBinding", "").await?;
    let opts_in =
        |binding: &&Value| binding["roleRef"]["kind"] == "ClusterRole" && binding["roleRef"]["name"] == ACT_AS;
    Ok(bindings.iter().filter(opts_in).map(Place::of).collect())
}

async fn installed(cluster: &Cluster, api_version: &str, kind: &str) -> Result<Vec<Place>, ClusterError> {
    Ok(cluster.list(api_version, kind, &managed()).await?.iter().map(Place::of).collect())
}

/// Whether a namespace holds what its removal would destroy. Says so.
async fn is_used(cluster: &Cluster, namespace: &str) -> Result<bool, ClusterError> {
    let (key, value) = MANAGED_BY;
    for (api_version, kind) in KEPT {
        let others = cluster.list(api_version, kind, &format!("{key}!={value}")).await?;
        if let Some(other) = others.iter().map(Place::of).find(|place| place.namespace.as_deref() == Some(namespace)) {
            report::line(format!(
                "kept Namespace \"{namespace}\": {other} was not installed by Bailiwick; remove both yourself if you do not need it"
            ));
            return Ok(true);
        }
    }
    Ok(false)
}

/// Until the namespaces that were removed are gone, or for long enough.
async fn wait_for_namespaces(cluster: &Cluster) -> Result<(), ClusterError> {
    let gone = async {
        loop {
            let namespaces = cluster.list("v1", "Namespace", &managed()).await?;
            if namespaces.iter().all(|namespace| namespace["metadata"]["deletionTimestamp"].is_null()) {
                return Ok(());
            }
            tokio::time::sleep(NAMESPACE_POLL).await;
        }
    };
    tokio::time::timeout(NAMESPACE_LIMIT, gone).await.unwrap_or_else(|_| {
        report::line("the namespace is still being emptied; kubectl get namespaces shows when it is gone");
        Ok(())
    })
}

fn managed() -> String {
    let (key, value) = MANAGED_BY;
    format!("{key}={value}")
}
