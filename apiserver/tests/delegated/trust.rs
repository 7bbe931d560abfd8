//! Whom the cluster believes.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bailiwick_apiserver::{
    Anonymous, Authentication, AuthenticationParts, ClusterAuthentication, Peer, RequestHeaderOptions, Tls, TlsFiles,
    TokenAuthenticatorChain, TokenCacheOptions,
};
use bailiwick_registry::SystemClock;
use bailiwick_test_host::pki::{Authority, Identity};
use http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

use crate::cluster::{Behaviour, Cluster};

/// How long something that must end may take.
const SOON: Duration = Duration::from_secs(3_600);

/// A server that believes nobody by itself, and the authorities of a cluster.
struct Site {
    tls: Arc<Tls>,
    authentication: Arc<Authentication>,
    clients: Authority,
    proxies: Authority,
    _folder: TempDir,
}

// === impl Site ===

impl Site {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let serving = Authority::new("serving").unwrap().server("server", &[]).unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let files = TlsFiles {
            certificate: write("tls.crt", &serving.certificate),
            key: write("tls.key", &serving.key),
            client_ca: None,
            request_header_ca: None,
        };
        let tls = Arc::new(Tls::load(&files).unwrap());
        let authentication = Authentication::new(AuthenticationParts {
            tls: tls.clone(),
            request_header: RequestHeaderOptions::default(),
            revocable_tokens: Arc::new(TokenAuthenticatorChain::default()),
            tokens: Arc::new(TokenAuthenticatorChain::default()),
            audiences: Vec::new(),
            token_cache: TokenCacheOptions::default(),
            anonymous: Anonymous::Off,
            clock: Arc::new(SystemClock),
        });
        let (clients, proxies) = (Authority::new("clients").unwrap(), Authority::new("proxies").unwrap());
        Self { tls, authentication: Arc::new(authentication.unwrap()), clients, proxies, _folder: folder }
    }

    /// What the cluster says of them.
    fn config_map(&self) -> Value {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"namespace": "kube-system", "name": "extension-apiserver-authentication", "resourceVersion": "7"},
            "data": {
                "client-ca-file": self.clients.certificate(),
                "requestheader-client-ca-file": self.proxies.certificate(),
                "requestheader-allowed-names": "[\"front-proxy\"]",
                "requestheader-username-headers": "[\"X-Remote-User\"]",
            },
        })
    }

    /// As whom a client and a front proxy that speaks for `ann` are known.
    async fn known(&self) -> [Option<String>; 2] {
        let client = self.clients.client("jane", &[]).unwrap();
        let proxy = self.proxies.client("front-proxy", &[]).unwrap();
        [self.user(&client, &[]).await, self.user(&proxy, &[("x-remote-user", "ann")]).await]
    }

    async fn user(&self, identity: &Identity, headers: &[(&'static str, &'static str)]) -> Option<String> {
        let chain = CertificateDer::pem_slice_iter(identity.certificate.as_bytes()).map(Result::unwrap).collect();
        let peer = Peer::new(SocketAddr::from((Ipv4Addr::LOCALHOST, 1)), chain);
        let mut headers: HeaderMap =
            headers.iter().map(|&(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect();
        let requester = self.authentication.authenticate("/", &mut headers, &peer).await;
        requester.user().map(|user| user.name.clone())
    }
}

fn of(cluster: &Cluster) -> ClusterAuthentication {
    ClusterAuthentication { client: cluster.client(), client_ca: true, proxies: true }
}

fn both() -> [Option<String>; 2] {
    ["jane", "ann"].map(|name| Some(name.to_owned()))
}

#[tokio::test(start_paused = true)]
async fn one_look_finds_whom_the_cluster_believes_or_nobody() {
    for behaviour in [Behaviour::Code(503), Behaviour::Code(404), Behaviour::Silence, Behaviour::Object(json!({}))] {
        let (site, cluster) = (Site::new(), Cluster::new(behaviour));
        timeout(SOON, of(&cluster).look(&site.authentication)).await.unwrap();
        assert_eq!(site.known().await, [None, None]);
    }
    let site = Site::new();
    let cluster = Cluster::new(Behaviour::Object(site.config_map()));
    of(&cluster).look(&site.authentication).await;
    assert_eq!(site.known().await, both());
    let address = cluster.address();
    assert!(address.ends_with("/namespaces/kube-system/configmaps/extension-apiserver-authentication"), "{address}");
}

/// Who waits neither gives up nor asks all the time.
#[tokio::test(start_paused = true)]
async fn who_waits_asks_until_it_is_known() {
    let site = Site::new();
    let cluster = Cluster::new(Behaviour::Code(503));
    let (source, authentication) = (of(&cluster), site.authentication.clone());
    let waiting = tokio::spawn(async move { source.wait(&authentication).await });
    sleep(Duration::from_secs(60)).await;
    // After 0.2 s, 0.4 s … 6.4 s, and from then on every ten.
    assert!((10..=12).contains(&cluster.asked()), "{}", cluster.asked());
    assert!(!waiting.is_finished());
    assert_eq!(site.known().await, [None, None]);
    cluster.behave(Behaviour::Object(site.config_map()));
    timeout(Duration::from_secs(11), waiting).await.unwrap().unwrap();
    assert_eq!(site.known().await, both());
}

/// What cannot be used changes nothing.
#[tokio::test(start_paused = true)]
async fn changes_are_taken_over() {
    let site = Site::new();
    let list = |item: Value| {
        Behaviour::Unchanging(json!({
            "apiVersion": "v1", "kind": "ConfigMapList", "metadata": {"resourceVersion": "7"}, "items": [item],
        }))
    };
    let mut changes = [site.config_map(), site.config_map()];
    changes[1]["data"]["requestheader-client-ca-file"] = json!("no certificate");
    for (config_map, generation) in changes.into_iter().zip([2, 2]) {
        let cluster = Cluster::new(list(config_map));
        let following = tokio::spawn(of(&cluster).follow(site.authentication.clone()));
        sleep(Duration::from_secs(5)).await;
        assert!(cluster.asked() > 0 && !following.is_finished());
        following.abort();
        assert_eq!(site.tls.trust().generation, generation);
        assert_eq!(site.known().await, both());
    }
}
