//! Makes what claims ask for, as the service accounts that claims name, and keeps it as catalogs' entries have it.
//!
//! ```text
//! claim, entry, catalog, account ──▶ is anything due? may it be done? ──▶ content of the entry ──▶ copies, as the claim's account
//!                                                                        (read as the entry's account)
//! ```
//!
//! Nothing that follows from a claim or an entry is done under the controller's own identity: sources are read as the entry's
//! account, under the UIDs that were recorded when it was written; copies are read, made, changed and removed as the claim's.
//! What was not made by the claim is never touched. All that is known is in the status of claims and in the copies themselves,
//! so that it can end at any point and another can go on.

mod copies;
mod drift;
mod due;
mod index;
mod orphans;
mod problem;
mod repairs;
mod resync;
mod rights;
mod sources;
mod status;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use bailiwick_api::{ResourceCatalog, ResourceCatalogClaim, ResourceCatalogEntry, Satisfier, ServiceAccountRef};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::Api;
use kube::api::PartialObjectMeta;

use self::copies::Copies;
use self::drift::Drift;
use self::due::{Due, Obstacle};
use self::index::{Index, NamespaceState, State};
use self::orphans::NotLetGo;
use self::sources::Sources;
use self::status::Reporter;
use crate::announce::Announcer;
use crate::first_look::FirstLook;
use crate::follow::{Changes, everything, follow};
use crate::host::Clients;
use crate::host_kinds::HostKinds;
use crate::place::Place;
use crate::queue::Queue;
use crate::requesters::UnknownRequester;
use crate::rights::Rights;
use crate::status::StatusError;

const WORKERS: usize = 32;
/// How many kinds are seen before anything is done.
const KINDS: usize = 5;
/// Whom the fields belong to that are set here, but for those of copies.
const FIELD_MANAGER: &str = "bailiwick-catalog-claim-controller";
/// What all of this is for, in the log.
const PURPOSE: &str = "claims of catalogs";

/// Makes what ResourceCatalogClaims ask for.
pub struct CatalogClaimController {
    clients: Clients,
    now: fn() -> SystemTime,
}

/// What the parts of the controller share.
struct Shared {
    clients: Clients,
    kinds: Arc<HostKinds>,
    now: fn() -> SystemTime,
    announcer: Announcer,
    rights: Rights,
    sources: Sources,
    copies: Copies,
    drift: Drift,
    index: Mutex<Index>,
    queue: Queue<Place>,
    first_look: FirstLook,
}

/// Why something is tried again.
#[derive(Debug, thiserror::Error)]
enum WorkError {
    #[error(transparent)]
    Status(#[from] StatusError),
    #[error("what a claim's requester may do could not be found out")]
    Rights(#[source] Box<kube::Error>),
    #[error(transparent)]
    Requester(#[from] UnknownRequester),
    #[error(transparent)]
    NotLetGo(#[from] NotLetGo),
    #[error("not all resources of the claim \"{0}\" could be made")]
    Incomplete(Place),
}

// === impl CatalogClaimController ===

impl CatalogClaimController {
    /// One with these clients.
    pub fn new(clients: Clients, now: fn() -> SystemTime) -> Self {
        Self { clients, now }
    }

    /// Works until it is dropped.
    pub async fn run(self) {
        let Self { clients, now } = self;
        let Clients { own, host, act_as, .. } = clients.clone();
        let (queue, kinds) =
            (Queue::fair("catalog-claim-controller", Place::namespace), Arc::new(HostKinds::new(host.clone())));
        let shared = Arc::new(Shared {
            announcer: Announcer::new(host.clone(), FIELD_MANAGER),
            rights: Rights::new(host.clone(), rights::REMEMBERED),
            sources: Sources::new(act_as.clone(), kinds.clone()),
            copies: Copies::new(act_as.clone(), kinds.clone()),
            drift: Drift::new(act_as, queue.clone()),
            clients,
            kinds,
            now,
            index: Mutex::default(),
            queue,
            first_look: FirstLook::at(KINDS),
        });
        let claims = |changes: Changes<ResourceCatalogClaim>| {
            for (place, claim) in changes.objects {
                let mut index = shared.index();
                let (touched, left) = index.set_claim(place, claim);
                left.iter().for_each(|entry| shared.sources.forget(entry));
                drop(index);
                shared.queue.extend(touched);
            }
            shared.first_look.saw(changes.is_complete);
        };
        let entries = |changes: Changes<ResourceCatalogEntry>| {
            for (place, entry) in changes.objects {
                let mut index = shared.index();
                if entry.is_none() {
                    shared.sources.forget(&place);
                }
                let touched = index.set_entry(place, entry);
                drop(index);
                shared.queue.extend(touched);
            }
            shared.first_look.saw(changes.is_complete);
        };
        let catalogs = |changes: Changes<ResourceCatalog>| {
            for (place, catalog) in changes.objects {
                shared.queue.extend(shared.index().set_catalog(place.name, catalog));
            }
            shared.first_look.saw(changes.is_complete);
        };
        let accounts = |changes: Changes<PartialObjectMeta<ServiceAccount>>| {
            for (place, account) in changes.objects {
                let uid = account.and_then(|account| account.metadata.uid);
                shared.queue.extend(shared.index().set_account(place, uid));
            }
            shared.first_look.saw(changes.is_complete);
        };
        let namespaces = |changes: Changes<PartialObjectMeta<Namespace>>| {
            for (place, namespace) in changes.objects {
                let namespace = namespace.map(|namespace| NamespaceState {
                    labels: namespace.metadata.labels.unwrap_or_default(),
                    is_going: namespace.metadata.deletion_timestamp.is_some(),
                });
                shared.queue.extend(shared.index().set_namespace(place.name, namespace));
            }
            shared.first_look.saw(changes.is_complete);
        };
        let (all_accounts, all_namespaces) = (Api::all(host.clone()), Api::all(host));
        tokio::join!(
            shared.queue.work(
                WORKERS,
                shared.first_look.is_over(),
                &shared,
                async |shared: Arc<Shared>, place: Place| { shared.look_at(&place).await }
            ),
            follow(Api::all(own.clone()), everything(), "resourcecatalogclaims", PURPOSE, claims),
            follow(Api::all(own.clone()), everything(), "resourcecatalogentries", PURPOSE, entries),
            follow(Api::all(own), everything(), "resourcecatalogs", PURPOSE, catalogs),
            follow(all_accounts, everything(), "serviceaccounts", PURPOSE, accounts),
            follow(all_namespaces, everything(), "namespaces", PURPOSE, namespaces),
            shared.resync(),
        );
    }
}

// === impl Shared ===

impl Shared {
    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reporter<'s>(&'s self, state: &'s State) -> Reporter<'s> {
        let account_uid = state.account_uid.as_deref();
        let (own, announcer) = (&self.clients.own, &self.announcer);
        Reporter { own, announcer, claim: &state.claim, account_uid, now: (self.now)() }
    }

    async fn look_at(&self, place: &Place) -> Result<(), WorkError> {
        let state = self.index().state(place);
        let Some(state) = state else {
            self.drift.forget(place);
            self.copies.forget(place);
            return Ok(());
        };
        if state.claim.metadata.deletion_timestamp.is_some() {
            self.drift.forget(place);
            let released = orphans::let_go(&self.clients, &self.kinds, &state).await;
            if let Err(why) = &released {
                self.reporter(&state).stays(why).await?;
            }
            return Ok(released?);
        }
        let Some(due) = due::of(&state.claim) else {
            self.drift.forget(place);
            return Ok(self.reporter(&state).observed().await?);
        };
        let account = match self.way_is_clear(&state).await? {
            Ok(Some(account)) => account,
            // Someone else has yet to accept the entry as it is now, and that will be news.
            Ok(None) => return Ok(()),
            Err(obstacle) => return self.blocked(place, &state, &obstacle).await,
        };
        match state.entry.as_deref().and_then(|entry| entry.spec.satisfier().map(|satisfier| (entry, satisfier))) {
            Some((entry, Satisfier::Extension(_))) => {
                let realizer = entry.spec.realizer().unwrap_or_default();
                Ok(self.reporter(&state).hand_over(realizer).await?)
            }
            Some((entry, _)) => self.realize(place, &state, entry, &account, due).await,
            None => Ok(()),
        }
    }

    /// The account to act as, if everything still is as it must be. `None` if that is about to be decided elsewhere.
    async fn way_is_clear(&self, state: &State) -> Result<Result<Option<ServiceAccountRef>, Obstacle>, WorkError> {
        let account = match due::account(state).and_then(|account| due::exposed(state).map(|ready| (account, ready))) {
            Ok((account, true)) => account,
            Ok((_, false)) => return Ok(Ok(None)),
            Err(obstacle) => return Ok(Err(obstacle)),
        };
        Ok(match rights::lost(&self.clients, &self.rights, &state.claim, &account).await? {
            Some(obstacle) => Err(obstacle),
            None => Ok(Some(account)),
        })
    }

    async fn blocked(&self, place: &Place, state: &State, obstacle: &Obstacle) -> Result<(), WorkError> {
        self.drift.forget(place);
        self.reporter(state).blocked(obstacle).await?;
        // Of everything else there will be news.
        if obstacle.is_noticed { Ok(()) } else { Err(WorkError::Incomplete(place.clone())) }
    }

    async fn realize(
        &self,
        place: &Place,
        state: &State,
        entry: &ResourceCatalogEntry,
        account: &ServiceAccountRef,
        due: Due,
    ) -> Result<(), WorkError> {
        if state.claim.spec.keep_synchronized {
            // They may just have been let go of: who follows, and what is followed, change together.
            let index = self.index();
            if index.is_followed(&Place::of(entry)) {
                self.sources.follow(entry, state.publishing_account.as_deref());
            }
        }
        let items = self.sources.content(entry, state.publishing_account.as_deref()).await;
        let unannounced = copies::unannounced(&state.claim, &items);
        let claim = match unannounced.is_empty() {
            true => state.claim.clone(),
            false => match self.reporter(state).about_to_make(unannounced).await? {
                Some(claim) => Arc::new(claim),
                None => return Ok(()),
            },
        };
        let realized = self.copies.realize(&claim, account, &items, due).await;
        let fights = if claim.spec.keep_synchronized {
            self.drift.follow(&claim, account, &realized.created)
        } else {
            self.drift.forget(place);
            Vec::new()
        };
        let is_complete = realized.errors.is_empty();
        let reporter = Reporter { claim: &claim, ..self.reporter(state) };
        reporter.realized(entry, realized, &fights).await?;
        if is_complete { Ok(()) } else { Err(WorkError::Incomplete(place.clone())) }
    }
}
