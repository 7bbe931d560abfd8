//! S-01, S-02: certificates of every kind, with headers and tokens of every kind, and whom Kubernetes' authenticators took
//! the sender for (`tests/oracle/authentication`).

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use bailiwick_apiserver::{
    Anonymous, Authentication, AuthenticationError, AuthenticationParts, Peer, RequestHeaderError,
    RequestHeaderOptions, Requester, Token, TokenAuthenticator, TokenAuthenticatorChain, TokenCacheOptions, TokenError,
};
use bailiwick_registry::{SystemClock, User};
use bailiwick_test_host::pki::Authority;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use tokio_rustls::rustls::pki_types::CertificateDer;

use crate::site::{Pki, pem};

#[derive(Deserialize)]
struct Recorded {
    clients: String,
    proxies: String,
    chains: BTreeMap<String, Vec<String>>,
    requests: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    configs: Vec<Config>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    allowed_names: Option<Vec<String>>,
    anonymous: String,
    path: String,
}

#[derive(Deserialize)]
struct Case {
    config: usize,
    certificate: String,
    request: String,
    code: u16,
    #[serde(default)]
    name: String,
    #[serde(default)]
    uid: String,
    #[serde(default)]
    groups: Vec<String>,
    #[serde(default)]
    extra: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    left: Vec<String>,
}

/// The tokens of `tests/oracle/authentication`.
struct Tokens;

/// Certificates that Kubernetes believes and Bailiwick does not, with the reason.
const STRICTER: [(&str, &str); 4] = [
    ("client for anything", "what is for anything was not made for clients"),
    ("the clients' root", "an authority is no client"),
    ("the proxies' root", "an authority is no proxy"),
    ("proxy nameless", "whoever names others has a name"),
];

/// A certificate that neither believes: what happens to it happens to the above.
const STRANGER: &str = "client of others";

#[tokio::test]
async fn senders_are_known_as_in_kubernetes() {
    let recorded: Recorded = serde_json::from_str(include_str!("../../../tests/data/go/authentication.json")).unwrap();
    assert!(recorded.cases.len() > 4_000, "{}", recorded.cases.len());
    let pki = Pki::new(&pem(&recorded.clients), Some(&pem(&recorded.proxies)));
    let methods: Vec<_> = recorded.configs.iter().map(|config| methods(&pki, config)).collect();
    let (mut problems, mut stricter) = (Vec::new(), BTreeSet::new());
    for case in &recorded.cases {
        let config = &recorded.configs[case.config];
        let is_stricter = STRICTER.iter().any(|(certificate, _)| *certificate == case.certificate);
        let is_stand_in = |other: &&Case| {
            (other.config, other.certificate.as_str(), &other.request) == (case.config, STRANGER, &case.request)
        };
        let expected = if is_stricter { recorded.cases.iter().find(is_stand_in).unwrap() } else { case };
        let peer = peer(&recorded.chains[&case.certificate]);
        let mut headers = headers(&recorded.requests[&case.request]);
        let found = methods[case.config].authenticate(&config.path, &mut headers, &peer).await;
        let found = hide_fingerprint(found);
        if is_stricter && found != case.user(config) {
            stricter.insert(case.certificate.as_str());
        }
        if found == expected.user(config) && (expected.code != 200 || left(&headers) == expected.left()) {
            continue;
        }
        problems.push(format!(
            "{} / {} / {}: {found:?}, not {:?}; left {:?}, not {:?}",
            case.config,
            case.certificate,
            case.request,
            expected.user(config),
            left(&headers),
            expected.left()
        ));
    }
    let shown = problems.iter().take(20).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(problems.is_empty(), "{} problems\n{shown}", problems.len());
    assert_eq!(stricter.len(), STRICTER.len(), "{stricter:?}");
}

/// S-02: a client's certificate is never a proxy's, whatever the configuration.
#[test]
fn the_same_authority_for_clients_and_proxies_needs_names() {
    let authority = Authority::new("both").unwrap();
    let other = Authority::new("other").unwrap();
    let bundle = format!("{}{}", other.certificate(), authority.certificate());
    let pki = Pki::new(&authority.certificate(), Some(&bundle));
    let options = |names: &[&str]| RequestHeaderOptions {
        username_headers: vec!["X-Remote-User".to_owned()],
        allowed_names: names.iter().map(ToString::to_string).collect(),
        ..RequestHeaderOptions::default()
    };
    let outcome = |options| Authentication::new(parts(&pki, options, Anonymous::Off)).map(|_| ());
    assert_eq!(outcome(options(&[])), Err(AuthenticationError::OverlappingAuthorities));
    assert_eq!(outcome(options(&["front-proxy"])), Ok(()));
    let apart = Pki::new(&authority.certificate(), Some(&other.certificate()));
    assert!(Authentication::new(parts(&apart, options(&[]), Anonymous::Off)).is_ok());
}

/// S-02: what would be refused at the start is not believed when the files come to say it later.
#[tokio::test]
async fn an_authority_that_comes_to_overlap_vouches_for_no_proxy() {
    let (clients, proxies) = (Authority::new("clients").unwrap(), Authority::new("proxies").unwrap());
    let pki = Pki::new(&clients.certificate(), Some(&proxies.certificate()));
    let options = RequestHeaderOptions { username_headers: vec!["X-Remote-User".to_owned()], ..Default::default() };
    let authentication = Authentication::new(parts(&pki, options, Anonymous::Off)).unwrap();
    let chain = |authority: &Authority, name: &str| {
        let identity = authority.client(name, &[]).unwrap();
        Peer::new(address(), crate::site::chain(&identity.certificate))
    };
    let ask = async |peer: &Peer| {
        let mut headers = HeaderMap::from_iter([("x-remote-user".parse().unwrap(), HeaderValue::from_static("ruth"))]);
        match authentication.authenticate("/", &mut headers, peer).await {
            Requester::User(user) => user.name.clone(),
            refused => format!("{refused:?}"),
        }
    };
    assert_eq!(ask(&chain(&proxies, "proxy")).await, "ruth");
    assert_eq!(ask(&chain(&clients, "jane")).await, "jane");
    pki.write("request-header-ca.crt", &format!("{}{}", proxies.certificate(), clients.certificate()));
    pki.tls.reload();
    assert_eq!(ask(&chain(&clients, "jane")).await, "jane");
    assert_eq!(ask(&chain(&proxies, "proxy")).await, "Refused");
}

/// S-01: the standard names and the configured ones, whoever sends them.
#[tokio::test]
async fn what_could_be_a_proxys_word_is_taken_out() {
    let clients = Authority::new("clients").unwrap();
    let pki = Pki::new(&clients.certificate(), None);
    let list = |name: &str| vec![name.to_owned()];
    let options = RequestHeaderOptions {
        username_headers: list("X-Our-User"),
        uid_headers: vec!["X-Remote-Uid".to_owned(), "X-Our-Uid".to_owned()],
        group_headers: list("X-Our-Group"),
        extra_header_prefixes: list("X-Our-Extra-"),
        ..RequestHeaderOptions::default()
    };
    let authentication = Authentication::new(parts(&pki, options, Anonymous::Everywhere)).unwrap();
    let identity = clients.client("jane", &[]).unwrap();
    for peer in [peer(&[]), Peer::new(address(), crate::site::chain(&identity.certificate))] {
        let names = [
            "accept",
            "authorization",
            "x-remote-user",
            "x-remote-uid",
            "x-remote-group",
            "x-remote-extra-a",
            "x-our-user",
            "x-our-uid",
            "x-our-group",
            "x-our-extra-",
            "x-our-extra-b",
            "x_our_extra_b",
            "x_remote-user",
            "x-our-users",
            "x-our-extra",
            "x-remote",
            "impersonate-user",
        ];
        let mut headers: HeaderMap =
            names.iter().map(|name| (HeaderName::from_static(name), HeaderValue::from_static("v"))).collect();
        assert!(matches!(authentication.authenticate("/", &mut headers, &peer).await, Requester::User(_)));
        let left: BTreeSet<_> = headers.keys().map(HeaderName::as_str).collect();
        assert_eq!(left, BTreeSet::from(["accept", "x-our-users", "x-our-extra", "x-remote", "impersonate-user"]));
    }
}

#[test]
fn names_of_headers_are_checked() {
    let pki = Pki::new(&Authority::new("clients").unwrap().certificate(), None);
    let outcome = |options: RequestHeaderOptions| match Authentication::new(parts(&pki, options, Anonymous::Off)) {
        Err(AuthenticationError::RequestHeader(error)) => error,
        other => panic!("{:?}", other.err()),
    };
    let list = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let default = RequestHeaderOptions::default;
    assert_eq!(
        outcome(RequestHeaderOptions { username_headers: list(&["X-Remote-User", " "]), ..default() }),
        RequestHeaderError::Empty("requestheader-username-headers")
    );
    assert_eq!(
        outcome(RequestHeaderOptions { allowed_names: list(&[""]), ..default() }),
        RequestHeaderError::Empty("requestheader-allowed-names")
    );
    assert_eq!(
        outcome(RequestHeaderOptions { uid_headers: list(&["X-Uid"]), ..default() }),
        RequestHeaderError::UidWithoutStandard
    );
    assert_eq!(
        outcome(RequestHeaderOptions { group_headers: list(&["X Group"]), ..default() }),
        RequestHeaderError::Name { flag: "requestheader-group-headers", name: "X Group".to_owned() }
    );
}

fn methods(pki: &Pki, config: &Config) -> Authentication {
    let list = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let options = RequestHeaderOptions {
        username_headers: list(&["X-Remote-User", "X-Other-User"]),
        uid_headers: list(&["X-Remote-Uid"]),
        group_headers: list(&["X-Remote-Group"]),
        extra_header_prefixes: list(&["X-Remote-Extra-"]),
        allowed_names: config.allowed_names.clone().unwrap_or_default(),
    };
    let anonymous = match config.anonymous.as_str() {
        "everywhere" => Anonymous::Everywhere,
        "health" => Anonymous::health(),
        _ => Anonymous::Off,
    };
    Authentication::new(parts(pki, options, anonymous)).unwrap()
}

fn parts(pki: &Pki, request_header: RequestHeaderOptions, anonymous: Anonymous) -> AuthenticationParts {
    AuthenticationParts {
        tls: pki.tls.clone(),
        request_header,
        tokens: Arc::new(Tokens),
        revocable_tokens: Arc::new(TokenAuthenticatorChain::default()),
        audiences: Vec::new(),
        token_cache: TokenCacheOptions::default(),
        anonymous,
        clock: Arc::new(SystemClock),
    }
}

fn address() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, 1))
}

fn peer(chain: &[String]) -> Peer {
    Peer::new(address(), chain.iter().map(|der| CertificateDer::from(STANDARD.decode(der).unwrap())).collect())
}

fn headers(recorded: &BTreeMap<String, Vec<String>>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, values) in recorded {
        for value in values {
            let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
            headers.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), value);
        }
    }
    headers
}

fn left(headers: &HeaderMap) -> Vec<String> {
    let line = |name: &HeaderName| {
        let values: Vec<_> =
            headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
        format!("{name}: {}", values.join("|"))
    };
    let mut lines: Vec<_> = headers.keys().map(line).collect();
    lines.sort();
    lines
}

/// It names a certificate, which the record does not.
fn hide_fingerprint(found: Requester) -> Requester {
    let Requester::User(user) = found else { return found };
    let mut user = User::clone(&user);
    for id in user.extra.values_mut().flatten() {
        if let Some(fingerprint) = id.strip_prefix("X509SHA256=") {
            assert_eq!(fingerprint.len(), 64, "{fingerprint}");
            *id = "X509SHA256=".to_owned();
        }
    }
    Requester::User(Arc::new(user))
}

// === impl Case ===

impl Case {
    /// What Kubernetes found, but for the groups that Bailiwick computes itself.
    fn user(&self, config: &Config) -> Requester {
        match (self.code, config.anonymous.as_str()) {
            (401, _) | (0, "off") => Requester::Refused,
            (0, _) => Requester::Nobody,
            _ => Requester::User(Arc::new(User {
                name: self.name.clone(),
                uid: self.uid.clone(),
                groups: self.groups.iter().filter(|group| !group.starts_with("org:")).cloned().collect(),
                extra: self.extra.clone(),
                ..User::default()
            })),
        }
    }

    /// What Kubernetes leaves, but for what a gateway could make the same by writing `-` for `_`.
    fn left(&self) -> Vec<String> {
        self.left.iter().filter(|line| !line.split(':').next().unwrap().contains('_')).cloned().collect()
    }
}

// === impl Tokens ===

#[async_trait]
impl TokenAuthenticator for Tokens {
    async fn authenticate(&self, token: &Token) -> Result<Option<User>, TokenError> {
        let user = |name: &str, uid: &str, groups: &[&str]| User {
            name: name.to_owned(),
            uid: uid.to_owned(),
            groups: groups.iter().map(ToString::to_string).collect(),
            ..User::default()
        };
        match token.expose() {
            "good" => Ok(Some(user("tina", "u1", &["testers"]))),
            "org" => Ok(Some(user("olga", "", &["org:acme:admins", "testers"]))),
            "marked" => Ok(Some(user("mark", "", &["system:authenticated", "x"]))),
            "bad" => Err(TokenError("bad".to_owned())),
            _ => Ok(None),
        }
    }
}
