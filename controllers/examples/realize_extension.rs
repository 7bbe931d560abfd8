//! A controller that realizes claims of entries with an extension of its own: `{apiVersion: example.com/v1, kind: Greeting,
//! text: …}` becomes a ConfigMap with that text, in the namespace of the claim.
//!
//! It finds its claims by the field `status.realizer`, which the server sets to the extension's kind, and says in their status
//! what has become of them. It needs these rights, and none in Bailiwick's own namespace:
//!
//! - `get` on resourcecatalogentries, and `list`, `watch` on resourcecatalogclaims;
//! - `patch` on resourcecatalogclaims/status;
//! - whatever it does to realize a claim: here, `create`, `get` and `patch` on configmaps.
//!
//! These rights are its own, and whoever claims need not have them: what it did not make for a claim, it must not touch for one.

use std::pin::pin;

use bailiwick_api::{ResourceCatalogClaim, ResourceCatalogEntry};
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::{Value, json};

/// The kind of the extension, and who we are to it.
const KIND: &str = "Greeting";
const MANAGER: &str = "greeting-controller";

type Error = Box<dyn std::error::Error + Send + Sync>;

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

async fn realize(client: &Client, claim: &ResourceCatalogClaim) -> Result<(), Error> {
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
    let Some(made) = make(client, claim, &name, greeting).await? else {
        let message = format!("there is a ConfigMap \"{name}\" that was not made for this claim: remove or rename it");
        return say(client, claim, ("False", "AlreadyExists", &message), json!({})).await;
    };
    let more = json!({
        "entryGeneration": entry.metadata.generation, "generation": claim.spec.generation,
        "createdResources": [{ "apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": made.metadata.uid }],
    });
    say(client, claim, ("True", "Greeted", ""), more).await
}

/// Makes a ConfigMap, or makes it anew as it is to be. `None` if there is another of its name, which is left alone.
async fn make(
    client: &Client,
    claim: &ResourceCatalogClaim,
    name: &str,
    mut wanted: Value,
) -> Result<Option<ConfigMap>, Error> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), &claim.namespace().unwrap_or_default());
    let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
    match api.create(&params, &serde_json::from_value(wanted.clone())?).await {
        Ok(made) => return Ok(Some(made)),
        Err(kube::Error::Api(status)) if status.is_already_exists() => {}
        Err(error) => return Err(error.into()),
    }
    let there = api.get(name).await?;
    let is_own = there.owner_references().iter().any(|owner| {
        owner.controller == Some(true)
            && owner.kind == "ResourceCatalogClaim"
            && Some(&owner.uid) == claim.metadata.uid.as_ref()
    });
    if !is_own {
        return Ok(None);
    }
    // With its UID, nothing is applied to another that has taken its place since.
    wanted["metadata"]["uid"] = json!(there.metadata.uid);
    Ok(Some(api.patch(name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(wanted)).await?))
}

/// Says what has become of a claim, unless that is said already.
async fn say(
    client: &Client,
    claim: &ResourceCatalogClaim,
    (so, reason, message): (&str, &str, &str),
    more: Value,
) -> Result<(), Error> {
    let mut conditions = claim.status.iter().flat_map(|status| &status.conditions);
    let is_said = conditions.any(|condition| {
        (&*condition.condition_type, &*condition.reason) == (ResourceCatalogClaim::READY, reason)
            && condition.observed_generation == claim.metadata.generation
    });
    if is_said {
        return Ok(());
    }
    let ready = json!({
        "type": ResourceCatalogClaim::READY, "status": so, "reason": reason, "message": message,
        "observedGeneration": claim.metadata.generation, "lastTransitionTime": Timestamp::now().to_string(),
    });
    let mut status = more;
    status["conditions"] = json!([ready]);
    let metadata = json!({ "uid": claim.metadata.uid, "resourceVersion": claim.metadata.resource_version });
    let patch = Patch::Merge(json!({ "metadata": metadata, "status": status }));
    let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    Api::<ResourceCatalogClaim>::namespaced(client.clone(), &claim.namespace().unwrap_or_default())
        .patch_status(&claim.name_any(), &params, &patch)
        .await?;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    run(Client::try_default().await?).await;
    Ok(())
}
