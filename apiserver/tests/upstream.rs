//! Discovery, health and version beside those of a real kube-apiserver and of sample-apiserver, which serves a kind as we do.
#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

use std::sync::Arc;

use bailiwick_apiserver::{Discovery, Endpoints, Health, Query, Request, ServerVersion};
use bailiwick_machinery::schema::Schema;
use bailiwick_machinery::table::Columns;
use bailiwick_machinery::{GroupVersion, NameRule, Scope};
use bailiwick_registry::{Kind, Names, Registry, Version};
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions, Folder};
use bailiwick_test_host::{Cluster, SampleApiserver};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, Method};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::Child;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

const WIDGETS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.discovery.example.dev}
spec:
  group: discovery.example.dev
  scope: Namespaced
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget, shortNames: [wg, wid], categories: [all]}
  versions:
  - {name: v1beta1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}, subresources: {status: {}}}
  - {name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}, subresources: {status: {}}}
";

#[tokio::test]
async fn as_upstream_answers() {
    let cluster = Cluster::start().await.unwrap();
    let sample = cluster.sample_apiserver().await.unwrap();
    let (group, version) = (SampleApiserver::GROUP, SampleApiserver::VERSION);
    cluster.register_api_service(group, version, sample.port(), sample.ca()).await.unwrap();
    cluster.admin().apply(WIDGETS).await.unwrap();
    let established = ["wait", "--for=condition=Established", "crd/widgets.discovery.example.dev"];
    cluster.kubectl(established).await.unwrap().success().unwrap();
    let upstream = Proxy::start(&cluster).await;
    let discovery = discovery().await;

    native_resources_are_the_same_bytes(&upstream, &discovery).await;
    definitions_are_told_alike(&upstream, &discovery).await;
    what_is_not_acceptable_is_refused_alike(&upstream, &discovery).await;
    the_version_has_the_same_fields(&upstream).await;
    health_is_told_alike(&upstream).await;
}

async fn native_resources_are_the_same_bytes(upstream: &Proxy, discovery: &Discovery) {
    let path = format!("/apis/{}/{}", SampleApiserver::GROUP, SampleApiserver::VERSION);
    let protobuf = "application/vnd.kubernetes.protobuf";
    for accept in ["", "application/json", "*/*", "application/yaml", protobuf, "text/plain,application/json;pretty=1"]
    {
        for path in [path.clone(), format!("{path}/")] {
            let theirs = upstream.get(&path, accept).await;
            let ours = ours(discovery, &path, accept);
            assert_eq!(String::from_utf8_lossy(&ours.body), String::from_utf8_lossy(&theirs.body), "{accept}");
            assert_eq!(ours, theirs, "{accept}");
        }
    }
}

/// Definitions tell their verbs in another order, and clients do not care.
async fn definitions_are_told_alike(upstream: &Proxy, discovery: &Discovery) {
    for path in ["/apis/discovery.example.dev/v1", "/apis/discovery.example.dev/v1beta1", "/apis/discovery.example.dev"]
    {
        let theirs = upstream.get(path, "application/json").await;
        assert_eq!(ours(discovery, path, "application/json").json(), sorted(theirs.json()), "{path}");
    }
    let (theirs, ours) = (upstream.get("/apis", AGGREGATED).await, ours(discovery, "/apis", AGGREGATED));
    assert_eq!(ours.content_type, theirs.content_type);
    let (theirs, ours) = (sorted(theirs.json()), ours.json());
    let beside_items = |list: &Value| {
        let mut list = list.clone();
        list["items"].take();
        list
    };
    assert_eq!(beside_items(&ours), beside_items(&theirs));
    let told = |list: &Value, group: &str| {
        list["items"].as_array().unwrap().iter().find(|item| item["metadata"]["name"] == group).unwrap()["versions"]
            .clone()
    };
    let group = "discovery.example.dev";
    assert_eq!(told(&ours, group), told(&theirs, group));
}

async fn what_is_not_acceptable_is_refused_alike(upstream: &Proxy, discovery: &Discovery) {
    for (path, accept) in
        [("/apis/discovery.example.dev", "text/html"), ("/apis", &*AGGREGATED.replace("v2", "v2beta1"))]
    {
        let (theirs, ours) = (upstream.get(path, accept).await, ours(discovery, path, accept));
        assert_eq!((ours.code, ours.content_type), (theirs.code, theirs.content_type.clone()), "{path}");
        assert_eq!(serde_json::from_slice::<Value>(&ours.body).unwrap(), theirs.json(), "{path}");
    }
}

async fn the_version_has_the_same_fields(upstream: &Proxy) {
    let theirs = upstream.get("/version", "").await;
    let ours = Answer::of(ServerVersion::new().answer("/version").unwrap());
    assert_eq!((ours.code, &ours.content_type), (theirs.code, &theirs.content_type));
    let fields = |answer: &Answer| -> Vec<String> {
        let text = String::from_utf8(answer.body.clone()).unwrap();
        text.lines().filter_map(|line| Some(line.split_once(':')?.0.to_owned())).collect()
    };
    assert_eq!(fields(&ours), fields(&theirs), "with their order and indentation");
    let (ours, theirs) = (ours.json(), theirs.json());
    for field in ["emulationMajor", "emulationMinor", "minCompatibilityMajor", "minCompatibilityMinor", "platform"] {
        assert_eq!(ours[field], theirs[field], "{field}");
    }
}

async fn health_is_told_alike(upstream: &Proxy) {
    let mut health = Health::new().with("etcd", Endpoints::All, || async { Ok(()) });
    for name in ["etcd-readiness", "informer-sync"] {
        health = health.with(name, Endpoints::Ready, || async { Ok(()) });
    }
    // Theirs has checks of what starts after it, and of what we do not have.
    let foreign = ["]poststarthook/", "]autoregister-completion ", "]loopback-serving-certificate "];
    let comparable = |answer: Answer| {
        let text = String::from_utf8(answer.body).unwrap();
        let lines = text.lines().filter(|line| !foreign.iter().any(|name| line.contains(name)));
        (answer.code, answer.content_type, lines.map(str::to_owned).collect::<Vec<_>>())
    };
    for target in [
        "/healthz",
        "/livez",
        "/readyz",
        "/livez?verbose",
        "/healthz?verbose&exclude=etcd",
        "/readyz?verbose&exclude=nothing&exclude=ping&exclude=any",
        "/readyz/ping",
        "/readyz/shutdown",
        "/livez/etcd",
    ] {
        let (path, raw) = target.split_once('?').unwrap_or((target, ""));
        let answer = health.answer(path, &query(raw)).await.unwrap();
        assert_eq!(comparable(Answer::of(answer)), comparable(upstream.get(target, "").await), "{target}");
    }
    for path in ["/livez/shutdown", "/readyz/nothing", "/readyz/"] {
        assert!(health.answer(path, &query("")).await.is_none());
        assert_eq!(upstream.get(path, "").await.code, 404, "{path}");
    }
}

/// What our server answers with, with sample-apiserver's kinds and the definition's.
async fn discovery() -> Discovery {
    let version = |group: &'static str, version: &'static str| Version {
        group_version: GroupVersion::new(group, version),
        schema: Schema::from_json(&json!({"type": "object"})).unwrap(),
        columns: Columns::named(),
        selectable: Vec::new(),
    };
    let names = |kind: &'static str, short_names: &[&'static str], categories: &[&'static str]| Names {
        kind: kind.into(),
        list_kind: format!("{kind}List").into(),
        plural: format!("{}s", kind.to_lowercase()).into(),
        singular: kind.to_lowercase().into(),
        short_names: short_names.iter().map(|name| (*name).into()).collect(),
        categories: categories.iter().map(|name| (*name).into()).collect(),
    };
    let sample = || version(SampleApiserver::GROUP, SampleApiserver::VERSION);
    let rule = NameRule::DnsSubdomain;
    let kinds = vec![
        Kind::new(names("Flunder", &[], &[]), Scope::Namespaced, rule, sample()).unwrap(),
        Kind::new(names("Fischer", &[], &[]), Scope::Cluster, rule, sample()).unwrap(),
        Kind::new(
            names("Widget", &["wg", "wid"], &["all"]),
            Scope::Namespaced,
            rule,
            version("discovery.example.dev", "v1beta1"),
        )
        .unwrap()
        .with_status()
        .also_served(version("discovery.example.dev", "v1")),
    ];
    let folder = tempfile::tempdir().unwrap();
    let folder = Folder::take(folder.path()).unwrap();
    let store = Embedded::open(EmbeddedOptions::new(Arc::new(folder))).await.unwrap();
    Discovery::new(Arc::new(Registry::start(Arc::new(store), kinds, Default::default()).await.unwrap()))
}

/// A real cluster, asked as its administrator.
struct Proxy {
    address: String,
    _process: Child,
}

/// What can be compared of an answer.
#[derive(Debug, PartialEq)]
struct Answer {
    code: u16,
    content_type: String,
    body: Vec<u8>,
}

// === impl Proxy ===

impl Proxy {
    async fn start(cluster: &Cluster) -> Self {
        let mut process = cluster.admin().command(["proxy", "--port=0"]).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).await.unwrap();
        let address = line.trim().strip_prefix("Starting to serve on ").unwrap().to_owned();
        Self { address, _process: process }
    }

    async fn get(&self, target: &str, accept: &str) -> Answer {
        let accept = if accept.is_empty() { String::new() } else { format!("Accept: {accept}\r\n") };
        // HTTP/1.0, so that the body is neither chunked nor followed by anything.
        let request = format!("GET {target} HTTP/1.0\r\nHost: {}\r\n{accept}\r\n", self.address);
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let content_type = head.lines().find_map(|line| line.strip_prefix("Content-Type: ")).unwrap_or_default();
        let code = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { code, content_type: content_type.to_owned(), body: bytes[end + 4..].to_vec() }
    }
}

// === impl Answer ===

impl Answer {
    fn of(response: http::Response<bytes::Bytes>) -> Self {
        let content_type = response.headers()[CONTENT_TYPE].to_str().unwrap().to_owned();
        Self { code: response.status().as_u16(), content_type, body: response.into_body().to_vec() }
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

fn ours(discovery: &Discovery, path: &str, accept: &str) -> Answer {
    let mut headers = HeaderMap::new();
    if !accept.is_empty() {
        headers.insert(ACCEPT, accept.parse().unwrap());
    }
    Answer::of(discovery.answer(path, &headers, None).unwrap())
}

fn query(raw: &str) -> Query {
    Request::parse(&Method::GET, &format!("/livez?{raw}")).unwrap().query().clone()
}

/// With the verbs in order.
fn sorted(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                *value = sorted(value.take());
                if name == "verbs" {
                    value.as_array_mut().unwrap().sort_by(|a, b| a.as_str().cmp(&b.as_str()));
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = sorted(item.take())),
        _ => {}
    }
    value
}
