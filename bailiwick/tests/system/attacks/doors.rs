//! Doors at the side: whatever the server answers at all, it answers those who may.

use std::collections::BTreeSet;
use std::fs;

use bytes::Bytes;
use http::Method;
use serde_json::Value;

use super::{AS_ALICE, NAME, NAMESPACE, SECRET, Target};
use crate::claims::object;
use crate::client::{Endpoint, request};
use crate::turn::turn;

/// What is open to all.
const HEALTH: [&str; 3] = ["/healthz", "/livez", "/readyz"];
/// What everyone may know who has a name: what there is, not what is in it.
const KNOWN_TO_USERS: [&str; 6] =
    ["/api", "/apis", "/openapi", "/version", "/.well-known/openid-configuration", "/openid/v1"];
/// What other servers have left open.
const ELSEWHERE: [&str; 24] = [
    "/",
    "/metrics",
    "/metrics/slis",
    "/metrics/cadvisor",
    "/debug",
    "/debug/pprof",
    "/debug/pprof/",
    "/debug/pprof/heap",
    "/debug/pprof/cmdline",
    "/debug/flags/v",
    "/debug/api_priority_and_fairness/dump_requests",
    "/logs",
    "/logs/",
    "/configz",
    "/statusz",
    "/flagz",
    "/swagger.json",
    "/swaggerapi",
    "/ui",
    "/static/",
    "/stats",
    "/validate",
    "/livez/etcd",
    "/services",
];
const METHODS: [&str; 5] = ["GET", "HEAD", "POST", "PUT", "DELETE"];

/// S-08. Every path there is, and those that other servers have: strangers are told of health and of nothing else, and someone
/// without rights learns which kinds there are.
#[tokio::test]
async fn every_door_is_watched() {
    let _turn = turn().await;
    let target = Target::start().await;
    let stranger = Endpoint::of_stranger(&target.server);
    let paths = every_path(&target).await;
    assert!(paths.contains("/api/v1/secrets") && paths.contains(&object(NAMESPACE, NAME)), "{paths:?}");
    for path in &paths {
        for method in METHODS {
            let answer = target.ask(method, path, &[AS_ALICE], "").await;
            let is_known = |open: &str| is_below(path, open) && !is_resource(path);
            let is_open = HEALTH.contains(&path.as_str()) || KNOWN_TO_USERS.iter().any(|open| is_known(open));
            let is_told = is_open && matches!(method, "GET" | "HEAD");
            assert!(is_told || answer.code >= 400, "{method} {path} as alice: {} {}", answer.code, answer.text());
            assert!(!answer.text().contains(SECRET), "{method} {path}");
        }
        // Whoever shows nothing may ask once on a connection.
        let client = stranger.connect().await.unwrap();
        let answer = client.send(request(Method::GET, path, "", Bytes::new())).await.unwrap();
        let expected = if HEALTH.contains(&path.as_str()) { 200 } else { 401 };
        assert_eq!(answer.code, expected, "{path} as nobody: {}", answer.text());
    }
    target.end().await;
}

/// S-08. There is one port, and no other socket that anyone could connect to.
#[tokio::test]
async fn there_is_one_door() {
    let _turn = turn().await;
    let target = Target::start().await;
    let process = format!("/proc/{}", target.server.pid());
    let links = fs::read_dir(format!("{process}/fd")).unwrap();
    let links = links.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
    let own: BTreeSet<String> =
        links.filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())).collect();
    let mut doors = Vec::new();
    for table in ["tcp", "tcp6", "udp", "udp6", "unix"] {
        let text = fs::read_to_string(format!("{process}/net/{table}")).unwrap_or_default();
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (is_open, inode) = match table {
                // A socket that listens, and one that has a name to be found by.
                "tcp" | "tcp6" => (fields[3] == "0A", fields[9]),
                "udp" | "udp6" => (true, fields[9]),
                _ => (fields.len() > 7, fields[6]),
            };
            if is_open && own.contains(inode) {
                doors.push(format!("{table} {line}"));
            }
        }
    }
    let port = format!(":{:04X} ", target.endpoint.address().port());
    assert!(matches!(&doors[..], [only] if only.starts_with("tcp ") && only.contains(&port)), "{doors:?}");
    target.end().await;
}

/// What the server says it has, in words and by kind, and what others have.
async fn every_path(target: &Target) -> BTreeSet<String> {
    let mut paths: BTreeSet<String> = ELSEWHERE.iter().chain(&HEALTH).map(|path| (*path).to_owned()).collect();
    let index = target.client.get("/").await.unwrap().expect(200);
    paths.extend(index["paths"].as_array().unwrap().iter().map(|path| path.as_str().unwrap().to_owned()));
    let groups = target.client.get("/apis").await.unwrap().expect(200);
    let groups = groups["groups"].as_array().unwrap().clone();
    let versions = groups.iter().flat_map(|group| group["versions"].as_array().unwrap().clone());
    let mut roots: Vec<String> =
        versions.map(|version| format!("/apis/{}", version["groupVersion"].as_str().unwrap())).collect();
    roots.push("/api/v1".to_owned());
    for root in roots {
        let list = target.client.get(&root).await.unwrap().expect(200);
        for resource in list["resources"].as_array().unwrap() {
            paths.extend(paths_of(&root, resource));
        }
    }
    paths
}

fn paths_of(root: &str, resource: &Value) -> Vec<String> {
    let base = match resource["namespaced"].as_bool().unwrap() {
        true => format!("{root}/namespaces/{NAMESPACE}"),
        false => root.to_owned(),
    };
    match resource["name"].as_str().unwrap().split_once('/') {
        Some((plural, part)) => vec![format!("{base}/{plural}/{NAME}/{part}")],
        None => {
            let plural = resource["name"].as_str().unwrap();
            vec![format!("{base}/{plural}"), format!("{base}/{plural}/{NAME}"), format!("{root}/{plural}")]
        }
    }
}

fn is_below(path: &str, open: &str) -> bool {
    path.strip_prefix(open).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a path leads to objects, and not only to the version that has them.
fn is_resource(path: &str) -> bool {
    let depth = path.trim_matches('/').split('/').count();
    path.starts_with("/api/") && depth > 2 || path.starts_with("/apis/") && depth > 3
}
