//! Files of the kind `AuthenticationConfiguration`, and what Kubernetes says about them (`tests/oracle/authnconfig`).

use std::sync::Arc;
use std::time::{Duration, Instant};

use bailiwick_apiserver::{
    Anonymous, Authentication, AuthenticationConfiguration, AuthenticationFile, AuthenticationParts,
    ConfigurationError, JwtAuthenticator, JwtOptions, RequestHeaderOptions, TokenAuthenticator,
    TokenAuthenticatorChain, TokenCacheOptions,
};
use bailiwick_registry::SystemClock;
use bailiwick_test_host::pki::Authority;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::issuer::{Issuer, SigningKey};
use crate::site::Pki;

#[derive(Deserialize)]
struct Recorded {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    text: String,
    #[serde(default)]
    decoding: String,
    #[serde(default)]
    error: String,
}

/// Files that Kubernetes takes and Bailiwick does not yet, or not at all, by what is said about them.
const STRICTER: [&str; 5] = [
    "CEL expressions are not supported by this server yet: use a claim instead",
    "egress selection is not supported by this server: leave it out",
    "URL must name a host that can be connected to",
    "no kind \"AuthenticationConfiguration\" is registered for version \"apiserver.config.k8s.io/v1alpha1\"",
    "invalid type: null, expected struct JwtConfiguration",
];

#[test]
fn files_are_read_as_in_kubernetes() {
    let recorded: Recorded = serde_json::from_str(include_str!("../../../tests/data/go/authnconfig.json")).unwrap();
    assert!(recorded.cases.len() > 100);
    let mut problems = Vec::new();
    let mut used = [false; STRICTER.len()];
    for Case { text, decoding, error } in &recorded.cases {
        let found = AuthenticationConfiguration::from_yaml(text.as_bytes(), &[]);
        let said = found.as_ref().err().map(ToString::to_string).unwrap_or_default();
        let is_right = match &found {
            Ok(_) => decoding.is_empty() && error.is_empty(),
            // How it is said that a file is unreadable is for each reader to choose.
            Err(ConfigurationError::Invalid(invalid)) => invalid.to_string() == *error,
            Err(_) => !decoding.is_empty(),
        };
        if is_right {
            continue;
        }
        match STRICTER.iter().position(|listed| said.contains(listed)) {
            Some(listed) => used[listed] = true,
            None => problems.push(format!("{text}\nours:   {said}\ntheirs: {decoding}{error}\n")),
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert_eq!(used, [true; STRICTER.len()]);
}

/// What else is wrong is said also where a file is refused for what this server cannot do yet, and nothing that is not.
#[test]
fn all_that_is_wrong_is_said() {
    let said = |audiences: Value, policy: &str, rules: Value, extra: Value| {
        let text = json!({
            "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration",
            "jwt": [{
                "issuer": {"url": "https://a", "audiences": audiences, "audienceMatchPolicy": policy},
                "claimValidationRules": rules,
                "claimMappings": {"username": {"claim": "sub", "prefix": ""}, "extra": extra},
            }],
        });
        match AuthenticationConfiguration::from_yaml(text.to_string().as_bytes(), &[]) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        }
    };
    let (one, two, none) = (json!(["a"]), json!(["a", "b"]), json!([]));
    for (audiences, policy, is_right) in [
        (&one, "", true),
        (&one, "MatchAny", true),
        (&one, "MatchAll", false),
        (&two, "MatchAny", true),
        (&two, "", false),
        (&two, "MatchAll", false),
    ] {
        let said = said(audiences.clone(), policy, none.clone(), none.clone());
        assert_eq!(said.is_empty(), is_right, "{audiences} {policy}: {said}");
    }
    for (rule, value) in
        [(json!({"expression": "true"}), false), (json!({"expression": "true", "requiredValue": "x"}), true)]
    {
        let said = said(one.clone(), "", json!([rule]), none.clone());
        assert!(said.contains("claimValidationRules[0].expression"), "{said}");
        assert_eq!(said.contains("claimValidationRules[0].requiredValue"), value, "{said}");
    }
    for (key, is_reserved) in [
        ("kubernetes.io/a", true),
        ("x.kubernetes.io/a", true),
        ("k8s.io/a", true),
        ("x.k8s.io/a", true),
        ("notk8s.io/a", false),
        ("k8s.io.example.dev/a", false),
    ] {
        let said = said(one.clone(), "", none.clone(), json!([{"key": key, "valueExpression": "claims.a"}]));
        assert!(said.contains("extra[0].valueExpression"), "{said}");
        assert_eq!(said.contains("reserved for Kubernetes"), is_reserved, "{key}: {said}");
    }
}

#[test]
fn anonymous_requests_are_where_the_file_says() {
    let read = |text: &str| {
        let head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n";
        AuthenticationConfiguration::from_yaml(format!("{head}{text}").as_bytes(), &[]).unwrap().anonymous()
    };
    assert_eq!(read(""), None);
    assert_eq!(read("anonymous: {enabled: false}"), Some(Anonymous::Off));
    assert_eq!(read("anonymous: {enabled: true}"), Some(Anonymous::Everywhere));
    let paths = Anonymous::Paths(vec!["/livez".to_owned()]);
    assert_eq!(read("anonymous: {enabled: true, conditions: [{path: /livez}]}"), Some(paths));
}

/// The issuer of tokens of service accounts is nobody else: its tokens would be taken by the rules of another.
#[test]
fn own_issuers_are_not_named() {
    let text = |url: &str| {
        format!(
            "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt:\n\
             - issuer: {{url: {url:?}, audiences: [a]}}\n  claimMappings: {{username: {{claim: sub, prefix: ''}}}}\n"
        )
    };
    let own = ["https://two", "https://one"].map(str::to_owned);
    let read = |url: &str| AuthenticationConfiguration::from_yaml(text(url).as_bytes(), &own).map(drop);
    assert!(read("https://three").is_ok());
    let refusal = read("https://one").unwrap_err().to_string();
    let expected = "jwt[0].issuer.url: Invalid value: \"https://one\": URL must not overlap with disallowed issuers: \
                    [https://one https://two]";
    assert!(refusal.contains(expected), "{refusal}");

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("authentication.yaml");
    let file = AuthenticationFile::new(&path, own.to_vec());
    let tokens = JwtAuthenticator::new(JwtOptions::default(), Arc::new(SystemClock));
    std::fs::write(&path, text("https://two")).unwrap();
    let refusal = file.load(&tokens).map(drop).unwrap_err().to_string();
    assert!(refusal.contains("must not overlap"), "{refusal}");
}

/// Issuers come and go with the file; a file that cannot be used changes nothing.
#[tokio::test]
async fn the_file_is_followed() {
    let key = SigningKey::new("a");
    let issuer = Issuer::start(&[&key]).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("authentication.json");
    let write = |jwt: Value| {
        let text = json!({
            "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration", "jwt": jwt,
        });
        std::fs::write(&path, text.to_string()).unwrap();
    };
    let ours = |audience: &str| {
        let authority = issuer.authority.certificate();
        json!([{
            "issuer": {"url": issuer.url, "audiences": [audience], "certificateAuthority": authority},
            "claimMappings": {"username": {"claim": "sub", "prefix": "file:"}},
        }])
    };
    write(json!([]));
    let tokens = Arc::new(JwtAuthenticator::new(JwtOptions::default(), Arc::new(SystemClock)));
    let file = AuthenticationFile::new(&path, vec!["https://ours".to_owned()]);
    assert_eq!(file.load(&tokens).unwrap(), None);
    let pki = Pki::new(&Authority::new("clients").unwrap().certificate(), None);
    let authentication = Authentication::new(AuthenticationParts {
        tls: pki.tls.clone(),
        request_header: RequestHeaderOptions::default(),
        tokens: tokens.clone(),
        revocable_tokens: Arc::new(TokenAuthenticatorChain::default()),
        audiences: Vec::new(),
        token_cache: TokenCacheOptions::default(),
        anonymous: Anonymous::Off,
        clock: Arc::new(SystemClock),
    });
    let poll = Duration::from_millis(20);
    tokio::spawn(file.follow(tokens.clone(), Arc::new(authentication.unwrap()), Anonymous::Off, poll));
    let token = issuer.token(&key, "jane");
    let name = async || tokens.authenticate(&token).await.ok().flatten().map(|user| user.name);
    let becomes = async |expected: Option<&str>| {
        let began = Instant::now();
        while name().await.as_deref() != expected {
            assert!(began.elapsed() < Duration::from_secs(20), "not in time: {expected:?}");
            tokio::time::sleep(poll).await;
        }
    };
    assert_eq!(name().await, None);
    write(ours("bailiwick"));
    becomes(Some("file:jane")).await;
    write(json!([{"issuer": {"url": "http://insecure.example"}}]));
    tokio::time::sleep(10 * poll).await;
    assert_eq!(name().await.as_deref(), Some("file:jane"), "a bad file changes nothing");
    std::fs::remove_file(&path).unwrap();
    tokio::time::sleep(10 * poll).await;
    assert_eq!(name().await.as_deref(), Some("file:jane"), "nor does one that is gone");
    write(ours("others"));
    becomes(None).await;
    write(ours("bailiwick"));
    becomes(Some("file:jane")).await;
}
