//! One object: made, read, changed, removed.

use bailiwick_registry::User;
use http::Request;
use http_body_util::Full;
use serde_json::json;

use crate::site::{CLAIMS, ORGANIZATIONS, Site, claim};

#[tokio::test]
async fn an_object_lives_and_dies() {
    let site = Site::open().await;
    let created = site.claim("c", json!({"tier": "a"})).await;
    assert_eq!(created["metadata"]["generation"], 1);
    assert_eq!(created["metadata"]["namespace"], "default");
    let one = format!("{CLAIMS}/c");
    let read = site.get(&one).await;
    assert_eq!(read.json(), created);
    assert_eq!(read.header("content-type"), "application/json");
    assert_eq!(read.header("cache-control"), "no-cache, private");
    assert!(!read.header("audit-id").is_empty());

    let mut changed = created.clone();
    changed["spec"]["namePrefix"] = json!("silver-");
    changed["status"] = json!({"observedGeneration": 7});
    let updated = site.put(&one, &changed).await.json();
    assert_eq!(updated["metadata"]["generation"], 2);
    assert_eq!(updated["status"], created["status"], "the main resource does not write the status");
    let stale = site.put(&one, &changed).await;
    assert_eq!(
        (stale.code.as_u16(), stale.json()["reason"].as_str().unwrap().to_owned()),
        (409, "Conflict".to_owned())
    );

    let status =
        site.merge(&format!("{one}/status"), &json!({"status": {"observedGeneration": 2}, "spec": null})).await;
    assert_eq!(status.json()["status"]["observedGeneration"], 2, "{}", status.text());
    assert_eq!(status.json()["spec"]["namePrefix"], "silver-", "the status does not write anything else");
    assert_eq!(status.json()["metadata"]["generation"], 2);

    let deleted = site.delete(&one).await.json();
    assert_eq!((&deleted["status"], &deleted["details"]["uid"]), (&json!("Success"), &created["metadata"]["uid"]));
    assert_eq!(site.get(&one).await.code, 404);
}

#[tokio::test]
async fn a_write_that_changes_nothing_is_none() {
    let site = Site::open().await;
    let created = site.claim("c", json!({})).await;
    let one = format!("{CLAIMS}/c");
    for same in
        [site.put(&one, &created).await, site.merge(&one, &json!({"metadata": {"labels": {"absent": null}}})).await]
    {
        assert_eq!(same.json(), created);
    }
}

#[tokio::test]
async fn nothing_is_stored_in_a_dry_run() {
    let site = Site::open().await;
    let dry = site.post(&format!("{CLAIMS}?dryRun=All"), &claim("c", json!({}))).await;
    assert_eq!(dry.code, 201);
    assert_eq!(dry.json()["metadata"].get("resourceVersion"), None);
    assert_eq!(site.get(&format!("{CLAIMS}/c")).await.code, 404);
    let created = site.claim("c", json!({})).await;
    let patched = site.merge(&format!("{CLAIMS}/c?dryRun=All"), &json!({"spec": {"namePrefix": "x"}})).await.json();
    assert_eq!(patched["spec"]["namePrefix"], "x");
    assert_eq!(site.delete(&format!("{CLAIMS}/c?dryRun=All")).await.code, 200);
    assert_eq!(site.get(&format!("{CLAIMS}/c")).await.json(), created);
}

#[tokio::test]
async fn generated_names_are_new_each_time() {
    let site = Site::open().await;
    let mut object = claim("", json!({}));
    object["metadata"] = json!({"generateName": "c-"});
    let names: Vec<String> = [site.post(CLAIMS, &object).await, site.post(CLAIMS, &object).await]
        .iter()
        .map(|answer| answer.json()["metadata"]["name"].as_str().unwrap().to_owned())
        .collect();
    assert!(names.iter().all(|name| name.starts_with("c-") && name.len() == 7), "{names:?}");
    assert_ne!(names[0], names[1]);
}

#[tokio::test]
async fn finalizers_hold_an_object_until_the_last_is_gone() {
    let site = Site::open().await;
    let mut object = claim("c", json!({}));
    object["metadata"]["finalizers"] = json!(["example.dev/wait"]);
    site.post(CLAIMS, &object).await;
    let one = format!("{CLAIMS}/c");
    let waiting = site.delete(&one).await.json();
    assert_eq!(waiting["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_eq!(waiting["metadata"]["generation"], 2);
    assert!(waiting["metadata"]["deletionTimestamp"].is_string());
    let more = site.merge(&one, &json!({"metadata": {"finalizers": ["example.dev/wait", "example.dev/more"]}})).await;
    assert_eq!(more.code, 422, "{}", more.text());
    let last = site.merge(&one, &json!({"metadata": {"finalizers": null}})).await;
    assert_eq!(last.code, 200);
    assert_eq!(site.get(&one).await.code, 404);
}

#[tokio::test]
async fn who_is_not_known_or_no_administrator_is_refused() {
    let site = Site::open().await;
    let ask = async |user: Option<User>| {
        let request = Request::get(CLAIMS).body(Full::<bytes::Bytes>::default()).unwrap();
        site.server.answer(request, user.as_ref()).await.status().as_u16()
    };
    assert_eq!(ask(None).await, 401);
    assert_eq!(ask(Some(User { name: "eve".to_owned(), ..User::default() })).await, 403);
}

#[tokio::test]
async fn head_is_get_without_a_body() {
    let site = Site::open().await;
    site.claim("c", json!({})).await;
    let head = site.ask("HEAD", &format!("{CLAIMS}/c"), &[], "").await;
    assert_eq!((head.code.as_u16(), head.body.len()), (200, 0));
}

#[tokio::test]
async fn paths_that_name_nothing_are_not_found_and_never_redirected() {
    let site = Site::open().await;
    for path in [
        "/nothing",
        "/apis/catalog.bailiwick.dev/v1/namespaces/default/resourcecatalogclaims",
        "/apis/catalog.bailiwick.dev/v1alpha1/namespaces/default/widgets",
        "/apis/org.bailiwick.dev/v1alpha1/namespaces/default/organizations",
        "/apis/org.bailiwick.dev/v1alpha1//organizations",
        "/apis/org.bailiwick.dev/v1alpha1/organizations/..",
    ] {
        let answer = site.get(path).await;
        assert_eq!((answer.code.as_u16(), answer.text().as_str()), (404, "404 page not found\n"), "{path}");
    }
}

#[tokio::test]
async fn what_is_not_below_an_object_is_not_found() {
    let site = Site::open().await;
    for path in ["nothing", "status", "groups/extra"] {
        let answer = site.get(&format!("{ORGANIZATIONS}/a/{path}")).await;
        assert_eq!((answer.code.as_u16(), &answer.json()["reason"]), (404, &json!("NotFound")), "{path}");
    }
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused_with_or_without_its_length() {
    let site = Site::open().await;
    let long = " ".repeat(bailiwick_apiserver::MAX_BODY_BYTES + 1);
    let told = long.len().to_string();
    for headers in [&[("content-type", "application/json")][..], &[("content-length", told.as_str())][..]] {
        assert_eq!(site.ask("POST", ORGANIZATIONS, headers, &long).await.code, 413);
    }
    let gzip = site.ask("POST", ORGANIZATIONS, &[("content-encoding", "gzip")], "x").await;
    assert_eq!(gzip.code, 415);
}

#[tokio::test]
async fn a_body_of_too_many_values_is_refused() {
    let site = Site::open().await;
    site.claim("c", json!({})).await;
    let many = format!(r#"{{"spec":[{}0]}}"#, r#"{"":0},"#.repeat(100_000));
    for (method, target, content_type) in [
        ("POST", CLAIMS.to_owned(), "application/json"),
        ("POST", CLAIMS.to_owned(), "application/yaml"),
        ("PATCH", format!("{CLAIMS}/c"), "application/merge-patch+json"),
    ] {
        let answer = site.ask(method, &target, &[("content-type", content_type)], &many).await;
        assert_eq!(answer.code, 413, "{method} {content_type}");
    }
}
