//! Paths that lead somewhere else for one reader than for another.

use std::env;

use serde_json::Value;

use super::{AS_ALICE, NAME, NAMESPACE, SECRET, Target, codes};
use crate::claims::{GROUP_VERSION, collection, object};
use crate::turn::turn;

/// S-13. An object of the cluster is in no namespace, and one of a namespace is nowhere else: every kind, every method.
#[tokio::test]
async fn kinds_in_the_wrong_scope() {
    let _turn = turn().await;
    let target = Target::start().await;
    let groups = target.client.get("/apis").await.unwrap().expect(200);
    let mut kinds = kinds_of_version(&target, "/api/v1").await;
    assert!(kinds >= 7, "{kinds} kinds of Kubernetes' first group");
    for group in groups["groups"].as_array().unwrap() {
        let version = format!("/apis/{}", group["preferredVersion"]["groupVersion"].as_str().unwrap());
        kinds += kinds_of_version(&target, &version).await;
        for path in ["namespaces", "namespaces/x", "namespaces/x/status", "namespaces/x/finalize", "namespaces/x/other"]
        {
            for method in ["GET", "PUT", "DELETE"] {
                let answer = target.ask(method, &format!("{version}/{path}"), &[], "").await;
                assert_eq!(answer.code, 404, "{method} {version}/{path}: {}", answer.text());
            }
        }
    }
    assert!(kinds >= 20, "{kinds} kinds");
    target.end().await;
}

/// Tries all kinds of a version, and tells how many there are.
async fn kinds_of_version(target: &Target, version: &str) -> usize {
    let resources = target.client.get(version).await.unwrap().expect(200);
    let mut kinds = 0;
    for resource in resources["resources"].as_array().unwrap() {
        let name = resource["name"].as_str().unwrap();
        if !name.contains('/') {
            wrong_scope(target, version, name, resource).await;
            kinds += 1;
        }
    }
    kinds
}

async fn wrong_scope(target: &Target, version: &str, name: &str, resource: &Value) {
    let namespaced = resource["namespaced"].as_bool().unwrap();
    let place = if namespaced { format!("{version}/{name}") } else { format!("{version}/namespaces/x/{name}") };
    let one = format!("{place}/{NAME}");
    let mut tries = vec![("POST", place.clone()), ("DELETE", place.clone())];
    if !namespaced {
        tries.extend([("GET", place.clone()), ("GET", format!("{place}?watch=true"))]);
    }
    for below in ["", "/status", "/other"] {
        tries.extend(["GET", "HEAD", "PUT", "PATCH", "DELETE", "POST"].map(|method| (method, format!("{one}{below}"))));
    }
    for (method, path) in tries {
        let body = if matches!(method, "POST" | "PUT" | "PATCH") { "{}" } else { "" };
        let answer = target.ask(method, &path, &[], body).await;
        assert_eq!(answer.code, 404, "{method} {path}: {}", answer.text());
    }
}

/// S-12, S-14. What is written differently is something else, or nothing: as the administrator, none of these is the
/// object, and as someone without rights nothing is ever granted.
#[tokio::test]
async fn detours() {
    let _turn = turn().await;
    let target = Target::start().await;
    let (one, all) = (object(NAMESPACE, NAME), collection(NAMESPACE));
    let paths = [
        format!("{all}/../claims/{NAME}"),
        format!("{all}/./{NAME}"),
        format!("{all}/%2e/{NAME}"),
        format!("{all}/x/../{NAME}"),
        format!("{all}/x/%2E%2E/{NAME}"),
        format!("{all}//{NAME}"),
        format!("{all}/{NAME}/"),
        format!("{all}/{NAME}//"),
        format!("{all}%2f{NAME}"),
        format!("{all}%252f{NAME}"),
        format!("{all}\\{NAME}"),
        format!("{all}/%5c..%5c{NAME}"),
        format!("{all}/{NAME};x"),
        format!("{all}/{NAME}%3bx"),
        format!("{all}/{NAME}%00"),
        format!("{all}/{NAME}%0a"),
        format!("{all}/{NAME}%20"),
        format!("{all}/{NAME}."),
        format!("{all}/{}", NAME.to_uppercase()),
        format!("{all}/%c0%ae%c0%ae/{NAME}"),
        format!("{all}/%u002e%u002e/{NAME}"),
        format!("/healthz/..{one}"),
        format!("/healthz/%2e%2e{one}"),
        format!("/livez/../..{one}"),
        format!("/.{one}"),
        format!("/{one}"),
        format!("/version/..{one}"),
        one.replace("/apis/", "/APIS/"),
        one.replace("/apis/", "/api/"),
        one.replace("/apis/", "/apis//"),
        one.replace("/apis/", "/apis/./"),
        one.replace("/namespaces/", "/Namespaces/"),
        one.replace("/namespaces/target/", "/namespaces/other/../target/"),
        one.replace("/namespaces/target/", "/namespaces/%2e%2e/namespaces/target/"),
        one.replace("/namespaces/target/", "/namespaces//"),
        one.replace("/namespaces/target/", "/"),
        format!("{GROUP_VERSION}/proxy/namespaces/{NAMESPACE}/claims/{NAME}"),
    ];
    let requests = |extra: &str| -> Vec<String> {
        let head = |path: &String| format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{extra}\r\n");
        paths.iter().map(head).collect()
    };
    for (path, answer) in paths.iter().zip(target.write_all(&requests("")).await) {
        let codes = codes(&answer);
        assert!(matches!(codes[..], [400 | 404 | 405]), "{path}: {answer}");
        assert!(!answer.contains(SECRET), "{path}: {answer}");
    }
    for (path, answer) in paths.iter().zip(target.write_all(&requests("Impersonate-User: alice\r\n")).await) {
        assert!(matches!(codes(&answer)[..], [400 | 403]), "{path}: {answer}");
    }
    target.end().await;
}

/// S-10. Nobody is sent elsewhere. `BAILIWICK_TEST_PATHS` asks for more paths.
#[tokio::test]
async fn redirections() {
    let _turn = turn().await;
    let target = Target::start().await;
    let pieces = [
        "/",
        "//",
        "apis",
        "api",
        "v1alpha1",
        "v1",
        "samples.example.com",
        "namespaces",
        "target",
        "victim",
        "claims",
        "status",
        "..",
        ".",
        "%2e",
        "healthz",
        "openapi",
        "v2",
        "v3",
        "version",
        "watch",
        "?",
        "=",
        "limit",
        "&",
        "http:",
        "example.dev",
        "@",
        ":",
        "A",
        "index.html",
        "ui",
        "swagger",
        "logs",
        "metrics",
    ];
    let count = env::var("BAILIWICK_TEST_PATHS").map_or(3_000, |text| text.parse().unwrap());
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut below = |end: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % end as u64).unwrap()
    };
    for _ in 0..count {
        let mut path = String::from("/");
        for _ in 0..below(9) {
            path.push_str(pieces[below(pieces.len())]);
            if below(3) > 0 {
                path.push('/');
            }
        }
        if path.contains("watch") {
            continue;
        }
        let headers: &[(&str, &str)] = if below(2) == 0 { &[AS_ALICE] } else { &[("x-forwarded-host", "example.dev")] };
        let answer = target.ask(["GET", "HEAD", "PUT"][below(3)], &path, headers, "").await;
        assert!(!(300..400).contains(&answer.code), "{path}: {}", answer.code);
    }
    target.end().await;
}
