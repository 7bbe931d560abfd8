//! The host's kinds, as objects state them, looked up when they are needed and remembered.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bailiwick_api::{is_api_version, is_kind};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::ListParams;
use kube::core::discovery::Scope;
use kube::core::{ApiResource, GroupVersionKind};
use kube::discovery::ApiCapabilities;
use kube::{Api, Client, ResourceExt, discovery};

use crate::absence::{is_path_absent, look_up};

/// Who knows them. What is not served is asked for each time, as it may come.
pub(crate) struct HostKinds {
    host: Client,
    known: Mutex<HashMap<GroupVersionKind, HostKind>>,
}

/// A kind that the host serves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct HostKind {
    pub(crate) resource: ApiResource,
    pub(crate) is_namespaced: bool,
}

/// Whether what was made in some version of a kind can be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// In that version, or in another that is served.
    As(HostKind),
    /// The kind is defined, and served in no version now: what was made is there, and out of reach.
    Out,
    /// There is no such kind in any namespace: what was made went with it.
    Gone,
}

// === impl HostKind ===

impl HostKind {
    /// A kind of the core group.
    pub(crate) fn core(kind: &str, plural: &str) -> Self {
        let gvk = GroupVersionKind::gvk("", "v1", kind);
        Self { resource: ApiResource::from_gvk_with_plural(&gvk, plural), is_namespaced: true }
    }

    fn new((resource, capabilities): (ApiResource, ApiCapabilities)) -> Self {
        Self { resource, is_namespaced: capabilities.scope == Scope::Namespaced }
    }

    /// What its definition is called, if it was defined by data.
    pub(crate) fn definition(&self) -> String {
        format!("{}.{}", self.resource.plural, self.resource.group)
    }
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
        let gvk = gvk(api_version, kind);
        if let Some(known) = self.known().get(&gvk) {
            return Ok(Some(known.clone()));
        }
        let found = served(discovery::pinned_kind(&self.host, &gvk).await)?.map(HostKind::new);
        if let Some(found) = &found {
            self.known().insert(gvk, found.clone());
        }
        Ok(found)
    }

    /// The same in whichever version there is, for what must be removed from a namespace. That no version is served does not
    /// mean that nothing is left: as long as the kind is defined, its objects are stored.
    pub(crate) async fn reach(&self, api_version: &str, kind: &str) -> kube::Result<Reach> {
        // What states no kind was never made.
        if !is_api_version(api_version) || !is_kind(kind) {
            return Ok(Reach::Gone);
        }
        let found = match self.find(api_version, kind).await? {
            Some(found) => Some(found),
            None => self.find_in_other_versions(&gvk(api_version, kind)).await?,
        };
        Ok(match found {
            // Of a kind that was defined anew, and whose objects are in no namespace now, none are left that were in one.
            Some(found) if !found.is_namespaced => Reach::Gone,
            Some(found) => Reach::As(found),
            None if self.is_defined(&gvk(api_version, kind)).await? => Reach::Out,
            None => Reach::Gone,
        })
    }

    async fn find_in_other_versions(&self, gvk: &GroupVersionKind) -> kube::Result<Option<HostKind>> {
        let Some(group) = served(discovery::group(&self.host, &gvk.group).await)? else { return Ok(None) };
        // Not every kind is served in the version that its group prefers.
        let mut kinds = group.resources_by_stability().into_iter();
        Ok(kinds.find(|(resource, _)| resource.kind == gvk.kind).map(HostKind::new))
    }

    /// Whether there is a definition of a kind, in whichever versions.
    async fn is_defined(&self, gvk: &GroupVersionKind) -> kube::Result<bool> {
        let definitions: Api<CustomResourceDefinition> = Api::all(self.host.clone());
        // Whoever has no definitions at all is asked in vain: that says nothing.
        let all = definitions.list_metadata(&ListParams::default()).await?;
        let is_of_group = |name: &String| name.split_once('.').is_some_and(|(_, group)| group == gvk.group);
        for name in all.iter().map(ResourceExt::name_any).filter(is_of_group) {
            let found = look_up(&definitions, &name).await?;
            if found.is_some_and(|found| found.spec.names.kind == gvk.kind) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Asks anew for this kind the next time: it may have gone, or be another.
    pub(crate) fn forget(&self, api_version: &str, kind: &str) {
        self.known().remove(&gvk(api_version, kind));
    }

    /// Asks anew for all kinds: they have changed.
    pub(crate) fn forget_all(&self) {
        self.known().clear();
    }

    fn known(&self) -> MutexGuard<'_, HashMap<GroupVersionKind, HostKind>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn gvk(api_version: &str, kind: &str) -> GroupVersionKind {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    GroupVersionKind::gvk(group, version, kind)
}

/// What a host tells of what it serves; `None` if it does not serve it.
fn served<T>(asked: kube::Result<T>) -> kube::Result<Option<T>> {
    match asked {
        Ok(found) => Ok(Some(found)),
        Err(kube::Error::Discovery(_)) => Ok(None),
        Err(kube::Error::Api(status)) if is_path_absent(&status) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
pub(crate) mod tests;
