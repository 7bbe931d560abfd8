//! Lets go of what is to stay when its claim goes: as the claim's account, and only of what the claim made.

use bailiwick_api::{CreatedResource, ResourceCatalogClaim, ServiceAccountRef};
use kube::api::{Patch, PatchParams};
use kube::core::DynamicObject;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::due;
use super::index::State;
use super::{FIELD_MANAGER, due::Obstacle};
use crate::host::Clients;
use crate::host_kinds::HostKinds;

/// Why a claim stays for now.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotLetGo {
    #[error("{}", .0.message)]
    Blocked(Obstacle),
    #[error("{kind} \"{name}\" could not be let go")]
    Resource { kind: String, name: String, source: Box<kube::Error> },
    #[error("the finalizer could not be removed")]
    Finalizer(#[source] Box<kube::Error>),
}

/// Lets go of what a claim made that is going, if that is to stay.
pub(super) async fn let_go(clients: &Clients, state: &State) -> Result<(), NotLetGo> {
    let claim = &state.claim;
    let finalizers = claim.metadata.finalizers.clone().unwrap_or_default();
    if !finalizers.iter().any(|finalizer| finalizer == ResourceCatalogClaim::ORPHAN_FINALIZER) {
        return Ok(());
    }
    let created = claim.status.as_ref().map(|status| status.created_resources.as_slice()).unwrap_or_default();
    if !created.is_empty() {
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
    let there = api.get_opt(&created.name).await?;
    let Some(there) = there.filter(|there| there.uid().as_ref() == Some(&created.uid)) else { return Ok(()) };
    let owners = there.metadata.owner_references.clone().unwrap_or_default();
    let others: Vec<_> = owners.iter().filter(|owner| Some(&owner.uid) != claim.metadata.uid.as_ref()).collect();
    if others.len() == owners.len() {
        return Ok(());
    }
    let others = if others.is_empty() { Value::Null } else { json!(others) };
    let metadata =
        json!({ "uid": created.uid, "resourceVersion": there.resource_version(), "ownerReferences": others });
    let params = PatchParams { field_manager: Some(claim.field_manager()), ..PatchParams::default() };
    api.patch(&created.name, &params, &Patch::Merge(json!({ "metadata": metadata }))).await.map(|_| ())
}
