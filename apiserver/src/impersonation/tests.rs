use std::collections::BTreeMap;
use std::sync::Mutex;

use async_trait::async_trait;
use bailiwick_registry::{Attributes, AuthorizationError, AuthorizationTarget, Decision, ResourceAttributes};
use http::header::HeaderName;
use http::{HeaderMap, HeaderValue, Method};
use serde::Deserialize;

use super::*;
use crate::request::Request;

#[derive(Deserialize)]
struct Record {
    cases: Vec<Case>,
}

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
struct Case {
    user: Who,
    headers: Vec<(String, String)>,
    method: String,
    path: String,
    allowed: Vec<String>,
    asked: Vec<String>,
    becomes: Option<Who>,
    constraint: String,
    code: u16,
    message: String,
    /// Kubernetes leaves headers that mean nothing; here nobody sees any.
    left: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Who {
    name: String,
    uid: String,
    groups: Vec<String>,
    extra: BTreeMap<String, Vec<String>>,
}

/// Allows what is in a list, and remembers what was asked.
struct Listed<'c> {
    allowed: &'c [String],
    asked: Mutex<Vec<String>>,
}

/// Cannot say anything on some verb, and allows all else.
struct Broken(&'static str);

impl From<Who> for User {
    fn from(Who { name, uid, groups, extra }: Who) -> Self {
        Self { name, uid, groups, extra, ..Self::default() }
    }
}

fn words<'q>(question: &'q Attributes<'q>) -> Vec<&'q str> {
    match question.target {
        AuthorizationTarget::Path(path) => vec![question.verb, path],
        AuthorizationTarget::Resource(ResourceAttributes { group, resource, subresource, namespace, name, .. }) => {
            vec![question.verb, group, resource, subresource, namespace, name]
        }
    }
}

#[async_trait]
impl Authorizer for Listed<'static> {
    async fn authorize(&self, question: &Attributes<'_>) -> Result<Decision, AuthorizationError> {
        if let ("impersonate", AuthorizationTarget::Resource(resource)) = (question.verb, question.target) {
            assert_eq!(resource.version, "v1", "{resource:?}");
        }
        let words = words(question);
        let mut told = words.join(" ");
        if let Some(keys) = question.user.extra.get("authentication.kubernetes.io/associated-node-keys") {
            told.push_str(&format!(" by {}", keys.join(",")));
        }
        self.asked.lock().unwrap().push(told);
        let allowed = self.allowed.iter().any(|pattern| {
            let parts: Vec<&str> = pattern.split(' ').collect();
            parts.len() == words.len() && parts.iter().zip(&words).all(|(part, word)| *part == "*" || part == word)
        });
        let reason = "not in the list".to_owned();
        Ok(if allowed { Decision::Allow(String::new()) } else { Decision::NoOpinion(reason) })
    }
}

#[async_trait]
impl Authorizer for Broken {
    async fn authorize(&self, question: &Attributes<'_>) -> Result<Decision, AuthorizationError> {
        if question.verb.starts_with(self.0) {
            return Err(AuthorizationError("secret of the operator".to_owned()));
        }
        Ok(Decision::NoOpinion(String::new()))
    }
}

fn headers(lines: &[(String, String)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("accept", HeaderValue::from_static("application/json"));
    for (name, value) in lines {
        headers.append(name.parse::<HeaderName>().unwrap(), HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    headers
}

async fn run(authorizer: &dyn Authorizer, case: &Case, user: &User) -> Result<Option<Impersonated>, Box<Status>> {
    let mut headers = headers(&case.headers);
    let wanted = Wanted::take(&mut headers);
    assert_eq!(headers.len(), 1, "nobody sees what is about impersonation: {headers:?}");
    let method: Method = case.method.parse().unwrap();
    let request = Request::parse(&method, &case.path).unwrap();
    match wanted.into_user()? {
        None => Ok(None),
        Some(wanted) => impersonate(authorizer, user, &wanted, request.info()).await.map(Some),
    }
}

/// S-04. Kubernetes' own filter, asked the same.
#[tokio::test]
async fn the_filter_of_kubernetes_does_the_same() {
    let record: Record = serde_json::from_str(include_str!("../../../tests/data/go/impersonation.json")).unwrap();
    let (mut changed, mut refused) = (0, 0);
    for mut case in record.cases {
        let user = User::from(std::mem::take(&mut case.user));
        let allowed: &'static [String] = std::mem::take(&mut case.allowed).leak();
        let authorizer = Listed { allowed, asked: Mutex::default() };
        let result = run(&authorizer, &case, &user).await;
        match (result, case.becomes.take()) {
            (Ok(None), Some(becomes)) => {
                assert_eq!(User::from(becomes), user, "{case:?}");
                assert!(case.asked.is_empty(), "{case:?}");
            }
            (Ok(Some(impersonated)), Some(becomes)) => {
                assert_eq!(impersonated.user, becomes.into(), "{case:?}");
                assert_eq!(impersonated.constraint.unwrap_or_default(), case.constraint, "{case:?}");
                assert!(case.left.iter().all(|name| name == "Impersonate-Other"), "{case:?}");
                changed += 1;
            }
            (Err(status), None) => {
                assert_eq!((status.code(), status.message.as_str()), (case.code, case.message.as_str()), "{case:?}");
                refused += 1;
            }
            (ours, theirs) => panic!("{ours:?} instead of {theirs:?} in {case:?} with {allowed:?}"),
        }
        assert_eq!(*authorizer.asked.lock().unwrap(), case.asked, "{:?} of {user:?} with {allowed:?}", case.headers);
    }
    assert!(changed > 200 && refused > 200, "{changed} become someone else, {refused} are refused");
}

fn case(lines: &[(&str, &str)]) -> Case {
    Case {
        headers: lines.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect(),
        method: "GET".to_owned(),
        path: "/api/v1/pods".to_owned(),
        ..Case::default()
    }
}

/// S-04. Who cannot be asked has not allowed anything, and what is wrong with it is not told to clients.
#[tokio::test]
async fn a_failing_authorizer_is_an_error_of_the_server() {
    let user = User { name: "deputy".to_owned(), ..User::default() };
    for verb in ["impersonate", "impersonate-on:"] {
        let refused = run(&Broken(verb), &case(&[("Impersonate-User", "alice")]), &user).await.unwrap_err();
        assert_eq!(refused.code(), 500);
        assert!(!refused.message.contains("secret"), "{}", refused.message);
    }
}

#[tokio::test]
async fn what_is_no_text_is_refused() {
    let user = User { name: "deputy".to_owned(), ..User::default() };
    for name in ["impersonate-user", "impersonate-group", "impersonate-uid", "impersonate-extra-a"] {
        let mut headers = HeaderMap::new();
        headers.insert("impersonate-user", HeaderValue::from_static("alice"));
        headers.insert(name.parse::<HeaderName>().unwrap(), HeaderValue::from_bytes(b"\xff").unwrap());
        let refused = Wanted::take(&mut headers).into_user().unwrap_err();
        assert_eq!(refused.code(), 400, "{name}");
        assert!(headers.is_empty());
    }
    let everything: &'static [String] = vec!["impersonate * * * * *".to_owned()].leak();
    let authorizer = Listed { allowed: everything, asked: Mutex::default() };
    let odd = case(&[("Impersonate-User", "alice"), ("Impersonate-Extra-%ff", "x")]);
    let impersonated = run(&authorizer, &odd, &user).await.unwrap().unwrap();
    assert_eq!(impersonated.user.extra.keys().collect::<Vec<_>>(), ["%ff"]);
}
