//! Whose tokens are.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use bailiwick_apiserver::{Audiences, Token, TokenAuthenticator, TokenCache, TokenCacheOptions, TokenReviews};
use serde_json::json;
use tokio::time::advance;

use crate::cluster::{Behaviour, Cluster};

/// Where tokens come from.
const FROM: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn known() -> Behaviour {
    Behaviour::Status(json!({"authenticated": true, "user": {
        "username": "ann", "uid": "7", "groups": ["devs", "org:acme:admins"], "extra": {"scopes": ["read"]}
    }}))
}

fn cache(behaviour: Behaviour) -> (Cluster, TokenCache) {
    let cluster = Cluster::new(behaviour);
    let reviews = TokenReviews::new(cluster.client(), Vec::new());
    (cluster, TokenCache::new(Arc::new(reviews), TokenCacheOptions::default()))
}

#[tokio::test(start_paused = true)]
async fn the_cluster_says_whose_a_token_is_and_is_asked_once() {
    let (cluster, cache) = cache(known());
    for _ in 0..3 {
        let user = cache.authenticate(&Token::new("t"), FROM).await.unwrap().unwrap();
        assert_eq!((user.name.as_str(), user.uid.as_str()), ("ann", "7"));
        assert_eq!(user.groups, ["devs", "system:authenticated"]);
        assert_eq!(user.extra["scopes"], ["read"]);
    }
    assert_eq!(cluster.asked(), 1);
    advance(Duration::from_millis(10_100)).await;
    cluster.behave(Behaviour::Status(json!({"authenticated": false, "error": "revoked"})));
    for _ in 0..3 {
        assert_eq!(cache.authenticate(&Token::new("t"), FROM).await, Ok(None));
    }
    assert_eq!(cluster.asked(), 2, "a refusal is remembered too");
}

/// The token is what the cluster is asked about, and for whom it is to be.
#[tokio::test]
async fn the_cluster_is_told_for_whom_a_token_is_to_be() {
    let known = |audience: &str| {
        Behaviour::Status(json!({"authenticated": true, "user": {"username": "ann"}, "audiences": [audience]}))
    };
    let cluster = Cluster::new(known("https://cluster"));
    let anywhere = TokenReviews::new(cluster.client(), Vec::new());
    assert!(anywhere.authenticate(&Token::new("t")).await.unwrap().is_some());
    assert_eq!(cluster.question(), json!({"token": "t"}));

    let (own, wanted) = (["api".to_owned()], ["vault".to_owned()]);
    let reviews = TokenReviews::new(cluster.client(), own.to_vec());
    assert_eq!(reviews.authenticate(&Token::new("t")).await, Ok(None));
    assert_eq!(cluster.question(), json!({"token": "t", "audiences": ["api"]}));
    cluster.behave(known("vault"));
    let audiences = Audiences { wanted: &wanted, own: &own };
    let owner = reviews.authenticate_for(&Token::new("t"), &audiences).await.unwrap().unwrap();
    assert_eq!((owner.user.name.as_str(), owner.audiences), ("ann", wanted.to_vec()));
    assert_eq!(cluster.question(), json!({"token": "t", "audiences": ["vault"]}));
}

/// S-10: whoever the cluster points to is not shown a token, nor believed.
#[tokio::test(start_paused = true)]
async fn a_redirect_is_not_followed() {
    for code in [301, 302, 303, 307, 308] {
        let (cluster, cache) =
            cache(Behaviour::Redirect(code, json!({"authenticated": true, "user": {"username": "mallory"}})));
        let outcome = cache.authenticate(&Token::new("t"), FROM).await;
        assert!(outcome.is_err(), "{code}: {outcome:?}");
        assert_eq!(cluster.asked(), 1, "{code}");
    }
}

/// whatever goes wrong makes nobody known, and is not remembered.
#[tokio::test(start_paused = true)]
async fn what_goes_wrong_makes_nobody_known() {
    for behaviour in [
        Behaviour::Code(500),
        Behaviour::Code(403),
        Behaviour::Refusal,
        Behaviour::Reset,
        Behaviour::Garbage,
        Behaviour::Silence,
        Behaviour::Status(json!({"authenticated": true})),
    ] {
        let (cluster, cache) = cache(behaviour);
        let error = cache.authenticate(&Token::new("secret-token"), FROM).await.unwrap_err();
        assert!(!error.to_string().contains("secret-token"), "{error}");
        cluster.behave(known());
        assert!(cache.authenticate(&Token::new("secret-token"), FROM).await.unwrap().is_some());
    }
}
