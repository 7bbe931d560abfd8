//! What has a cluster's kube-apiserver ask the servers what organizations give, in addition to the RoleBindings that they make:
//! its `AuthorizationConfiguration`.
//!
//! It is a file for kube-apiserver, not an object, so whoever runs kube-apiserver puts it in place.

use bailiwick_apiserver::ACCESS_WEBHOOK_PATH;
use bailiwick_machinery::encode::to_yaml;
use serde_json::json;

use super::plan::{Plan, Server};

/// How long kube-apiserver waits. Whoever has other rights is not asked about, and whoever has none is told so after this.
const TIMEOUT: &str = "1s";

/// The configuration, where kube-apiserver finds the servers by this kubeconfig.
pub(super) fn configuration(plan: &Plan, kubeconfig: &str) -> String {
    let namespace = &plan.namespace;
    let address = match &plan.server {
        Server::Outside { host, port } => format!("{host}:{port}"),
        Server::Inside(_) => "CLUSTER-IP".to_owned(),
    };
    let conditions = [
        // What has no namespace is no organization's matter, nor is what keeps the cluster running.
        "has(request.resourceAttributes) && request.resourceAttributes.namespace != ''".to_owned(),
        "!request.resourceAttributes.namespace.startsWith('kube-')".to_owned(),
        "!request.user.startsWith('system:') || request.user.startsWith('system:serviceaccount:')".to_owned(),
        // Nor is what the servers do themselves: they would be asked about their own questions.
        format!("!('system:serviceaccounts:{namespace}' in request.groups)"),
    ];
    let conditions: Vec<_> = conditions.iter().map(|expression| json!({"expression": expression})).collect();
    let object = json!({
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AuthorizationConfiguration",
        "authorizers": [
            {"type": "Node", "name": "node"},
            {"type": "RBAC", "name": "rbac"},
            {
                "type": "Webhook",
                "name": "organizations.bailiwick.dev",
                "webhook": {
                    "authorizedTTL": "1s",
                    "cacheAuthorizedRequests": false,
                    "unauthorizedTTL": "1s",
                    "cacheUnauthorizedRequests": false,
                    "timeout": TIMEOUT,
                    "subjectAccessReviewVersion": "v1",
                    "matchConditionSubjectAccessReviewVersion": "v1",
                    // RBAC has answered before: without us, users have what RoleBindings give them.
                    "failurePolicy": "NoOpinion",
                    "connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": kubeconfig},
                    "matchConditions": conditions,
                },
            },
        ],
    });
    format!(
        "\
# For kube-apiserver's flag --authorization-config, in place of --authorization-mode. Keep the authorizers that it has, in their
# order, and add the last one of these. What organizations give then counts at once, and ends at once.
#
# {kubeconfig} says where the servers are, and who kube-apiserver is to them: a certificate for clients, of the
# cluster's authority, with the common name kube-apiserver (or one that --authorization-webhook-callers names).
#
#   apiVersion: v1
#   kind: Config
#   current-context: bailiwick
#   contexts: [{{name: bailiwick, context: {{cluster: bailiwick, user: kube-apiserver}}}}]
#   clusters:
#   - name: bailiwick
#     cluster:
#       server: https://{address}{ACCESS_WEBHOOK_PATH}
#       tls-server-name: bailiwick.{namespace}.svc
#       certificate-authority-data: (the caBundle of the APIService v1alpha1.org.bailiwick.dev)
#   users: [{{name: kube-apiserver, user: {{client-certificate: FILE, client-key: FILE}}}}]
{}",
        to_yaml(&object)
    )
}
