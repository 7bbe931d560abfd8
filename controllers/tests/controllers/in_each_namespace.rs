//! What each namespace has.

use bailiwick_controllers::{NamespaceController, RootCertificatePublisher, ServiceAccountController};
use bailiwick_registry::{Clock, SystemClock};
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::site::{Site, comes, gone, release, stays};

const AUTHORITIES: &str = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";
const NAME: &str = "kube-root-ca.crt";

impl Site {
    async fn furnishing() -> Self {
        let mut site = Self::open().await;
        let client = || site.client.clone();
        let accounts = ServiceAccountController::new(client(), client()).run();
        let certificates = RootCertificatePublisher::new(client(), client(), AUTHORITIES.to_owned()).run();
        let namespaces = NamespaceController::new(client(), || SystemClock.now()).run();
        site.run(accounts);
        site.run(certificates);
        site.run(namespaces);
        site
    }

    fn accounts(&self, namespace: &str) -> Api<ServiceAccount> {
        Api::namespaced(self.client.clone(), namespace)
    }

    fn certificates(&self, namespace: &str) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), namespace)
    }
}

fn is_right(found: &ConfigMap) -> bool {
    found.data.as_ref().is_some_and(|data| data.len() == 1 && data["ca.crt"] == AUTHORITIES)
}

#[tokio::test]
async fn each_namespace_has_a_service_account_again_and_again() {
    let site = Site::furnishing().await;
    for namespace in ["a", "b", "default", "kube-system"] {
        comes(&site.accounts(namespace), "default", |_| true).await;
    }
    site.namespace("new").await;
    let first = comes(&site.accounts("new"), "default", |_| true).await;
    site.accounts("new").delete("default", &DeleteParams::default()).await.unwrap();
    comes(&site.accounts("new"), "default", |found| found.uid() != first.uid()).await;
    // It is whose namespace it is in.
    let patch = Patch::Merge(json!({"automountServiceAccountToken": false}));
    site.accounts("new").patch("default", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(stays(&site.accounts("new"), "default").await.automount_service_account_token, Some(false));
}

#[tokio::test]
async fn each_namespace_has_the_certificates_as_they_are() {
    let site = Site::furnishing().await;
    site.namespace("new").await;
    let first = comes(&site.certificates("new"), NAME, is_right).await;
    for patch in [
        json!({"data": {"ca.crt": "mine"}}),
        json!({"data": {"more": "x"}}),
        json!({"data": null, "binaryData": {"ca.crt": "AAAA"}}),
    ] {
        site.certificates("new").patch(NAME, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
        let repaired = comes(&site.certificates("new"), NAME, is_right).await;
        assert!(repaired.binary_data.is_none() && repaired.uid() == first.uid(), "{repaired:?}");
    }
    site.certificates("new").delete(NAME, &DeleteParams::default()).await.unwrap();
    comes(&site.certificates("new"), NAME, |found| is_right(found) && found.uid() != first.uid()).await;
}

/// What someone has made immutable is not as they want it for ever, whether it was there before or is changed later.
#[tokio::test]
async fn certificates_that_nobody_can_change_are_made_anew() {
    let mut site = Site::open().await;
    site.namespace("old").await;
    let foreign = json!({"metadata": {"name": NAME}, "data": {"ca.crt": "mine"}, "immutable": true});
    site.make(&site.certificates("old"), foreign.clone()).await;
    let client = || site.client.clone();
    let certificates = RootCertificatePublisher::new(client(), client(), AUTHORITIES.to_owned()).run();
    site.run(certificates);
    let made = comes(&site.certificates("old"), NAME, is_right).await;
    assert_eq!(made.immutable, None);
    // As it is to be, and immutable: that hurts nobody. Its metadata is repaired, and it stays the same.
    let description = json!({"metadata": {"annotations": {"kubernetes.io/description": null}}, "immutable": true});
    site.certificates("old").patch(NAME, &PatchParams::default(), &Patch::Merge(description)).await.unwrap();
    let is_described = |found: &ConfigMap| found.annotations().contains_key("kubernetes.io/description");
    let same = comes(&site.certificates("old"), NAME, is_described).await;
    assert_eq!((same.uid(), same.immutable), (made.uid(), Some(true)));
    // Somebody makes another one in its place, and holds it: the right one comes when they let go.
    site.certificates("old").delete(NAME, &DeleteParams::default()).await.unwrap();
    comes(&site.certificates("old"), NAME, |found| is_right(found) && found.uid() != made.uid()).await;
    let wrong = json!({
        "metadata": {"finalizers": ["x.dev/hold"]}, "data": {"ca.crt": "mine"}, "immutable": true,
    });
    site.certificates("old").patch(NAME, &PatchParams::default(), &Patch::Merge(wrong)).await.unwrap();
    comes(&site.certificates("old"), NAME, |found| found.metadata.deletion_timestamp.is_some()).await;
    release(&site.certificates("old"), NAME).await;
    comes(&site.certificates("old"), NAME, is_right).await;
}

#[tokio::test]
async fn a_namespace_that_ends_gets_nothing_any_more() {
    let site = Site::furnishing().await;
    site.namespace("ending").await;
    comes(&site.accounts("ending"), "default", |_| true).await;
    comes(&site.certificates("ending"), NAME, is_right).await;
    let held = json!({"metadata": {"name": "held", "finalizers": ["x.dev/hold"]}});
    site.make(&site.certificates("ending"), held).await;
    site.namespaces().delete("ending", &DeleteParams::default()).await.unwrap();
    gone(&site.accounts("ending"), "default").await;
    gone(&site.certificates("ending"), NAME).await;
    stays(&site.certificates("ending"), "held").await;
    assert!(site.accounts("ending").get_opt("default").await.unwrap().is_none());
    assert!(site.certificates("ending").get_opt(NAME).await.unwrap().is_none());
    release(&site.certificates("ending"), "held").await;
    gone(&site.namespaces(), "ending").await;
}
