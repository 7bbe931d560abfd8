//! Kinds of Kubernetes' own: protobuf in both directions, strategic merge patches, and where they are found.

use bailiwick_machinery::GroupVersion;
use bailiwick_machinery::Object;
use bailiwick_machinery::host::HostType;
use bailiwick_machinery::proto::{Envelope, Event};
use bytes::Bytes;
use serde_json::{Value, json};

use crate::site::{Answer, CLAIMS, Site};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const TYPE: (&str, &str) = ("content-type", PROTOBUF);
/// What typed Go clients accept.
const ACCEPT: (&str, &str) = ("accept", "application/vnd.kubernetes.protobuf,application/json");
const STRATEGIC: (&str, &str) = ("content-type", "application/strategic-merge-patch+json");

fn host_type(kind: &str) -> HostType {
    HostType::of(&GroupVersion::new("", "v1").kind(kind.to_owned())).unwrap()
}

fn to_protobuf(object: Value) -> Bytes {
    let object = Object::try_from(object).unwrap();
    host_type(object.kind()).to_protobuf(&object).unwrap().into()
}

fn from_protobuf(body: Bytes) -> Value {
    let envelope = Envelope::read(body).unwrap();
    let kind = envelope.kind.clone();
    host_type(&kind).from_protobuf(&envelope).unwrap().into()
}

fn read(answer: &Answer) -> Value {
    assert_eq!(answer.header("content-type"), PROTOBUF, "{:?}", answer.body);
    from_protobuf(answer.body.clone())
}

fn config_map(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": value}})
}

#[tokio::test]
async fn objects_come_and_go_in_protobuf() {
    let site = Site::standalone().await;
    let made = site.ask("POST", CONFIG_MAPS, &[TYPE, ACCEPT], to_protobuf(config_map("a", "v"))).await;
    assert_eq!(made.code, 201);
    let made = read(&made);
    assert_eq!((&made["kind"], &made["data"]), (&json!("ConfigMap"), &json!({"k": "v"})));
    assert_eq!(made["metadata"].get("generation"), None, "changes of config maps are not counted");

    let mut changed = made.clone();
    changed["data"]["l"] = json!("w");
    let target = format!("{CONFIG_MAPS}/a");
    let updated = site.ask("PUT", &target, &[TYPE, ACCEPT], to_protobuf(changed)).await;
    assert_eq!(updated.code, 200, "{:?}", updated.body);
    assert_eq!(read(&updated)["data"], json!({"k": "v", "l": "w"}));
    let stale = site.ask("PUT", &target, &[TYPE, ("accept", "application/json")], to_protobuf(made)).await;
    assert_eq!(stale.code, 409, "{}", stale.text());

    // The same object, for those who read JSON.
    let found = site.get(&target).await.json();
    assert_eq!(found, read(&site.ask("GET", &target, &[ACCEPT], "").await));

    // An envelope says `DeleteOptions`, and which object is meant.
    let deleted = site.ask("DELETE", &target, &[ACCEPT], "").await;
    assert_eq!((deleted.code.as_u16(), deleted.header("content-type")), (200, PROTOBUF));
    assert_eq!(site.get(&target).await.code, 404);
}

#[tokio::test]
async fn lists_and_watches_come_in_protobuf() {
    let site = Site::standalone().await;
    for name in ["a", "b"] {
        assert_eq!(site.post(CONFIG_MAPS, &config_map(name, "v")).await.code, 201);
    }
    let list = read(&site.ask("GET", CONFIG_MAPS, &[ACCEPT], "").await);
    let json = site.get(CONFIG_MAPS).await.json();
    assert_eq!(list, json);
    assert_eq!(json["items"][0].get("kind"), None, "{json}");
    assert_eq!(json["metadata"].get("continue"), None, "{json}");

    let target = format!(
        "{CONFIG_MAPS}?watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    );
    let accept = ("accept", "application/vnd.kubernetes.protobuf;stream=watch,application/json;stream=watch");
    let answer = site.ask("GET", &target, &[accept], "").await;
    assert_eq!(answer.header("content-type"), "application/vnd.kubernetes.protobuf;stream=watch");
    let mut rest = answer.body.clone();
    let mut events = Vec::new();
    while !rest.is_empty() {
        let length = u32::from_be_bytes(rest.split_to(4)[..].try_into().unwrap());
        let event = Event::read(rest.split_to(length as usize)).unwrap();
        let object = from_protobuf(event.object);
        events.push((event.event_type, object["metadata"]["name"].as_str().unwrap_or_default().to_owned()));
    }
    let told: Vec<(&str, &str)> = events.iter().map(|(kind, name)| (kind.as_str(), name.as_str())).collect();
    assert_eq!(told, [("ADDED", "a"), ("ADDED", "b"), ("BOOKMARK", "")]);
}

#[tokio::test]
async fn what_is_no_message_is_refused_in_upstreams_words() {
    let site = Site::standalone().await;
    let post = |body: Bytes| site.ask("POST", CONFIG_MAPS, &[TYPE], body);
    let good = to_protobuf(config_map("a", "v"));
    for (body, message) in [
        (
            Bytes::from_static(b"{}"),
            "the object provided is unrecognized (must be of type ConfigMap): provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] ({})",
        ),
        (
            Bytes::from_static(b"k8s\0"),
            "the object provided is unrecognized (must be of type ConfigMap): empty body (6b387300)",
        ),
        (
            Bytes::from_static(b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x02\x08\x07"),
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: proto: wrong wireType = 0 for field ObjectMeta",
        ),
    ] {
        let answer = post(body).await;
        assert_eq!(answer.code, 400);
        assert_eq!(answer.json()["message"], message);
    }
    assert_eq!(post(good).await.code, 201);
    // Kinds whose messages nobody knows say so.
    let refused = site.ask("POST", CLAIMS, &[TYPE], to_protobuf(config_map("a", "v"))).await;
    assert_eq!(refused.code, 415, "{}", refused.text());
    let refused = site.ask("GET", CLAIMS, &[("accept", PROTOBUF)], "").await;
    assert_eq!(refused.code, 406, "{}", refused.text());
}

#[tokio::test]
async fn strategic_merge_patches_are_for_kinds_with_go_types() {
    let site = Site::standalone().await;
    let mut object = config_map("a", "v");
    object["metadata"]["finalizers"] = json!(["x.dev/a", "x.dev/b"]);
    assert_eq!(site.post(CONFIG_MAPS, &object).await.code, 201);
    let patch = |body: Value| {
        let site = &site;
        async move { site.ask("PATCH", &format!("{CONFIG_MAPS}/a"), &[STRATEGIC], body.to_string()).await }
    };
    let patched = patch(json!({"metadata": {"finalizers": ["x.dev/c"]}, "data": {"k": null, "l": "w"}})).await.json();
    assert_eq!(patched["data"], json!({"l": "w"}));
    assert_eq!(patched["metadata"]["finalizers"].as_array().unwrap().len(), 3, "{patched}");
    let refused = patch(json!({"metadata": {"$retainKeys": 7}})).await;
    assert_eq!((refused.code.as_u16(), &refused.json()["reason"]), (400, &json!("BadRequest")));
    let refused = patch(json!({"data": {"$patch": "x"}})).await;
    assert_eq!(
        (refused.code.as_u16(), &refused.json()["message"]),
        (500, &json!("unknown patch type: x in map: map[$patch:x]"))
    );
    let refused = site.ask("PATCH", &format!("{CLAIMS}/a"), &[STRATEGIC], "{}").await;
    assert_eq!(refused.code, 415);
}

#[tokio::test]
async fn the_group_without_a_name_is_discovered() {
    let site = Site::standalone().await;
    let versions = site.get("/api").await.json();
    assert_eq!((&versions["kind"], &versions["versions"]), (&json!("APIVersions"), &json!(["v1"])));
    let resources = site.get("/api/v1").await.json();
    assert_eq!((&resources["groupVersion"], &resources["resources"][0]["name"]), (&json!("v1"), &json!("configmaps")));
    let everything = ("accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    let core = site.ask("GET", "/api", &[everything], "").await.json();
    assert_eq!(core["items"].as_array().unwrap().len(), 1);
    assert_eq!(core["items"][0]["versions"][0]["resources"][0]["resource"], "configmaps");
    let named = site.get("/apis").await.json();
    assert!(named["groups"].as_array().unwrap().iter().all(|group| group["name"] != ""), "{named}");
    let document = site.get("/openapi/v3/api/v1").await.json();
    let patch = &document["paths"]["/api/v1/namespaces/{namespace}/configmaps/{name}"]["patch"];
    let types: Vec<&String> = patch["requestBody"]["content"].as_object().unwrap().keys().collect();
    assert!(types.iter().any(|name| *name == STRATEGIC.1), "{types:?}");
    assert!(patch["responses"]["200"]["content"].get(PROTOBUF).is_some());
}
