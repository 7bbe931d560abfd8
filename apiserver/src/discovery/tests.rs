use std::sync::Arc;

use bailiwick_machinery::schema::Schema;
use bailiwick_machinery::table::Columns;
use bailiwick_machinery::{GroupVersion, NameRule, Scope};
use bailiwick_registry::{Kind, Names, Version, kinds};
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions, Folder};
use serde_json::{Value, json};

use super::*;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

async fn discovery(kinds: Vec<Kind>) -> Discovery {
    let folder = tempfile::tempdir().unwrap();
    let folder = Folder::take(folder.path()).unwrap();
    let store = Embedded::open(EmbeddedOptions::new(Arc::new(folder))).await.unwrap();
    Discovery::new(Arc::new(Registry::start(Arc::new(store), kinds, Default::default()).await.unwrap()))
}

fn kind(
    group: &'static str,
    version: &'static str,
    plural: &'static str,
    also: &[(&'static str, &'static str)],
) -> Kind {
    let served = |group, version| Version {
        group_version: GroupVersion::new(group, version),
        schema: Schema::from_json(&json!({"type": "object"})).unwrap(),
        columns: Columns::named(),
        selectable: Vec::new(),
    };
    let names = Names {
        kind: plural.to_uppercase().into(),
        list_kind: format!("{plural}List").into(),
        plural: plural.into(),
        singular: plural.into(),
        short_names: vec![plural[..1].into()],
        categories: Vec::new(),
    };
    let kind = Kind::new(names, Scope::Cluster, NameRule::DnsSubdomain, served(group, version)).unwrap();
    also.iter().fold(kind, |kind, (group, version)| kind.also_served(served(group, version)))
}

fn headers(accept: &str) -> HeaderMap {
    HeaderMap::from_iter([(ACCEPT, HeaderValue::from_str(accept).unwrap())])
}

fn get(discovery: &Discovery, path: &str, accept: &str) -> Value {
    let response = discovery.answer(path, &headers(accept), None).unwrap();
    assert_eq!(response.status(), StatusCode::OK, "{path}");
    serde_json::from_slice(response.body()).unwrap()
}

#[tokio::test]
async fn native_kinds() {
    let discovery = discovery(kinds::all().unwrap()).await;
    let list = get(&discovery, "/apis/org.bailiwick.dev/v1alpha1", "");
    let names: Vec<_> = list["resources"].as_array().unwrap().iter().map(|item| item["name"].clone()).collect();
    let expected = [
        "groups",
        "organizations",
        "organizations/groups",
        "organizations/members",
        "organizations/projects",
        "orggroups",
        "orggroups/status",
        "orgrolebindings",
        "orgrolebindings/status",
    ];
    assert_eq!(names, expected);
    let below = &list["resources"][2];
    assert_eq!((&below["kind"], &below["singularName"]), (&json!("OrgGroup"), &json!("")));
    assert_eq!(below["verbs"], json!(["create", "delete", "get", "update"]));
    assert_eq!(below.get("storageVersionHash"), None);
    let claims = get(&discovery, "/apis/catalog.bailiwick.dev/v1alpha1", "");
    let resource = |name: &str| claims["resources"].as_array().unwrap().iter().find(|item| item["name"] == name);
    assert_eq!(resource("resourcecatalogclaims/status").unwrap()["verbs"], json!(["get", "patch", "update"]));
    assert_eq!(resource("resourcecatalogclaims").unwrap()["shortNames"], json!(["rcc"]));
}

#[tokio::test]
async fn groups_and_versions_in_order() {
    let alias = ("a.dev", "v1");
    let kinds = vec![
        kind("z.dev", "v1beta1", "things", &[("z.dev", "v2"), ("z.dev", "v1"), alias]),
        kind("m.dev", "v1", "others", &[("z.dev", "v2")]),
    ];
    let discovery = discovery(kinds).await;
    let groups = get(&discovery, "/apis", "application/json");
    let names: Vec<_> = groups["groups"].as_array().unwrap().iter().map(|group| group["name"].clone()).collect();
    assert_eq!(names, ["m.dev", "z.dev", "a.dev"], "a group that is nobody's home is the last");
    let group = get(&discovery, "/apis/z.dev", "");
    let versions: Vec<_> = group["versions"].as_array().unwrap().iter().map(|item| item["version"].clone()).collect();
    assert_eq!(versions, ["v2", "v1", "v1beta1"]);
    assert_eq!(group["preferredVersion"], json!({"groupVersion": "z.dev/v2", "version": "v2"}));
    let list = get(&discovery, "/apis/z.dev/v2", "");
    assert_eq!((&list["resources"][0]["name"], &list["resources"][1]["name"]), (&json!("others"), &json!("things")));
    let hash = |path: &str| get(&discovery, path, "")["resources"][0]["storageVersionHash"].clone();
    assert_eq!(hash("/apis/a.dev/v1"), hash("/apis/z.dev/v1beta1"), "it is stored once");

    let things = |path: &str| get(&discovery, path, "")["resources"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(things("/apis/z.dev/v1")["shortNames"], json!(["t"]));
    assert_eq!(things("/apis/a.dev/v1").get("shortNames"), None, "kubectl would warn that it is not the only one");

    let aggregated = get(&discovery, "/apis", AGGREGATED);
    let told: Vec<_> =
        aggregated["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].clone()).collect();
    assert_eq!(told, names);
    assert_eq!(aggregated["items"][1]["versions"][0]["version"], "v2");
}

#[tokio::test]
async fn only_what_is_there() {
    let discovery = discovery(kinds::all().unwrap()).await;
    let some = |path: &str| discovery.answer(path, &HeaderMap::new(), None);
    for path in
        ["/apis", "/apis/", "/apis/org.bailiwick.dev", "/apis/org.bailiwick.dev/", "/apis/org.bailiwick.dev/v1alpha1/"]
    {
        let slashed = some(path).unwrap();
        assert_eq!(slashed.body(), some(path.trim_end_matches('/')).unwrap().body(), "{path}");
    }
    for path in [
        "",
        "/",
        "/api",
        "/api/",
        "/apis//",
        "apis",
        "/apis/x",
        "/apis/org.bailiwick.dev/v1",
        "/apis/org.bailiwick.dev/v1alpha1/groups",
    ] {
        assert!(some(path).is_none(), "{path}");
    }
}

#[tokio::test]
async fn nothing_is_served_without_kinds() {
    let discovery = discovery(Vec::new()).await;
    assert_eq!(get(&discovery, "/apis", "")["groups"], json!([]));
    assert_eq!(get(&discovery, "/apis", AGGREGATED)["items"], json!([]));
}

#[tokio::test]
async fn who_asks_for_all_in_one_gets_it() {
    let discovery = discovery(kinds::all().unwrap()).await;
    let client_go = format!(
        "{AGGREGATED},application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
    );
    let response = discovery.answer("/apis", &headers(&client_go), None).unwrap();
    let header = |name: HeaderName| response.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header(CONTENT_TYPE), AGGREGATED);
    assert_eq!(header(VARY), "Accept");
    assert_eq!(header(CACHE_CONTROL), "public");
    let etag = header(ETAG);

    let mut known = headers(&client_go);
    known.insert(IF_NONE_MATCH, etag.parse().unwrap());
    let same = discovery.answer("/apis/", &known, None).unwrap();
    assert_eq!((same.status(), same.body().len()), (StatusCode::NOT_MODIFIED, 0));
    assert_eq!(same.headers()[ETAG], etag);
    assert!(same.headers().get(CONTENT_TYPE).is_none());
    known.insert(IF_NONE_MATCH, "\"other\"".parse().unwrap());
    assert_eq!(discovery.answer("/apis", &known, None).unwrap().status(), StatusCode::OK);

    let protobuf = AGGREGATED.replace("json", "vnd.kubernetes.protobuf");
    let response = discovery.answer("/apis", &headers(&protobuf), None).unwrap();
    assert_eq!(response.headers()[CONTENT_TYPE], protobuf);
    assert!(response.body().starts_with(b"k8s\0"));
    // Only at the root, and only in a version that there is.
    let group = discovery.answer("/apis/org.bailiwick.dev", &headers(AGGREGATED), None).unwrap();
    assert_eq!(group.status(), StatusCode::NOT_ACCEPTABLE);
    let old = discovery.answer("/apis", &headers(&AGGREGATED.replace("v2", "v2beta1")), None).unwrap();
    assert_eq!(old.status(), StatusCode::NOT_ACCEPTABLE);
    assert_eq!(serde_json::from_slice::<Value>(old.body()).unwrap()["reason"], "NotAcceptable");
}

#[tokio::test]
async fn for_people() {
    let discovery = discovery(kinds::all().unwrap()).await;
    let curl = HeaderMap::from_iter([(USER_AGENT, HeaderValue::from_static("curl/8.5.0"))]);
    let first_line = |headers: &HeaderMap, pretty| {
        let response = discovery.answer("/apis/org.bailiwick.dev", headers, pretty).unwrap();
        String::from_utf8(response.body().to_vec()).unwrap().lines().next().unwrap().to_owned()
    };
    assert_eq!(first_line(&curl, None), "{");
    assert_eq!(first_line(&HeaderMap::new(), Some(true)), "{");
    assert!(first_line(&curl, Some(false)).starts_with("{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",\"name\""));
    assert_eq!(first_line(&headers("application/yaml"), None), "apiVersion: v1");
}
