//! How kube-apiserver asks before a ResourceQuota is written. While no server answers, quotas of projects cannot be made or
//! changed; nothing else waits.

use bailiwick_api::quota::SYSTEM_NAMESPACE;
use serde_json::json;

use super::manifest::Manifest;
use super::plan::Plan;

/// Where reviews are answered. kube-apiserver calls itself, and hands this on: so the servers know who asks.
const PATH: &str = "/apis/admission.bailiwick.dev/v1alpha1/quotareviews";
/// How long a write waits for an answer, in seconds.
const TIMEOUT: u8 = 10;

pub(super) fn manifests(plan: &Plan) -> Vec<Manifest> {
    let exempt = json!({
        "key": "kubernetes.io/metadata.name",
        "operator": "NotIn",
        "values": [SYSTEM_NAMESPACE, plan.namespace],
    });
    let webhook = json!({
        "name": "quotas.quota.bailiwick.dev",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"namespace": "default", "name": "kubernetes", "path": PATH, "port": 443}},
        "rules": [{
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": ["CREATE", "UPDATE"],
            "resources": ["resourcequotas"],
            "scope": "Namespaced",
        }],
        "namespaceSelector": {"matchExpressions": [exempt]},
        "objectSelector": {},
        "matchPolicy": "Equivalent",
        "sideEffects": "NoneOnDryRun",
        "failurePolicy": "Fail",
        "timeoutSeconds": TIMEOUT,
    });
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "quota.bailiwick.dev"},
        "webhooks": [webhook],
    });
    let why = "What projects' ResourceQuotas come to is held to what was allotted. Never asked about their status, nor in the \
               namespaces of the system and of this installation.";
    vec![Manifest::new(why, configuration)]
}
