//! The usual conventions: what Kubernetes' own kinds say in their status, and what others say by conditions.

use bailiwick_api::{Bundle, ResourceCatalogClaim};
use k8s_openapi::Resource as _;
use serde_json::Value;

use super::Readiness;
use Readiness::{Failed, NotYet, Ready};

/// Conditions that say that an object is as wanted; the first there is decides.
const GOOD: [&str; 5] = ["Ready", "Available", "Complete", "Succeeded", "Established"];

/// Kinds of ours that say by the condition Ready what is the case with them, and are in namespaces.
const OURS: [(&str, &str); 3] = [
    (Bundle::GROUP, Bundle::KIND),
    (Bundle::ALIAS_GROUP, Bundle::KIND),
    (ResourceCatalogClaim::GROUP, ResourceCatalogClaim::KIND),
];

/// Whether an object is ready, for a kind of which nothing is said.
pub(super) fn readiness(object: &Value) -> Readiness {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let group = text("/apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
    match (group, text("/kind")) {
        ("apps", "Deployment") => deployment(object),
        ("apps", "StatefulSet") => stateful_set(object),
        ("apps", "DaemonSet") => daemon_set(object),
        ("apps", "ReplicaSet") => replicas(object, "status/availableReplicas", "available"),
        ("batch", "Job") => job(object),
        ("", "Pod") => pod(object),
        ("", "PersistentVolumeClaim") if text("/status/phase") != "Bound" => NotYet("it is not bound".to_owned()),
        ("", "Service") if text("/spec/type") == "LoadBalancer" => {
            let ingress = object.pointer("/status/loadBalancer/ingress").and_then(Value::as_array);
            if ingress.is_some_and(|ingress| !ingress.is_empty()) {
                Ready
            } else {
                NotYet("it has no address".to_owned())
            }
        }
        _ => by_conditions(object),
    }
}

/// Whether a condition is true, of the object as it is now.
pub(super) fn condition(object: &Value, wanted: &str) -> Readiness {
    let Some(found) = find(object, wanted) else {
        return NotYet(format!("it has no condition {wanted}"));
    };
    let generation = object.pointer("/metadata/generation").and_then(Value::as_i64);
    let observed = found.get("observedGeneration").and_then(Value::as_i64);
    if let (Some(observed), Some(generation)) = (observed, generation)
        && observed < generation
    {
        return NotYet(format!("the condition {wanted} is about generation {observed} of {generation}"));
    }
    match found.get("status").and_then(Value::as_str) {
        Some("True") => Ready,
        _ => NotYet(format!("the condition {wanted} is not True{}", why(found))),
    }
}

fn by_conditions(object: &Value) -> Readiness {
    let is_true = |condition: &&Value| condition.get("status").and_then(Value::as_str) == Some("True");
    for bad in ["Stalled", "Failed"] {
        if let Some(found) = find(object, bad).filter(is_true) {
            return Failed(format!("the condition {bad} is True{}", why(found)));
        }
    }
    if let Some(found) = find(object, "Reconciling").filter(is_true) {
        return NotYet(format!("the condition Reconciling is True{}", why(found)));
    }
    match GOOD.iter().find(|good| find(object, good).is_some()) {
        Some(good) => condition(object, good),
        None if says_ready(object) => NotYet("its controller has not seen it".to_owned()),
        None => Ready,
    }
}

/// Whether an object is of a kind of ours whose controller always says by the condition Ready what is the case. Until it has, it
/// is not known.
fn says_ready(object: &Value) -> bool {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let group = text("apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
    OURS.contains(&(group, text("kind")))
}

fn find<'o>(object: &'o Value, wanted: &str) -> Option<&'o Value> {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    conditions?.iter().find(|condition| condition.get("type").and_then(Value::as_str) == Some(wanted))
}

/// The reason of a condition: one word, which says nothing of values.
fn why(condition: &Value) -> String {
    let reason = condition.get("reason").and_then(Value::as_str).unwrap_or_default();
    if reason.is_empty() { String::new() } else { format!(" ({reason})") }
}

fn number(object: &Value, pointer: &str) -> Option<i64> {
    object.pointer(pointer).and_then(Value::as_i64)
}

/// How many there are of how many.
fn count(object: &Value, pointer: &str, wanted: i64, what: &str) -> Readiness {
    match number(object, pointer).unwrap_or_default() {
        found if found >= wanted => Ready,
        found => NotYet(format!("{found} of {wanted} replicas are {what}")),
    }
}

fn replicas(object: &Value, pointer: &str, what: &str) -> Readiness {
    count(object, &format!("/{pointer}"), number(object, "/spec/replicas").unwrap_or(1), what)
}

/// The first that is not ready, or all are.
fn all(checks: impl IntoIterator<Item = Readiness>) -> Readiness {
    checks.into_iter().find(|check| *check != Ready).unwrap_or(Ready)
}

fn deployment(object: &Value) -> Readiness {
    let progressing = find(object, "Progressing");
    if let Some(found) = progressing
        && found.get("reason").and_then(Value::as_str) == Some("ProgressDeadlineExceeded")
    {
        return Failed("its progress deadline is exceeded".to_owned());
    }
    if number(object, "/status/observedGeneration").is_none() {
        return NotYet("its controller has not seen it".to_owned());
    }
    let old = number(object, "/status/replicas").unwrap_or_default()
        > number(object, "/status/updatedReplicas").unwrap_or_default();
    all([
        replicas(object, "status/updatedReplicas", "updated"),
        if old { NotYet("old replicas are still there".to_owned()) } else { Ready },
        replicas(object, "status/availableReplicas", "available"),
    ])
}

fn stateful_set(object: &Value) -> Readiness {
    if number(object, "/status/observedGeneration").is_none() {
        return NotYet("its controller has not seen it".to_owned());
    }
    let revision = |name: &str| object.pointer(&format!("/status/{name}")).and_then(Value::as_str).unwrap_or_default();
    let updated = revision("currentRevision") == revision("updateRevision");
    let on_delete = object.pointer("/spec/updateStrategy/type").and_then(Value::as_str) == Some("OnDelete");
    let partition = number(object, "/spec/updateStrategy/rollingUpdate/partition").unwrap_or_default();
    let rollout = match partition {
        _ if updated || on_delete => Ready,
        1.. => {
            // Those below the partition stay as they were.
            let wanted = number(object, "/spec/replicas").unwrap_or(1).saturating_sub(partition).max(0);
            count(object, "/status/updatedReplicas", wanted, "updated")
        }
        _ => NotYet("its update is under way".to_owned()),
    };
    all([replicas(object, "status/readyReplicas", "ready"), rollout])
}

fn daemon_set(object: &Value) -> Readiness {
    if number(object, "/status/observedGeneration").is_none() {
        return NotYet("its controller has not seen it".to_owned());
    }
    let wanted = number(object, "/status/desiredNumberScheduled").unwrap_or_default();
    all([
        count(object, "/status/updatedNumberScheduled", wanted, "updated"),
        count(object, "/status/numberAvailable", wanted, "available"),
    ])
}

/// A Job is ready when it is done: what depends on it wants what it has done.
fn job(object: &Value) -> Readiness {
    let is_true = |condition: &&Value| condition.get("status").and_then(Value::as_str) == Some("True");
    if let Some(found) = find(object, "Failed").filter(is_true) {
        return Failed(format!("the condition Failed is True{}", why(found)));
    }
    match find(object, "Complete").filter(is_true) {
        Some(_) => Ready,
        None => NotYet("it is not complete".to_owned()),
    }
}

fn pod(object: &Value) -> Readiness {
    match object.pointer("/status/phase").and_then(Value::as_str) {
        Some("Succeeded") => Ready,
        Some("Failed") => Failed("its phase is Failed".to_owned()),
        Some("Running") => condition(object, "Ready"),
        _ => NotYet("it is not running".to_owned()),
    }
}
