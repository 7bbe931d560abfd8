use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::claims::{ClaimError, Claims};
use super::compact::untrusted_issuer;
use super::*;
use crate::authentication::configuration::PrefixedClaim;

const NOW: f64 = 1_800_000_000.0;

fn check(claims: Value, seconds: f64) -> Result<(), ClaimError> {
    let mut payload = json!({"iss": "https://a.example", "aud": "x", "exp": NOW + 3600.0});
    payload.as_object_mut().unwrap().extend(claims.as_object().unwrap().clone());
    let issuer = Issuer { url: "https://a.example".to_owned(), audiences: vec!["x".to_owned()], ..Issuer::default() };
    let claims = Claims::parse(payload.to_string().as_bytes()).unwrap();
    claims.check(&issuer, Duration::from_secs_f64(seconds))
}

/// A token ends when it says, and may begin ten seconds before it says: clocks differ.
#[test]
fn a_token_has_its_time() {
    assert_eq!(check(json!({"exp": NOW}), NOW), Ok(()));
    assert_eq!(check(json!({"exp": NOW}), NOW + 1.0), Err(ClaimError::Expired(1)));
    assert_eq!(check(json!({"exp": NOW + 0.5}), NOW), Ok(()));
    assert_eq!(check(json!({"exp": NOW + 0.5}), NOW + 0.75), Err(ClaimError::Expired(0)));
    for (name, refused) in [("nbf", ClaimError::NotYet("nbf")), ("iat", ClaimError::NotYet("iat"))] {
        assert_eq!(check(json!({name: NOW}), NOW), Ok(()));
        assert_eq!(check(json!({name: NOW + 10.0}), NOW), Ok(()));
        assert_eq!(check(json!({name: NOW + 11.0}), NOW), Err(refused));
    }
    assert_eq!(check(json!({"exp": 253_402_300_799_u64}), NOW), Ok(()));
    assert_eq!(check(json!({"exp": 253_402_300_800_u64}), NOW), Err(ClaimError::Time("exp")));
}

#[test]
fn google_has_two_names_and_nobody_else() {
    assert!(claims::is_issuer("accounts.google.com", "https://accounts.google.com"));
    assert!(claims::is_issuer("https://accounts.google.com", "https://accounts.google.com"));
    assert!(!claims::is_issuer("https://accounts.google.com", "accounts.google.com"));
    assert!(!claims::is_issuer("a.example", "https://a.example"));
}

#[test]
fn the_issuer_is_read_only_from_what_looks_like_a_token() {
    let token = |payload: &str| format!("x.{payload}.x");
    let payload = "eyJpc3MiOiJhIn0";
    assert_eq!(untrusted_issuer(&token(payload)).as_deref(), Some("a"));
    for other in ["", "x", "x.x", payload, &token(&format!("{payload}=")), &format!("{}.x", token(payload))] {
        assert_eq!(untrusted_issuer(other), None, "{other}");
    }
    let long = format!("x.{payload}.{}", "x".repeat(crate::authentication::token::MAX_TOKEN_BYTES));
    assert_eq!(untrusted_issuer(&long), None);
}

/// Whoever chose the issuer by what the token says has not verified that it says so.
#[test]
fn a_token_of_another_issuer_is_refused() {
    assert_eq!(check(json!({"iss": "https://b.example"}), NOW), Err(ClaimError::Issuer));
    assert_eq!(check(json!({"iss": ["https://a.example"]}), NOW), Err(ClaimError::Issuer));
    assert_eq!(check(json!({}), NOW), Ok(()));
}

/// As long as it may be, and no longer.
#[test]
fn tokens_and_names_of_keys_have_their_length() {
    use super::compact::CompactError;
    const MOST: usize = crate::authentication::token::MAX_TOKEN_BYTES;
    let of_length = |bytes: usize| format!("x.eyJpc3MiOiJhIn0.{}", "x".repeat(bytes - 18));
    assert_eq!(of_length(MOST).len(), MOST);
    assert_eq!(untrusted_issuer(&of_length(MOST)).as_deref(), Some("a"));
    assert_eq!(untrusted_issuer(&of_length(MOST + 1)), None);

    let parse = |token: &str| Compact::parse(token, &Algorithms::all()).map(|_| ());
    assert_ne!(parse(&of_length(MOST)), Err(CompactError::TooLong));
    assert_eq!(parse(&of_length(MOST + 1)), Err(CompactError::TooLong));
    assert_eq!(parse(&of_length(MOST + 2)), Err(CompactError::TooLong));

    let named = |bytes: usize| {
        let header = json!({"alg": "RS256", "kid": "k".repeat(bytes)}).to_string();
        format!("{}.e30.", URL_SAFE_NO_PAD.encode(header))
    };
    assert_eq!(parse(&named(1_024)), Ok(()));
    assert_eq!(parse(&named(1_025)), Err(CompactError::KeyId));
    assert_eq!(parse(&named(1_026)), Err(CompactError::KeyId));
}

/// What nobody signed says nothing.
#[test]
fn a_payload_is_verified_or_not_told() {
    let token = format!("{}.eyJpc3MiOiJhIn0.", URL_SAFE_NO_PAD.encode(r#"{"alg": "RS256"}"#));
    assert_eq!(super::untrusted_issuer(&token).as_deref(), Some("a"));
    let refused = verified_payload(&token, &Algorithms::all(), &KeySet::default());
    assert_eq!(refused, Err("invalid signature, no keys found".to_owned()));
}

/// No part of a token is in what is said about it.
#[tokio::test]
async fn a_refusal_does_not_repeat_the_token() {
    let configuration = JwtConfiguration {
        issuer: Issuer { url: "a".to_owned(), audiences: vec!["x".to_owned()], ..Issuer::default() },
        claim_mappings: crate::authentication::configuration::ClaimMappings {
            username: PrefixedClaim { claim: "sub".to_owned(), ..PrefixedClaim::default() },
            ..Default::default()
        },
        ..JwtConfiguration::default()
    };
    let authenticator = JwtAuthenticator::new(JwtOptions::default(), Arc::new(bailiwick_registry::SystemClock));
    authenticator.set_fixed(&configuration, &Algorithms::all(), KeySet::default());
    let token = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJhIn0.c2VjcmV0";
    let refusal = authenticator.authenticate(&Token::new(token)).await.unwrap_err();
    // Keys that do not change need not be waited for.
    assert_eq!(authenticator.authenticate_at_once(&Token::new(token)), Some(Err(refusal.clone())));
    let refusal = refusal.to_string();
    for part in token.split('.') {
        assert!(!refusal.contains(part), "{refusal}");
    }
    assert!(refusal.contains("failed to verify signature"), "{refusal}");
}

#[test]
fn keys_that_cannot_sign_are_passed_over() {
    let length = |keys: Value| KeySet::from_json(json!({ "keys": keys }).to_string().as_bytes()).map(|keys| keys.len());
    let key = json!({"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"});
    let with = |name: &str, value: Value| {
        let mut key = key.clone();
        key[name] = value;
        json!([key])
    };
    assert_eq!(length(json!([key])), Ok(1));
    let is_empty = |keys: Value| KeySet::from_json(json!({ "keys": keys }).to_string().as_bytes()).unwrap().is_empty();
    assert!(is_empty(json!([])) && !is_empty(json!([key])));
    assert_eq!(length(with("use", json!("sig"))), Ok(1));
    assert_eq!(length(with("key_ops", json!(["verify"]))), Ok(1));
    for (name, value) in [
        ("use", json!("enc")),
        ("use", json!(null)),
        ("key_ops", json!(["encrypt"])),
        ("key_ops", json!("verify")),
        ("kty", json!("oct")),
        ("kty", json!("OKP")),
        ("kty", json!(5)),
        ("crv", json!("secp256k1")),
        ("alg", json!("HS256")),
        ("alg", json!(5)),
        ("x", json!("*")),
        ("x", json!(5)),
    ] {
        assert_eq!(length(with(name, value.clone())), Ok(0), "{name}: {value}");
    }
    assert_eq!(length(json!(vec![json!({}); 100])), Ok(0));
    assert!(length(json!(vec![json!({}); 101])).is_err());
}
