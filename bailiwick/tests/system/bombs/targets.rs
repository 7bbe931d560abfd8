//! Paths and queries.

use super::{NAME, NAMESPACE, Target};
use crate::claims::{GROUP_VERSION, claim, collection, everywhere, make_namespaces};
use crate::turn::turn;

#[tokio::test]
async fn paths_that_lead_elsewhere() {
    let _turn = turn().await;
    let target = Target::start().await;
    let namespaces = format!("{GROUP_VERSION}/namespaces");
    for (path, codes) in [
        (format!("{namespaces}/{NAMESPACE}%2fclaims/{NAME}"), &[400][..]),
        (format!("{namespaces}/other%2f..%2f{NAMESPACE}/claims"), &[400]),
        (format!("{namespaces}/other/claims/..%2f..%2f{NAMESPACE}%2fclaims%2f{NAME}"), &[400]),
        (format!("{namespaces}/other/../{NAMESPACE}/claims/{NAME}"), &[404]),
        (format!("{namespaces}/other/%2e%2e/{NAMESPACE}/claims/{NAME}"), &[404]),
        (format!("{namespaces}/%2e%2e/claims/{NAME}"), &[404]),
        (format!("{namespaces}/{NAMESPACE}/claims/%2e"), &[404]),
        (format!("{namespaces}/{NAMESPACE}/claims/%2e%2e"), &[404]),
        (format!("{namespaces}/{NAMESPACE}/claims/{NAME}%00"), &[404]),
        (format!("{namespaces}/{NAMESPACE}%00/claims"), &[404]),
        (format!("{namespaces}/{NAMESPACE}/claims/{NAME}%ff"), &[400]),
        (format!("{namespaces}/{NAMESPACE}/claims/{NAME}%"), &[400]),
        (format!("{namespaces}/{NAMESPACE}/claims/{NAME}%zz"), &[400]),
        (format!("{namespaces}//claims/{NAME}"), &[404]),
        (format!("/{namespaces}/{NAMESPACE}/claims/{NAME}"), &[404]),
        (format!("{namespaces}/{NAMESPACE}/claims/{NAME}/status/more"), &[404]),
        (format!("{namespaces}/{}/claims", "n".repeat(4_000)), &[200, 400, 404]),
    ] {
        target.get(&path, &path, codes).await;
    }
    target.end().await;
}

#[tokio::test]
async fn queries_that_are_too_large() {
    let _turn = turn().await;
    let target = Target::start().await;
    let path = collection(NAMESPACE);
    let terms = |count: usize| vec!["a"; count].join(",");
    for (what, query, codes) in [
        ("a thousand labels and more", format!("labelSelector={}", terms(7_000)), &[400][..]),
        ("a long label", format!("labelSelector=a%3D{}", "b".repeat(15_000)), &[400]),
        ("one set", format!("labelSelector=a+in+({})", terms(7_000)), &[200, 400]),
        ("open brackets", format!("labelSelector={}", "(".repeat(15_000)), &[400]),
        ("a long field", format!("fieldSelector=metadata.name%3D{}", "b".repeat(15_000)), &[200, 400]),
        ("many fields", format!("fieldSelector={}", vec!["metadata.name%3Da"; 800].join(",")), &[200, 400]),
        ("backslashes", format!("fieldSelector=metadata.name%3D{}", "%5C".repeat(5_000)), &[200, 400]),
        ("a target that is too long", format!("labelSelector=a%3D{}", "b".repeat(17_000)), &[400, 414]),
        ("many parameters", vec!["a=b"; 3_000].join("&"), &[400]),
        ("a limit of 2^63", "limit=9223372036854775808".to_owned(), &[400]),
        ("a limit without end", format!("limit={}", "9".repeat(10_000)), &[400]),
        ("a version of 2^64", "resourceVersion=18446744073709551616".to_owned(), &[400]),
        ("no version", "resourceVersion=%00".to_owned(), &[400]),
        ("a watch of no time", "watch=true&timeoutSeconds=9223372036854775808".to_owned(), &[400]),
        ("a semicolon", "limit=1;limit=2".to_owned(), &[400]),
    ] {
        target.get(what, &format!("{path}?{query}"), codes).await;
    }
    let most = target.get("a limit of 2^63 - 1", &format!("{path}?limit=9223372036854775807"), &[200]).await.json();
    assert_eq!(most["items"].as_array().unwrap().len(), 1);
    let longest = format!("{path}?watch=true&timeoutSeconds=9223372036854775807");
    let mut events = target.client.watch(&longest).await.unwrap();
    assert_eq!(events.soon().await["type"], "ADDED", "a watch of 2^63 - 1 s begins like any other");
    drop(events);
    target.end().await;
}

/// Where a parameter is given twice, the first one counts, everywhere.
#[tokio::test]
async fn parameters_that_are_given_twice() {
    let _turn = turn().await;
    let target = Target::start().await;
    make_namespaces(&target.client, ["other"]).await;
    for name in ["one", "two"] {
        let other = claim(name, "books", "silver", "0");
        target.client.post(&collection("other"), &other).await.unwrap().expect(201);
    }
    let path = everywhere();
    for (query, expected) in [
        ("limit=1&limit=3", 1),
        ("labelSelector=tier%3Dgold&labelSelector=tier%3Dsilver", 1),
        ("labelSelector=tier%3Dsilver&labelSelector=", 2),
        ("fieldSelector=spec.catalogName%3Dbooks&fieldSelector=spec.catalogName%3Dtools", 2),
        ("fieldSelector=metadata.namespace%3Dtarget&fieldSelector=metadata.namespace%3Dother", 1),
    ] {
        let list = target.get(query, &format!("{path}?{query}"), &[200]).await.json();
        assert_eq!(list["items"].as_array().unwrap().len(), expected, "{query}: {list}");
    }
    target.end().await;
}
