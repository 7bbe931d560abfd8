//! The host's kinds, as objects state them, remembered.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use bailiwick_api::{is_api_version, is_kind};
use kube::core::discovery::Scope;
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, discovery};

/// Who knows them.
pub(crate) struct HostKinds {
    host: Client,
    known: Mutex<HashMap<GroupVersionKind, HostKind>>,
}

/// A kind.
#[derive(Clone, Debug)]
pub(crate) struct HostKind {
    pub(crate) resource: ApiResource,
    pub(crate) is_namespaced: bool,
}

// === impl HostKinds ===

impl HostKinds {
    pub(crate) fn new(host: Client) -> Self {
        Self { host, known: Mutex::default() }
    }

    /// The kind that an object states; `None` if it is not served. It is asked for as the controller itself, and its name is
    /// somebody else's: what is none leads to nothing.
    pub(crate) async fn find(&self, api_version: &str, kind: &str) -> kube::Result<Option<HostKind>> {
        if !is_api_version(api_version) || !is_kind(kind) {
            return Ok(None);
        }
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let gvk = GroupVersionKind::gvk(group, version, kind);
        if let Some(known) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&gvk) {
            return Ok(Some(known.clone()));
        }
        match discovery::pinned_kind(&self.host, &gvk).await {
            Ok((resource, capabilities)) => {
                let found = HostKind { resource, is_namespaced: capabilities.scope == Scope::Namespaced };
                self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(gvk, found.clone());
                Ok(Some(found))
            }
            Err(kube::Error::Discovery(_)) => Ok(None),
            // Where there is no such version, a server may answer with a page.
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The same in whichever version there is, for what must be removed.
    pub(crate) async fn find_in_any_version(&self, api_version: &str, kind: &str) -> kube::Result<Option<HostKind>> {
        if let Some(found) = self.find(api_version, kind).await? {
            return Ok(Some(found));
        }
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        match discovery::group(&self.host, group).await {
            Ok(group) => Ok(group.recommended_kind(kind).map(|(resource, capabilities)| HostKind {
                resource,
                is_namespaced: capabilities.scope == Scope::Namespaced,
            })),
            Err(kube::Error::Discovery(_)) => Ok(None),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Asks anew for this kind the next time: it may have gone, or be another.
    pub(crate) fn forget(&self, api_version: &str, kind: &str) {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(&GroupVersionKind::gvk(group, version, kind));
    }
}

#[cfg(test)]
pub(crate) mod tests;
