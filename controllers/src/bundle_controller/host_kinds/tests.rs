use std::sync::atomic::Ordering;

use super::*;
use crate::host_kinds::tests::Nothing;

/// B-01: what is no name of a kind leads nowhere: the host is not asked as the controller itself.
#[tokio::test]
async fn what_names_no_kind_is_not_asked_for() {
    let nothing = Nothing::default();
    let kinds = HostKinds::new(Client::new(nothing.clone(), "default"));
    for (api_version, kind) in [
        ("bundle.bailiwick.dev/v1alpha1/bundles", "Bundle"),
        ("bundle.bailiwick.dev/v1alpha1/bundles?watch=true", "Bundle"),
        ("../v1", "Secret"),
        ("v1?x", "Secret"),
        ("v1", "Sec/ret"),
    ] {
        assert!(kinds.find(api_version, kind).await.unwrap().is_none(), "{api_version}");
    }
    assert_eq!(nothing.0.load(Ordering::Relaxed), 0);
    assert!(kinds.find("apps/v1", "Deployment").await.is_ok_and(|found| found.is_none()));
    assert_eq!(nothing.0.load(Ordering::Relaxed), 1);
}
