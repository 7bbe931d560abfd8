//! A controller that realizes claims of entries with an extension of its own: `{apiVersion: example.com/v1, kind: Greeting,
//! text: …}` becomes a ConfigMap with that text, in the namespace of the claim.
//!
//! It finds its claims by the field `status.realizer`, which the server sets to the extension's kind, and says in their status
//! what has become of them. It needs these rights, and none in Bailiwick's own namespace:
//!
//! - `get` on resourcecatalogentries, and `list`, `watch` on resourcecatalogclaims;
//! - `patch` on resourcecatalogclaims/status;
//! - whatever it does to realize a claim: here, `create` and `patch` on configmaps.

use std::pin::pin;

use bailiwick_api::{ResourceCatalogClaim, ResourceCatalogEntry};
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::json;

/// The kind of the extension, and who we are to it.
const KIND: &str = "Greeting";
const MANAGER: &str = "greeting-controller";

/// Realizes claims until it is dropped.
pub(crate) async fn run(client: Client) {
    let config = watcher::Config::default().fields(&format!("status.realizer={KIND}"));
    let claims: Api<ResourceCatalogClaim> = Api::all(client.clone());
    let mut changed = pin!(watcher(claims, config).default_backoff().applied_objects());
    while let Some(claim) = changed.next().await {
        let realized = match claim {
            Ok(claim) => realize(&client, &claim).await,
            Err(error) => Err(error.into()),
        };
        if let Err(error) = realized {
            eprintln!("it is looked at again when it changes: {error}");
        }
    }
}

async fn realize(
    client: &Client,
    claim: &ResourceCatalogClaim,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let status = claim.status.clone().unwrap_or_default();
    let is_done = status.conditions.iter().any(|condition| {
        condition.condition_type == ResourceCatalogClaim::READY
            && condition.observed_generation == claim.metadata.generation
    });
    if (is_done && status.entry_generation.is_some()) || claim.metadata.deletion_timestamp.is_some() {
        return Ok(());
    }
    let reference = &claim.spec.resource_catalog_entry;
    let entry =
        Api::<ResourceCatalogEntry>::namespaced(client.clone(), &reference.namespace).get(&reference.name).await?;
    if entry.metadata.uid != reference.uid {
        return Err("the entry is not the one that was claimed".into());
    }
    let text = entry.spec.extension.as_ref().and_then(|extension| extension.get("text")?.as_str()).unwrap_or_default();
    let name = format!("{}-greeting", claim.name_any());
    let greeting = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": { "text": text },
        "metadata": { "name": name, "ownerReferences": [claim.controller_owner_ref(&())] },
    });
    let namespace = claim.namespace().unwrap_or_default();
    let params = PatchParams::apply(MANAGER);
    let made =
        Api::<ConfigMap>::namespaced(client.clone(), &namespace).patch(&name, &params, &Patch::Apply(greeting)).await?;
    let ready = json!({
        "type": ResourceCatalogClaim::READY, "status": "True", "reason": "Greeted", "message": "",
        "observedGeneration": claim.metadata.generation, "lastTransitionTime": Timestamp::now().to_string(),
    });
    let status = json!({
        "conditions": [ready], "entryGeneration": entry.metadata.generation, "generation": claim.spec.generation,
        "createdResources": [{ "apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": made.metadata.uid }],
    });
    let metadata = json!({ "uid": claim.metadata.uid, "resourceVersion": claim.metadata.resource_version });
    let patch = Patch::Merge(json!({ "metadata": metadata, "status": status }));
    let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    Api::<ResourceCatalogClaim>::namespaced(client.clone(), &namespace)
        .patch_status(&claim.name_any(), &params, &patch)
        .await?;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    run(Client::try_default().await?).await;
    Ok(())
}
