use serde::de::DeserializeOwned;
use serde_json::Value;

use super::*;
use crate::proto::Encode;
use crate::recorded::recorded;

/// Reads a recorded document and writes it again.
fn check<D: Document + Encode + DeserializeOwned>(case: &Value) {
    let document: D = serde_json::from_value(case["json"].clone()).unwrap();
    let json = document.to_json();
    assert_eq!(serde_json::from_slice::<Value>(&json).unwrap(), case["json"]);
    assert_eq!(STANDARD.encode(document.to_protobuf()), case["proto"].as_str().unwrap());
}

#[test]
fn as_upstream_serves_them() {
    for case in recorded("discovery") {
        match case["json"]["kind"].as_str().unwrap() {
            ApiVersions::KIND => check::<ApiVersions>(case),
            ApiGroupList::KIND => check::<ApiGroupList>(case),
            ApiGroup::KIND => check::<ApiGroup>(case),
            ApiResourceList::KIND => check::<ApiResourceList>(case),
            ApiGroupDiscoveryList::KIND => {
                check::<ApiGroupDiscoveryList>(case);
                let document: ApiGroupDiscoveryList = serde_json::from_value(case["json"].clone()).unwrap();
                assert_eq!(document.etag(), case["etag"]);
            }
            kind => panic!("{kind} is not expected"),
        }
    }
}

#[test]
fn etags() {
    let sample = etag(b"");
    assert_eq!(sample.len(), 130);
    assert!(sample.starts_with("\"CF83E1357EEFB8BD") && sample.ends_with("F927DA3E\""), "{sample}");
    assert_ne!(etag(b"{}"), sample);
}

#[test]
fn storage_version_hashes_as_upstream() {
    for case in recorded("storageVersionHashes") {
        let text = |index: usize| case[index].as_str().unwrap().to_owned();
        let stored = GroupVersionKind { group: text(0).into(), version: text(1).into(), kind: text(2).into() };
        assert_eq!(storage_version_hash(&stored), text(3));
    }
}

#[test]
fn names_are_those_in_json() {
    for scope in [Scope::Namespaced, Scope::Cluster] {
        assert_eq!(serde_json::to_value(scope).unwrap(), scope.as_str());
    }
    for freshness in [Freshness::Current, Freshness::Stale] {
        assert_eq!(serde_json::to_value(freshness).unwrap(), freshness.as_str());
    }
}
