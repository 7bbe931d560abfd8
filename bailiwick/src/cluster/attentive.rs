//! A client of the cluster for those who must know soon that they see nothing any more.
//!
//! All it does goes over one connection of HTTP/2, on which the cluster is asked for a sign of life whenever it has been silent
//! for a moment. So a connection that is broken without either side having been told ends with everything on it, and whoever
//! follows something learns that they have lost it. A cluster bounds what goes over one connection: whoever asks a lot over it has no
//! more than [`MOST_AT_ONCE`] under way.
//!
//! Where HTTP/2 is not spoken, and where a proxy stands between, which would answer by itself, nothing is gained and nothing lost.

use std::sync::Arc;
use std::time::Duration;

use hyper_rustls::{DefaultServerNameResolver, FixedServerNameResolver, HttpsConnector, ResolveServerName};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::{Body, ConfigExt};
use kube::{Client, Config};
use tokio_rustls::rustls::pki_types::{InvalidDnsNameError, ServerName};
use tower::{BoxError, ServiceBuilder};

/// How long nothing may come before a sign of life is asked for, and how long that may take. Together they are less than what may
/// pass before something that was taken away does not count any more.
const SILENCE: Duration = Duration::from_millis(250);
const SIGN_OF_LIFE: Duration = Duration::from_millis(600);
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// How many questions on account of others may be under way over one such connection. kube-apiserver takes 100 requests of a
/// connection at a time unless it is told otherwise. What is beyond that would wait in one line, in which nobody has a share. A few
/// are left for what is followed over the same connection.
pub(crate) const MOST_AT_ONCE: usize = 90;

/// Why there is no such client.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AttentiveError {
    #[error(transparent)]
    Kube(#[from] kube::Error),
    #[error("tls-server-name {name}: {problem}")]
    ServerName { name: String, problem: InvalidDnsNameError },
}

/// One for this cluster.
pub(super) fn attentive(config: Config) -> Result<Client, AttentiveError> {
    if config.proxy_url.is_some() {
        return Ok(Client::try_from(config)?);
    }
    let mut tls = config.rustls_client_config()?;
    tls.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(config.connect_timeout);
    let https = HttpsConnector::new(tcp, tls, false, server_name(&config)?);
    let client: HttpClient<_, Body> = HttpClient::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .http2_keep_alive_interval(SILENCE)
        .http2_keep_alive_timeout(SIGN_OF_LIFE)
        .http2_keep_alive_while_idle(true)
        .build(https);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(client);
    Ok(Client::new(service, config.default_namespace))
}

/// By which name the cluster's certificate is to be valid.
fn server_name(config: &Config) -> Result<Arc<dyn ResolveServerName + Send + Sync>, AttentiveError> {
    let Some(name) = &config.tls_server_name else { return Ok(Arc::new(DefaultServerNameResolver::default())) };
    let fixed = ServerName::try_from(name.clone());
    let fixed = fixed.map_err(|problem| AttentiveError::ServerName { name: name.clone(), problem })?;
    Ok(Arc::new(FixedServerNameResolver::new(fixed)))
}

#[cfg(test)]
mod tests;
