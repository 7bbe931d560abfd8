//! Following objects.

use std::time::Duration;

use bailiwick_apiserver::ServerOptions;
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::site::{CLAIMS, Site};

fn told(events: &[Value]) -> Vec<(String, String)> {
    let name = |event: &Value| event["object"]["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    events.iter().map(|event| (event["type"].as_str().unwrap().to_owned(), name(event))).collect()
}

fn expected(events: &[(&str, &str)]) -> Vec<(String, String)> {
    events.iter().map(|(kind, name)| ((*kind).to_owned(), (*name).to_owned())).collect()
}

#[tokio::test]
async fn a_watch_begins_with_what_there_is_and_says_when_that_is_complete() {
    let site = Site::open().await;
    let last = site.claim("a", json!({})).await;
    let query =
        "watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1";
    let events = site.get(&format!("{CLAIMS}?{query}")).await.events();
    assert_eq!(told(&events)[..2], expected(&[("ADDED", "a"), ("BOOKMARK", "")]));
    let marker = &events[1]["object"];
    assert_eq!(marker["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    assert_eq!(marker["metadata"]["resourceVersion"], last["metadata"]["resourceVersion"]);
    assert_eq!(marker["kind"], "ResourceCatalogClaim");
}

#[tokio::test]
async fn a_watch_from_a_version_tells_what_happened_since_and_no_more() {
    let site = Site::open().await;
    let first = site.claim("a", json!({"tier": "x"})).await;
    let version = first["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    site.claim("b", json!({"tier": "y"})).await;
    site.merge(&format!("{CLAIMS}/b"), &json!({"metadata": {"labels": {"tier": "x"}}})).await;
    site.merge(&format!("{CLAIMS}/a"), &json!({"metadata": {"labels": {"tier": "y"}}})).await;
    site.delete(&format!("{CLAIMS}/b")).await;
    let watch = |selector: &str| format!("{CLAIMS}?watch=1&resourceVersion={version}&timeoutSeconds=1{selector}");
    let all = site.get(&watch("")).await.events();
    assert_eq!(told(&all), expected(&[("ADDED", "b"), ("MODIFIED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]));
    let versions: Vec<u64> = all
        .iter()
        .map(|event| event["object"]["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap())
        .collect();
    assert!(versions.is_sorted_by(|a, b| a < b), "{versions:?}");
    let selected = site.get(&watch("&labelSelector=tier%3Dx")).await.events();
    assert_eq!(told(&selected), expected(&[("ADDED", "b"), ("DELETED", "a"), ("DELETED", "b")]));
    assert_eq!(selected[1]["object"]["metadata"]["labels"]["tier"], "x", "as it was when it was last selected");
}

/// a client that comes back too late is told so in the stream, where informers look for it.
#[tokio::test]
async fn a_watch_from_a_forgotten_version_ends_with_an_error() {
    let site = Site::open().await;
    let first = site.claim("a", json!({})).await;
    site.claim("b", json!({})).await;
    let site = site.without_a_past().await;
    let version = first["metadata"]["resourceVersion"].as_str().unwrap();
    let answer = site.get(&format!("{CLAIMS}?watch=1&resourceVersion={version}&timeoutSeconds=5")).await;
    assert_eq!(answer.code, 200);
    let events = answer.events();
    assert_eq!(told(&events), expected(&[("ERROR", "")]));
    let status = &events[0]["object"];
    assert_eq!(
        (&status["kind"], &status["code"], &status["reason"]),
        (&json!("Status"), &json!(410), &json!("Expired"))
    );
    let message = status["message"].as_str().unwrap();
    assert!(message.starts_with(&format!("too old resource version: {version} (")), "{message}");
}

#[tokio::test]
async fn no_version_of_a_new_store_is_too_old() {
    let site = Site::open().await;
    let events = site.get(&format!("{CLAIMS}?watch=1&resourceVersion=1&timeoutSeconds=1")).await.events();
    // A new store keeps everything, so that nothing is too old; nothing has happened either.
    assert_eq!(told(&events), expected(&[]));
}

#[tokio::test]
async fn tables_show_their_columns_once() {
    let site = Site::open().await;
    site.claim("a", json!({})).await;
    site.claim("b", json!({})).await;
    let accept = ("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
    let events = site.ask("GET", &format!("{CLAIMS}?watch=1&timeoutSeconds=1"), &[accept], "").await.events();
    assert!(events[0]["object"]["columnDefinitions"].is_array());
    assert!(events[1]["object"]["columnDefinitions"].is_null());
    assert_eq!(events[1]["object"]["rows"][0]["cells"][0], "b");
}

#[tokio::test]
async fn bookmarks_come_regularly_and_before_the_end() {
    let options = ServerOptions { bookmark_every: Duration::from_millis(100), ..ServerOptions::default() };
    let site = Site::with(options).await;
    let last = site.claim("a", json!({})).await;
    let query = "watch=1&allowWatchBookmarks=true&timeoutSeconds=3";
    let events = site.get(&format!("{CLAIMS}?{query}")).await.events();
    let bookmarks: Vec<_> = events.iter().filter(|event| event["type"] == "BOOKMARK").collect();
    assert!(bookmarks.len() >= 3, "{events:?}");
    for bookmark in bookmarks {
        assert_eq!(bookmark["object"]["metadata"]["resourceVersion"], last["metadata"]["resourceVersion"]);
    }
}

#[tokio::test]
async fn shutting_down_ends_watches_cleanly() {
    let site = Site::open().await;
    let request = Request::get(format!("{CLAIMS}?watch=1")).body(Full::default()).unwrap();
    let body = site.send(request).await.into_body();
    site.shutdown.cancel();
    let rest = tokio::time::timeout(Duration::from_secs(5), body.collect()).await.unwrap().unwrap();
    assert_eq!(rest.to_bytes().len(), 0);
}

/// S-19: however long a client wants to watch, it has to ask again some time.
#[tokio::test]
async fn no_watch_lasts_for_ever() {
    let site = Site::open().await;
    for seconds in ["2000000000", "9223372036854775807"] {
        let target = format!("{CLAIMS}?watch=1&timeoutSeconds={seconds}");
        let response = site.send(Request::get(target).body(Full::default()).unwrap()).await;
        assert_eq!(response.status(), 200, "{seconds}");
        let began = Instant::now();
        tokio::time::pause();
        let hours = Duration::from_secs(3 * 3_600);
        tokio::time::timeout(hours, response.into_body().collect()).await.expect("an end").unwrap();
        tokio::time::resume();
        let lasted = began.elapsed().as_secs();
        assert!((3_599..=3_601).contains(&lasted), "{seconds}: {lasted} s");
    }
}
