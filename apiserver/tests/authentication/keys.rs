//! Where the keys of issuers come from, and how long they are believed.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bailiwick_apiserver::{
    Algorithms, JwtAuthenticator, JwtOptions, Token, TokenAuthenticator, TokenCache, TokenCacheError,
    TokenCacheOptions, TokenError,
};
use bailiwick_registry::SystemClock;
use bailiwick_test_host::pki::Authority;
use serde_json::json;
use tokio_util::task::AbortOnDropHandle;

use crate::issuer::{Issuer, Manner, SigningKey, now};

/// After this, what was to happen did not happen.
const PATIENCE: Duration = Duration::from_secs(20);

/// Impatient, so that tests are short.
const QUICK: JwtOptions = JwtOptions {
    refresh_every: Duration::from_millis(400),
    unknown_key_every: Duration::from_millis(100),
    retry_every: Duration::from_millis(100),
    fetch_timeout: Duration::from_millis(500),
};

/// Fetches once, and again only for keys that are not known.
const RARELY: JwtOptions = JwtOptions { refresh_every: Duration::from_secs(3600), ..QUICK };

fn believing(issuers: &[&Issuer], options: JwtOptions) -> JwtAuthenticator {
    let authenticator = JwtAuthenticator::new(options, Arc::new(SystemClock));
    let configurations: Vec<_> = issuers.iter().map(|issuer| issuer.configuration()).collect();
    authenticator.set_issuers(&configurations, &Algorithms::all()).unwrap();
    authenticator
}

async fn name(authenticator: &JwtAuthenticator, token: &Token) -> Result<Option<String>, TokenError> {
    Ok(authenticator.authenticate(token).await?.map(|user| user.name))
}

async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < PATIENCE, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn the_first_token_waits_for_the_keys() {
    let key = SigningKey::new("a");
    let issuer = Issuer::start(&[&key]).await;
    let believer = believing(&[&issuer], QUICK);
    assert_eq!(believer.waiting(), [issuer.url.as_str()]);
    assert_eq!(name(&believer, &issuer.token(&key, "jane")).await, Ok(Some("jane".to_owned())));
    assert!(believer.waiting().is_empty());
}

/// S-20: whoever shows tokens of invented keys while an issuer does not answer keeps nobody out whose key is known.
#[tokio::test]
async fn invented_keys_keep_nobody_out() {
    let (key, invented) = (SigningKey::new("a"), SigningKey::new("invented"));
    let issuer = Issuer::start(&[&key]).await;
    let believer = Arc::new(believing(&[&issuer], JwtOptions { fetch_timeout: PATIENCE, ..RARELY }));
    assert!(name(&believer, &issuer.token(&key, "first")).await.is_ok());
    issuer.behave(Manner::Silent);
    tokio::time::sleep(2 * RARELY.unknown_key_every).await;
    let options = TokenCacheOptions { max_lookups: 5, patience: Duration::ZERO, ..TokenCacheOptions::default() };
    let cache = Arc::new(TokenCache::new(believer, options));
    let waiting: Vec<_> = (0..5)
        .map(|number| {
            let (cache, token) = (cache.clone(), issuer.token(&invented, &format!("mallory-{number}")));
            // From all over the world: one address has but a share of the places.
            let from = IpAddr::from([203, 0, 113, number]);
            AbortOnDropHandle::new(tokio::spawn(async move { cache.authenticate(&token, from).await }))
        })
        .collect();
    let (here, mut more) = (IpAddr::from(Ipv4Addr::LOCALHOST), 0);
    eventually("all places are taken", async || {
        more += 1;
        let token = issuer.token(&invented, &format!("more-{more}"));
        let outcome = tokio::time::timeout(Duration::from_millis(10), cache.authenticate(&token, here)).await;
        outcome.is_ok_and(|outcome| outcome == Err(TokenCacheError::TooMany))
    })
    .await;
    let user = cache.authenticate(&issuer.token(&key, "jane"), here).await.unwrap().unwrap();
    assert_eq!(user.name, "jane");
    assert!(waiting.iter().filter(|waiting| waiting.is_finished()).count() <= 1, "the others still wait");
}

/// R-20: a new key is accepted within 10 s, a withdrawn one refused within 60 s.
#[tokio::test]
async fn keys_come_and_go() {
    let (old, new) = (SigningKey::new("old"), SigningKey::new("new"));
    let issuer = Issuer::start(&[&old]).await;
    let believer = believing(&[&issuer], RARELY);
    let (old_token, new_token) = (issuer.token(&old, "jane"), issuer.token(&new, "jane"));
    assert!(name(&believer, &old_token).await.is_ok());
    assert!(name(&believer, &new_token).await.unwrap_err().0.contains("no such key"));
    issuer.publish(&[&old, &new]);
    eventually("the new key", async || name(&believer, &new_token).await.is_ok()).await;
    assert!(name(&believer, &old_token).await.is_ok());

    let believer = believing(&[&issuer], QUICK);
    assert!(name(&believer, &old_token).await.is_ok());
    issuer.publish(&[&new]);
    eventually("the end of the old key", async || name(&believer, &old_token).await.is_err()).await;
    assert!(name(&believer, &new_token).await.is_ok());

    let (options, cache) = (JwtOptions::default(), TokenCacheOptions::default());
    assert!(options.unknown_key_every + Duration::from_secs(1) <= Duration::from_secs(10));
    assert!(options.refresh_every + options.fetch_timeout + cache.known_for <= Duration::from_secs(60));
}

/// A key that has the name of another is told from it.
#[tokio::test]
async fn a_key_is_replaced_under_its_name() {
    let (first, second) = (SigningKey::new("k"), SigningKey::new("k"));
    let issuer = Issuer::start(&[&first]).await;
    let believer = believing(&[&issuer], QUICK);
    assert!(name(&believer, &issuer.token(&first, "jane")).await.is_ok());
    assert!(name(&believer, &issuer.token(&second, "jane")).await.unwrap_err().0.contains("did not make it"));
    issuer.publish(&[&second]);
    eventually("the second", async || name(&believer, &issuer.token(&second, "jane")).await.is_ok()).await;
    assert!(name(&believer, &issuer.token(&first, "jane")).await.is_err());
}

#[tokio::test]
async fn invented_keys_do_not_make_the_server_ask_again_and_again() {
    let key = SigningKey::new("a");
    let issuer = Issuer::start(&[&key]).await;
    let believer = believing(&[&issuer], JwtOptions { unknown_key_every: Duration::from_millis(500), ..RARELY });
    assert!(name(&believer, &issuer.token(&key, "jane")).await.is_ok());
    let (asked, began) = (issuer.asked(), Instant::now());
    for number in 0..200 {
        let invented = SigningKey::new(&format!("invented-{number}"));
        assert!(name(&believer, &issuer.token(&invented, "jane")).await.is_err());
    }
    assert!(began.elapsed() < PATIENCE, "who invents keys is not waited for: {:?}", began.elapsed());
    eventually("one question", async || issuer.asked() > asked).await;
    let most = began.elapsed().as_millis() / 500 + 1;
    let more = issuer.asked() - asked;
    assert!(more as u128 <= most, "asked {more} times, not {most}");
    let forger = SigningKey::new("a");
    let asked = issuer.asked();
    tokio::time::sleep(Duration::from_millis(600)).await;
    for _ in 0..20 {
        assert!(name(&believer, &issuer.token(&forger, "jane")).await.is_err());
    }
    assert!(issuer.asked() <= asked + 1, "a forgery is no reason to ask");
}

/// S-10, S-11: redirects are not followed, and what an issuer sends is bounded in size and time.
#[tokio::test]
async fn an_issuer_that_misbehaves_is_not_believed_until_it_behaves() {
    let key = SigningKey::new("a");
    let good_keys = |issuer: &Issuer| issuer.token(&key, "jane");
    let other = |issuer: &str, keys: &str| Manner::Discovery(json!({"issuer": issuer, "jwks_uri": keys}));
    let issuer = Issuer::start(&[&key]).await;
    let url = issuer.url.clone();
    let mut big = br#"{"keys":[],"x":""#.to_vec();
    big.resize(2 << 20, b'x');
    big.extend(br#""}"#);
    let many = format!(r#"{{"keys":[{}{{}}]}}"#, "{},".repeat(200));
    for manner in [
        Manner::Code(301),
        Manner::Code(302),
        Manner::Code(307),
        Manner::Code(404),
        Manner::Code(500),
        Manner::Code(204),
        other("https://other.example", &format!("{url}/keys")),
        other(&format!("{url}/"), &format!("{url}/keys")),
        other(&url, &format!("{}/keys", url.replace("https", "http"))),
        other(&url, "/keys"),
        other(&url, ""),
        other(&url, "file:///etc/passwd"),
        // Its certificate would be believed, and the operator has not named that host.
        other(&url, &format!("{}/keys", url.replace("localhost", "127.0.0.1"))),
        Manner::Discovery(json!({"issuer": url})),
        Manner::Discovery(json!([])),
        Manner::Keys(b"rubbish".to_vec()),
        Manner::Keys(b"{}".to_vec()),
        Manner::Keys(br#"{"keys":{}}"#.to_vec()),
        Manner::Keys(big),
        Manner::Keys(many.into_bytes()),
        Manner::Silent,
    ] {
        issuer.behave(manner.clone());
        let believer = believing(&[&issuer], QUICK);
        let refused = name(&believer, &good_keys(&issuer)).await.unwrap_err();
        let manner = format!("{manner:.80?}");
        assert!(refused.0.contains("not been fetched yet"), "{manner}: {refused}");
        assert_eq!(believer.waiting().len(), 1, "{manner}");
        issuer.behave(Manner::Proper);
        eventually("keys", async || name(&believer, &good_keys(&issuer)).await.is_ok()).await;
    }
}

#[tokio::test]
async fn an_issuer_whose_certificate_is_not_believed_is_not_asked() {
    let key = SigningKey::new("a");
    let issuer = Issuer::start(&[&key]).await;
    let mut configuration = issuer.configuration();
    configuration.issuer.certificate_authority = Authority::new("issuers").unwrap().certificate();
    let believer = JwtAuthenticator::new(QUICK, Arc::new(SystemClock));
    believer.set_issuers(&[configuration], &Algorithms::all()).unwrap();
    assert!(name(&believer, &issuer.token(&key, "jane")).await.unwrap_err().0.contains("not been fetched yet"));
    assert_eq!(issuer.asked(), 0);
}

#[tokio::test]
async fn known_keys_stay_while_the_issuer_is_away() {
    let key = SigningKey::new("a");
    let issuer = Issuer::start(&[&key]).await;
    let believer = believing(&[&issuer], QUICK);
    assert!(name(&believer, &issuer.token(&key, "jane")).await.is_ok());
    for manner in [Manner::Code(503), Manner::Keys(b"rubbish".to_vec()), Manner::Silent] {
        issuer.behave(manner);
        let asked = issuer.asked();
        eventually("another try", async || issuer.asked() > asked + 1).await;
        assert!(name(&believer, &issuer.token(&key, "jane")).await.is_ok());
    }
}

/// A new authority is configured before the issuer shows a certificate of it, and a new place before anything is there.
#[tokio::test]
async fn known_keys_stay_until_an_issuer_is_reached_in_another_way() {
    let (old, new) = (SigningKey::new("old"), SigningKey::new("new"));
    let issuer = Issuer::start(&[&old]).await;
    let believer = believing(&[&issuer], QUICK);
    let (old_token, new_token) = (issuer.token(&old, "jane"), issuer.token(&new, "jane"));
    assert!(name(&believer, &old_token).await.is_ok());

    let right = issuer.configuration();
    let mut elsewhere = right.clone();
    elsewhere.issuer.certificate_authority = Authority::new("issuers").unwrap().certificate();
    believer.set_issuers(&[elsewhere.clone()], &Algorithms::all()).unwrap();
    issuer.publish(&[&new]);
    assert!(believer.waiting().is_empty());
    // By then it would have been asked in the old way.
    tokio::time::sleep(2 * QUICK.refresh_every).await;
    assert!(name(&believer, &new_token).await.unwrap_err().0.contains("no such key"));
    assert_eq!(name(&believer, &old_token).await, Ok(Some("jane".to_owned())));

    // So they do from one way that did not lead there to another.
    issuer.behave(Manner::Code(404));
    elsewhere.issuer = right.issuer.clone();
    elsewhere.issuer.discovery_url = format!("{}/nowhere", issuer.url);
    believer.set_issuers(&[elsewhere], &Algorithms::all()).unwrap();
    assert!(name(&believer, &new_token).await.unwrap_err().0.contains("no such key"));
    assert_eq!(name(&believer, &old_token).await, Ok(Some("jane".to_owned())));

    issuer.behave(Manner::Proper);
    believer.set_issuers(std::slice::from_ref(&right), &Algorithms::all()).unwrap();
    eventually("its keys", async || name(&believer, &new_token).await.is_ok()).await;
    assert!(name(&believer, &old_token).await.is_err(), "what it publishes counts again");

    // Who was taken out has no known keys.
    believer.set_issuers(&[], &Algorithms::all()).unwrap();
    issuer.behave(Manner::Code(404));
    believer.set_issuers(&[right], &Algorithms::all()).unwrap();
    assert!(name(&believer, &new_token).await.unwrap_err().0.contains("not been fetched yet"));
}

/// Configurations are read again and again, and are mostly the same.
#[tokio::test]
async fn an_issuer_that_is_reached_as_before_is_not_asked_for_that() {
    let key = SigningKey::new("a");
    let issuer = Issuer::start(&[&key]).await;
    let believer = believing(&[&issuer], RARELY);
    let token = issuer.token(&key, "jane");
    assert!(name(&believer, &token).await.is_ok());
    let asked = issuer.asked();
    let mut configuration = issuer.configuration();
    configuration.issuer.audiences.push("another".to_owned());
    believer.set_issuers(&[configuration], &Algorithms::all()).unwrap();
    tokio::time::sleep(RARELY.retry_every).await;
    assert_eq!(name(&believer, &token).await, Ok(Some("jane".to_owned())));
    assert_eq!(issuer.asked(), asked);
}

#[tokio::test]
async fn what_an_issuer_publishes_where_discovery_says_is_followed() {
    let key = SigningKey::new("a");
    let issuer = Issuer::start(&[&key]).await;
    let mut configuration = issuer.configuration();
    configuration.issuer.discovery_url = format!("{}/moved/.well-known/openid-configuration", issuer.url);
    // Only what is moved is answered.
    issuer.behave(Manner::Code(404));
    let believer = JwtAuthenticator::new(QUICK, Arc::new(SystemClock));
    believer.set_issuers(&[configuration], &Algorithms::all()).unwrap();
    assert!(name(&believer, &issuer.token(&key, "jane")).await.is_ok());
}

/// S-06: each issuer speaks for itself.
#[tokio::test]
async fn issuers_do_not_vouch_for_each_other() {
    let (first_key, second_key) = (SigningKey::new("k"), SigningKey::new("k"));
    let (first, second) = (Issuer::start(&[&first_key]).await, Issuer::start(&[&second_key]).await);
    let believer = JwtAuthenticator::new(QUICK, Arc::new(SystemClock));
    let mut configurations = [first.configuration(), second.configuration()];
    configurations[0].claim_mappings.username.prefix = Some("first:".to_owned());
    configurations[1].claim_mappings.username.prefix = Some("second:".to_owned());
    believer.set_issuers(&configurations, &Algorithms::all()).unwrap();
    assert_eq!(name(&believer, &first.token(&first_key, "jane")).await, Ok(Some("first:jane".to_owned())));
    assert_eq!(name(&believer, &second.token(&second_key, "jane")).await, Ok(Some("second:jane".to_owned())));
    assert!(name(&believer, &first.token(&second_key, "jane")).await.is_err());
    assert!(name(&believer, &second.token(&first_key, "jane")).await.is_err());
    let stranger =
        first_key.sign(&json!({"iss": "https://other.example", "aud": "bailiwick", "sub": "x", "exp": now() + 9}));
    assert_eq!(name(&believer, &stranger).await, Ok(None));

    // An issuer that is taken out is believed no longer, and the other keeps its keys.
    let asked = second.asked();
    second.behave(Manner::Silent);
    believer.set_issuers(&configurations[1..], &Algorithms::all()).unwrap();
    assert_eq!(name(&believer, &first.token(&first_key, "jane")).await, Ok(None));
    assert_eq!(name(&believer, &second.token(&second_key, "jane")).await, Ok(Some("second:jane".to_owned())));
    assert!(second.asked() <= asked + 1);
}
