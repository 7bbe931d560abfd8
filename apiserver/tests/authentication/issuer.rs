//! An issuer of tokens on loopback, which can be told to misbehave.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bailiwick_apiserver::{ClaimMappings, Issuer as IssuerConfiguration, JwtConfiguration, PrefixedClaim, Token};
use bailiwick_test_host::pki::Authority;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_util::task::AbortOnDropHandle;

/// A running issuer.
pub(crate) struct Issuer {
    pub(crate) url: String,
    /// Vouches for its certificate.
    pub(crate) authority: Authority,
    state: Arc<State>,
    _task: AbortOnDropHandle<()>,
}

/// A key that signs tokens.
pub(crate) struct SigningKey {
    id: String,
    key: EncodingKey,
}

/// How it answers.
#[derive(Clone, Debug, Default)]
pub(crate) enum Manner {
    #[default]
    Proper,
    /// With this code, and a `Location` that would give the right answer.
    Code(u16),
    /// With this document instead of the first.
    Discovery(Value),
    /// With this text instead of keys.
    Keys(Vec<u8>),
    /// Never.
    Silent,
}

struct State {
    url: String,
    keys: Mutex<Vec<Value>>,
    manner: Mutex<Manner>,
    asked: AtomicUsize,
}

// === impl Issuer ===

impl Issuer {
    pub(crate) async fn start(keys: &[&SigningKey]) -> Self {
        let authority = Authority::new("issuers").unwrap();
        let identity = authority.server("issuer", &[]).unwrap();
        let chain = crate::site::chain(&identity.certificate);
        let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.unwrap();
        let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
        let state = Arc::new(State {
            url: url.clone(),
            keys: Mutex::default(),
            manner: Mutex::default(),
            asked: AtomicUsize::new(0),
        });
        let task = tokio::spawn(serve(listener, TlsAcceptor::from(Arc::new(config)), state.clone()));
        let issuer = Self { url, authority, state, _task: AbortOnDropHandle::new(task) };
        issuer.publish(keys);
        issuer
    }

    /// From now on has these keys.
    pub(crate) fn publish(&self, keys: &[&SigningKey]) {
        *self.state.keys.lock().unwrap() = keys.iter().map(|key| key.jwk()).collect();
    }

    pub(crate) fn behave(&self, manner: Manner) {
        *self.state.manner.lock().unwrap() = manner;
    }

    /// How often it was asked for anything.
    pub(crate) fn asked(&self) -> usize {
        self.state.asked.load(Ordering::SeqCst)
    }

    /// What believes it.
    pub(crate) fn configuration(&self) -> JwtConfiguration {
        let prefixed = |claim: &str| PrefixedClaim {
            claim: claim.to_owned(),
            prefix: Some(String::new()),
            ..PrefixedClaim::default()
        };
        JwtConfiguration {
            issuer: IssuerConfiguration {
                url: self.url.clone(),
                certificate_authority: self.authority.certificate(),
                audiences: vec!["bailiwick".to_owned()],
                ..IssuerConfiguration::default()
            },
            claim_mappings: ClaimMappings {
                username: prefixed("sub"),
                groups: prefixed("groups"),
                ..ClaimMappings::default()
            },
            ..JwtConfiguration::default()
        }
    }

    /// A token for `name`, which lasts an hour.
    pub(crate) fn token(&self, key: &SigningKey, name: &str) -> Token {
        key.sign(&json!({"iss": self.url, "aud": "bailiwick", "sub": name, "exp": now() + 3600, "groups": ["devs"]}))
    }
}

// === impl SigningKey ===

impl SigningKey {
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn new(id: &str) -> Self {
        let pair = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        Self { id: id.to_owned(), key: EncodingKey::from_ec_der(&pair.serialize_der()) }
    }

    pub(crate) fn sign(&self, claims: &Value) -> Token {
        let header = Header { kid: Some(self.id.clone()), ..Header::new(Algorithm::ES256) };
        Token::new(jsonwebtoken::encode(&header, claims, &self.key).unwrap())
    }

    pub(crate) fn key(&self) -> &EncodingKey {
        &self.key
    }

    /// How others verify what it signs.
    pub(crate) fn jwk(&self) -> Value {
        let mut jwk = Jwk::from_encoding_key(&self.key, Algorithm::ES256).unwrap();
        jwk.common.key_id = Some(self.id.clone());
        serde_json::to_value(jwk).unwrap()
    }
}

#[allow(clippy::disallowed_methods, reason = "tokens are made for the clock on the wall")]
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor, state: Arc<State>) {
    loop {
        let (socket, _) = listener.accept().await.unwrap();
        let (acceptor, state) = (acceptor.clone(), state.clone());
        tokio::spawn(async move {
            // Who does not believe the certificate hangs up here.
            let Ok(stream) = acceptor.accept(socket).await else { return };
            let service = service_fn(|request| answer(request, &state));
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn answer(request: Request<Incoming>, state: &State) -> Result<Response<Full<Bytes>>, Infallible> {
    state.asked.fetch_add(1, Ordering::SeqCst);
    let manner = state.manner.lock().unwrap().clone();
    let document = match request.uri().path() {
        "/.well-known/openid-configuration" => {
            json!({"issuer": state.url, "jwks_uri": format!("{}/keys", state.url)})
        }
        "/keys" | "/moved/keys" => json!({"keys": *state.keys.lock().unwrap()}),
        "/moved/.well-known/openid-configuration" => {
            json!({"issuer": state.url, "jwks_uri": format!("{}/moved/keys", state.url)})
        }
        other => json!({"message": format!("nothing at {other}")}),
    };
    let is_discovery = request.uri().path().ends_with("openid-configuration");
    let moved = format!("{}/moved{}", state.url, request.uri().path());
    let body = |bytes: Vec<u8>| Full::new(Bytes::from(bytes));
    Ok(match manner {
        Manner::Code(code) if !request.uri().path().starts_with("/moved") => Response::builder()
            .status(code)
            .header("location", moved)
            .body(body(document.to_string().into_bytes()))
            .unwrap(),
        Manner::Discovery(other) if is_discovery => Response::new(body(other.to_string().into_bytes())),
        Manner::Keys(text) if !is_discovery => Response::new(body(text)),
        Manner::Silent => {
            tokio::time::sleep(Duration::from_secs(600)).await;
            Response::new(body(Vec::new()))
        }
        _ => Response::new(body(document.to_string().into_bytes())),
    })
}
