//! Whom the cluster beside this server believes: the authorities of its clients and of its front proxies, and the headers by
//! which these name users. All of it lies in one ConfigMap, which is followed, so that authorities change without a restart.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use tokio::time::{sleep, timeout};

use super::question::Unanswered;
use crate::authentication::{Authentication, RequestHeaderError, RequestHeaderOptions};
use crate::tls::{CaPool, CaPoolError, TlsError};

const NAMESPACE: &str = "kube-system";
const NAME: &str = "extension-apiserver-authentication";
const CLIENT_CA: &str = "client-ca-file";
const PROXY_CA: &str = "requestheader-client-ca-file";

/// How long one look may take.
const LOOK_LIMIT: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// What is to be done if nobody can say whom the cluster believes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Patience {
    Endless,
    OneLook,
}

/// Whom the cluster believes. What is not there is not named by it, or not wanted from it.
#[derive(Debug, Default)]
pub struct ClusterTrust {
    /// The authorities of its clients.
    pub client_ca: Option<CaPool>,
    /// Its front proxies.
    pub proxy: Option<ProxyTrust>,
}

/// How a cluster's front proxies are known, and how they name users.
#[derive(Debug)]
pub struct ProxyTrust {
    /// Their authorities.
    pub ca: CaPool,
    /// Their names, and their headers.
    pub headers: RequestHeaderOptions,
}

/// Why it is not known whom the cluster believes.
#[derive(Debug, thiserror::Error)]
pub enum ClusterTrustError {
    /// The cluster does not say.
    #[error("cannot read the ConfigMap {NAME} in {NAMESPACE}: {0}")]
    Unanswered(String),
    /// It is not there.
    #[error("there is no ConfigMap {NAME} in {NAMESPACE}: the cluster's kube-apiserver makes it when it starts")]
    Missing,
    /// There are no front proxies.
    #[error(
        "the ConfigMap {NAME} in {NAMESPACE} has no {PROXY_CA}: start kube-apiserver with --requestheader-client-ca-file"
    )]
    NoProxies,
    /// It holds authorities that cannot be used.
    #[error("{key} in the ConfigMap {NAME} in {NAMESPACE} cannot be used: {problem}")]
    Pool {
        /// Where.
        key: &'static str,
        /// What is wrong.
        #[source]
        problem: CaPoolError,
    },
    /// It holds something else than a list of names.
    #[error("{key} in the ConfigMap {NAME} in {NAMESPACE} is no JSON list of texts: {problem}")]
    List {
        /// Where.
        key: &'static str,
        /// What is wrong.
        #[source]
        problem: serde_json::Error,
    },
    /// The headers cannot be used.
    #[error(transparent)]
    Headers(#[from] RequestHeaderError),
    /// The authorities cannot be used together.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// Where it is read whom the cluster believes, and which parts of it are wanted.
#[derive(Clone)]
pub struct ClusterAuthentication {
    /// The cluster.
    pub client: Client,
    /// Whether its authorities of clients are to be believed.
    pub client_ca: bool,
    /// Whether its front proxies are to be believed.
    pub proxies: bool,
}

// === impl ClusterAuthentication ===

impl ClusterAuthentication {
    /// Waits until it is known whom the cluster believes, for as long as that takes.
    pub async fn wait(&self, authentication: &Authentication) {
        self.begin(authentication, Patience::Endless).await;
    }

    /// Looks once. If it is not known whom the cluster believes, nobody is, until it is.
    pub async fn look(&self, authentication: &Authentication) {
        self.begin(authentication, Patience::OneLook).await;
    }

    async fn begin(&self, authentication: &Authentication, patience: Patience) {
        let mut pause = FIRST_PAUSE;
        loop {
            let outcome = self.read().await.and_then(|trust| authentication.set_cluster_trust(trust));
            let Err(error) = outcome else { return };
            if patience == Patience::OneLook {
                tracing::warn!(%error, "whom the cluster believes is not known: nobody is known by certificates or front proxies until it is");
                return;
            }
            tracing::warn!(%error, "waiting to be told whom the cluster believes; the account that asks needs the role extension-apiserver-authentication-reader in {NAMESPACE}");
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Takes over every change, until dropped. What cannot be used is logged, and what was in use stays in use.
    pub async fn follow(self, authentication: Arc<Authentication>) {
        let mut changes = pin!(watcher::watch_object(self.config_maps(), NAME).default_backoff());
        while let Some(change) = changes.next().await {
            match change {
                Ok(Some(found)) => {
                    let trust = self.parse(found);
                    match trust.and_then(|trust| authentication.set_cluster_trust(trust)) {
                        Ok(()) => tracing::info!("took over whom the cluster believes"),
                        Err(error) => {
                            tracing::error!(%error, "whom the cluster believes cannot be used: the old ones stay");
                        }
                    }
                }
                Ok(None) => tracing::warn!("the ConfigMap {NAME} in {NAMESPACE} is gone: who was believed still is"),
                Err(error) => {
                    tracing::warn!(%error, "the ConfigMap {NAME} in {NAMESPACE} cannot be followed at present");
                }
            }
        }
    }

    async fn read(&self) -> Result<ClusterTrust, ClusterTrustError> {
        let config_maps = self.config_maps();
        let found = match timeout(LOOK_LIMIT, config_maps.get_opt(NAME)).await {
            Ok(Ok(found)) => found.ok_or(ClusterTrustError::Missing)?,
            Ok(Err(error)) => return Err(ClusterTrustError::Unanswered(Unanswered::from(error).to_string())),
            Err(_elapsed) => return Err(ClusterTrustError::Unanswered(Unanswered::Late.to_string())),
        };
        self.parse(found)
    }

    fn parse(&self, found: ConfigMap) -> Result<ClusterTrust, ClusterTrustError> {
        parse(&found.data.unwrap_or_default(), self.client_ca, self.proxies)
    }

    fn config_maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }
}

/// What the ConfigMap says of the parts that are wanted.
fn parse(data: &BTreeMap<String, String>, client_ca: bool, proxies: bool) -> Result<ClusterTrust, ClusterTrustError> {
    let client_ca = if client_ca { pool(data, CLIENT_CA)? } else { None };
    let proxy = match proxies {
        false => None,
        true => Some(ProxyTrust {
            ca: pool(data, PROXY_CA)?.ok_or(ClusterTrustError::NoProxies)?,
            headers: RequestHeaderOptions {
                username_headers: list(data, "requestheader-username-headers")?,
                uid_headers: list(data, "requestheader-uid-headers")?,
                group_headers: list(data, "requestheader-group-headers")?,
                extra_header_prefixes: list(data, "requestheader-extra-headers-prefix")?,
                allowed_names: list(data, "requestheader-allowed-names")?,
            },
        }),
    };
    Ok(ClusterTrust { client_ca, proxy })
}

fn pool(data: &BTreeMap<String, String>, key: &'static str) -> Result<Option<CaPool>, ClusterTrustError> {
    let Some(pem) = data.get(key).filter(|pem| !pem.is_empty()) else { return Ok(None) };
    CaPool::from_pem(pem.as_bytes()).map(Some).map_err(|problem| ClusterTrustError::Pool { key, problem })
}

fn list(data: &BTreeMap<String, String>, key: &'static str) -> Result<Vec<String>, ClusterTrustError> {
    let Some(text) = data.get(key).filter(|text| !text.is_empty()) else { return Ok(Vec::new()) };
    serde_json::from_str(text).map_err(|problem| ClusterTrustError::List { key, problem })
}

#[cfg(test)]
mod tests;
