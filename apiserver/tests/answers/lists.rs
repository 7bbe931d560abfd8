//! Many objects: whole, in pages, selected, as tables.

use serde_json::{Value, json};

use crate::site::{CLAIMS, Site, claim};

fn names(list: &Value) -> Vec<String> {
    list["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_list_is_one_document_whatever_its_size() {
    let site = Site::open().await;
    let empty = site.get(CLAIMS).await.json();
    assert_eq!((&empty["kind"], &empty["items"]), (&json!("ResourceCatalogClaimList"), &json!([])));
    for index in 0..400 {
        site.claim(&format!("c{index:03}"), json!({"pad": "x".repeat(60)})).await;
    }
    let plain = site.get(CLAIMS).await;
    assert_eq!(names(&plain.json()).len(), 400);
    assert_eq!(plain.header("content-encoding"), "");
    let packed = site.ask("GET", CLAIMS, &[("accept-encoding", "gzip")], "").await;
    assert_eq!((packed.header("content-encoding"), packed.header("vary")), ("gzip", "Accept-Encoding"));
    assert!(packed.body.len() * 4 < plain.body.len());
    assert_eq!(packed.json(), plain.json());
    let pretty = site.get(&format!("{CLAIMS}?pretty=true")).await;
    assert!(pretty.text().starts_with("{\n  \"apiVersion\""));
    assert_eq!(pretty.json(), plain.json());
    let across = site.get("/apis/catalog.bailiwick.dev/v1alpha1/resourcecatalogclaims").await.json();
    assert_eq!(names(&across).len(), 400);
}

#[tokio::test]
async fn pages_make_up_the_list_as_it_was_when_the_first_was_read() {
    let site = Site::open().await;
    for index in 0..25 {
        site.claim(&format!("c{index:02}"), json!({})).await;
    }
    let whole = site.get(CLAIMS).await.json();
    let mut page = site.get(&format!("{CLAIMS}?limit=10")).await.json();
    assert_eq!(page["metadata"]["remainingItemCount"], 15);
    let mut read = names(&page);
    site.delete(&format!("{CLAIMS}/c24")).await;
    site.claim("c15a", json!({})).await;
    while let Some(token) = page["metadata"]["continue"].as_str().filter(|token| !token.is_empty()) {
        let next = site.get(&format!("{CLAIMS}?limit=10&continue={token}")).await.json();
        assert_eq!(next["metadata"]["resourceVersion"], whole["metadata"]["resourceVersion"]);
        read.extend(names(&next));
        page = next;
    }
    assert_eq!(read, names(&whole));
    assert_eq!(page["metadata"].get("remainingItemCount"), None);
}

/// a page of a state that is forgotten is refused, with a token that goes on in the newest state.
#[tokio::test]
async fn a_forgotten_state_is_refused_with_a_token_to_go_on() {
    let site = Site::open().await;
    for name in ["a", "b", "d"] {
        site.claim(name, json!({})).await;
    }
    let first = site.get(&format!("{CLAIMS}?limit=1")).await.json();
    let version = first["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    site.claim("c", json!({})).await;
    let site = site.without_a_past().await;

    let exact = site.get(&format!("{CLAIMS}?resourceVersion={version}&resourceVersionMatch=Exact")).await;
    assert_eq!((exact.code.as_u16(), &exact.json()["reason"]), (410, &json!("Expired")));
    let token = first["metadata"]["continue"].as_str().unwrap();
    let expired = site.get(&format!("{CLAIMS}?limit=1&continue={token}")).await;
    assert_eq!(expired.code, 410);
    let expired = expired.json();
    assert_eq!(expired["reason"], "Expired");
    let token = expired["metadata"]["continue"].as_str().unwrap();
    let rest = site.get(&format!("{CLAIMS}?continue={token}")).await.json();
    assert_eq!(names(&rest), ["b", "c", "d"]);
}

#[tokio::test]
async fn labels_and_fields_select() {
    let site = Site::open().await;
    for (name, tier, catalog) in [("a", "x", "gold"), ("b", "y", "gold"), ("c", "x", "silver")] {
        let mut claim = claim(name, json!({"tier": tier}));
        claim["spec"]["catalogName"] = json!(catalog);
        assert_eq!(site.post(CLAIMS, &claim).await.code, 201);
    }
    for (query, expected) in [
        ("labelSelector=tier%3Dx", vec!["a", "c"]),
        ("labelSelector=tier+in+(y)", vec!["b"]),
        ("labelSelector=!tier", vec![]),
        ("fieldSelector=metadata.name%3Db", vec!["b"]),
        ("fieldSelector=spec.catalogName%3Dsilver", vec!["c"]),
        ("fieldSelector=spec.catalogName!%3Dsilver&labelSelector=tier%3Dx", vec!["a"]),
        ("fieldSelector=metadata.namespace%3Dother", vec![]),
    ] {
        assert_eq!(names(&site.get(&format!("{CLAIMS}?{query}")).await.json()), expected, "{query}");
    }
    let unknown = site.get(&format!("{CLAIMS}?fieldSelector=spec.other%3Dx")).await;
    assert_eq!(
        (unknown.code.as_u16(), unknown.json()["message"].as_str().unwrap().to_owned()),
        (400, "field label not supported: spec.other".to_owned())
    );
}

#[tokio::test]
async fn tables_and_metadata_are_made_of_lists() {
    let site = Site::open().await;
    site.claim("a", json!({})).await;
    let accept = |kind: &str| format!("application/json;as={kind};v=v1;g=meta.k8s.io");
    let table = site.ask("GET", CLAIMS, &[("accept", &accept("Table"))], "").await.json();
    assert_eq!(table["kind"], "Table");
    assert_eq!(
        table["rows"][0]["cells"].as_array().unwrap()[..3],
        json!(["a", "gold", "database"]).as_array().unwrap()[..]
    );
    assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    let metadata = site.ask("GET", CLAIMS, &[("accept", &accept("PartialObjectMetadataList"))], "").await.json();
    assert_eq!((&metadata["kind"], metadata["items"][0].get("spec")), (&json!("PartialObjectMetadataList"), None));
    let protobuf = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    let packed = site.ask("GET", CLAIMS, &[("accept", protobuf)], "").await;
    assert_eq!(packed.header("content-type"), "application/vnd.kubernetes.protobuf");
    assert!(packed.body.starts_with(b"k8s\0"));
    let wrong = site.ask("GET", CLAIMS, &[("accept", &accept("PartialObjectMetadata"))], "").await;
    assert_eq!(wrong.code, 406);
}

#[tokio::test]
async fn a_collection_is_deleted_as_it_is_selected() {
    let site = Site::open().await;
    for (name, tier) in [("a", "x"), ("b", "y"), ("c", "x")] {
        site.claim(name, json!({"tier": tier})).await;
    }
    let deleted = site.delete(&format!("{CLAIMS}?labelSelector=tier%3Dx")).await.json();
    assert_eq!(names(&deleted), ["a", "c"]);
    assert_eq!(names(&site.get(CLAIMS).await.json()), ["b"]);
}
