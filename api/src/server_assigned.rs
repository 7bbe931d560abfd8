//! What servers and controllers write into the spec of one object: another object cannot have it.
//!
//! A Service has its addresses alone, a PersistentVolumeClaim its volume, a Job the selector that finds its own pods, and a Pod its
//! node: where another one runs is for the scheduler to say.

use serde_json::{Map, Value, json};

/// What a server puts into a Job's labels and those of its pods, to select these.
const JOB_LABELS: [&str; 4] =
    ["controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"];
/// What a Service has for its address that is to have none. That is its author's choice.
const HEADLESS: &str = "None";

/// Takes out of a live object what it was assigned, so that another one can be made of the rest.
pub fn without_assigned(object: &mut Map<String, Value>) {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    match (text("apiVersion").as_str(), text("kind").as_str()) {
        ("v1", "Service") => edit(object, "spec", service),
        ("v1", "PersistentVolumeClaim") => edit(object, "spec", |spec| drop(spec.remove("volumeName"))),
        ("v1", "Pod") => edit(object, "spec", |spec| drop(spec.remove("nodeName"))),
        ("batch/v1", "Job") => job(object),
        _ => {}
    }
}

fn service(spec: &mut Map<String, Value>) {
    if spec.get("clusterIP").is_some_and(|address| address != HEADLESS) {
        spec.remove("clusterIP");
    }
    if spec.get("clusterIPs").is_some_and(|addresses| *addresses != json!([HEADLESS])) {
        spec.remove("clusterIPs");
    }
    spec.remove("healthCheckNodePort");
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(port) = port.as_object_mut() {
            port.remove("nodePort");
        }
    }
}

fn job(job: &mut Map<String, Value>) {
    let spec = job.get("spec");
    // Whoever selects the pods by themselves has chosen the labels, too.
    if spec.and_then(|spec| spec.get("manualSelector")) == Some(&Value::Bool(true)) {
        return;
    }
    let without_labels = |metadata: &mut Map<String, Value>| {
        edit(metadata, "labels", |labels| labels.retain(|label, _| !JOB_LABELS.contains(&label.as_str())));
    };
    // A Job without labels has those of its pods.
    edit(job, "metadata", without_labels);
    edit(job, "spec", |spec| {
        spec.remove("selector");
        edit(spec, "template", |template| edit(template, "metadata", without_labels));
    });
}

/// Edits an object within an object, if it is one.
fn edit(object: &mut Map<String, Value>, field: &str, with: impl FnOnce(&mut Map<String, Value>)) {
    if let Some(inner) = object.get_mut(field).and_then(Value::as_object_mut) {
        with(inner);
    }
}

#[cfg(test)]
mod tests;
