//! Aggregation: registering a server that runs on loopback, beside the cluster.
//!
//! kube-apiserver refuses loopback addresses as endpoints of a Service, but follows one of type ExternalName to `localhost`, and
//! takes the port from the APIService. With `--enable-aggregator-routing=true` it refuses that too.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use tokio::time::sleep;
use tokio::time::timeout;

use super::Cluster;
use super::READY_POLL;
use crate::error::Error;
use crate::http;

/// The name that the serving certificate of a registered server must have: `<service>.<namespace>.svc`, as the aggregator calls
/// it, although it connects to `localhost`.
pub const SERVICE_HOST: &str = "loopback.aggregated.svc";

/// How long a server that runs may take to be found available. The aggregator asks at once, and again with growing pauses.
const AVAILABLE_LIMIT: Duration = Duration::from_secs(60);

/// Discovery of all groups in one document, as kubectl asks for it.
const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

const REASON: &str = "{.status.conditions[?(@.type==\"Available\")].reason}";
const MESSAGE: &str = "{.status.conditions[?(@.type==\"Available\")].message}";

impl Cluster {
    /// Has the aggregator send requests for a group and version to `port` on loopback. Waits until it finds the server there
    /// available and discovery has what the server serves. The server's certificate must be for [`SERVICE_HOST`] and of an
    /// authority in `ca_bundle`, PEM.
    pub async fn register_api_service(
        &self,
        group: &str,
        version: &str,
        port: u16,
        ca_bundle: &str,
    ) -> Result<(), Error> {
        self.register_within(AVAILABLE_LIMIT, group, version, port, ca_bundle).await
    }

    pub(super) async fn register_within(
        &self,
        limit: Duration,
        group: &str,
        version: &str,
        port: u16,
        ca_bundle: &str,
    ) -> Result<(), Error> {
        let name = format!("{version}.{group}");
        self.admin.apply(&manifests(&name, group, version, port, ca_bundle)).await?;
        let object = format!("apiservice/{name}");
        let within = format!("--timeout={}s", limit.as_secs());
        let wait = self.kubectl(["wait", "--for=condition=Available", &object, &within]).await?;
        if wait.status.success() {
            let discovery = async {
                while !self.is_discovered(group, version).await {
                    sleep(READY_POLL).await;
                }
            };
            let late = |_| Error::Late { what: "discovery of an available APIService", limit };
            return timeout(limit, discovery).await.map_err(late);
        }
        let reason = self.kubectl(["get", &object, "-o", &format!("jsonpath={REASON}")]).await?.success()?;
        let message = self.kubectl(["get", &object, "-o", &format!("jsonpath={MESSAGE}")]).await?.success()?;
        Err(Error::Unavailable { name, reason, message })
    }

    /// Whether discovery has a group and version as its server last told it.
    async fn is_discovered(&self, group: &str, version: &str) -> bool {
        let address = self.apiserver.port.address();
        let Ok(answer) = http::get_tls(address, &self.admin_tls, "/apis", DISCOVERY).await else { return false };
        let groups: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        let items = |list: &Value| list.as_array().cloned().unwrap_or_default();
        let found = items(&groups["items"]).into_iter().find(|item| item["metadata"]["name"] == group);
        let versions = found.map(|item| items(&item["versions"])).unwrap_or_default();
        versions.iter().any(|item| item["version"] == version && item["freshness"] == "Current")
    }
}

fn manifests(name: &str, group: &str, version: &str, port: u16, ca_bundle: &str) -> String {
    let ca_bundle = BASE64_STANDARD.encode(ca_bundle);
    format!(
        "apiVersion: v1
kind: Namespace
metadata: {{name: aggregated}}
---
apiVersion: v1
kind: Service
metadata: {{name: loopback, namespace: aggregated}}
spec: {{type: ExternalName, externalName: localhost}}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {{name: {name}}}
spec:
  group: {group}
  version: {version}
  groupPriorityMinimum: 1000
  versionPriority: 15
  service: {{namespace: aggregated, name: loopback, port: {port}}}
  caBundle: {ca_bundle}
"
    )
}
