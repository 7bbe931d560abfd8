//! Satisfies claims by definitions of bindings: chooses classes, makes resources, binds them, hands on connection secrets, and
//! looks after all of it when a claim goes.
//!
//! Which kinds there are is data, so objects are JSON. Definitions, and the CustomResourceDefinitions that define their kinds,
//! are followed by the server's own account; claims, classes, resources and secrets are touched as the provisioner only. All
//! that was seen is in an [`Index`], which tells for each change what it touches.
//!
//! A binding has two sides, and every write names the state it means. The claim's status says first which resource it is to
//! have; then the resource says whose it is, by the claim's UID, which only one claim can get in; then the claim's status
//! says which resource that is, by its UID. Whoever is stopped in between goes on where the last one stopped, and two who run
//! at once find done what the other has done.

mod access;
mod bind;
mod claim;
mod claim_status;
mod class;
mod definition;
mod followers;
mod former;
mod hold;
mod index;
mod objects;
mod orphan;
mod provision;
mod reconsider;
mod release;
mod schedule;
mod secret;
mod secret_followers;
mod translate;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use bailiwick_api::{ResourceBindingDefinition, ServiceAccountRef};
use k8s_openapi::api::core::v1::{Namespace, ObjectReference};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, PartialObjectMeta};
use kube::{Api, Client};

use crate::announce::Announcer;
use crate::first_look::FirstLook;
use crate::follow::{Changes, everything, follow};
use crate::host::Clients;
use crate::queue::Queue;
use crate::requesters::UnknownRequester;
use crate::served_kinds::GroupKind;
use crate::status::StatusError;

use access::Access;
use followers::Followers;
use index::{Index, Key};

const WORKERS: usize = 16;
/// Whom the fields belong to that are set here.
const FIELD_MANAGER: &str = "bailiwick-provisioner";
/// How long the number of claims that a definition satisfies may be out of date.
const COUNT_AGAIN: Duration = Duration::from_secs(2);

/// Satisfies claims.
pub struct ClaimController {
    clients: Clients,
    provisioner: ServiceAccountRef,
    now: fn() -> SystemTime,
}

/// What the parts of the controller share.
struct Shared {
    clients: Clients,
    provisioner: ServiceAccountRef,
    /// The host, as the provisioner.
    deputy: Client,
    now: fn() -> SystemTime,
    announcer: Announcer,
    access: Access,
    index: Mutex<Index>,
    followers: Mutex<Followers>,
    queue: Queue<Work>,
    first_look: FirstLook,
}

/// What there is to look at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Work {
    Definition(String),
    Claim(Key),
    Class(Key),
    Resource(Key),
}

/// Why something is tried again.
#[derive(Debug, thiserror::Error)]
enum WorkError {
    #[error(transparent)]
    Status(#[from] StatusError),
    #[error("the host does not do it: {0}")]
    Host(#[from] kube::Error),
    #[error("an object cannot be read: {0}")]
    Form(#[from] serde_json::Error),
    #[error(transparent)]
    Requester(#[from] UnknownRequester),
    /// It is told in a status, and something may be done about it.
    #[error("{0}")]
    Told(String),
}

// === impl Work ===

impl Work {
    /// Whose it is: what is of the cluster, is nobody's.
    fn namespace(&self) -> &str {
        match self {
            Self::Definition(_) => "",
            Self::Claim(key) | Self::Class(key) | Self::Resource(key) => &key.place.namespace,
        }
    }
}

// === impl ClaimController ===

impl ClaimController {
    /// One that handles claims as this account.
    pub fn new(clients: Clients, provisioner: ServiceAccountRef, now: fn() -> SystemTime) -> Self {
        Self { clients, provisioner, now }
    }

    /// Works until it is dropped.
    pub async fn run(self) {
        let Self { clients, provisioner, now } = self;
        let deputy = clients.act_as.client(&provisioner);
        let (own, host) = (clients.own.clone(), clients.host.clone());
        let shared = Arc::new(Shared {
            access: Access::new(host.clone(), deputy.clone()),
            announcer: Announcer::new(host.clone(), FIELD_MANAGER),
            clients,
            provisioner,
            deputy,
            now,
            index: Mutex::default(),
            followers: Mutex::default(),
            queue: Queue::fair("claim-controller", Work::namespace),
            first_look: FirstLook::at(3),
        });
        // Ends with this future.
        let _followers = EndFollowers(shared.clone());
        let purpose = "claims";
        // As JSON: as their type, they take a hundred times the room of their text.
        let kinds = ApiResource::erase::<CustomResourceDefinition>(&());
        tokio::join!(
            shared.queue.work(
                WORKERS,
                shared.first_look.is_over(),
                &shared,
                async |shared: Arc<Shared>, work: Work| { shared.look_at(&work).await }
            ),
            follow(Api::all(own), everything(), "ResourceBindingDefinitions", purpose, |changes| {
                shared.see_definitions(changes);
            }),
            follow(
                Api::all_with(host.clone(), &kinds),
                everything(),
                "CustomResourceDefinitions",
                purpose,
                |changes| {
                    shared.see_kinds(changes);
                }
            ),
            follow(Api::all(host), everything(), "namespaces", purpose, |changes| shared.see_namespaces(changes)),
            shared.look_where_secrets_are_not_followed(),
        );
    }
}

/// Ends whoever follows kinds. They know the controller, so that it would not end by itself.
struct EndFollowers(Arc<Shared>);

impl Drop for EndFollowers {
    fn drop(&mut self) {
        self.0.end_followers();
    }
}

// === impl Shared ===

impl Shared {
    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn look_at(self: &Arc<Self>, work: &Work) -> Result<(), WorkError> {
        match work {
            Work::Definition(name) => self.look_at_definition(name).await,
            Work::Claim(key) => self.look_at_claim(key).await,
            Work::Class(key) => self.look_at_class(key).await,
            Work::Resource(key) => self.look_at_resource(key).await,
        }
    }

    fn see_definitions(&self, changes: Changes<ResourceBindingDefinition>) {
        for (place, object) in changes.objects {
            let concerned = self.index().see_definition(&place.name, object);
            self.queue.extend(concerned);
        }
        self.first_look.saw(changes.is_complete);
    }

    fn see_kinds(&self, changes: Changes<DynamicObject>) {
        for (place, object) in changes.objects {
            let concerned = self.index().see_kind(&place.name, object.as_ref().map(|definition| &definition.data));
            self.queue.extend(concerned);
        }
        self.first_look.saw(changes.is_complete);
    }

    fn see_namespaces(&self, changes: Changes<PartialObjectMeta<Namespace>>) {
        for (place, object) in changes.objects {
            let labels = object.map(|object| object.metadata.labels.unwrap_or_default());
            let concerned = self.index().see_namespace(&place.name, labels);
            self.queue.extend(concerned);
        }
        self.first_look.saw(changes.is_complete);
    }

    /// Counts the claims of a definition again, soon: however many change meanwhile, that is done once.
    fn count_soon(&self, definition: &str) {
        self.queue.postpone(Work::Definition(definition.to_owned()), COUNT_AGAIN);
    }
}

/// An object as events name it.
fn about(object: &serde_json::Value) -> ObjectReference {
    let named = bailiwick_api::claims::ObjectRef::of(object);
    let some = |text: String| Some(text).filter(|text| !text.is_empty());
    ObjectReference {
        api_version: some(named.api_version),
        kind: some(named.kind),
        namespace: some(named.namespace),
        name: some(named.name),
        uid: some(named.uid),
        ..ObjectReference::default()
    }
}

/// The kind that a definition names, whatever the version.
fn group_kind(kind: &bailiwick_api::KindReference) -> GroupKind {
    GroupKind { group: kind.group().to_owned(), kind: kind.kind.clone() }
}
