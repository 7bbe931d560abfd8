//! Lets go of what is to stay when its claim goes: as the claim's account, and only of what the claim made.

use bailiwick_api::{CreatedResource, DeletionPolicy, ResourceCatalogClaim, ServiceAccountRef};
use kube::api::{Patch, PatchParams};
use kube::core::DynamicObject;
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::due;
use super::index::State;
use super::{FIELD_MANAGER, due::Obstacle};
use crate::disown::disown;
use crate::host::Clients;
use crate::host_kinds::HostKinds;

/// Why a claim stays for now.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotLetGo {
    #[error("{}", .0.message)]
    Blocked(Obstacle),
    #[error("{kind} \"{name}\": {source}")]
    Resource { kind: String, name: String, source: Box<kube::Error> },
    #[error("the finalizer could not be removed")]
    Finalizer(#[source] Box<kube::Error>),
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
pub(super) async fn let_go(clients: &Clients, state: &State) -> Result<(), NotLetGo> {
    let claim = &state.claim;
    let finalizers = claim.metadata.finalizers.clone().unwrap_or_default();
    if !finalizers.iter().any(|finalizer| finalizer == ResourceCatalogClaim::ORPHAN_FINALIZER) {
        return Ok(());
    }
    let created = claim.status.as_ref().map(|status| status.created_resources.as_slice()).unwrap_or_default();
    // Whoever has changed their mind meanwhile lets it go with the claim.
    if !created.is_empty() && claim.spec.deletion_policy == Some(DeletionPolicy::Orphan) {
        let account = due::account(state).map_err(NotLetGo::Blocked)?;
        let (kinds, client) = (HostKinds::new(clients.host.clone()), clients.act_as.client(&account));
        for resource in created {
            let released = release(&kinds, &client, &account, claim, resource).await;
            released.map_err(|source| NotLetGo::Resource {
                kind: resource.kind.clone(),
                name: resource.name.clone(),
                source: Box::new(source),
            })?;
        }
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

/// Takes the claim out of the owners of a resource that it made.
async fn release(
    kinds: &HostKinds,
    client: &Client,
    account: &ServiceAccountRef,
    claim: &ResourceCatalogClaim,
    created: &CreatedResource,
) -> kube::Result<()> {
    let Some(kind) = kinds.find(&created.api_version, &created.kind).await? else { return Ok(()) };
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), account.namespace(), &kind.resource);
    let owner = claim.metadata.uid.as_deref().unwrap_or_default();
    disown(&api, (&created.name, &created.uid), owner, &claim.field_manager()).await
}
