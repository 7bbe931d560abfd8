//! Whose tokens are.

use std::sync::Arc;
use std::time::Duration;

use bailiwick_apiserver::{Token, TokenCache, TokenCacheOptions, TokenReviews};
use serde_json::json;
use tokio::time::advance;

use crate::cluster::{Behaviour, Cluster};

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
        let user = cache.authenticate(&Token::new("t")).await.unwrap().unwrap();
        assert_eq!((user.name.as_str(), user.uid.as_str()), ("ann", "7"));
        assert_eq!(user.groups, ["devs", "system:authenticated"]);
        assert_eq!(user.extra["scopes"], ["read"]);
    }
    assert_eq!(cluster.asked(), 1);
    advance(Duration::from_millis(10_100)).await;
    cluster.behave(Behaviour::Status(json!({"authenticated": false, "error": "revoked"})));
    for _ in 0..3 {
        assert_eq!(cache.authenticate(&Token::new("t")).await, Ok(None));
    }
    assert_eq!(cluster.asked(), 2, "a refusal is remembered too");
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
        let error = cache.authenticate(&Token::new("secret-token")).await.unwrap_err();
        assert!(!error.0.contains("secret-token"), "{error}");
        cluster.behave(known());
        assert!(cache.authenticate(&Token::new("secret-token")).await.unwrap().is_some());
    }
}
