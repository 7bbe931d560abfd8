//! Lets go of what is to stay when its claim goes: as the claim's account, and only of what the claim made.

use bailiwick_api::{
    CreatedResource, DeletionPolicy, ListedResource, ResourceCatalogClaim, ResourceCatalogEntry, ServiceAccountRef,
};
use kube::api::{Patch, PatchParams};
use kube::core::DynamicObject;
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::copies::is_among;
use super::due::{self, Obstacle};
use super::index::State;
use super::{FIELD_MANAGER, sources};
use crate::absence::look_up_metadata;
use crate::disown::{Tie, disown};
use crate::host::Clients;
use crate::host_kinds::{HostKinds, Reach};

/// Why a claim stays for now.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotLetGo {
    #[error("{}", .0.message)]
    Blocked(Obstacle),
    #[error("{kind} \"{name}\": {source}")]
    Resource { kind: String, name: String, source: ReleaseError },
    #[error("the finalizer could not be removed")]
    Finalizer(#[source] Box<kube::Error>),
}

/// Why one resource could not be let go of.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReleaseError {
    #[error("it is served in no version now")]
    OutOfReach,
    #[error(transparent)]
    Host(Box<kube::Error>),
}

// === impl ReleaseError ===

impl From<kube::Error> for ReleaseError {
    fn from(error: kube::Error) -> Self {
        Self::Host(Box::new(error))
    }
}

// === impl NotLetGo ===

impl NotLetGo {
    /// Why, as one word for programs.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Blocked(obstacle) => obstacle.reason,
            Self::Resource { .. } | Self::Finalizer(_) => "NotLetGo",
        }
    }
}

/// Lets go of what a claim made that is going, if that is to stay.
pub(super) async fn let_go(clients: &Clients, kinds: &HostKinds, state: &State) -> Result<(), NotLetGo> {
    let claim = &state.claim;
    let finalizers = claim.metadata.finalizers.clone().unwrap_or_default();
    if !finalizers.iter().any(|finalizer| finalizer == ResourceCatalogClaim::ORPHAN_FINALIZER) {
        return Ok(());
    }
    // Whoever has changed their mind meanwhile lets it go with the claim. Where all goes that is in a namespace nothing can stay,
    // and neither is there an account to let it go.
    if claim.spec.deletion_policy == Some(DeletionPolicy::Orphan) && !state.is_namespace_ending() {
        release_all(clients, kinds, state).await?;
    }
    let left: Vec<String> =
        finalizers.into_iter().filter(|finalizer| finalizer != ResourceCatalogClaim::ORPHAN_FINALIZER).collect();
    let metadata = json!({
        "uid": claim.metadata.uid, "resourceVersion": claim.metadata.resource_version, "finalizers": left,
    });
    let claims: Api<ResourceCatalogClaim> =
        Api::namespaced(clients.own.clone(), claim.metadata.namespace.as_deref().unwrap_or_default());
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    match claims.patch(&claim.name_any(), &params, &Patch::Merge(json!({ "metadata": metadata }))).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        other => other.map(|_| ()).map_err(|error| NotLetGo::Finalizer(Box::new(error))),
    }
}

/// Takes the claim out of the owners of all that it made: of what its status tells, and of what the entry has and was made just
/// before the claim was to go, or before someone ended who would have told of it.
async fn release_all(clients: &Clients, kinds: &HostKinds, state: &State) -> Result<(), NotLetGo> {
    let claim = &state.claim;
    let (told, pending) = claim
        .status
        .as_ref()
        .map(|status| (&*status.created_resources, &*status.pending_resources))
        .unwrap_or_default();
    let account = match due::account(state) {
        Ok(account) => account,
        Err(obstacle) if !told.is_empty() || !pending.is_empty() => return Err(NotLetGo::Blocked(obstacle)),
        // Nothing is known that it would have made.
        Err(_) => return Ok(()),
    };
    let client = clients.act_as.client(&account);
    let of_entry = state.entry.iter().flat_map(|entry| named(claim, entry));
    let untold =
        pending.iter().cloned().chain(of_entry).filter(|one| !is_among(one, told)).map(|one| CreatedResource {
            api_version: one.api_version,
            kind: one.kind,
            name: one.name,
            // None is known, so it is the claim's only if it says so.
            uid: String::new(),
        });
    let untold: Vec<CreatedResource> = untold.collect();
    for resource in told.iter().chain(&untold) {
        let released = release(kinds, &client, &account, claim, resource).await;
        released.map_err(|source| {
            // What is remembered of the kind may not be so any more.
            kinds.forget(&resource.api_version, &resource.kind);
            NotLetGo::Resource { kind: resource.kind.clone(), name: resource.name.clone(), source }
        })?;
    }
    Ok(())
}

/// What a claim makes of an entry.
fn named(claim: &ResourceCatalogClaim, entry: &ResourceCatalogEntry) -> Vec<ListedResource> {
    let prefix = claim.spec.name_prefix.as_deref().unwrap_or_default();
    let named = sources::names(entry).into_iter();
    named
        .map(|(api_version, kind, name)| ListedResource { api_version, kind, name: format!("{prefix}{name}") })
        .collect()
}

/// Takes the claim out of the owners of a resource that it made.
async fn release(
    kinds: &HostKinds,
    client: &Client,
    account: &ServiceAccountRef,
    claim: &ResourceCatalogClaim,
    created: &CreatedResource,
) -> Result<(), ReleaseError> {
    let kind = match kinds.reach(&created.api_version, &created.kind).await? {
        Reach::As(kind) => kind,
        Reach::Out => return Err(ReleaseError::OutOfReach),
        Reach::Gone => return Ok(()),
    };
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), account.namespace(), &kind.resource);
    if created.uid.is_empty() && !may_have_made(&api, &created.name).await? {
        return Ok(());
    }
    let owner = claim.metadata.uid.as_deref().unwrap_or_default();
    Ok(disown(&api, (&created.name, &created.uid), Tie { owner, label: None }, &claim.field_manager()).await?)
}

/// Whether there is something that an account may have made. What it may not even look at, it has not.
async fn may_have_made(api: &Api<DynamicObject>, name: &str) -> kube::Result<bool> {
    match look_up_metadata(api, name).await {
        Err(kube::Error::Api(status)) if status.is_forbidden() => Ok(false),
        found => Ok(found?.is_some()),
    }
}
