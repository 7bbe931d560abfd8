//! Says of catalogs what is in them, and of entries which catalogs they are in.
//!
//! All objects that matter are followed by watches and kept in an [`Index`], which tells for each change what it touches: an
//! entry that changes is one small write to its own status, and one to each catalog that shows it. What is in a catalog is what
//! entries say in their status; a catalog's own status only shows it. Nothing is done before everything was seen once.

mod accept;
mod index;
mod recheck;
mod status;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use bailiwick_api::{Group, OrgGroup, OrgRoleBinding, Organization, ResourceCatalog, ResourceCatalogEntry};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::Api;
use kube::api::PartialObjectMeta;

pub use accept::{Accept, Acceptance, Candidate, CannotTell, Policies};

use self::index::{Index, Work};
use self::recheck::Rights;
use crate::first_look::FirstLook;
use crate::follow::{Changes, everything, follow};
use crate::host::Clients;
use crate::place::Place;
use crate::queue::Queue;
use crate::requesters::UnknownRequester;
use crate::status::StatusError;

const WORKERS: usize = 8;
/// How many kinds are seen before anything is done: catalogs, entries and namespaces, and all that gives rights. Whatever changes
/// of it later is noticed then, so that no answer about a right is older than what is known of rights.
const KINDS: usize = 3 + 8;
/// Whom the fields belong to that are set here.
const FIELD_MANAGER: &str = "bailiwick-catalog-controller";
/// What all of this is for, in the log.
const PURPOSE: &str = "catalogs";

/// Keeps the status of ResourceCatalogs, and what the status of ResourceCatalogEntries says of catalogs, true.
pub struct CatalogController {
    clients: Clients,
    accept: Arc<dyn Accept>,
    now: fn() -> SystemTime,
}

/// What the parts of the controller share.
struct Shared {
    clients: Clients,
    accept: Arc<dyn Accept>,
    now: fn() -> SystemTime,
    index: Mutex<Index>,
    queue: Queue<Work>,
    rights: Rights,
    first_look: FirstLook,
}

/// Why something is tried again.
#[derive(Debug, thiserror::Error)]
enum WorkError {
    #[error(transparent)]
    Status(#[from] StatusError),
    #[error("whether the catalog \"{catalog}\" accepts an entry could not be found out")]
    Undecided { catalog: String, source: CannotTell },
    #[error(transparent)]
    Requester(#[from] UnknownRequester),
}

// === impl CatalogController ===

impl CatalogController {
    /// One that accepts entries by the policies of their catalogs.
    pub fn new(clients: Clients, now: fn() -> SystemTime) -> Self {
        let accept = Arc::new(Policies::new(clients.host.clone()));
        Self { clients, accept, now }
    }

    /// One that accepts entries otherwise.
    #[must_use]
    pub fn accepting_by(self, accept: Arc<dyn Accept>) -> Self {
        Self { accept, ..self }
    }

    /// Works until it is dropped.
    pub async fn run(self) {
        let Self { clients, accept, now } = self;
        let Clients { own, host, .. } = clients.clone();
        let shared = Arc::new(Shared {
            clients,
            accept,
            now,
            index: Mutex::default(),
            queue: Queue::fair("catalog-controller", Work::namespace),
            rights: Rights::default(),
            first_look: FirstLook::at(KINDS),
        });
        let catalogs = |changes: Changes<ResourceCatalog>| {
            for (place, catalog) in changes.objects {
                shared.queue.extend(shared.index().set_catalog(place.name, catalog));
            }
            shared.first_look.saw(changes.is_complete);
        };
        let entries = |changes: Changes<ResourceCatalogEntry>| {
            for (place, entry) in changes.objects {
                shared.queue.extend(shared.index().set_entry(place, entry));
            }
            shared.first_look.saw(changes.is_complete);
        };
        let namespaces = |changes: Changes<PartialObjectMeta<Namespace>>| {
            for (place, namespace) in changes.objects {
                let labels = namespace.map(|namespace| namespace.metadata.labels.unwrap_or_default());
                shared.queue.extend(shared.index().set_namespace(place.name, labels));
            }
            shared.first_look.saw(changes.is_complete);
        };
        tokio::join!(
            shared.queue.work(
                WORKERS,
                shared.first_look.is_over(),
                &shared,
                async |shared: Arc<Shared>, work: Work| { shared.look_at(&work).await }
            ),
            follow(Api::<ResourceCatalog>::all(own.clone()), everything(), "resourcecatalogs", PURPOSE, catalogs),
            follow(
                Api::<ResourceCatalogEntry>::all(own.clone()),
                everything(),
                "resourcecatalogentries",
                PURPOSE,
                entries
            ),
            follow(
                Api::<PartialObjectMeta<Namespace>>::all(host.clone()),
                everything(),
                "namespaces",
                PURPOSE,
                namespaces
            ),
            shared.follow_rights::<Role>(host.clone(), "roles"),
            shared.follow_rights::<RoleBinding>(host.clone(), "rolebindings"),
            shared.follow_rights::<ClusterRole>(host.clone(), "clusterroles"),
            shared.follow_rights::<ClusterRoleBinding>(host, "clusterrolebindings"),
            shared.follow_rights::<Group>(own.clone(), "groups"),
            shared.follow_rights::<Organization>(own.clone(), "organizations"),
            shared.follow_rights::<OrgGroup>(own.clone(), "orggroups"),
            shared.follow_rights::<OrgRoleBinding>(own, "orgrolebindings"),
            shared.look_again(),
        );
    }
}

// === impl Shared ===

impl Shared {
    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn look_at(&self, work: &Work) -> Result<(), WorkError> {
        match work {
            Work::Entry(place) => self.look_at_entry(place).await,
            Work::Catalog(name) => {
                let state = self.index().catalog_state(name);
                let Some(state) = state else { return Ok(()) };
                Ok(status::write_catalog(&self.clients.own, &state, (self.now)()).await?)
            }
        }
    }

    async fn look_at_entry(&self, place: &Place) -> Result<(), WorkError> {
        let state = self.index().entry_state(place);
        let Some(state) = state else { return Ok(()) };
        let none = BTreeMap::new();
        let publisher = match state.entry.status.as_ref().and_then(|status| status.requester.as_ref()) {
            Some(publisher) => Some(self.clients.whole(&state.entry, publisher).await?),
            None => None,
        };
        let candidate = Candidate {
            namespace: &place.namespace,
            name: &place.name,
            namespace_labels: state.namespace_labels.as_ref().unwrap_or(&none),
            publisher: publisher.as_ref(),
        };
        let mut answers = Vec::new();
        for catalog in &state.selected_by {
            let name = catalog.metadata.name.clone().unwrap_or_default();
            let answer = self.accept.accept(catalog, candidate).await;
            let answer = answer.map_err(|source| WorkError::Undecided { catalog: name.clone(), source })?;
            answers.push((name, answer));
        }
        Ok(status::write_entry(&self.clients.own, &state.entry, answers, (self.now)()).await?)
    }
}
