//! What is remembered of a connection and of the configuration, and for how long.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use bailiwick_apiserver::{
    Anonymous, Authentication, AuthenticationParts, Peer, RequestHeaderOptions, Requester, Token, TokenAuthenticator,
    TokenAuthenticatorChain, TokenCacheOptions, TokenError,
};
use bailiwick_registry::kinds::TokenReviewer;
use bailiwick_registry::{Clock, User};
use bailiwick_test_host::pki::Authority;
use http::HeaderMap;

use crate::site::{Pki, chain};

const TODAY: u64 = 1_800_000_000;
/// When the certificates of tests have ended: in the year 4100.
const END: u64 = 67_200_000_000;

/// Says what it is told.
struct Told(AtomicU64);

/// Knows one token.
struct OneToken;

fn authentication(pki: &Pki, clock: Arc<Told>) -> Authentication {
    Authentication::new(AuthenticationParts {
        tls: pki.tls.clone(),
        request_header: RequestHeaderOptions::default(),
        tokens: Arc::new(OneToken),
        revocable_tokens: Arc::new(TokenAuthenticatorChain::default()),
        audiences: Vec::new(),
        token_cache: TokenCacheOptions::default(),
        anonymous: Anonymous::Off,
        clock,
    })
    .unwrap()
}

fn peer(chain_of: &str) -> Peer {
    Peer::new(SocketAddr::from((Ipv4Addr::LOCALHOST, 1)), chain(chain_of))
}

#[tokio::test]
async fn a_certificate_is_believed_while_it_lasts_whatever_the_clock_does() {
    let clients = Authority::new("clients").unwrap();
    let (pki, clock) = (Pki::new(&clients.certificate(), None), Arc::new(Told(AtomicU64::new(TODAY))));
    let authentication = authentication(&pki, clock.clone());
    let peer = peer(&clients.client("jane", &[]).unwrap().certificate);
    for (time, is_known) in [(TODAY, true), (TODAY + 1, true), (END, false), (END + 1, false), (TODAY, true)] {
        clock.0.store(time, Ordering::Relaxed);
        let found = authentication.authenticate("/", &mut HeaderMap::new(), &peer).await;
        assert_eq!(found.user().is_some_and(|user| user.name == "jane"), is_known, "at {time}: {found:?}");
        assert_eq!(found == Requester::Refused, !is_known, "at {time}: {found:?}");
    }
}

#[tokio::test]
async fn where_nobody_needs_a_credential_can_change() {
    let pki = Pki::new(&Authority::new("clients").unwrap().certificate(), None);
    let authentication = authentication(&pki, Arc::new(Told(AtomicU64::new(TODAY))));
    let nobody = peer("");
    let ask = async |path: &str| authentication.authenticate(path, &mut HeaderMap::new(), &nobody).await;
    assert_eq!(ask("/livez").await, Requester::Refused);
    authentication.set_anonymous(Anonymous::health());
    assert_eq!(ask("/livez").await.user().unwrap().name, "system:anonymous");
    assert_eq!(ask("/version").await, Requester::Nobody);
    authentication.set_anonymous(Anonymous::Everywhere);
    assert_eq!(ask("/version").await.user().unwrap().name, "system:anonymous");
}

#[tokio::test]
async fn a_review_says_what_a_request_would_find() {
    let pki = Pki::new(&Authority::new("clients").unwrap().certificate(), None);
    let authentication = authentication(&pki, Arc::new(Told(AtomicU64::new(TODAY))));
    let owner = authentication.review("tina's", &[]).await.unwrap().unwrap();
    assert_eq!((owner.user.name.as_str(), owner.user.groups), ("tina", vec!["system:authenticated".to_owned()]));
    assert_eq!(authentication.review("nobody's", &[]).await.unwrap(), None);
    assert!(authentication.review(&"x".repeat(1 << 20), &[]).await.is_err());
}

impl Clock for Told {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.0.load(Ordering::Relaxed))
    }
}

#[async_trait]
impl TokenAuthenticator for OneToken {
    async fn authenticate(&self, token: &Token) -> Result<Option<User>, TokenError> {
        // A group that is computed here is believed of nobody.
        let groups = vec!["org:owners".to_owned()];
        Ok((token.expose() == "tina's").then(|| User { name: "tina".to_owned(), groups, ..User::default() }))
    }
}
