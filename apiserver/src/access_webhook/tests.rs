//! Who may ask, and what is read.

use std::time::SystemTime;

use bailiwick_registry::{AllowGroup, Attributes, AuthorizationTarget, Authorizer, Decision, ResourceAttributes, User};
use bytes::Bytes;
use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};

use super::{WebhookCallers, answer, read};

/// `None` if others may say.
async fn may(name: &str, credential: &str, verb: &str, path: &str) -> Option<bool> {
    let extra = [("authentication.kubernetes.io/credential-id".to_owned(), vec![credential.to_owned()])].into();
    let user = User { name: name.to_owned(), extra, ..User::default() };
    let callers = WebhookCallers::new(vec!["kube-apiserver".to_owned()]);
    let question = Attributes { user: &user, verb, target: AuthorizationTarget::Path(path) };
    match callers.authorize(&question).await.unwrap() {
        Decision::Allow(_) => Some(true),
        Decision::Deny(_) => Some(false),
        Decision::NoOpinion(_) => None,
    }
}

/// S-08: a name is not enough, nor is a certificate.
#[tokio::test]
async fn callers_are_named_and_known_by_their_certificate() {
    assert_eq!(may("kube-apiserver", "X509SHA256=00", "post", "/authorize").await, Some(true));
    for (name, credential, verb) in [
        ("kube-apiserver", "JTI=00", "post"),
        ("kube-apiserver", "", "post"),
        ("kube-apiserver2", "X509SHA256=00", "post"),
        ("", "X509SHA256=00", "post"),
        ("kube-apiserver", "X509SHA256=00", "get"),
    ] {
        assert_eq!(may(name, credential, verb, "/authorize").await, Some(false), "{name} {credential} {verb}");
    }
    for path in ["/authorize/", "/authorized", "/", "/metrics"] {
        assert_eq!(may("kube-apiserver", "X509SHA256=00", "post", path).await, None, "{path}");
    }
    let (user, callers) = (User::default(), WebhookCallers::new(Vec::new()));
    let target = AuthorizationTarget::Resource(ResourceAttributes::default());
    let question = Attributes { user: &user, verb: "create", target };
    assert!(matches!(callers.authorize(&question).await, Ok(Decision::NoOpinion(_))));
}

#[test]
fn only_the_review_that_it_answers_is_read() {
    let review = br#"{"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {}}"#;
    assert!(read(review).is_ok());
    for bad in [
        &b""[..],
        b"null",
        b"[]",
        b"{}",
        br#"{"apiVersion": "authorization.k8s.io/v1beta1", "kind": "SubjectAccessReview"}"#,
        br#"{"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}"#,
    ] {
        let refusal = read(bad).unwrap_err();
        assert_eq!(refusal.code(), 400, "{refusal:?}");
    }
}

/// Whoever asks reads JSON, and not for pleasure: what else the headers wish for is not given.
#[tokio::test]
async fn the_answer_is_json_whatever_is_wished_for() {
    for (accept, agent) in [("application/json", "kube-apiserver"), ("application/yaml", "curl/8.5.0")] {
        let head = Request::post("/authorize").header(ACCEPT, accept).header(USER_AGENT, agent);
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": { "user": "ann", "groups": ["system:masters"], "resourceAttributes": { "verb": "get", "resource": "pods" } },
        });
        let (head, body) = head.body(Full::new(Bytes::from(review.to_string()))).unwrap().into_parts();
        let answered = answer(&AllowGroup::MASTERS, &head, body, SystemTime::UNIX_EPOCH).await.unwrap();
        assert_eq!(answered.headers()[CONTENT_TYPE], "application/json", "{accept}");
        let text = answered.into_body().collect().await.unwrap().to_bytes();
        let read: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(read["status"]["allowed"], true, "{read}");
        assert!(!text.trim_ascii_end().contains(&b'\n'), "{accept}, {agent}: {text:?}");
    }
}
