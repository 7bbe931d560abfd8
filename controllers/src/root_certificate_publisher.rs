//! Each namespace knows by which authority this server is trusted.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::ObjectMeta;

use crate::in_each_namespace::{Repair, Wanted, keep};

const NAME: &str = "kube-root-ca.crt";
const KEY: &str = "ca.crt";
const DESCRIPTION: (&str, &str) = (
    "kubernetes.io/description",
    "The certificate authorities by which clients inside the cluster trust this API server.",
);

/// Publishes certificates in each namespace, in the ConfigMap `kube-root-ca.crt`, and repairs what others make of it. One that was made immutable with something
/// else in it is removed, and made anew.
pub struct RootCertificatePublisher {
    reader: Client,
    writer: Client,
    authorities: String,
}

struct Published {
    authorities: String,
}

// === impl RootCertificatePublisher ===

impl RootCertificatePublisher {
    /// One that follows namespaces and config maps as one user, and writes config maps as another. Authorities are PEM.
    pub fn new(reader: Client, writer: Client, authorities: String) -> Self {
        Self { reader, writer, authorities }
    }

    /// Works until it is dropped.
    pub async fn run(self) {
        let published = Published { authorities: self.authorities };
        keep("root-ca-certificate-publisher-controller", self.reader, self.writer, published).await;
    }
}

// === impl Published ===

impl Published {
    fn data(&self) -> BTreeMap<String, String> {
        BTreeMap::from([(KEY.to_owned(), self.authorities.clone())])
    }
}

impl Wanted for Published {
    type Object = ConfigMap;

    fn make(&self) -> ConfigMap {
        let (name, text) = DESCRIPTION;
        let metadata = ObjectMeta {
            name: Some(NAME.to_owned()),
            annotations: Some(BTreeMap::from([(name.to_owned(), text.to_owned())])),
            ..ObjectMeta::default()
        };
        ConfigMap { metadata, data: Some(self.data()), ..ConfigMap::default() }
    }

    fn repair(&self, found: &ConfigMap) -> Option<Repair<ConfigMap>> {
        let (name, text) = DESCRIPTION;
        let described = found.metadata.annotations.as_ref().and_then(|annotations| annotations.get(name));
        let has_more = found.binary_data.as_ref().is_some_and(|data| !data.is_empty());
        let is_right = found.data == Some(self.data()) && !has_more;
        if is_right && described.is_some_and(|found| found == text) {
            return None;
        }
        // Of what is immutable only the metadata can be changed.
        if !is_right && found.immutable == Some(true) {
            return Some(Repair::MakeAnew);
        }
        let mut repaired = found.clone();
        if !is_right {
            (repaired.data, repaired.binary_data) = (Some(self.data()), None);
        }
        repaired.metadata.annotations.get_or_insert_default().insert(name.to_owned(), text.to_owned());
        Some(Repair::Change(Box::new(repaired)))
    }
}
