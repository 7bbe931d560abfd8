//! The audit log beside that of a real kube-apiserver: the same requests leave the same trail.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use bailiwick_differential_tests::Target;
use bailiwick_test_host::{Cluster, ClusterOptions};
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};

use crate::process::{PATIENCE, Server, failure, folder, run};

const POLICY: &str = "
apiVersion: audit.k8s.io/v1
kind: Policy
rules:
- {level: None, nonResourceURLs: ['/version']}
- {level: Metadata, verbs: [list, delete], omitStages: [RequestReceived]}
- {level: Request, verbs: [update]}
- {level: RequestResponse, omitManagedFields: true}
";

/// What is sent, in this order: the words of the log are compared, one case at a time.
struct Case {
    method: &'static str,
    /// Below the group, or from the root.
    path: &'static str,
    content_type: &'static str,
    body: &'static str,
}

const CLAIMS: &str = "/apis/samples.example.com/v1alpha1/namespaces/audit/claims";
const JSON: &str = "application/json";
const CLAIM: &str = r#"{"apiVersion": "samples.example.com/v1alpha1", "kind": "Claim", "metadata": {"name": "a", "namespace": "audit"},
    "spec": {"catalogName": "gold", "resourceCatalogEntry": {"namespace": "publisher", "name": "database"}}}"#;

const CASES: [Case; 19] = [
    case("POST", "", JSON, CLAIM),
    case("POST", "", JSON, CLAIM),
    case("GET", "/a", "", ""),
    case("GET", "/a?pretty=true", "", ""),
    case("GET", "/missing", "", ""),
    case("GET", "", "", ""),
    case("GET", "?limit=x", "", ""),
    case("PATCH", "/a", "application/merge-patch+json", r#"{"metadata": {"labels": {"x": "y"}}}"#),
    case(
        "PATCH",
        "/a",
        "application/json-patch+json",
        r#"[{"op": "add", "path": "/metadata/labels/z", "value": "1"}]"#,
    ),
    case("PATCH", "/a", "application/strange", "{}"),
    case("PUT", "/a", JSON, CLAIM),
    case("PUT", "/b", JSON, CLAIM),
    case("PUT", "/a", JSON, "{"),
    case("POST", "", JSON, "[]"),
    case("DELETE", "/a?dryRun=All", "", ""),
    case("DELETE", "/a", JSON, r#"{"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}"#),
    case("DELETE", "/a", "", ""),
    case("GET", "?watch=true&timeoutSeconds=1", "", ""),
    case("GET", "/..version", "", ""),
];

const fn case(method: &'static str, path: &'static str, content_type: &'static str, body: &'static str) -> Case {
    Case { method, path, content_type, body }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_requests_leave_the_same_trail() {
    let folder = folder();
    let policy = folder.path().join("policy.yaml");
    std::fs::write(&policy, POLICY).unwrap();
    let (our_log, real_log) = (folder.path().join("ours.log"), folder.path().join("real.log"));
    let flags = |log: &Path| {
        [format!("--audit-policy-file={}", policy.display()), format!("--audit-log-path={}", log.display())]
    };
    let ours = flags(&our_log);
    let server = Server::start(folder.path(), &ours.each_ref().map(String::as_str)).await;
    let options = flags(&real_log).into_iter().fold(Cluster::options(), ClusterOptions::apiserver_flag);
    let cluster = options.start().await.unwrap();
    cluster.kubectl(["create", "namespace", "audit"]).await.unwrap().success().unwrap();
    server.kubectl().await.run(["create", "namespace", "audit"]).await.unwrap().success().unwrap();
    let real = Target::taught("kube-apiserver", cluster.kubeconfig()).await.unwrap();
    let target = Target::native("bailiwick", &server.kubeconfig()).await.unwrap();
    let (theirs, ours) = tokio::join!(trail(&real, &real_log), trail(&target, &our_log));
    let mut differences = String::new();
    for (number, (theirs, ours)) in theirs.iter().zip(&ours).enumerate().filter(|(_, (theirs, ours))| theirs != ours) {
        let Case { method, path, .. } = &CASES[number];
        differences += &format!("{number}: {method} {path}\n- {}\n+ {}\n", pretty(theirs), pretty(ours));
    }
    assert!(differences.is_empty(), "{differences}");
    let (theirs, ours) = (counted(&real).await, counted(&target).await);
    assert_eq!(ours, theirs, "the same requests are counted alike");
    assert!(ours.len() >= 10, "{ours:?}");
    server.stop().await;
}

/// Sends all cases, and reads what the log says of each.
async fn trail(target: &Target, log: &Path) -> Vec<Vec<Value>> {
    let mut connection = target.client().connection();
    for (number, case) in CASES.iter().enumerate() {
        let path = if case.path.starts_with("/..") { "/version".to_owned() } else { format!("{CLAIMS}{}", case.path) };
        let mut request = Request::builder().method(case.method).uri(&path).header("audit-id", id(number));
        if !case.content_type.is_empty() {
            request = request.header("content-type", case.content_type);
        }
        let request = request.header("user-agent", "auditor/1").body(Full::new(Bytes::from(case.body))).unwrap();
        connection.send(&path, request).await.unwrap();
    }
    let began = Instant::now();
    loop {
        let trail = read(log);
        // The last entry of the watch comes when it ends.
        let is_complete = (0..CASES.len() - 1).all(|number| {
            trail.get(&id(number)).is_some_and(|events| events.last().unwrap()["stage"] == "ResponseComplete")
        });
        if is_complete {
            return (0..CASES.len()).map(|number| trail.get(&id(number)).cloned().unwrap_or_default()).collect();
        }
        assert!(began.elapsed() < PATIENCE, "{}: {trail:#?}", target.name());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// What `/metrics` says of the requests of the cases: labels, and how often. Before them, only lists were asked for.
async fn counted(target: &Target) -> BTreeMap<String, String> {
    let request = Request::get("/metrics").body(Full::default()).unwrap();
    let answer = target.client().connection().send("/metrics", request).await.unwrap();
    let text = String::from_utf8(answer.body).unwrap();
    let is_of_cases = |line: &&str| line.contains("resource=\"claims\"") && !line.contains("scope=\"cluster\"");
    let sample = |line: &str| {
        let (labels, count) = line.strip_prefix("apiserver_request_total{")?.rsplit_once("} ")?;
        let mut labels: Vec<&str> = labels.split(',').collect();
        labels.sort_unstable();
        Some((labels.join(","), count.to_owned()))
    };
    text.lines().filter(is_of_cases).filter_map(sample).collect()
}

fn id(number: usize) -> String {
    format!("case-{number:02}")
}

/// The entries of each request, comparable.
fn read(log: &Path) -> BTreeMap<String, Vec<Value>> {
    let mut trail: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in std::fs::read_to_string(log).unwrap().lines() {
        let Ok(mut event) = serde_json::from_str::<Value>(line) else { continue };
        let id = event["auditID"].as_str().unwrap_or_default().to_owned();
        if id.starts_with("case-") {
            normalise(&mut event);
            trail.entry(id).or_default().push(event);
        }
    }
    trail
}

/// Takes out what no two servers have in common, and looks at its form.
fn normalise(event: &mut Value) {
    for field in ["requestReceivedTimestamp", "stageTimestamp"] {
        let time = event[field].take();
        let time = time.as_str().unwrap();
        assert!(time.len() == "2026-01-01T00:00:00.000000Z".len() && time.ends_with('Z'), "{time}");
    }
    // Whom a certificate names is another matter; that there is someone is not.
    assert!(event["user"]["groups"].as_array().unwrap().contains(&json!("system:authenticated")), "{event}");
    event["user"].take();
    // Of requests that took long.
    if let Some(annotations) = event["annotations"].as_object_mut() {
        annotations.retain(|name, _| !name.starts_with("apiserver.latency.k8s.io/"));
    }
    blank(event);
}

fn blank(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match (name.as_str(), &*value) {
                    ("uid" | "resourceVersion" | "creationTimestamp", Value::String(_)) => *value = json!("<some>"),
                    _ => blank(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(blank),
        _ => {}
    }
}

fn pretty(events: &[Value]) -> String {
    events.iter().map(|event| format!("{event}\n")).collect()
}

#[tokio::test]
async fn a_policy_that_cannot_be_used_is_refused_at_the_start() {
    let folder = folder();
    let policy = folder.path().join("policy.yaml");
    std::fs::write(&policy, "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: All}]\n").unwrap();
    let policy = format!("--audit-policy-file={}", policy.display());
    let arguments = ["--secure-port=0", &policy, "--audit-log-path=audit.log"];
    let error = failure(&run(folder.path(), &arguments).await);
    assert!(error.contains("rules[0].level: Unsupported value: \"All\""), "{error}");
    let missing = ["--secure-port=0", "--audit-policy-file=nowhere.yaml", "--audit-log-path=audit.log"];
    let error = failure(&run(folder.path(), &missing).await);
    assert!(error.contains("nowhere.yaml") && error.contains("check that the file exists"), "{error}");
}
