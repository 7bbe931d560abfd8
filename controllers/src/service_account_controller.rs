//! Each namespace has a service account for whoever does not ask for one.

use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Client;
use kube::api::ObjectMeta;

use crate::in_each_namespace::{Repair, Wanted, keep};

/// Makes the service account `default` in each namespace, again and again.
pub struct ServiceAccountController {
    reader: Client,
    writer: Client,
}

struct DefaultServiceAccount;

// === impl ServiceAccountController ===

impl ServiceAccountController {
    /// One that follows namespaces and service accounts as one user, and makes service accounts as another.
    pub fn new(reader: Client, writer: Client) -> Self {
        Self { reader, writer }
    }

    /// Works until it is dropped.
    pub async fn run(self) {
        keep("serviceaccount-controller", self.reader, self.writer, DefaultServiceAccount).await;
    }
}

// === impl DefaultServiceAccount ===

impl Wanted for DefaultServiceAccount {
    type Object = ServiceAccount;

    fn make(&self) -> ServiceAccount {
        let metadata = ObjectMeta { name: Some("default".to_owned()), ..ObjectMeta::default() };
        ServiceAccount { metadata, ..ServiceAccount::default() }
    }

    /// It belongs to whoever uses the namespace.
    fn repair(&self, _: &ServiceAccount) -> Option<Repair<ServiceAccount>> {
        None
    }
}
