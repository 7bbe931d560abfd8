//! What goes out to the cluster with a question.

use std::collections::BTreeMap;

use bailiwick_apiserver::{AccessReviewOptions, AccessReviews, Token, TokenAuthenticator, TokenReviews};
use bailiwick_registry::{Attributes, AuthorizationTarget, Authorizer, User};
use serde_json::json;

use crate::cluster::{Behaviour, Cluster};

/// S-03: a question says in its body whom it is about. Nothing that a client sent, or is called, becomes a header, by which the
/// cluster could take the question for someone else's.
#[tokio::test]
async fn questions_carry_nothing_of_whom_they_are_about() {
    let cluster = Cluster::new(Behaviour::Status(json!({"allowed": true})));
    let reviews = AccessReviews::new(cluster.client(), AccessReviewOptions::default());
    let names = ["Impersonate-User", "Impersonate-Group", "X-Remote-User", "X-Remote-Group", "Authorization"];
    for name in names {
        let nasty = format!("x\r\n{name}: admin");
        let user = User {
            name: nasty.clone(),
            uid: nasty.clone(),
            groups: vec![nasty.clone(), name.to_owned()],
            extra: BTreeMap::from([(name.to_owned(), vec![nasty.clone()])]),
            ..User::default()
        };
        let question = Attributes { user: &user, verb: &nasty, target: AuthorizationTarget::Path(&nasty) };
        assert!(reviews.authorize(&question).await.is_ok());
    }
    assert_eq!(cluster.asked(), names.len());
    assert_eq!(cluster.headers().into_iter().collect::<Vec<_>>(), ["content-type"]);

    let cluster = Cluster::new(Behaviour::Status(json!({"authenticated": true, "user": {"username": "ann"}})));
    let tokens = TokenReviews::new(cluster.client(), Vec::new());
    assert!(tokens.authenticate(&Token::new("secret")).await.unwrap().is_some());
    assert_eq!(cluster.headers().into_iter().collect::<Vec<_>>(), ["content-type"]);
}
