//! Removing an installation: first what has the cluster ask the servers, and their rights, so that nothing is made again, by
//! whichever servers there are; then what was made for users' objects; then the rest, the namespace last.
//!
//! Nothing is removed while servers hold something that would then be held for ever, unless that is to be let go.
//!
//! What was stored in etcd stays. So do the quotas of projects, which limit them without anybody's help, and the namespace if
//! someone keeps something of their own in it, such as that etcd, or what was let go.

use std::time::Duration;

use bailiwick_api::DERIVED_LABEL;
use serde_json::Value;
use tokio::time::Instant;

use crate::report;

use super::cluster::{Cluster, ClusterError, Place};
use super::held::Holdings;
use super::names::{ACT_AS, APP, MANAGED_BY};

const RBAC: &str = "rbac.authorization.k8s.io/v1";
const ADMISSION: &str = "admissionregistration.k8s.io/v1";

/// The kinds of what goes first, in this order. What asks the servers goes before them: from then on nobody waits for a server
/// that is not there. A server without rights makes nothing any more, wherever it runs.
pub(super) const FIRST: [(&str, &str); 4] = [
    (ADMISSION, "ValidatingWebhookConfiguration"),
    ("apiregistration.k8s.io/v1", "APIService"),
    (RBAC, "ClusterRoleBinding"),
    ("apps/v1", "Deployment"),
];

/// The kinds of the rest, in this order. The guards go after what they guard against.
pub(super) const REST: [(&str, &str); 9] = [
    ("policy/v1", "PodDisruptionBudget"),
    ("v1", "Service"),
    ("v1", "Secret"),
    (RBAC, "RoleBinding"),
    (RBAC, "ClusterRole"),
    (RBAC, "Role"),
    (ADMISSION, "ValidatingAdmissionPolicyBinding"),
    (ADMISSION, "ValidatingAdmissionPolicy"),
    ("v1", "ServiceAccount"),
];

/// What, if it is not ours, keeps the namespace: it holds data, or works with some.
const KEPT: [(&str, &str); 12] = [
    ("v1", "PersistentVolumeClaim"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "DaemonSet"),
    ("batch/v1", "CronJob"),
    ("batch/v1", "Job"),
    ("apps/v1", "ReplicaSet"),
    ("v1", "Pod"),
    ("v1", "Service"),
    ("v1", "Secret"),
    ("v1", "ConfigMap"),
    ("v1", "ServiceAccount"),
];

/// How long servers in the cluster may take to end: longer than they are given for it.
const SERVERS_LIMIT: Duration = Duration::from_secs(100);
/// How often it is looked whether what was derived stays gone, and how long before each look: in that time every kube-apiserver
/// has noticed that the servers have no rights.
const LOOKS: usize = 5;
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// How long a namespace may take to be emptied.
const NAMESPACE_LIMIT: Duration = Duration::from_secs(60);
/// How often to look whether something is gone.
const POLL: Duration = Duration::from_millis(500);

/// Whether anything happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// It is only said what would.
    Tell,
    Remove,
}

/// What becomes of claims, and of what else only the servers let go of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claims {
    /// As long as there are any, nothing is removed.
    Respected,
    /// They are let go, and stay as they are, when no server can hold them any more.
    LetGo,
}

/// Why not everything was removed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UninstallError {
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    #[error(
        "{0} was removed and is there: stop every server of Bailiwick, also outside of the cluster, see that nothing else makes or holds it, and run this again"
    )]
    StaysThere(String),
    #[error(
        "nothing was removed: what is held would be so for ever. Delete the claims first, or say --release, which leaves claims, resources and classes as they are and lets go of them"
    )]
    Held,
    #[error(
        "{0} was let go and is held again: stop every server of Bailiwick, also outside of the cluster, and run this again"
    )]
    StaysHeld(String),
    #[error(
        "the servers were removed, and have come to hold something meanwhile that nobody lets go of any more: say --release, which leaves it as it is and lets go of it, or install again, delete the claims, and run this again"
    )]
    HeldMeanwhile,
    #[error(
        "what is held of kinds that cannot be listed ({0}) was not let go, and can never be deleted so: the lines above say why they cannot. Have them served again, and run this again with --release"
    )]
    Unlisted(usize),
}

/// Removes everything, or says what would be.
pub(super) async fn uninstall(cluster: &Cluster, mode: Mode, claims: Claims) -> Result<(), UninstallError> {
    let mut holdings = Holdings::of(cluster).await?;
    let is_kept_up = claims == Claims::Respected && !holdings.are_none();
    if is_kept_up {
        holdings.tell();
        if mode == Mode::Remove {
            return Err(UninstallError::Held);
        }
    }
    let mut count = remove_installed(cluster, mode, &FIRST).await?;
    count += remove_derived(cluster, mode).await?;
    for place in opted_in(cluster).await? {
        remove(cluster, mode, &place, "it lets Bailiwick act as service accounts there").await?;
        count += 1;
    }
    count += remove_installed(cluster, mode, &REST).await?;
    if mode == Mode::Remove && count > 0 {
        wait_for_servers(cluster).await?;
        see_that_derived_stay_gone(cluster).await?;
        // Until a moment ago servers could still make something theirs.
        holdings = Holdings::of(cluster).await?;
        if claims == Claims::Respected && !holdings.are_none() {
            holdings.tell();
            return Err(UninstallError::HeldMeanwhile);
        }
    }
    tell_of_quotas(cluster).await?;
    if claims == Claims::LetGo {
        count += holdings.objects.len();
        holdings = let_go(cluster, mode, holdings).await?;
    }
    for place in installed(cluster, "v1", "Namespace").await? {
        if !is_used(cluster, &place.name, &holdings).await? {
            remove(cluster, mode, &place, "it was installed").await?;
            count += 1;
        }
    }
    if mode == Mode::Remove {
        wait_for_namespaces(cluster).await?;
        if !holdings.unknown.is_empty() {
            return Err(UninstallError::Unlisted(holdings.unknown.len()));
        }
    }
    report::line(match (count, mode) {
        (_, Mode::Tell) if is_kept_up => {
            "nothing was removed, and nothing will be before what is held is let go: delete the claims first, or say --release"
        }
        (0, _) => "nothing is installed",
        (_, Mode::Tell) => "nothing was removed: say --yes to do it; stop servers outside of the cluster before",
        (_, Mode::Remove) => "removed; what is stored in etcd is still there",
    });
    Ok(())
}

/// Removes what was installed of these kinds, in this order, and counts it.
async fn remove_installed(cluster: &Cluster, mode: Mode, kinds: &[(&str, &str)]) -> Result<usize, ClusterError> {
    let mut count = 0;
    for (api_version, kind) in kinds {
        let why = if *kind == "Deployment" { "it runs the servers" } else { "it was installed" };
        for place in installed(cluster, api_version, kind).await? {
            remove(cluster, mode, &place, why).await?;
            count += 1;
        }
    }
    Ok(count)
}

/// Removes what was made for objects of ours, and counts it.
async fn remove_derived(cluster: &Cluster, mode: Mode) -> Result<usize, ClusterError> {
    let places = derived(cluster).await?;
    for place in &places {
        remove(cluster, mode, place, "it was made for an object of Bailiwick's").await?;
    }
    Ok(places.len())
}

/// Looks again, now that nobody should make any: whatever a server made in its last moment would give a role for ever.
async fn see_that_derived_stay_gone(cluster: &Cluster) -> Result<(), UninstallError> {
    for _ in 0..LOOKS {
        tokio::time::sleep(LOOK_AGAIN).await;
        if remove_derived(cluster, Mode::Remove).await? == 0 {
            return Ok(());
        }
    }
    match derived(cluster).await?.into_iter().next() {
        None => Ok(()),
        Some(place) => Err(UninstallError::StaysThere(place.to_string())),
    }
}

/// Lets go of what the servers held, and gives what there is then. A server that had its rights a moment ago may hold it again, so it is
/// looked once more.
async fn let_go(cluster: &Cluster, mode: Mode, mut holdings: Holdings) -> Result<Holdings, UninstallError> {
    for _ in 0..LOOKS {
        for held in &holdings.objects {
            match mode {
                Mode::Tell => report::line(format!("would let go of {}, which stays as it is", held.place)),
                Mode::Remove if held.let_go(cluster).await? => report::line(format!("let go of {}", held.place)),
                Mode::Remove => {}
            }
        }
        if mode == Mode::Tell || holdings.objects.is_empty() {
            break;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
        holdings = Holdings::of(cluster).await?;
    }
    holdings.tell_of_unknown();
    if mode == Mode::Remove
        && let Some(held) = holdings.objects.first()
    {
        return Err(UninstallError::StaysHeld(held.place.to_string()));
    }
    Ok(holdings)
}

/// A project does not become unlimited because we go.
async fn tell_of_quotas(cluster: &Cluster) -> Result<(), ClusterError> {
    let quotas = cluster.list("v1", "ResourceQuota", DERIVED_LABEL).await?.len();
    if quotas > 0 {
        report::line(format!(
            "kept the quotas that were made for projects ({quotas}): they go on limiting them; kubectl get resourcequotas -A -l {DERIVED_LABEL} \
             shows them"
        ));
    }
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

/// Roles that were bound because an object of ours says so.
async fn derived(cluster: &Cluster) -> Result<Vec<Place>, ClusterError> {
    Ok(cluster.list(RBAC, "RoleBinding", DERIVED_LABEL).await?.iter().map(Place::of).collect())
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

/// Whether a namespace holds what its removal would destroy. Says so. What was let go is among that, like every object of a kind that
/// a CustomResourceDefinition defines: nobody knows by its look whether it was let go a moment ago, or by a removal before.
async fn is_used(cluster: &Cluster, namespace: &str, holdings: &Holdings) -> Result<bool, ClusterError> {
    let other = other_in(cluster, namespace).await?;
    let why = match (other.as_ref().or_else(|| holdings.resident(namespace)), holdings.unknown.first()) {
        (Some(other), _) => {
            format!("{other} was not installed by Bailiwick; remove both yourself if you do not need it")
        }
        (None, Some(unknown)) => format!("it is not known what is in it, of the kind {unknown}"),
        (None, None) => return Ok(false),
    };
    report::line(format!("kept Namespace \"{namespace}\": {why}"));
    Ok(true)
}

/// Something of Kubernetes' own kinds in a namespace that keeps it, if there is any.
async fn other_in(cluster: &Cluster, namespace: &str) -> Result<Option<Place>, ClusterError> {
    let (key, value) = MANAGED_BY;
    for (api_version, kind) in KEPT {
        let others = cluster.list_in(namespace, api_version, kind, &format!("{key}!={value}")).await?;
        if let Some(other) = others.iter().find(|object| !comes_by_itself(object)) {
            return Ok(Some(Place::of(other)));
        }
    }
    Ok(None)
}

/// Whether an object is there in every namespace, or because of our Deployment, and so is nobody's loss.
fn comes_by_itself(object: &Value) -> bool {
    let (key, value) = APP;
    let metadata = &object["metadata"];
    match object["kind"].as_str().unwrap_or_default() {
        "ConfigMap" => metadata["name"] == "kube-root-ca.crt",
        "ServiceAccount" => metadata["name"] == "default",
        // Without their account, which counts by itself, they are worth nothing.
        "Secret" => object["type"] == "kubernetes.io/service-account-token",
        "Pod" | "ReplicaSet" => metadata["labels"][key] == value && metadata["ownerReferences"].is_array(),
        _ => false,
    }
}

/// Until no server runs in the cluster, or for long enough.
async fn wait_for_servers(cluster: &Cluster) -> Result<(), ClusterError> {
    let (key, value) = APP;
    let namespaces = installed(cluster, "v1", "Namespace").await?;
    let running = async || {
        for namespace in &namespaces {
            let pods = cluster.list_in(&namespace.name, "v1", "Pod", &format!("{key}={value}")).await?;
            if let Some(pod) = pods.first() {
                return Ok(Some(Place::of(pod)));
            }
        }
        Ok::<_, ClusterError>(None)
    };
    let deadline = Instant::now() + SERVERS_LIMIT;
    while let Some(pod) = running().await? {
        if Instant::now() > deadline {
            report::line(format!("{pod} still runs; it has no rights any more"));
            break;
        }
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}

/// Until the namespaces that were removed are gone, or for long enough.
async fn wait_for_namespaces(cluster: &Cluster) -> Result<(), ClusterError> {
    let gone = async {
        loop {
            let namespaces = cluster.list("v1", "Namespace", &managed()).await?;
            if namespaces.iter().all(|namespace| namespace["metadata"]["deletionTimestamp"].is_null()) {
                return Ok(());
            }
            tokio::time::sleep(POLL).await;
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
