//! What it costs to find out who asks, for each request of a connection that is open. It is printed; what is asserted leaves
//! room for busy machines and builds that are not optimized.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bailiwick_apiserver::{
    Algorithms, Anonymous, Authentication, AuthenticationParts, JwtAuthenticator, JwtOptions, Peer,
    RequestHeaderOptions, Requester, TokenAuthenticatorChain, TokenCacheOptions,
};
use bailiwick_registry::SystemClock;
use bailiwick_test_host::pki::Authority;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::issuer::{Issuer, SigningKey};
use crate::site::{Pki, chain};

const ROUNDS: u32 = 2_000;

#[tokio::test]
async fn finding_out_who_asks_costs_microseconds() {
    let (clients, proxies) = (Authority::new("clients").unwrap(), Authority::new("proxies").unwrap());
    let pki = Pki::new(&clients.certificate(), Some(&proxies.certificate()));
    let key = SigningKey::new("a");
    let issuer = Issuer::start(&[&key]).await;
    let tokens = Arc::new(JwtAuthenticator::new(JwtOptions::default(), Arc::new(SystemClock)));
    tokens.set_issuers(&[issuer.configuration()], &Algorithms::all()).unwrap();
    let list = |name: &str| vec![name.to_owned()];
    let authentication = |known_for| {
        Authentication::new(AuthenticationParts {
            tls: pki.tls.clone(),
            request_header: RequestHeaderOptions {
                username_headers: list("X-Remote-User"),
                uid_headers: list("X-Remote-Uid"),
                group_headers: list("X-Remote-Group"),
                extra_header_prefixes: list("X-Remote-Extra-"),
                allowed_names: list("front-proxy"),
            },
            tokens: tokens.clone(),
            revocable_tokens: Arc::new(TokenAuthenticatorChain::default()),
            audiences: Vec::new(),
            token_cache: TokenCacheOptions { known_for, ..TokenCacheOptions::default() },
            anonymous: Anonymous::health(),
            clock: Arc::new(SystemClock),
        })
        .unwrap()
    };
    let remembering = authentication(Duration::from_secs(10));
    let forgetting = authentication(Duration::ZERO);
    let peer = |identity: Option<String>| {
        let chain = identity.map_or(Vec::new(), |certificate| chain(&certificate));
        Peer::new(SocketAddr::from((Ipv4Addr::LOCALHOST, 1)), chain)
    };
    let jane = peer(Some(clients.client("jane", &["devs"]).unwrap().certificate));
    let proxy = peer(Some(proxies.client("front-proxy", &[]).unwrap().certificate));
    let nobody = peer(None);
    let bearer = format!("Bearer {}", issuer.token(&key, "tina").expose());
    let named = [("x-remote-user", "ruth"), ("x-remote-group", "devs"), ("x-remote-extra-a", "b")];
    let token = [("authorization", bearer.as_str())];
    for (what, authentication, peer, headers) in [
        ("a certificate", &remembering, &jane, &[][..]),
        ("a front proxy", &remembering, &proxy, &named),
        ("a token, remembered", &remembering, &nobody, &token),
        ("a token, verified", &forgetting, &nobody, &token),
    ] {
        let spent = measure(authentication, peer, headers).await;
        println!("{what}: {:.2} µs", spent.as_secs_f64() * 1e6);
        assert!(spent < Duration::from_millis(5), "{what}: {spent:?}");
    }
}

/// For one request, with the headers that client-go sends besides.
async fn measure(authentication: &Authentication, peer: &Peer, headers: &[(&str, &str)]) -> Duration {
    let usual = [
        ("accept", "application/json"),
        ("accept-encoding", "gzip"),
        ("user-agent", "kubectl/v1.36.3 (linux/amd64) kubernetes/0000000"),
        ("kubectl-command", "kubectl get"),
    ];
    let all: HeaderMap = usual
        .iter()
        .chain(headers)
        .map(|(name, value)| (name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap()))
        .collect();
    let mut spent = Duration::ZERO;
    for _ in 0..ROUNDS {
        let mut headers = all.clone();
        let began = Instant::now();
        let found = authentication.authenticate("/apis", &mut headers, peer).await;
        spent += began.elapsed();
        assert!(matches!(found, Requester::User(_)), "{found:?}");
    }
    spent / ROUNDS
}
