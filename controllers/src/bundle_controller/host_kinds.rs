//! The kinds that the host serves, looked up when they are needed.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use bailiwick_api::{Bundle, is_api_version, is_kind};
use k8s_openapi::Resource as _;
use kube::Client;
use kube::core::GroupVersionKind;
use kube::core::discovery::Scope;
use kube::discovery::{self, ApiResource};
use kube::error::DiscoveryError;

/// A kind that the host serves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct HostKind {
    pub(super) resource: ApiResource,
    pub(super) namespaced: bool,
}

/// Who knows them. What is not served is asked for each time, as it may come.
pub(super) struct HostKinds {
    client: Client,
    known: Mutex<HashMap<(String, String), HostKind>>,
}

// === impl HostKind ===

impl HostKind {
    /// A kind of the core group.
    pub(super) fn core(kind: &str, plural: &str) -> Self {
        let gvk = GroupVersionKind::gvk("", "v1", kind);
        Self { resource: ApiResource::from_gvk_with_plural(&gvk, plural), namespaced: true }
    }

    /// Whether its objects are Bundles, by whichever name.
    pub(super) fn is_bundle(&self) -> bool {
        self.resource.kind == Bundle::KIND && [Bundle::GROUP, Bundle::ALIAS_GROUP].contains(&&*self.resource.group)
    }

    /// What its definition is called, if it was defined by data.
    pub(super) fn definition(&self) -> String {
        format!("{}.{}", self.resource.plural, self.resource.group)
    }
}

// === impl HostKinds ===

impl HostKinds {
    pub(super) fn new(client: Client) -> Self {
        Self { client, known: Mutex::default() }
    }

    /// The kind that objects state; none if it is not served. It is asked for as the controller itself, and its name is somebody
    /// else's: what is none leads to nothing.
    pub(super) async fn find(&self, api_version: &str, kind: &str) -> kube::Result<Option<HostKind>> {
        if !is_api_version(api_version) || !is_kind(kind) {
            return Ok(None);
        }
        let key = (api_version.to_owned(), kind.to_owned());
        if let Some(known) = self.known().get(&key) {
            return Ok(Some(known.clone()));
        }
        let found = found(discovery::pinned_kind(&self.client, &gvk(api_version, kind)).await)?;
        if let Some(found) = &found {
            self.known().insert(key, found.clone());
        }
        Ok(found)
    }

    /// The same in whichever version there is, for what must be removed.
    pub(super) async fn find_in_any_version(&self, api_version: &str, kind: &str) -> kube::Result<Option<HostKind>> {
        if let Some(found) = self.find(api_version, kind).await? {
            return Ok(Some(found));
        }
        if !is_api_version(api_version) {
            return Ok(None);
        }
        let group = gvk(api_version, kind).group;
        match discovery::group(&self.client, &group).await {
            Ok(group) => found(group.recommended_kind(kind).ok_or_else(|| missing(kind))),
            Err(error) => found(Err(error)),
        }
    }

    /// Kinds have changed.
    pub(super) fn forget(&self) {
        self.known().clear();
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<(String, String), HostKind>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn gvk(api_version: &str, kind: &str) -> GroupVersionKind {
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    GroupVersionKind::gvk(group, version, kind)
}

fn missing(kind: &str) -> kube::Error {
    kube::Error::Discovery(DiscoveryError::MissingKind(kind.to_owned()))
}

fn found(asked: kube::Result<(ApiResource, discovery::ApiCapabilities)>) -> kube::Result<Option<HostKind>> {
    match asked {
        Ok((resource, capabilities)) => {
            Ok(Some(HostKind { resource, namespaced: capabilities.scope == Scope::Namespaced }))
        }
        Err(kube::Error::Discovery(_)) => Ok(None),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
