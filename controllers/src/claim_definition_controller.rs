//! Makes CustomResourceDefinitions of definitions of claims, keeps them as they are to be, and removes them when there are no
//! claims any more.
//!
//! It touches no CustomResourceDefinition that was not made for the very definition it looks at: that is told by the
//! definition's UID, which stands in an annotation. Whether there are claims is asked as the provisioner, who alone handles
//! them.

mod custom_resource;
mod status;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use bailiwick_api::{CLAIM_DEFINITION_FINALIZER, DERIVED_LABEL, ResourceClaimDefinition, ServiceAccountRef};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{PartialObjectMeta, Patch, PatchParams};
use kube::runtime::watcher;
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::absence::look_up;
use crate::first_look::FirstLook;
use crate::follow::{Changes, everything, follow};
use crate::host::Clients;
use crate::queue::Queue;
use crate::status::StatusError;

use custom_resource::{Found, Made};
use status::Told;

const WORKERS: usize = 4;
/// Whom the fields belong to that are set here.
const FIELD_MANAGER: &str = "bailiwick-claim-definition-controller";
/// How often it is looked whether the last claims have gone.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Keeps a CustomResourceDefinition for each definition of claims.
pub struct ClaimDefinitionController {
    clients: Clients,
    provisioner: ServiceAccountRef,
    now: fn() -> SystemTime,
}

struct Shared {
    clients: Clients,
    provisioner: ServiceAccountRef,
    now: fn() -> SystemTime,
    /// Of each definition the CustomResourceDefinition that is made of it. Both are read when they are looked at: as their
    /// types, they take many times the room of their text.
    definitions: Mutex<HashMap<String, String>>,
    queue: Queue<String>,
    first_look: FirstLook,
}

/// Why something is tried again.
#[derive(Debug, thiserror::Error)]
enum WorkError {
    #[error(transparent)]
    Status(#[from] StatusError),
    #[error("the host does not do it")]
    Host(#[from] kube::Error),
    #[error("what is made of the definition cannot be read: {0}")]
    Form(#[from] serde_json::Error),
}

// === impl ClaimDefinitionController ===

impl ClaimDefinitionController {
    /// One that asks for claims as this account.
    pub fn new(clients: Clients, provisioner: ServiceAccountRef, now: fn() -> SystemTime) -> Self {
        Self { clients, provisioner, now }
    }

    /// Works until it is dropped.
    pub async fn run(self) {
        let Self { clients, provisioner, now } = self;
        let (own, host) = (clients.own.clone(), clients.host.clone());
        let shared = Arc::new(Shared {
            clients,
            provisioner,
            now,
            definitions: Mutex::default(),
            queue: Queue::new("claim-definition-controller"),
            first_look: FirstLook::at(2),
        });
        let derived = watcher::Config::default().labels(&format!("{DERIVED_LABEL}=resourceclaimdefinitions"));
        let purpose = "definitions of claims";
        tokio::join!(
            shared.queue.work(
                WORKERS,
                shared.first_look.is_over(),
                &shared,
                async |shared: Arc<Shared>, name: String| { shared.look_at(&name).await }
            ),
            follow(Api::all(own), everything(), "ResourceClaimDefinitions", purpose, |changes| {
                shared.see_definitions(changes);
            }),
            follow(Api::all(host), derived, "CustomResourceDefinitions", purpose, |changes| {
                shared.see_custom_resources(changes);
            }),
        );
    }
}

// === impl Shared ===

impl Shared {
    fn definitions(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.definitions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn see_definitions(&self, changes: Changes<ResourceClaimDefinition>) {
        for (place, object) in changes.objects {
            match object {
                Some(object) => self.definitions().insert(place.name.clone(), object.spec.custom_resource_definition()),
                None => self.definitions().remove(&place.name),
            };
            self.queue.add(place.name);
        }
        self.first_look.saw(changes.is_complete);
    }

    fn see_custom_resources(&self, changes: Changes<PartialObjectMeta<CustomResourceDefinition>>) {
        for (place, _) in changes.objects {
            let definitions = self.definitions();
            let made_of = definitions.iter().filter(|(_, made)| **made == place.name);
            let concerned: Vec<String> = made_of.map(|(definition, _)| definition.clone()).collect();
            drop(definitions);
            self.queue.extend(concerned);
        }
        self.first_look.saw(changes.is_complete);
    }

    async fn look_at(&self, name: &str) -> Result<(), WorkError> {
        let api: Api<ResourceClaimDefinition> = Api::all(self.clients.own.clone());
        let Some(definition) = look_up(&api, name).await? else { return Ok(()) };
        if definition.metadata.deletion_timestamp.is_some() {
            return self.let_go(&definition).await;
        }
        let told = match self.keep(&definition).await? {
            Made::Kept(found) => Told::of(&found),
            Made::NameTaken => Told::name_taken(&definition.spec),
        };
        Ok(status::write(&self.clients.own, &definition, &told, (self.now)()).await?)
    }

    /// Removes what was made for a definition that goes, once no claims are left, and then lets it go.
    async fn let_go(&self, definition: &ResourceClaimDefinition) -> Result<(), WorkError> {
        if !definition.finalizers().iter().any(|finalizer| finalizer == CLAIM_DEFINITION_FINALIZER) {
            return Ok(());
        }
        let name = definition.name_any();
        let told = match self.find(definition).await? {
            Found::None | Found::Others => return self.release(definition).await,
            Found::Going(_) => Told::ending("the CustomResourceDefinition is being removed"),
            Found::Ours(found) => match self.claims_left(definition, &found).await {
                Ok(left) if left.is_empty() => {
                    self.remove(&found).await?;
                    Told::ending("the CustomResourceDefinition is being removed")
                }
                Ok(left) => Told::in_use(&left),
                Err(error) => Told::unknown(&self.provisioner, &error),
            },
        };
        status::write(&self.clients.own, definition, &told, (self.now)()).await?;
        self.queue.add_after(name, LOOK_AGAIN);
        Ok(())
    }

    async fn release(&self, definition: &ResourceClaimDefinition) -> Result<(), WorkError> {
        let kept = definition.finalizers().iter().filter(|finalizer| *finalizer != CLAIM_DEFINITION_FINALIZER);
        let patch = json!({ "metadata": {
            "uid": definition.metadata.uid,
            "resourceVersion": definition.metadata.resource_version,
            "finalizers": kept.collect::<Vec<_>>(),
        } });
        let api: Api<ResourceClaimDefinition> = Api::all(self.clients.own.clone());
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        match api.patch(&definition.name_any(), &params, &Patch::Merge(patch)).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            result => Ok(result.map(drop)?),
        }
    }
}
