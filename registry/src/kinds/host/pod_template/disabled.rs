//! Fields that Kubernetes knows and has only if it is told to: they are taken out of what is to be stored.

use serde_json::{Map, Value};

use super::defaults::{items, within};

type Fields = Map<String, Value>;

const CONTAINER_LISTS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];
const SOURCES: [&str; 2] = ["clusterTrustBundle", "podCertificate"];

/// Takes out what a pod cannot have.
pub(super) fn remove(spec: &mut Fields) {
    spec.remove("schedulingGroup");
    for volume in items(spec, "volumes") {
        within(volume, "projected", |projected| {
            for source in items(projected, "sources") {
                SOURCES.iter().for_each(|field| drop(source.remove(*field)));
            }
        });
    }
    for list in CONTAINER_LISTS {
        for container in items(spec, list) {
            let Some(Value::Object(lifecycle)) = container.get_mut("lifecycle") else { continue };
            if lifecycle.remove("stopSignal").is_some() && lifecycle.is_empty() {
                container.remove("lifecycle");
            }
        }
    }
}
