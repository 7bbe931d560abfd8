//! Who one is, and as whom one acts.

use bytes::Bytes;
use http::Method;

use super::{AS_ALICE, NAME, NAMESPACE, SECRET, Target};
use crate::claims::{collection, everywhere, object};
use crate::client::{Endpoint, request};
use crate::turn::turn;

/// S-04. Impersonation through the program, by every spelling that could mean something to someone.
#[tokio::test]
async fn acting_as_others() {
    let _turn = turn().await;
    let target = Target::start().await;
    let path = object(NAMESPACE, NAME);
    for (headers, code) in [
        (&[AS_ALICE][..], 403),
        (&[("Impersonate-User", "alice"), ("IMPERSONATE-GROUP", "system:authenticated")], 403),
        (&[AS_ALICE, ("impersonate-group", "system:masters")], 200),
        (&[AS_ALICE, ("impersonate-group", "system:master")], 403),
        (&[AS_ALICE, ("impersonate-group", "system:masters,other")], 403),
        (&[AS_ALICE, ("impersonate-extra-groups", "system:masters")], 403),
        (&[AS_ALICE, ("x-remote-group", "system:masters")], 403),
        (&[AS_ALICE, ("impersonate_group", "system:masters")], 403),
        (&[AS_ALICE, ("impersonate-user", "admin")], 403),
        (&[("impersonate-user", "admin")], 403),
        (&[("impersonate-user", "system:admin")], 403),
        (&[("impersonate-user", "system:serviceaccount:kube-system:default")], 403),
        (&[("impersonate-user", "system:node:a")], 403),
        (&[("impersonate-user", "system:anonymous")], 403),
        (&[("impersonate-group", "system:masters")], 400),
        (&[("impersonate-user", ""), ("impersonate-group", "system:masters")], 400),
        (&[("impersonate-uid", "1")], 400),
        (&[("impersonate-extra-scopes", "all")], 400),
        (&[("impersonate-user", "")], 200),
        (&[("impersonate-other", "alice")], 200),
    ] {
        for method in ["GET", "HEAD"] {
            let answer = target.ask(method, &path, headers, "").await;
            assert_eq!(answer.code, code, "{method} {headers:?}: {}", answer.text());
            assert_eq!(answer.text().contains(SECRET), code == 200 && method == "GET", "{headers:?}");
        }
    }
    target.end().await;
}

/// Whoever has no rights gets nowhere, by any way.
#[tokio::test]
async fn someone_without_rights() {
    let _turn = turn().await;
    let target = Target::start().await;
    let (one, all, across) = (object(NAMESPACE, NAME), collection(NAMESPACE), everywhere());
    let body = target.victim.to_string();
    for (method, path) in [
        ("GET", one.as_str()),
        ("PUT", &one),
        ("PATCH", &one),
        ("DELETE", &one),
        ("POST", &one),
        ("GET", &all),
        ("POST", &all),
        ("DELETE", &all),
        ("GET", &across),
        ("GET", &format!("{all}?watch=true")),
        ("GET", &format!("{across}?watch=true&timeoutSeconds=1")),
        ("GET", &format!("{one}/status")),
        ("PUT", &format!("{one}/status")),
        ("GET", &format!("{one}/other")),
        ("GET", "/"),
        ("GET", "/metrics"),
        ("GET", "/debug/pprof/"),
        ("GET", "/debug/flags/v"),
        ("GET", "/logs/"),
        ("GET", "/healthz/etcd"),
        ("GET", "/readyz/etcd"),
        ("GET", "/apis/none.example/v1/things"),
    ] {
        let answer = target.ask(method, path, &[AS_ALICE], if method == "GET" { "" } else { &body }).await;
        assert_eq!(answer.code, 403, "{method} {path}: {}", answer.text());
        assert!(!answer.text().contains(SECRET), "{method} {path}");
    }
    // Whoever is known may see how the server is, and which kinds there are.
    for path in ["/healthz", "/livez", "/readyz", "/api", "/apis", "/openapi/v2", "/openapi/v3", "/version"] {
        assert_eq!(target.ask("GET", path, &[AS_ALICE], "").await.code, 200, "{path}");
    }
    target.end().await;
}

/// S-04. Who is not known is nobody else either; and only health is open, as far as the flag leaves it open.
#[tokio::test]
async fn a_stranger() {
    let _turn = turn().await;
    let target = Target::start_with(&["--authorization-always-allow-paths=/livez,/metrics"]).await;
    for (path, headers, code) in [
        (object(NAMESPACE, NAME), &[][..], 401),
        (object(NAMESPACE, NAME), &[("impersonate-user", "admin"), ("impersonate-group", "system:masters")], 401),
        ("/livez".to_owned(), &[], 200),
        ("/livez/etcd".to_owned(), &[], 401),
        // Whoever asks for health without a name is the anonymous user, to whom a role opens it.
        ("/healthz".to_owned(), &[], 200),
        ("/metrics".to_owned(), &[], 401),
        ("/metrics".to_owned(), &[AS_ALICE], 401),
        ("/version".to_owned(), &[], 401),
        ("/".to_owned(), &[], 401),
    ] {
        // A connection each: the server ends those of strangers.
        let client = Endpoint::of_stranger(&target.server).connect().await.unwrap();
        let mut request = request(Method::GET, &path, "", Bytes::new());
        for (name, value) in headers {
            request.headers_mut().append(*name, value.parse().unwrap());
        }
        let answer = client.send(request).await.unwrap();
        assert_eq!(answer.code, code, "{path} {headers:?}: {}", answer.text());
    }
    let answer = target.ask("GET", "/metrics", &[AS_ALICE], "").await;
    assert_eq!(answer.code, 200, "the flag opens it to whoever is known: {}", answer.text());
    target.end().await;
}

/// `kubectl --as` and `--as-group` are these headers.
#[tokio::test]
async fn kubectl_acts_as_others() {
    let _turn = turn().await;
    let target = Target::start().await;
    let kubectl = target.server.kubectl().await;
    let masters = ["get", "claims", "-n", NAMESPACE, "--as=alice", "--as-group=system:masters"];
    assert!(kubectl.run(&masters).await.unwrap().success().unwrap().contains(NAME));
    let refused = kubectl.run(&masters[..5]).await.unwrap().stderr;
    assert!(refused.contains("User \"alice\" cannot"), "{refused}");
    target.end().await;
}
