//! The servers in the cluster: the namespace, the Secrets, the Deployment and what protects it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::manifest::Manifest;
use super::names::{APP, AUTHORITY_SECRET, NAME, SERVING_SECRET};
use super::plan::{Certificates, Plan, Server, Workload};

/// What the port of the servers is called.
pub(super) const PORT_NAME: &str = "https";

const PORT: u16 = 6443;
/// Whoever this is, it is not root.
const USER: u32 = 65532;
const DATA_VOLUME: &str = "/var/lib/bailiwick";
/// Below the volume, whose permissions are not the server's to choose.
const DATA_FOLDER: &str = "/var/lib/bailiwick/data";
const ETCD_FOLDER: &str = "/etc/bailiwick/etcd";
const SERVING_FOLDER: &str = "/etc/bailiwick/serving";
/// How long a server that is to stop goes on serving: until kube-apiserver has noticed.
const SHUTDOWN_DELAY_SECONDS: u32 = 10;
/// That, the longest request, and a little more.
const TERMINATION_SECONDS: u32 = SHUTDOWN_DELAY_SECONDS + 60 + 10;

/// The namespace, before everything that is in it.
pub(super) fn namespace(plan: &Plan) -> Vec<Manifest> {
    let labels = json!({"pod-security.kubernetes.io/enforce": "restricted"});
    let object = json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": plan.namespace, "labels": labels},
    });
    vec![Manifest::new("Whoever can read secrets or run pods in this namespace owns the installation.", object)]
}

/// The Secrets and, for servers in the cluster, what runs them.
pub(super) fn manifests(plan: &Plan) -> Vec<Manifest> {
    let mut manifests: Vec<_> = secret(plan).into_iter().collect();
    if let Server::Inside(workload) = &plan.server {
        manifests.extend([deployment(plan, workload), disruption_budget(plan)]);
    }
    manifests
}

fn secret(plan: &Plan) -> Option<Manifest> {
    let secret = |name: &str, kind: &str| {
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": plan.namespace},
            "type": kind,
        })
    };
    match &plan.certificates {
        Certificates::Own => {
            let why = "The servers fill it. It is here without data so that they need no right to make secrets, and so that applying \
                       this again leaves its data alone.";
            Some(Manifest::new(why, secret(AUTHORITY_SECRET, "Opaque")))
        }
        Certificates::Given { serving, .. } => serving.as_ref().map(|pair| {
            let mut secret = secret(SERVING_SECRET, "kubernetes.io/tls");
            let [certificate, key] = [&pair.certificate, &pair.key].map(|text| STANDARD.encode(text));
            secret["data"] = json!({"tls.crt": certificate, "tls.key": key});
            Manifest::new("The certificate that was given.", secret)
        }),
    }
}

fn deployment(plan: &Plan, workload: &Workload) -> Manifest {
    let (key, value) = APP;
    let labels = json!({key: value});
    let spec = json!({
        "replicas": workload.replicas,
        "selector": {"matchLabels": labels},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
        "template": {
            "metadata": {"labels": labels},
            "spec": {
                "serviceAccountName": NAME,
                "terminationGracePeriodSeconds": TERMINATION_SECONDS,
                "securityContext": {
                    "runAsNonRoot": true,
                    "runAsUser": USER,
                    "runAsGroup": USER,
                    "fsGroup": USER,
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
                "topologySpreadConstraints": [spread("kubernetes.io/hostname"), spread("topology.kubernetes.io/zone")],
                "containers": [container(plan, workload)],
                "volumes": volumes(plan, workload),
            },
        },
    });
    let object = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": NAME, "namespace": plan.namespace},
        "spec": spec,
    });
    Manifest::new("The servers. Each serves; one of them runs the controllers.", object)
}

fn container(plan: &Plan, workload: &Workload) -> Value {
    let probe = |path: &str, period: u32, failures: u32| {
        json!({
            "httpGet": {"path": path, "port": PORT_NAME, "scheme": "HTTPS"},
            "periodSeconds": period,
            "failureThreshold": failures,
            "timeoutSeconds": 5,
        })
    };
    json!({
        "name": NAME,
        "image": workload.image,
        "args": arguments(plan, workload),
        "ports": [{"name": PORT_NAME, "containerPort": PORT}],
        // A server that waits for etcd is not better for being started again.
        "startupProbe": probe("/livez?exclude=etcd", 2, 60),
        "livenessProbe": probe("/livez?exclude=etcd", 10, 6),
        "readinessProbe": probe("/readyz", 2, 2),
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}},
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": true,
        },
        "volumeMounts": mounts(plan, workload),
    })
}

fn arguments(plan: &Plan, workload: &Workload) -> Vec<String> {
    let mut arguments = vec![
        "serve".to_owned(),
        "--mode=aggregated".to_owned(),
        format!("--etcd-servers={}", workload.etcd_servers.join(",")),
    ];
    if workload.etcd_secret.is_some() {
        arguments.extend([
            format!("--etcd-cafile={ETCD_FOLDER}/ca.crt"),
            format!("--etcd-certfile={ETCD_FOLDER}/tls.crt"),
            format!("--etcd-keyfile={ETCD_FOLDER}/tls.key"),
        ]);
    }
    if plan.alias_groups {
        arguments.push("--alias-groups".to_owned());
    }
    match &plan.certificates {
        Certificates::Own => arguments.push(format!("--service={}/{NAME}", plan.namespace)),
        Certificates::Given { .. } => arguments.extend([
            format!("--tls-cert-file={SERVING_FOLDER}/tls.crt"),
            format!("--tls-private-key-file={SERVING_FOLDER}/tls.key"),
        ]),
    }
    arguments.extend([
        "--bind-address=0.0.0.0".to_owned(),
        format!("--secure-port={PORT}"),
        format!("--data-dir={DATA_FOLDER}"),
        format!("--shutdown-delay-duration={SHUTDOWN_DELAY_SECONDS}s"),
        "--logging-format=json".to_owned(),
    ]);
    arguments
}

fn volumes(plan: &Plan, workload: &Workload) -> Vec<Value> {
    let secret =
        |volume: &str, name: &str| json!({"name": volume, "secret": {"secretName": name, "defaultMode": 0o440}});
    let mut volumes = vec![json!({"name": "data", "emptyDir": {}})];
    volumes.extend(workload.etcd_secret.as_ref().map(|name| secret("etcd", name)));
    if !plan.makes_certificates() {
        volumes.push(secret("serving", SERVING_SECRET));
    }
    volumes
}

fn mounts(plan: &Plan, workload: &Workload) -> Vec<Value> {
    let mut mounts = vec![json!({"name": "data", "mountPath": DATA_VOLUME})];
    if workload.etcd_secret.is_some() {
        mounts.push(json!({"name": "etcd", "mountPath": ETCD_FOLDER, "readOnly": true}));
    }
    if !plan.makes_certificates() {
        mounts.push(json!({"name": "serving", "mountPath": SERVING_FOLDER, "readOnly": true}));
    }
    mounts
}

/// Apart where that can be had, together where not.
fn spread(topology: &str) -> Value {
    let (key, value) = APP;
    json!({
        "maxSkew": 1,
        "topologyKey": topology,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {key: value}},
    })
}

fn disruption_budget(plan: &Plan) -> Manifest {
    let (key, value) = APP;
    let object = json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": NAME, "namespace": plan.namespace},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {key: value}}},
    });
    Manifest::new("Nodes are emptied one server at a time.", object)
}
