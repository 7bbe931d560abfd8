//! The controller of ResourceClaims: what a type has to do whose objects put something out.
//!
//! For each claim there is an output O, a Secret or a ConfigMap, and a ResourceBinding K that names it. O is written before K
//! names it. When O's name changes the old one is kept for as long as the Bundle that the claim belongs to says that it is in
//! use. This controller knows of Bundles only for that; everything else they read from the annotations of the kind.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::pin::pin;
use std::time::Duration;

use bailiwick_api::Bundle;
use futures::{StreamExt, stream};
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::{Value, json};

mod output;
pub mod provider;

use output::{Mode, Output, OutputError};

/// Whom the fields belong to that are set here.
const MANAGER: &str = "resource-claims";
/// The label of outputs: the claim's UID.
const CLAIM: &str = "resource-claims.example.dev/claim";
/// After which time something is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// Why a claim is tried again, or not.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Claim(#[from] OutputError),
    /// It is looked at again: it may go.
    #[error("\"{0}\" exists, and is not this claim's to put out; it is left alone")]
    Taken(String),
    #[error(transparent)]
    Api(#[from] kube::Error),
}

/// What happened.
enum Event {
    Claim(Box<DynamicObject>),
    ClaimGone(String),
    Bundle(Box<Bundle>),
    Again,
}

/// Looks after all claims until it is dropped.
pub async fn run(client: Client) {
    let claims: Api<DynamicObject> = Api::all_with(client.clone(), &kind("ResourceClaim"));
    let claims = watcher(claims, watcher::Config::default()).default_backoff().filter_map(async |event| match event {
        Ok(watcher::Event::InitApply(claim) | watcher::Event::Apply(claim)) => Some(Event::Claim(Box::new(claim))),
        Ok(watcher::Event::Delete(claim)) => Some(Event::ClaimGone(claim.uid().unwrap_or_default())),
        Ok(watcher::Event::Init | watcher::Event::InitDone) | Err(_) => None,
    });
    let bundles = watcher(Api::<Bundle>::all(client.clone()), watcher::Config::default()).default_backoff();
    let bundles = bundles.filter_map(async |event| match event {
        Ok(watcher::Event::InitApply(bundle) | watcher::Event::Apply(bundle)) => Some(Event::Bundle(Box::new(bundle))),
        Ok(_) | Err(_) => None,
    });
    let ticks = stream::unfold((), async |()| {
        tokio::time::sleep(AGAIN).await;
        Some((Event::Again, ()))
    });
    let mut events = pin!(stream::select(stream::select(claims, bundles), ticks));
    let mut known: HashMap<String, DynamicObject> = HashMap::new();
    let mut failed: BTreeSet<String> = BTreeSet::new();
    while let Some(event) = events.next().await {
        let concerned: Vec<String> = match event {
            Event::Claim(claim) => {
                let uid = claim.uid().unwrap_or_default();
                known.insert(uid.clone(), *claim);
                vec![uid]
            }
            Event::ClaimGone(uid) => {
                known.remove(&uid);
                Vec::new()
            }
            Event::Bundle(bundle) => {
                let is_its =
                    |claim: &&DynamicObject| controller(claim).is_some_and(|owner| Some(owner) == bundle.uid());
                known.values().filter(is_its).filter_map(ResourceExt::uid).collect()
            }
            Event::Again => std::mem::take(&mut failed).into_iter().collect(),
        };
        for uid in concerned {
            let Some(claim) = known.get(&uid) else { continue };
            match look_at(&client, claim).await {
                Ok(()) => {}
                Err(Failure::Claim(error)) => tell(&client, claim, Some(error.to_string())).await,
                Err(taken @ Failure::Taken(_)) => {
                    tell(&client, claim, Some(taken.to_string())).await;
                    failed.insert(uid);
                }
                Err(Failure::Api(_)) => drop(failed.insert(uid)),
            }
        }
    }
}

/// Makes what a claim asks for: first the output, then the binding that names it, and then what is old goes.
async fn look_at(client: &Client, claim: &DynamicObject) -> Result<(), Failure> {
    if claim.meta().deletion_timestamp.is_some() {
        return Ok(());
    }
    let (namespace, uid) = (claim.namespace().unwrap_or_default(), claim.uid().unwrap_or_default());
    let output = Output::of(claim)?;
    let outputs: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, &output.kind.resource());
    let mine = outputs.list(&ListParams::default().labels(&format!("{CLAIM}={uid}"))).await?.items;
    let bindings: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, &kind("ResourceBinding"));
    let bound = bindings.get_opt(&claim.name_any()).await?;
    let current =
        bound.as_ref().and_then(|found| found.data.pointer("/status/secretName")?.as_str().map(str::to_owned));
    let unchanged = mine.iter().find(|found| Some(found.name_any()) == current && output.is_in(found));
    let name = match (&output.mode, unchanged) {
        (Mode::Random, Some(found)) => found.name_any(),
        (Mode::Random, None) => format!("{}-{}", claim.name_any(), uuid::Uuid::new_v4().simple()),
        (Mode::ContentsHash, _) => format!("{}-{}", claim.name_any(), output.hash()),
        (Mode::Fixed(name), _) => name.clone(),
    };
    let owner = json!([{
        "apiVersion": "smith.atlassian.com/v1", "kind": "ResourceClaim", "name": claim.name_any(), "uid": uid,
        "controller": true,
    }]);
    let metadata = json!({ "name": name, "labels": { CLAIM: uid }, "ownerReferences": owner });
    put(&outputs, &output, metadata).await?;
    let binding = json!({
        "apiVersion": "smith.atlassian.com/v1", "kind": "ResourceBinding",
        "metadata": { "name": claim.name_any(), "ownerReferences": owner }, "status": { "secretName": name },
    });
    apply(&bindings, &claim.name_any(), &binding).await?;
    tell(client, claim, None).await;
    let used = used(client, claim).await?;
    for old in mine.iter().map(ResourceExt::name_any).filter(|old| *old != name && !used.contains(old)) {
        match outputs.delete(&old, &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            deleted => drop(deleted?),
        }
    }
    Ok(())
}

/// The outputs that the claim's Bundle says are in use.
async fn used(client: &Client, claim: &DynamicObject) -> Result<BTreeSet<String>, Failure> {
    let owners = claim.meta().owner_references.iter().flatten();
    let Some(owner) =
        owners.into_iter().find(|owner| owner.controller == Some(true) && owner.kind == Bundle::kind(&()))
    else {
        return Ok(BTreeSet::new());
    };
    let bundles: Api<Bundle> = Api::namespaced(client.clone(), &claim.namespace().unwrap_or_default());
    let bundle = bundles.get_opt(&owner.name).await?;
    let outputs = bundle.and_then(|bundle| bundle.status).map(|status| status.outputs).unwrap_or_default();
    Ok(outputs.into_iter().map(|output| output.name).collect())
}

/// Writes an output. What is there under its name without the claim's mark is somebody else's, and is left alone.
async fn put(outputs: &Api<DynamicObject>, output: &Output, mut metadata: Value) -> Result<(), Failure> {
    let name = metadata["name"].as_str().unwrap_or_default().to_owned();
    let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
    let read = |object: Value| serde_json::from_value::<DynamicObject>(object).map_err(kube::Error::SerdeError);
    let Some(found) = outputs.get_opt(&name).await? else {
        // Should somebody be faster, this fails, and is tried again.
        return Ok(outputs.create(&params, &read(output.object(metadata))?).await.map(drop)?);
    };
    if found.labels().get(CLAIM).map(String::as_str) != metadata["labels"][CLAIM].as_str() {
        return Err(Failure::Taken(name));
    }
    if !output.is_in(&found) {
        metadata["uid"] = json!(found.uid());
        metadata["resourceVersion"] = json!(found.resource_version());
        outputs.replace(&name, &params, &read(output.object(metadata))?).await?;
    }
    Ok(())
}

async fn apply(api: &Api<DynamicObject>, name: &str, object: &Value) -> Result<DynamicObject, kube::Error> {
    api.patch(name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(object)).await
}

/// Says in a claim's status what is wrong with it, unless it says so.
async fn tell(client: &Client, claim: &DynamicObject, error: Option<String>) {
    if claim.data.pointer("/status/error").and_then(Value::as_str) == error.as_deref() {
        return;
    }
    let claims: Api<DynamicObject> =
        Api::namespaced_with(client.clone(), &claim.namespace().unwrap_or_default(), &kind("ResourceClaim"));
    let patch = Patch::Merge(json!({ "status": { "error": error } }));
    // It is told again with the next change.
    drop(claims.patch_status(&claim.name_any(), &PatchParams::default(), &patch).await);
}

fn kind(kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("smith.atlassian.com", "v1", kind))
}

fn controller(object: &DynamicObject) -> Option<String> {
    let owners = object.meta().owner_references.iter().flatten();
    owners.into_iter().find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.clone())
}

/// Texts by their names.
type Contents = BTreeMap<String, String>;
