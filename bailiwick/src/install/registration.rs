//! Where kube-apiserver finds the server: a Service, and an APIService for each group and version that there is.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::manifest::Manifest;
use super::names::{APP, NAME, api_service_name};
use super::plan::{Certificates, Plan, Server};
use super::workload::PORT_NAME;

/// The port of the Service, if it leads into the cluster.
const SERVICE_PORT: u16 = 443;

/// Where our groups stand among others when a client names a kind without its group: behind Kubernetes' own.
const GROUP_PRIORITY: u16 = 1000;
/// And where those stand by whose names others have known our kinds: behind ours.
const ALIAS_PRIORITY: u16 = 100;
const VERSION_PRIORITY: u16 = 15;

/// The Service and the APIServices.
pub(super) fn manifests(plan: &Plan) -> Vec<Manifest> {
    let (service, port) = service(plan);
    let mut manifests = vec![service];
    for version in plan.group_versions() {
        let mut spec = json!({
            "group": version.group,
            "version": version.version,
            "groupPriorityMinimum": if plan.is_alias(&version) { ALIAS_PRIORITY } else { GROUP_PRIORITY },
            "versionPriority": VERSION_PRIORITY,
            "service": {"namespace": plan.namespace, "name": NAME, "port": port},
        });
        if let Certificates::Given { authorities, .. } = &plan.certificates {
            spec["caBundle"] = STANDARD.encode(authorities).into();
        }
        let why = match plan.certificates {
            Certificates::Own => "The servers fill in caBundle themselves, and again when they renew what it holds.",
            Certificates::Given { .. } => "",
        };
        manifests.push(Manifest::new(
            why,
            json!({
                "apiVersion": "apiregistration.k8s.io/v1",
                "kind": "APIService",
                "metadata": {"name": api_service_name(&version)},
                "spec": spec,
            }),
        ));
    }
    manifests
}

/// The Service, and the port of it that leads to the server.
fn service(plan: &Plan) -> (Manifest, u16) {
    let (key, value) = APP;
    let (spec, port): (Value, _) = match &plan.server {
        Server::Inside(_) => {
            let port = json!({"name": PORT_NAME, "port": SERVICE_PORT, "targetPort": PORT_NAME});
            (json!({"selector": {key: value}, "ports": [port]}), SERVICE_PORT)
        }
        Server::Outside { host, port } => (json!({"type": "ExternalName", "externalName": host}), *port),
    };
    let service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": NAME, "namespace": plan.namespace},
        "spec": spec,
    });
    (Manifest::new("Where kube-apiserver finds the server.", service), port)
}
