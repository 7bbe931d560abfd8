//! Tokens about which nobody says anything in time: whoever shows one is told just that, and taken for nobody.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bailiwick_apiserver::{
    Anonymous, AuthenticationParts, RequestHeaderOptions, Token, TokenAuthenticator, TokenAuthenticatorChain,
    TokenCacheOptions, TokenError,
};
use bailiwick_registry::{SystemClock, User};
use bailiwick_test_host::pki::Authority;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, sleep, timeout};

use crate::running::{Protocol, Running};
use crate::site::Pki;

const SHORT: Duration = Duration::from_millis(50);
/// What the requests say that want an answer before long.
const LIMIT: Duration = Duration::from_millis(300);
/// Long beyond any limit here, and less than a look-up may take.
const LONG: Duration = Duration::from_secs(20);

const TOKEN: [(&str, &str); 1] = [("Authorization", "Bearer token")];

/// Never says what a token is worth, and counts how often it is asked.
#[derive(Default)]
struct Silent {
    asked: AtomicUsize,
}

#[async_trait]
impl TokenAuthenticator for Silent {
    async fn authenticate(&self, _: &Token) -> Result<Option<User>, TokenError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        std::future::pending().await
    }
}

fn parts(pki: &Pki, tokens: &Arc<Silent>, token_cache: TokenCacheOptions) -> AuthenticationParts {
    AuthenticationParts {
        tls: pki.tls.clone(),
        request_header: RequestHeaderOptions::default(),
        tokens: tokens.clone(),
        revocable_tokens: Arc::new(TokenAuthenticatorChain::default()),
        audiences: Vec::new(),
        token_cache,
        anonymous: Anonymous::Everywhere,
        clock: Arc::new(SystemClock),
    }
}

/// When something happened that an entry of the audit log tells of, in microseconds.
fn moment(entry: &Value, field: &str) -> i64 {
    serde_json::from_value::<MicroTime>(entry[field].clone()).unwrap().0.as_microsecond()
}

/// S-20: clients throw away a token that is refused, so 401 would make a flood of invented tokens an outage for all others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_nobody_could_be_asked_about_is_no_bad_one() {
    let (clients, tokens) = (Authority::new("clients").unwrap(), Arc::new(Silent::default()));
    let options = TokenCacheOptions { max_lookups: 1, patience: SHORT, ..TokenCacheOptions::default() };
    let pki = Pki::new(&clients.certificate(), None);
    let running = Running::start(pki, |pki| parts(pki, &tokens, options)).await;
    let mut held = running.connect(Protocol::Http1, None).await.unwrap();
    let request = b"GET /held HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer held\r\n\r\n";
    held.write_all(request).await.unwrap();
    held.flush().await.unwrap();
    let asked = async {
        while tokens.asked.load(Ordering::SeqCst) == 0 {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LONG, asked).await.expect("a look-up");

    let jane = clients.client("jane", &[]).unwrap();
    let stranger = Authority::new("clients").unwrap().client("jane", &[]).unwrap();
    for protocol in [Protocol::Http1, Protocol::Http2] {
        for (who, identity) in [("nobody", None), ("stranger", Some(&stranger))] {
            let path = format!("/{protocol:?}/{who}");
            let answer = running.ask(protocol, identity, &path, &TOKEN).await.unwrap();
            assert_eq!(answer.code, 429, "{path}: {}", answer.text);
            assert_eq!(answer.headers["retry-after"], "1", "{path}");
            assert_eq!(answer.text, "Too many requests, please try again later.\n", "{path}");
            let entry = running.audited(&path);
            assert_eq!((&entry["responseStatus"]["code"], &entry["user"]), (&json!(429), &json!({})), "{entry:#}");
        }
        let who = running.ask(protocol, Some(&jane), "/known", &TOKEN).await.unwrap().who();
        assert_eq!(who, "jane system:authenticated", "who is known by another method needs no token");
        let who = running.ask(protocol, None, "/none", &[]).await.unwrap().who();
        assert_eq!(who, "system:anonymous system:unauthenticated", "who shows nothing is anonymous here");
    }
    assert_eq!(tokens.asked.load(Ordering::SeqCst), 1);
}

/// What a client or the server gives a request covers finding out who asks, too, and so do all that tell how long it took.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_limit_of_a_request_covers_finding_out_who_asks() {
    let (clients, tokens) = (Authority::new("clients").unwrap(), Arc::new(Silent::default()));
    let pki = Pki::new(&clients.certificate(), None);
    let running = Running::start(pki, |pki| parts(pki, &tokens, TokenCacheOptions::default())).await;
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let path = format!("/{protocol:?}?timeout={}ms", LIMIT.as_millis());
        let began = Instant::now();
        let answer = timeout(LONG, running.ask(protocol, None, &path, &TOKEN)).await.expect("an answer").unwrap();
        assert!(began.elapsed() >= LIMIT, "{path}: {:?}", began.elapsed());
        let status: Value = serde_json::from_str(&answer.text).unwrap();
        assert_eq!((answer.code.as_u16(), &status["reason"]), (504, &json!("Timeout")), "{path}: {status:#}");
        let entry = running.audited(&path);
        assert_eq!((&entry["responseStatus"]["code"], &entry["user"]), (&json!(504), &json!({})), "{entry:#}");
        // The clock of the log is another one: half of it is plain enough.
        let took = moment(&entry, "stageTimestamp") - moment(&entry, "requestReceivedTimestamp");
        assert!(u128::try_from(took).unwrap() >= LIMIT.as_micros() / 2, "{path}: {took} µs");
    }
    let watcher = clients.client("ann", &["watchers"]).unwrap();
    let text = running.ask(Protocol::Http1, Some(&watcher), "/metrics", &[]).await.unwrap().text.clone();
    let is_given_up =
        |line: &str| line.starts_with("apiserver_request_terminations_total{") && line.contains("code=\"504\"");
    assert!(text.lines().any(is_given_up), "{text}");
}
