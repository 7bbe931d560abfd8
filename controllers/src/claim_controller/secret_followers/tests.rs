use std::future::pending;

use super::*;

/// RCD-38, R-26: however many namespaces there are, Secrets are followed in so many; in another when one is followed no more.
#[tokio::test]
async fn they_are_bounded() {
    let mut followers = SecretFollowers::default();
    for number in 0..=MAX_NAMESPACES {
        followers.begin(&number.to_string(), || Running::start(pending()));
    }
    let last = MAX_NAMESPACES.to_string();
    assert_eq!(followers.0.len(), MAX_NAMESPACES);
    assert!(!followers.follows(&last));
    followers.begin("0", || panic!("it is followed"));
    followers.end("0");
    assert!(!followers.follows("0"));
    followers.begin(&last, || Running::start(pending()));
    assert!(followers.follows(&last));
}
