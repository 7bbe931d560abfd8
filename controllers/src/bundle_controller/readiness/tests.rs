use bailiwick_api::ResourceCatalogClaim;
use k8s_openapi::Resource as _;
use serde_json::json;

use super::super::type_rules::{Binding, Wanted};
use super::*;

fn by(object: Value) -> Readiness {
    readiness(&object, &TypeRules::default())
}

#[track_caller]
fn not_yet(object: Value, why: &str) {
    match by(object) {
        Readiness::NotYet(told) => assert!(told.contains(why), "{told}"),
        other => panic!("{other:?}"),
    }
}

/// SMITH-17, D-SMITH-8: a field equals a value, whatever its type.
#[test]
fn by_a_field() {
    let rules = |path: &str, value: &str| TypeRules {
        field: Some((path.parse().unwrap(), value.to_owned())),
        ..TypeRules::default()
    };
    let state = |state: Value| json!({"status": {"state": state}});
    for (found, wanted) in
        [(json!("Ready"), "Ready"), (json!(3), "3"), (json!(3), "3.0"), (json!(true), "true"), (json!(1.5), "1.5")]
    {
        assert_eq!(readiness(&state(found), &rules("status.state", wanted)), Readiness::Ready, "{wanted}");
    }
    for (found, wanted) in [
        (json!("Creating"), "Ready"),
        (json!("ready"), "Ready"),
        (json!(3), "4"),
        (json!(true), "True"),
        (json!(null), ""),
        (json!({}), "{}"),
    ] {
        assert!(matches!(readiness(&state(found), &rules("status.state", wanted)), Readiness::NotYet(_)), "{wanted}");
    }
    let Readiness::NotYet(told) = readiness(&json!({"data": {"x": "secret"}}), &rules("data.x", "y")) else { panic!() };
    assert!(!told.contains("secret"), "{told}");
    let deleted = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": {"state": "Ready"}});
    assert!(matches!(readiness(&deleted, &rules("status.state", "Ready")), Readiness::NotYet(_)));
}

/// M-SMITH-2: a condition is true, and about this generation.
#[test]
fn by_a_condition() {
    let rules = TypeRules { condition: Some("Synced".to_owned()), ..TypeRules::default() };
    let object = |status: &str, observed: i64| {
        json!({
            "metadata": {"generation": 2},
            "status": {"conditions": [{"type": "Synced", "status": status, "observedGeneration": observed}]},
        })
    };
    assert_eq!(readiness(&object("True", 2), &rules), Readiness::Ready);
    for object in [object("False", 2), object("True", 1), json!({})] {
        assert!(matches!(readiness(&object, &rules), Readiness::NotYet(_)));
    }
}

/// M-SMITH-2, M-SMITH-3: what a controller said of an older generation does not count, whichever way is asked for.
#[test]
fn of_the_newest_generation() {
    let object = |observed: Value| {
        json!({
            "metadata": {"generation": 2},
            "status": {
                "observedGeneration": observed, "state": "Ready", "conditions": [{"type": "Synced", "status": "True"}],
            },
        })
    };
    let field = Some(("status.state".parse().unwrap(), "Ready".to_owned()));
    let exists =
        Binding { api_version: "v1".to_owned(), kind: "Secret".to_owned(), output_name: None, wanted: Wanted::Always };
    for rules in [
        TypeRules { field, ..TypeRules::default() },
        TypeRules { condition: Some("Synced".to_owned()), ..TypeRules::default() },
        TypeRules { exists: Some(exists), ..TypeRules::default() },
        TypeRules::default(),
    ] {
        let Readiness::NotYet(told) = readiness(&object(json!(1)), &rules) else { panic!("{rules:?}") };
        assert_eq!(told, "its controller has seen generation 1 of 2");
        // Not every controller says which one it has seen.
        for current in [json!(2), json!(null)] {
            assert_eq!(readiness(&object(current), &rules), Readiness::Ready, "{rules:?}");
        }
    }
}

/// M-SMITH-3: the usual conventions.
#[test]
fn by_conventions() {
    assert_eq!(by(json!({"apiVersion": "v1", "kind": "ConfigMap"})), Readiness::Ready);
    let conditions =
        |conditions: Value| json!({"apiVersion": "a.dev/v1", "kind": "K", "status": {"conditions": conditions}});
    assert_eq!(by(conditions(json!([{"type": "Ready", "status": "True"}]))), Readiness::Ready);
    assert_eq!(
        by(conditions(json!([{"type": "Available", "status": "True"}, {"type": "Other", "status": "False"}]))),
        Readiness::Ready
    );
    not_yet(conditions(json!([{"type": "Ready", "status": "False", "reason": "Waiting"}])), "(Waiting)");
    not_yet(conditions(json!([{"type": "Ready", "status": "Unknown"}])), "Ready");
    not_yet(
        conditions(json!([{"type": "Ready", "status": "True"}, {"type": "Reconciling", "status": "True"}])),
        "Reconciling",
    );
    assert!(matches!(by(conditions(json!([{"type": "Stalled", "status": "True"}]))), Readiness::Failed(_)));
    not_yet(
        json!({"metadata": {"generation": 3}, "status": {"observedGeneration": 2, "conditions": [{"type": "Ready", "status": "True"}]}}),
        "2 of 3",
    );
}

/// M-SMITH-3: Kubernetes' own kinds.
#[test]
fn workloads() {
    let of = |group: &str, kind: &str, spec: Value, status: Value| json!({"apiVersion": format!("{group}/v1"), "kind": kind, "metadata": {"generation": 1}, "spec": spec, "status": status});
    let deployment = |status: Value| of("apps", "Deployment", json!({"replicas": 2}), status);
    not_yet(deployment(json!({})), "not seen");
    not_yet(
        deployment(json!({"observedGeneration": 1, "replicas": 2, "updatedReplicas": 1})),
        "1 of 2 replicas are updated",
    );
    not_yet(
        deployment(json!({"observedGeneration": 1, "replicas": 3, "updatedReplicas": 2, "availableReplicas": 2})),
        "old replicas",
    );
    not_yet(
        deployment(json!({"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 1})),
        "available",
    );
    assert_eq!(
        by(deployment(json!({"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}))),
        Readiness::Ready
    );
    let stuck = json!([{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]);
    assert!(matches!(by(deployment(json!({"observedGeneration": 1, "conditions": stuck}))), Readiness::Failed(_)));
    let job = |conditions: Value| of("batch", "Job", json!({}), json!({"conditions": conditions}));
    not_yet(job(json!([])), "not complete");
    assert_eq!(by(job(json!([{"type": "Complete", "status": "True"}]))), Readiness::Ready);
    assert!(matches!(
        by(job(json!([{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]))),
        Readiness::Failed(_)
    ));
    let set = |status: Value| of("apps", "StatefulSet", json!({}), status);
    not_yet(set(json!({"observedGeneration": 1})), "0 of 1");
    not_yet(
        set(json!({"observedGeneration": 1, "readyReplicas": 1, "currentRevision": "a", "updateRevision": "b"})),
        "under way",
    );
    assert_eq!(
        by(set(json!({"observedGeneration": 1, "readyReplicas": 1, "currentRevision": "b", "updateRevision": "b"}))),
        Readiness::Ready
    );
    let parted = |updated: i64| {
        let spec = json!({"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": 2}}});
        let status = json!({
            "observedGeneration": 1, "readyReplicas": 3, "updatedReplicas": updated, "currentRevision": "a", "updateRevision": "b",
        });
        of("apps", "StatefulSet", spec, status)
    };
    not_yet(parted(0), "0 of 1 replicas are updated");
    assert_eq!(by(parted(1)), Readiness::Ready, "two are to stay as they were");
    let daemons = of(
        "apps",
        "DaemonSet",
        json!({}),
        json!({"observedGeneration": 1, "desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberAvailable": 1}),
    );
    not_yet(daemons, "1 of 2 replicas are available");
    let core = |kind: &str, spec: Value, status: Value| json!({"apiVersion": "v1", "kind": kind, "spec": spec, "status": status});
    not_yet(core("PersistentVolumeClaim", json!({}), json!({"phase": "Pending"})), "bound");
    assert_eq!(by(core("PersistentVolumeClaim", json!({}), json!({"phase": "Bound"}))), Readiness::Ready);
    not_yet(core("Service", json!({"type": "LoadBalancer"}), json!({})), "address");
    assert_eq!(by(core("Service", json!({}), json!({}))), Readiness::Ready);
    assert_eq!(
        by(core("Pod", json!({}), json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}))),
        Readiness::Ready
    );
    assert!(matches!(by(core("Pod", json!({}), json!({"phase": "Failed"}))), Readiness::Failed(_)));
}

/// M-SMITH-3: what our own kinds say counts once they have said it.
#[test]
fn our_own_kinds() {
    for (api_version, kind) in [
        ("bundle.bailiwick.dev/v1alpha1", "Bundle"),
        ("smith.atlassian.com/v1", "Bundle"),
        (ResourceCatalogClaim::API_VERSION, "ResourceCatalogClaim"),
    ] {
        let of = |status: Value| json!({"apiVersion": api_version, "kind": kind, "metadata": {"generation": 2}, "status": status});
        not_yet(of(json!(null)), "has not seen it");
        not_yet(of(json!({"serviceAccountUID": "x"})), "has not seen it");
        let ready = |generation: i64| {
            of(json!({"conditions": [{"type": "Ready", "status": "True", "observedGeneration": generation}]}))
        };
        not_yet(ready(1), "generation 1 of 2");
        assert_eq!(by(ready(2)), Readiness::Ready);
    }
}
