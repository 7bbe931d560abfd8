//! The documents of OpenAPI: how they are sent, and what they say.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::site::Site;

const ORGANIZATIONS: &str = "/openapi/v3/apis/org.bailiwick.dev/v1alpha1";
const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// Rewrites the published documents instead of comparing them.
const UPDATE: &str = "BAILIWICK_TEST_UPDATE";

#[tokio::test]
async fn the_root_names_our_own_documents_and_nothing_else() {
    let site = Site::open().await;
    let root = site.get("/openapi/v3").await;
    assert_eq!(root.header("content-type"), "application/json");
    let root = root.json();
    let keys: Vec<&String> = root["paths"].as_object().unwrap().keys().collect();
    // An aggregator would send clients here for whatever else stood here.
    let ours = ["admission", "bundle", "catalog", "claim", "org", "quota"];
    let ours = ours.map(|group| format!("apis/{group}.bailiwick.dev/v1alpha1"));
    assert_eq!(keys, ours.each_ref());
    for (key, place) in root["paths"].as_object().unwrap() {
        let url = place["serverRelativeURL"].as_str().unwrap();
        assert!(url.starts_with(&format!("/openapi/v3/{key}?hash=")), "{url}");
        let document = site.get(url).await;
        assert_eq!(document.code, 200);
        assert_eq!(document.header("etag"), format!("\"{}\"", url.rsplit_once('=').unwrap().1));
        assert_eq!(document.header("cache-control"), "public, max-age=31536000, immutable");
        assert_eq!(document.json()["openapi"], "3.0.0");
    }
    let index = site.get("/").await.json();
    for path in ["/openapi/v2", "/openapi/v3"] {
        assert!(index["paths"].as_array().unwrap().contains(&json!(path)), "{index}");
    }
}

#[tokio::test]
async fn an_old_hash_is_answered_with_the_document_and_never_with_a_redirection() {
    let site = Site::open().await;
    for target in [ORGANIZATIONS.to_owned(), format!("{ORGANIZATIONS}?hash=OLD"), format!("{ORGANIZATIONS}/")] {
        let document = site.get(&target).await;
        assert_eq!((document.code.as_u16(), document.header("location")), (200, ""), "{target}");
        assert_eq!(document.header("cache-control"), "no-cache, private", "{target}");
    }
    assert_eq!(site.get("/openapi/v3/apis/org.bailiwick.dev").await.code, 404);
    assert_eq!(site.get("/openapi/v3/api/v1").await.code, 404);
    assert_eq!(site.get("/openapi").await.code, 404);
}

#[tokio::test]
async fn what_is_known_is_not_sent_again() {
    let site = Site::open().await;
    for target in [ORGANIZATIONS, "/openapi/v2", "/openapi/v3"] {
        let etag = site.get(target).await.header("etag").to_owned();
        assert_eq!(etag.len(), 130, "{etag}");
        for known in [etag.clone(), format!("W/{etag}"), format!("\"other\", {etag}"), "*".to_owned()] {
            let answer = site.ask("GET", target, &[("if-none-match", &known)], "").await;
            assert_eq!((answer.code.as_u16(), answer.body.len()), (304, 0), "{known}");
            assert_eq!(answer.header("etag"), etag);
        }
        assert_eq!(site.ask("GET", target, &[("if-none-match", "\"other\"")], "").await.code, 200);
    }
}

#[tokio::test]
async fn in_json_and_smaller_for_those_who_can_unpack() {
    let site = Site::open().await;
    let plain = site.get(ORGANIZATIONS).await;
    let packed = site.ask("GET", ORGANIZATIONS, &[("accept-encoding", "gzip")], "").await;
    assert_eq!(packed.header("content-encoding"), "gzip");
    assert_eq!(packed.header("vary"), "Accept, Accept-Encoding");
    assert!(packed.body.len() * 4 < plain.body.len());
    assert_eq!(packed.json(), plain.json());
    for (accept, code) in [("", 200), ("application/json", 200), ("*/*", 200), ("text/html", 406)] {
        for target in [ORGANIZATIONS, "/openapi/v2"] {
            assert_eq!(site.ask("GET", target, &[("accept", accept)], "").await.code, code, "{accept}");
        }
    }
    assert_eq!(site.ask("GET", ORGANIZATIONS, &[("accept", PROTOBUF)], "").await.code, 406);
    let head = site.ask("HEAD", ORGANIZATIONS, &[], "").await;
    assert_eq!((head.code.as_u16(), head.body.len()), (200, 0));
    assert_eq!(site.post(ORGANIZATIONS, &json!({})).await.code, 404);
}

/// What is in it is read by client-go: see `tests/clients`.
#[tokio::test]
async fn in_protobuf_for_those_who_ask_so() {
    let site = Site::open().await;
    let json = site.get("/openapi/v2").await;
    let old_name = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    for accept in [PROTOBUF, old_name, &format!("text/html, {PROTOBUF};q=0.5, application/json;q=0.1")] {
        let protobuf = site.ask("GET", "/openapi/v2", &[("accept", accept)], "").await;
        assert_eq!((protobuf.code.as_u16(), protobuf.header("content-type")), (200, PROTOBUF), "{accept}");
        assert!(protobuf.body.starts_with(b"\x0a\x032.0"), "swagger 2.0 comes first");
        assert_ne!(protobuf.header("etag"), json.header("etag"));
        let etag = protobuf.header("etag").to_owned();
        let again = site.ask("GET", "/openapi/v2", &[("accept", accept), ("if-none-match", &etag)], "").await;
        assert_eq!(again.code, 304);
    }
    for accept in ["*/*", &format!("application/json, {PROTOBUF}")] {
        let answer = site.ask("GET", "/openapi/v2", &[("accept", accept)], "").await;
        assert_eq!(answer.header("content-type"), "application/json", "{accept}");
    }
}

/// What kubectl decides by: see `machinery::openapi`.
#[tokio::test]
async fn nothing_is_patched_strategically() {
    let site = Site::open().await;
    let document = site.get(ORGANIZATIONS).await.json();
    let patch = &document["paths"]["/apis/org.bailiwick.dev/v1alpha1/organizations/{name}"]["patch"];
    let types: Vec<&String> = patch["requestBody"]["content"].as_object().unwrap().keys().collect();
    assert_eq!(types, ["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"]);
    let names: Vec<&Value> =
        patch["parameters"].as_array().unwrap().iter().map(|parameter| &parameter["name"]).collect();
    assert_eq!(names, ["dryRun", "fieldManager", "fieldValidation", "force"]);
    assert!(!document.to_string().contains("strategic"));
}

/// What is published in `docs/api` is what is served.
#[tokio::test]
async fn the_published_documents_are_up_to_date() {
    let site = Site::open().await;
    let mut served = BTreeMap::from([("v2.json".to_owned(), site.get("/openapi/v2").await.json())]);
    for key in site.get("/openapi/v3").await.json()["paths"].as_object().unwrap().keys() {
        let name = key.strip_prefix("apis/").unwrap().replace('/', ".");
        served.insert(format!("v3/{name}.json"), site.get(&format!("/openapi/v3/{key}")).await.json());
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/api");
    if std::env::var_os(UPDATE).is_some() {
        publish(&folder, &served);
    }
    let mut published = files(&folder, "");
    published.extend(files(&folder.join("v3"), "v3/"));
    published.sort();
    assert_eq!(published, served.keys().cloned().collect::<Vec<_>>(), "{UPDATE}=1 rewrites docs/api");
    for (name, document) in &served {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        assert!(text == written(document), "docs/api/{name} is out of date; {UPDATE}=1 rewrites it");
    }
}

fn publish(folder: &Path, documents: &BTreeMap<String, Value>) {
    let _ = std::fs::remove_dir_all(folder.join("v3"));
    std::fs::create_dir_all(folder.join("v3")).unwrap();
    for (name, document) in documents {
        std::fs::write(folder.join(name), written(document)).unwrap();
    }
}

fn written(document: &Value) -> String {
    format!("{document:#}\n")
}

fn files(folder: &PathBuf, prefix: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
    files.map(|entry| format!("{prefix}{}", entry.file_name().to_string_lossy())).collect()
}
