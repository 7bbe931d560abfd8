use serde_json::{Map, Value, json};

use super::without_assigned;

fn stripped(object: Value) -> Value {
    let mut fields: Map<String, Value> = serde_json::from_value(object).unwrap();
    without_assigned(&mut fields);
    Value::Object(fields)
}

/// CAT-27: the address and the ports of a Service are its own.
#[test]
fn a_service_gets_its_own_addresses() {
    let service = |spec: Value| json!({ "apiVersion": "v1", "kind": "Service", "spec": spec });
    let live = service(json!({
        "type": "LoadBalancer", "clusterIP": "10.0.0.7", "clusterIPs": ["10.0.0.7"], "healthCheckNodePort": 31_000,
        "selector": { "app": "web" }, "ports": [{ "port": 80, "targetPort": 8_080, "nodePort": 30_080 }],
    }));
    let wanted = service(json!({
        "type": "LoadBalancer", "selector": { "app": "web" }, "ports": [{ "port": 80, "targetPort": 8_080 }],
    }));
    assert_eq!(stripped(live), wanted);
    let headless = service(json!({ "clusterIP": "None", "clusterIPs": ["None"], "ports": [{ "port": 80 }] }));
    assert_eq!(stripped(headless.clone()), headless);
    let odd = service(json!({ "ports": ["none", 1] }));
    assert_eq!(stripped(odd.clone()), odd);
}

/// CAT-27: a volume is bound to one claim.
#[test]
fn a_volume_is_not_shared() {
    let claim = |spec: Value| json!({ "apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": spec });
    let live = claim(json!({ "volumeName": "pv-1", "storageClassName": "fast" }));
    assert_eq!(stripped(live), claim(json!({ "storageClassName": "fast" })));
    let other = json!({ "apiVersion": "x/v1", "kind": "PersistentVolumeClaim", "spec": { "volumeName": "pv-1" } });
    assert_eq!(stripped(other.clone()), other);
}

/// CAT-27: where a Pod runs is not said by who copies it.
#[test]
fn a_pod_is_scheduled_by_itself() {
    let pod = |spec: Value| json!({ "apiVersion": "v1", "kind": "Pod", "spec": spec });
    let wanted = json!({ "containers": [{ "name": "web" }], "nodeSelector": { "disk": "ssd" } });
    let mut live = wanted.clone();
    live["nodeName"] = json!("node-1");
    assert_eq!(stripped(pod(live.clone())), pod(wanted));
    let other = json!({ "apiVersion": "x/v1", "kind": "Pod", "spec": live });
    assert_eq!(stripped(other.clone()), other);
}

/// CAT-27: a Job selects its own pods, unless someone else has said which.
#[test]
fn a_job_selects_its_own_pods() {
    let labels = json!({
        "app": "migration", "controller-uid": "u", "job-name": "j", "batch.kubernetes.io/controller-uid": "u",
        "batch.kubernetes.io/job-name": "j",
    });
    let job = |labels: &Value, more: Value| {
        let mut spec = json!({ "template": { "metadata": { "labels": labels }, "spec": {} } });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": { "labels": labels }, "spec": spec })
    };
    let selector = json!({ "matchLabels": { "batch.kubernetes.io/controller-uid": "u" } });
    let live = job(&labels, json!({ "selector": selector, "completions": 1 }));
    assert_eq!(stripped(live), job(&json!({ "app": "migration" }), json!({ "completions": 1 })));
    let chosen = job(&labels, json!({ "selector": selector, "manualSelector": true }));
    assert_eq!(stripped(chosen.clone()), chosen);
}
