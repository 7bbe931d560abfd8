//! everything that clients are known by is replaced while they ask. Nobody who holds what is valid is refused, and
//! what was replaced is refused soon.
//!
//! `BAILIWICK_TEST_ROTATIONS=20` makes it long.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bailiwick_apiserver::{
    Algorithms, Anonymous, AuthenticationParts, JwtAuthenticator, JwtOptions, RequestHeaderOptions, Token,
    TokenAuthenticatorChain, TokenCacheOptions,
};
use bailiwick_registry::SystemClock;
use bailiwick_test_host::pki::{Authority, Identity};
use tokio::sync::RwLock;

use crate::issuer::{Issuer, SigningKey};
use crate::running::{Protocol, Running};
use crate::site::Pki;

/// After this, what was to happen did not happen.
const PATIENCE: Duration = Duration::from_secs(20);

/// What clients hold at the moment. Whoever uses it holds the lock, so that it is valid for as long as it is used.
struct Held {
    client: Identity,
    proxy: Identity,
    token: Token,
}

struct Load {
    running: Running,
    held: RwLock<Held>,
    stop: AtomicBool,
    answers: AtomicUsize,
    /// How long it took at most until something was noticed.
    longest: Mutex<Duration>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_clients_are_known_by_is_replaced_under_load() {
    let rotations = std::env::var("BAILIWICK_TEST_ROTATIONS").map_or(3, |text| text.parse().unwrap());
    let (mut clients, mut proxies) = (Authority::new("clients").unwrap(), Authority::new("proxies").unwrap());
    let mut key = SigningKey::new("first");
    let issuer = Issuer::start(&[&key]).await;
    let tokens = Arc::new(JwtAuthenticator::new(
        JwtOptions {
            refresh_every: Duration::from_millis(200),
            unknown_key_every: Duration::from_millis(50),
            ..JwtOptions::default()
        },
        Arc::new(SystemClock),
    ));
    tokens.set_issuers(&[issuer.configuration()], &Algorithms::all()).unwrap();
    let pki = Pki::new(&clients.certificate(), Some(&proxies.certificate()));
    let running = Running::start(pki, |pki| AuthenticationParts {
        tls: pki.tls.clone(),
        request_header: RequestHeaderOptions {
            username_headers: vec!["X-Remote-User".to_owned()],
            allowed_names: vec!["front-proxy".to_owned()],
            ..RequestHeaderOptions::default()
        },
        tokens,
        revocable_tokens: Arc::new(TokenAuthenticatorChain::default()),
        audiences: Vec::new(),
        token_cache: TokenCacheOptions { known_for: Duration::from_millis(100), ..TokenCacheOptions::default() },
        anonymous: Anonymous::health(),
        clock: Arc::new(SystemClock),
    })
    .await;
    let held = Held {
        client: clients.client("jane", &[]).unwrap(),
        proxy: proxies.client("front-proxy", &[]).unwrap(),
        token: issuer.token(&key, "tina"),
    };
    let load = Arc::new(Load {
        running,
        held: RwLock::new(held),
        stop: AtomicBool::new(false),
        answers: AtomicUsize::new(0),
        longest: Mutex::default(),
    });
    let askers: Vec<_> = (0..3).map(|number| tokio::spawn(load.clone().ask(number))).collect();
    for round in 0..rotations {
        let pki = &load.running.pki;
        pki.serve_with(&pki.authority.server(&format!("server {round}"), &[]).unwrap());

        let next = Authority::new("clients").unwrap();
        load.both("client-ca.crt", &clients, &next).await;
        let old = std::mem::replace(&mut load.held.write().await.client, next.client("jane", &[]).unwrap());
        pki.write("client-ca.crt", &next.certificate());
        load.until_refused(Some(&old), &[]).await;
        clients = next;

        let next = Authority::new("proxies").unwrap();
        load.both("request-header-ca.crt", &proxies, &next).await;
        let old = std::mem::replace(&mut load.held.write().await.proxy, next.client("front-proxy", &[]).unwrap());
        pki.write("request-header-ca.crt", &next.certificate());
        load.until_refused(Some(&old), &[("x-remote-user", "ruth")]).await;
        proxies = next;

        let next = SigningKey::new(&format!("key {round}"));
        issuer.publish(&[&key, &next]);
        load.until_known(&issuer.token(&next, "tina")).await;
        let old = std::mem::replace(&mut load.held.write().await.token, issuer.token(&next, "tina"));
        issuer.publish(&[&next]);
        load.until_refused(None, &[("authorization", &format!("Bearer {}", old.expose()))]).await;
        key = next;
    }
    load.stop.store(true, Ordering::SeqCst);
    for asker in askers {
        asker.await.unwrap();
    }
    let answers = load.answers.load(Ordering::SeqCst);
    println!(
        "{rotations} rotations: {answers} answers, nobody refused wrongly; what is old or new was noticed within {:?}",
        *load.longest.lock().unwrap()
    );
    assert!(answers > 20 * rotations, "{answers} answers");
}

/// what was begun on the word of an authority ends with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watches_end_when_their_clients_are_no_longer_believed() {
    let (clients, proxies) = (Authority::new("clients").unwrap(), Authority::new("proxies").unwrap());
    let pki = Pki::new(&clients.certificate(), Some(&proxies.certificate()));
    let running = Running::start(pki, |pki| AuthenticationParts {
        tls: pki.tls.clone(),
        request_header: RequestHeaderOptions {
            username_headers: vec!["X-Remote-User".to_owned()],
            group_headers: vec!["X-Remote-Group".to_owned()],
            ..RequestHeaderOptions::default()
        },
        tokens: Arc::new(TokenAuthenticatorChain::new(Vec::new())),
        revocable_tokens: Arc::new(TokenAuthenticatorChain::default()),
        audiences: Vec::new(),
        token_cache: TokenCacheOptions::default(),
        anonymous: Anonymous::Off,
        clock: Arc::new(SystemClock),
    })
    .await;
    let (jane, proxy) = (clients.client("jane", &["watchers"]).unwrap(), proxies.client("proxy", &[]).unwrap());
    let named = [("x-remote-user", "ruth"), ("x-remote-group", "watchers")];
    let path = "/apis/org.bailiwick.dev/v1alpha1/organizations?watch=true";
    let ended = [AtomicBool::new(false), AtomicBool::new(false)];
    let watch = async |number: usize, identity, headers| {
        let answer = running.ask(Protocol::Http1, Some(identity), path, headers).await.unwrap();
        assert_eq!(answer.code, 200, "{answer:?}");
        ended[number].store(true, Ordering::SeqCst);
    };
    let rotate = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let both = format!("{}{}", clients.certificate(), Authority::new("next").unwrap().certificate());
        running.pki.write("client-ca.crt", &both);
        tokio::time::sleep(Duration::from_millis(500)).await;
        let have_ended = || [0, 1].map(|number: usize| ended[number].load(Ordering::SeqCst));
        assert_eq!(have_ended(), [false, false], "both are still believed");
        running.pki.write("client-ca.crt", &Authority::new("next").unwrap().certificate());
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert_eq!(have_ended(), [true, false]);
        running.pki.write("request-header-ca.crt", &Authority::new("next").unwrap().certificate());
    };
    let all = async { tokio::join!(watch(0, &jane, &[]), watch(1, &proxy, &named), rotate) };
    tokio::time::timeout(PATIENCE, all).await.expect("both end in time");
}

// === impl Load ===

impl Load {
    /// Asks in each way, again and again; every answer must say who asked.
    async fn ask(self: Arc<Self>, number: usize) {
        let protocol = if number.is_multiple_of(2) { Protocol::Http2 } else { Protocol::Http1 };
        while !self.stop.load(Ordering::SeqCst) {
            let held = self.held.read().await;
            let bearer = format!("Bearer {}", held.token.expose());
            for (identity, headers, expected) in [
                (Some(&held.client), &[][..], "jane system:authenticated"),
                (Some(&held.proxy), &[("x-remote-user", "ruth")], "ruth system:authenticated"),
                (None, &[("authorization", bearer.as_str())], "tina devs,system:authenticated"),
            ] {
                let answer = self.running.ask(protocol, identity, "/x", headers).await.unwrap();
                assert_eq!(answer.who(), expected, "{answer:?}");
                self.answers.fetch_add(1, Ordering::SeqCst);
            }
        }
    }

    /// Has both authorities believed.
    async fn both(&self, file: &str, old: &Authority, new: &Authority) {
        let generation = self.running.pki.tls.trust().generation;
        self.running.pki.write(file, &format!("{}{}", old.certificate(), new.certificate()));
        let began = Instant::now();
        while self.running.pki.tls.trust().generation == generation {
            assert!(began.elapsed() < PATIENCE, "{file} is not taken");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn until_known(&self, token: &Token) {
        let bearer = format!("Bearer {}", token.expose());
        self.until("known", 403, None, &[("authorization", &bearer)]).await;
    }

    async fn until_refused(&self, identity: Option<&Identity>, headers: &[(&str, &str)]) {
        self.until("refused", 401, identity, headers).await;
    }

    async fn until(&self, what: &str, code: u16, identity: Option<&Identity>, headers: &[(&str, &str)]) {
        let began = Instant::now();
        loop {
            let answer = self.running.ask(Protocol::Http1, identity, "/x", headers).await.unwrap();
            if answer.code.as_u16() == code {
                let mut longest = self.longest.lock().unwrap();
                *longest = began.elapsed().max(*longest);
                return;
            }
            assert!(began.elapsed() < PATIENCE, "not {what} in time: {answer:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
