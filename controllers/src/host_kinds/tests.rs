use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Request, Response};
use kube::client::Body;
use serde_json::{Value, json};
use tower_service::Service;

use super::*;

/// A code and a body.
type ByPath = dyn Fn(&str) -> (u16, String) + Send + Sync;

/// A host that answers by path, and counts how often it is asked.
#[derive(Clone)]
pub(crate) struct Answers {
    asked: Arc<AtomicUsize>,
    answer: Arc<ByPath>,
}

impl Answers {
    pub(crate) fn new(answer: impl Fn(&str) -> (u16, String) + Send + Sync + 'static) -> Self {
        Self { asked: Arc::default(), answer: Arc::new(answer) }
    }
}

impl Service<Request<Body>> for Answers {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Infallible>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let (code, body) = (self.answer)(request.uri().path());
        let answer = Response::builder().status(code).body(Body::from(body.into_bytes()));
        std::future::ready(Ok(answer.unwrap()))
    }
}

fn kinds(answer: impl Fn(&str) -> (u16, String) + Send + Sync + 'static) -> (HostKinds, Arc<AtomicUsize>) {
    let host = Answers::new(answer);
    let asked = host.asked.clone();
    (HostKinds::new(Client::new(host, "default")), asked)
}

/// What every server says of a path that it does not have.
fn nothing() -> (u16, String) {
    (404, "404 page not found\n".to_owned())
}

/// B-01: what is no name of a kind leads nowhere: the host is not asked as the controller itself.
#[tokio::test]
async fn what_names_no_kind_is_not_asked_for() {
    let (kinds, asked) = kinds(|_| nothing());
    for (api_version, kind) in [
        ("bundle.bailiwick.dev/v1alpha1/bundles", "Bundle"),
        ("bundle.bailiwick.dev/v1alpha1/bundles?watch=true", "Bundle"),
        ("../v1", "Secret"),
        ("v1?x", "Secret"),
        ("v1", "Sec/ret"),
    ] {
        assert!(kinds.find(api_version, kind).await.unwrap().is_none(), "{api_version}");
        assert_eq!(kinds.reach(api_version, kind).await.unwrap(), Reach::Gone, "{api_version}");
    }
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    assert!(kinds.find("apps/v1", "Deployment").await.is_ok_and(|found| found.is_none()));
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A host with the group `example.dev`, in which these versions have these kinds, and definitions of these kinds.
fn group(versions: &'static [(&'static str, &'static [&'static str])], defined: &'static [&'static str]) -> HostKinds {
    let plural = |kind: &str| format!("{}s", kind.to_lowercase());
    let definition = move |kind: &str| {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{}.example.dev", plural(kind)) },
            "spec": {
                "group": "example.dev", "scope": "Namespaced",
                "names": { "kind": kind, "plural": plural(kind) }, "versions": [],
            },
        })
    };
    kinds(move |path| {
        let named = |version: &str| json!({ "groupVersion": format!("example.dev/{version}"), "version": version });
        let found: Option<Value> = match path {
            "/apis" => {
                let all: Vec<Value> = versions.iter().map(|(version, _)| named(version)).collect();
                let group = json!({ "name": "example.dev", "versions": all, "preferredVersion": all.first() });
                let groups = if all.is_empty() { json!([]) } else { json!([group]) };
                Some(json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups }))
            }
            DEFINITIONS => {
                let items: Vec<Value> = defined.iter().map(|kind| definition(kind)).collect();
                Some(json!({ "kind": "List", "apiVersion": "v1", "metadata": {}, "items": items }))
            }
            path => match path.strip_prefix("/apis/example.dev/") {
                Some(version) => versions.iter().find(|(found, _)| *found == version).map(|(version, kinds)| {
                    let resource = |kind: &&str| {
                        let namespaced = *kind != "Cluster";
                        json!({ "name": plural(kind), "singularName": "", "kind": kind, "namespaced": namespaced,
                            "verbs": ["get"] })
                    };
                    let resources: Vec<Value> = kinds.iter().map(resource).collect();
                    json!({ "kind": "APIResourceList", "apiVersion": "v1",
                        "groupVersion": format!("example.dev/{version}"), "resources": resources })
                }),
                None => path.strip_prefix(DEFINITIONS).and_then(|name| {
                    let is_named = |kind: &&&str| name == format!("/{}.example.dev", plural(kind));
                    defined.iter().find(is_named).map(|kind| definition(kind))
                }),
            },
        };
        found.map_or_else(nothing, |found| (200, found.to_string()))
    })
    .0
}

async fn reach(kinds: &HostKinds, kind: &str) -> String {
    match kinds.reach("example.dev/v1", kind).await.unwrap() {
        Reach::As(found) => found.resource.api_version,
        other => format!("{other:?}"),
    }
}

/// B-SMITH-5, P-4: what was made in a version that is served no more is reached in another, be it one that its group does not
/// prefer; while none is served it is out of reach, and gone only with the definition of its kind.
#[tokio::test]
async fn a_kind_is_gone_only_with_its_definition() {
    let both = group(&[("v1", &["Brief"]), ("v2", &["Brief"])], &["Brief"]);
    assert_eq!(reach(&both, "Brief").await, "example.dev/v1");
    let other = group(&[("v3", &["Other"]), ("v2", &["Other", "Brief"])], &["Brief", "Other"]);
    assert_eq!(reach(&other, "Brief").await, "example.dev/v2");
    let none = group(&[("v3", &["Other"])], &["Brief", "Other"]);
    assert_eq!(reach(&none, "Brief").await, "Out");
    assert_eq!(reach(&group(&[], &["Brief"]), "Brief").await, "Out");
    assert_eq!(reach(&group(&[("v3", &["Other"])], &["Other"]), "Brief").await, "Gone");
    assert_eq!(reach(&group(&[], &[]), "Brief").await, "Gone");
    // It was defined anew, for the cluster as a whole.
    assert_eq!(reach(&group(&[("v1", &["Cluster"])], &["Cluster"]), "Cluster").await, "Gone");
}

/// P-4: whoever knows nothing at all says nothing about a kind.
#[tokio::test]
async fn who_has_no_definitions_is_asked_in_vain() {
    assert!(kinds(|_| nothing()).0.reach("example.dev/v1", "Brief").await.is_err());
    let html = "<html>nothing here</html>";
    assert!(kinds(|_| (404, html.to_owned())).0.reach("v1", "Secret").await.is_err());
}
