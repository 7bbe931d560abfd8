//! The host: where objects are that users' objects speak of. That is this server itself, or the cluster that it stands behind.
//!
//! What a user's object leads to is never read under the server's own identity, but as a service account of a namespace. What
//! users themselves may do is asked of an [`Authorizer`](crate::Authorizer), as everywhere.

use std::sync::Arc;

use async_trait::async_trait;
use bailiwick_api::{NotActing, ServiceAccountRef};
use bailiwick_machinery::openapi::HostSchema;
use bailiwick_machinery::{GroupResource, GroupVersion, GroupVersionKind, Object};

use crate::error::Error;

/// Who knows the host's kinds and objects.
#[async_trait]
pub trait Host: Send + Sync + 'static {
    /// The kind that objects state; `None` if it is not served.
    async fn kind(&self, api_version: &str, kind: &str) -> Result<Option<HostKind>, HostError>;

    /// The kind that people mean by a word, as kubectl takes it: `secret`, `deploy`, `deployments.v1.apps`.
    async fn resource(&self, word: &str) -> Result<Option<HostKind>, HostError>;

    /// An object, read as a service account. The namespace is empty for objects that have none.
    async fn get(
        &self,
        account: &ServiceAccountRef,
        kind: &HostKind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Object>, HostError>;

    /// An object, read as the server itself: one of the few kinds that it looks after or looks up.
    async fn get_own(&self, kind: &HostKind, namespace: &str, name: &str) -> Result<Option<Object>, HostError>;

    /// The form of a kind's objects; `None` if the host does not tell.
    async fn schema(&self, kind: &HostKind) -> Result<Option<Arc<HostSchema>>, HostError>;
}

/// A kind that the host serves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostKind {
    /// The group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// One object, as `kind` states it.
    pub kind: String,
    /// Many objects, in paths.
    pub plural: String,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// What can be done with them.
    pub verbs: Vec<String>,
}

/// Why the host does not tell.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// Whoever asked may not know.
    #[error("{0}")]
    Forbidden(String),
    /// This server may not act as the account in whose name it was to ask.
    #[error("{0}")]
    NotActing(NotActing),
    /// It does not answer, or not in a way that is understood.
    #[error("{0}")]
    Unavailable(String),
}

// === impl HostKind ===

impl HostKind {
    /// The service accounts of the host, which every host has.
    pub fn service_accounts() -> Self {
        Self {
            group: String::new(),
            version: "v1".to_owned(),
            kind: "ServiceAccount".to_owned(),
            plural: "serviceaccounts".to_owned(),
            namespaced: true,
            verbs: vec!["get".to_owned()],
        }
    }

    /// As objects state it.
    pub fn api_version(&self) -> String {
        self.group_version().to_string()
    }

    /// The group and version.
    pub fn group_version(&self) -> GroupVersion {
        GroupVersion::new(self.group.clone(), self.version.clone())
    }

    /// The group, version and kind.
    pub fn gvk(&self) -> GroupVersionKind {
        self.group_version().kind(self.kind.clone())
    }

    /// The group and plural.
    pub fn resource(&self) -> GroupResource {
        GroupResource::new(self.group.clone(), self.plural.clone())
    }
}

// === impl HostError ===

impl From<HostError> for Error {
    /// For those to whom every answer but this one is meant.
    fn from(error: HostError) -> Self {
        Self::HostUnknown { why: error.to_string() }
    }
}
